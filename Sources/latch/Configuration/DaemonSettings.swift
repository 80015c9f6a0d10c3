import BluetoothHost
import CommandInterface
import LockCentral
import LockPeripheral
import LockProtocol

/// What both daemons are told: how to reach the controller, where to keep state, what to write down.
struct DaemonSettings: Equatable, Sendable {
    /// A ``TransportAddress`` as text; there is none to assume.
    var transport: String?
    var stateDirectory: String?
    /// `latch.sqlite` in the state directory unless set.
    var database: String?
    /// The systemd credential `machine.key`, else `machine.key` in the state directory, unless set.
    var machineKey: String?
    /// The lock's: `lock.anchor` in the state directory unless set.
    var anchor: String?
    /// `peripheral.sock` or `central.sock` in the state directory unless set.
    var controlSocket: String?
    /// Whose members may speak to the control socket; nil for nobody's.
    var controlGroup: String?
    var restoreIdentifier: String
    /// Resolvable private addresses, as soon as somebody is bonded to resolve them.
    var isPrivate = true
    var journal: String?
    var capture: String?
    var logLevel = Log.Level.info.rawValue
    var logsJSON = false

    static func keys<Settings>(_ daemon: WritableKeyPath<Settings, DaemonSettings>) -> [ConfigurationKey<Settings>] {
        [
            ConfigurationKey("", "transport", .optionalText(daemon.appending(path: \.transport))),
            ConfigurationKey("", "state", .optionalText(daemon.appending(path: \.stateDirectory))),
            ConfigurationKey("", "database", .optionalText(daemon.appending(path: \.database))),
            ConfigurationKey("", "machine_key", .optionalText(daemon.appending(path: \.machineKey))),
            ConfigurationKey("", "restore_id", .text(daemon.appending(path: \.restoreIdentifier))).maximumOctets(64),
            ConfigurationKey("", "privacy", .boolean(daemon.appending(path: \.isPrivate))),
            ConfigurationKey("control", "socket", .optionalText(daemon.appending(path: \.controlSocket))),
            ConfigurationKey("control", "group", .optionalText(daemon.appending(path: \.controlGroup))).maximumOctets(
                32),
            ConfigurationKey("log", "level", .text(daemon.appending(path: \.logLevel)))
                .choices(Log.Level.allCases.map(\.rawValue)).live(),
            ConfigurationKey("log", "json", .boolean(daemon.appending(path: \.logsJSON))).live(),
            ConfigurationKey("log", "journal", .optionalText(daemon.appending(path: \.journal))),
            ConfigurationKey("log", "capture", .optionalText(daemon.appending(path: \.capture))),
        ]
    }
}

/// The lock's daemon: config/peripheral.conf documents each.
struct PeripheralSettings: DaemonConfiguration, Equatable, Sendable {
    var daemon = DaemonSettings(restoreIdentifier: "lock")
    var name = "Latch"
    // What is nil among these is kept as managers set it over the air.

    /// 0: stays unlocked until it is told to lock.
    var relockSeconds: Int?
    var lockAndGoSeconds: Int?
    var challengeLifeMilliseconds: Int?
    var isSignedAllowed: Bool?
    /// Of the door, as POSIX writes TZ.
    var timeZone: String?
    /// Spans with commas between them.
    var holidays: String?
    /// 0: an open door is never ajar.
    var ajarSeconds = 0
    var locksWhenClosed = false
    var exit = DoorRules.Exit.opens.rawValue
    /// Week day schedules with semicolons between them.
    var passage: String?
    var bolt = BoltSettings()
    /// `bolt.journal` in the state directory unless set.
    var boltJournal: String?
    /// What keys are asked to make of their links; nil asks for nothing.
    var latency: String?
    /// A controller may have fewer.
    var linksMaximum = HostConfiguration.usualLinksMaximum
    /// What is run for each alarm; nil for nothing.
    var alarmHook: String?
    /// What node_exporter reads; nil for nothing.
    var metricsFile: String?
    var metricsIntervalSeconds = 15

    static var keys: [ConfigurationKey<Self>] {
        DaemonSettings.keys(\.daemon) + [
            ConfigurationKey("", "anchor", .optionalText(\.daemon.anchor)),
            // What is left of a legacy advertisement beside its flags and the service's UUID goes into the scan response.
            ConfigurationKey("lock", "name", .text(\.name)).maximumOctets(29),
            ConfigurationKey("lock", "relock_seconds", .optionalInteger(\.relockSeconds, 0...3600)).live(),
            ConfigurationKey("lock", "lock_and_go_seconds", .optionalInteger(\.lockAndGoSeconds, 1...3600)).live(),
            ConfigurationKey("lock", "challenge_life_ms", .optionalInteger(\.challengeLifeMilliseconds, 1000...25_500))
                .live(),
            ConfigurationKey("lock", "signed", .optionalBoolean(\.isSignedAllowed)).live(),
            ConfigurationKey("lock", "bolt_journal", .optionalText(\.boltJournal)),
            ConfigurationKey("lock", "latency", .optionalText(\.latency)).choices(["low", "medium", "high"]),
            ConfigurationKey("lock", "links", .integer(\.linksMaximum, 2...64)),
            ConfigurationKey("lock", "time_zone", .optionalText(\.timeZone)).maximumOctets(
                TimeZoneRule.textOctetsMaximum
            )
            .fault { Self.fault(timeZone: $0, holidays: nil) }.live(),
            ConfigurationKey("lock", "holidays", .optionalText(\.holidays))
                .fault { Self.fault(timeZone: TimeZoneRule.utc.text, holidays: $0) }.live(),
            ConfigurationKey("door", "ajar_seconds", .integer(\.ajarSeconds, 0...Int(DoorRules.ajarSecondsMaximum)))
                .live(),
            ConfigurationKey("door", "lock_when_closed", .boolean(\.locksWhenClosed)).live(),
            ConfigurationKey("door", "exit", .text(\.exit)).choices(DoorRules.Exit.allCases.map(\.rawValue)).live(),
            ConfigurationKey("door", "passage", .optionalText(\.passage)).fault(Self.fault(passage:)).live(),
            ConfigurationKey("alarms", "hook", .optionalText(\.alarmHook)).fault(OperatorProgram.fault).live(),
            ConfigurationKey("metrics", "file", .optionalText(\.metricsFile)).fault(OperatorProgram.faultOfFile)
                .live(),
            ConfigurationKey("metrics", "interval_seconds", .integer(\.metricsIntervalSeconds, 1...3_600)).live(),
        ] + BoltSettings.keys(\.bolt)
    }

    private static func fault(passage: String) -> String? {
        fault { () throws(ScheduleTextError) in _ = try CredentialSchedules(weekdays: passage) }
    }

    private static func fault(timeZone: String, holidays: String?) -> String? {
        fault { () throws(ScheduleTextError) in _ = try LockCalendar(timeZone: timeZone, holidays: holidays) }
    }

    private static func fault(_ read: () throws(ScheduleTextError) -> Void) -> String? {
        do throws(ScheduleTextError) {
            try read()
            return nil
        } catch {
            return error.description
        }
    }
}

/// The key's daemon: config/central.conf documents each.
struct CentralSettings: DaemonConfiguration, Equatable, Sendable {
    var daemon = DaemonSettings(restoreIdentifier: "key")
    /// Whether coming near asks for an unlock; RSSI is never authorisation.
    var unlocksByProximity = false
    var nearDBm = Int(ProximityRules.usualNearDBm)
    var awayDBm = Int(ProximityRules.usualAwayDBm)
    /// The user is asked before coming near opens anything.
    var asksFirst = false
    /// Coming near opens nothing while the user is not there; nil: as it suits whose key it is.
    var needsUser: Bool?
    /// A program that has to agree before coming near opens anything.
    var approachProgram: String?
    var locksOnLeaving = false
    /// Whether a desktop tells what the key has done by itself.
    var tellsOwnActs = true

    static var keys: [ConfigurationKey<Self>] {
        DaemonSettings.keys(\.daemon) + [
            ConfigurationKey("proximity", "unlock", .boolean(\.unlocksByProximity)),
            ConfigurationKey("proximity", "near_dbm", .integer(\.nearDBm, ProximityRules.dBmRange)),
            ConfigurationKey("proximity", "away_dbm", .integer(\.awayDBm, ProximityRules.dBmRange)),
            ConfigurationKey("proximity", "ask_first", .boolean(\.asksFirst)),
            ConfigurationKey("proximity", "needs_user", .optionalBoolean(\.needsUser)),
            ConfigurationKey("proximity", "program", .optionalText(\.approachProgram)).fault(OperatorProgram.fault),
            ConfigurationKey("proximity", "lock_on_leaving", .boolean(\.locksOnLeaving)),
            ConfigurationKey("proximity", "notify", .boolean(\.tellsOwnActs)),
        ]
    }

    var proximity: ProximityRules {
        ProximityRules(nearDBm: Int8(clamping: nearDBm), awayDBm: Int8(clamping: awayDBm))
    }

    /// `isUsersOwn`: the key of whoever sits at the machine, not of a service.
    func approach(isUsersOwn: Bool) -> ApproachPolicy {
        ApproachPolicy(
            asksFirst: asksFirst, needsUser: needsUser ?? isUsersOwn, asksProgram: approachProgram != nil)
    }
}
