import BluetoothHost
import CommandInterface
import DaemonControl
import Foundation
import LockPeripheral
import LockProtocol
import Testing

@testable import latch

@Suite("Configuration: the settings")
struct SettingsTests {
    private static func read<Settings: ConfiguredSettings>(_ text: String, as type: Settings.Type) throws -> Settings {
        var settings = Settings()
        try settings.apply(ConfigurationText(text, file: "f.conf"), file: "f.conf")
        return settings
    }

    @Test(
        "what a key may not be, and what to write instead",
        arguments: [
            (
                "[lock]\nrelok_seconds = 5",
                "unknown key `relok_seconds` in f.conf line 2 column 1: did you mean `relock_seconds`?"
            ),
            (
                "relock_seconds = 5",
                "unknown key `relock_seconds` in f.conf line 1 column 1: it belongs in section [lock]"
            ),
            (
                "[log]\ntransport = \"x\"",
                "unknown key `transport` in f.conf line 2 column 1: it belongs before the first section"
            ),
            (
                "[lock]\nrelock_seconds = 3601",
                "key `relock_seconds` is out of range in f.conf line 2 column 18: write a number from 0 to 3600"
            ),
            (
                "[lock]\nrelock_seconds = -1",
                "key `relock_seconds` is out of range in f.conf line 2 column 18: write a number from 0 to 3600"
            ),
            (
                "[lock]\nrelock_seconds = \"5\"",
                "key `relock_seconds` is a string in f.conf line 2 column 18: write a number from 0 to 3600"
            ),
            ("[lock]\nsigned = 1", "key `signed` is an integer in f.conf line 2 column 10: write true or false"),
            ("state = true", "key `state` is a boolean in f.conf line 1 column 9: write a string in quotes"),
            ("state = \"\"", "key `state` cannot be that in f.conf line 1 column 9: write 1 to 4096 octets"),
            (
                "[lock]\nname = \"123456789012345678901234567890\"",
                "key `name` cannot be that in f.conf line 2 column 8: write 1 to 29 octets"
            ),
            (
                "[lock]\nlatency = \"none\"",
                "key `latency` cannot be that in f.conf line 2 column 11: write one of \"low\", \"medium\", \"high\""
            ),
            (
                "[lock]\ntime_zone = \"Europe/Berlin\"",
                "key `time_zone` cannot be that in f.conf line 2 column 13: a time zone is a name and an offset from UTC, "
                    + "as in \"CET-1CEST,M3.5.0,M10.5.0/3\" or \"UTC0\""
            ),
            (
                "[lock]\nholidays = \"2026-12-24T00:00/2026-12-26T24:00 passage\"",
                "key `holidays` cannot be that in f.conf line 2 column 12: \"passage\" is no mode of a holiday: write normal "
                    + "or vacation"
            ),
            (
                "[door]\nexit = \"unlocks\"",
                "key `exit` cannot be that in f.conf line 2 column 8: write one of \"opens\", \"announces\""
            ),
            (
                "[door]\npassage = \"mon-fri 8-17\"",
                "key `passage` cannot be that in f.conf line 2 column 11: \"8-17\" is no span of a day: write it as in "
                    + "08:00-17:00"
            ),
            (
                "[control]\ngroup = 5",
                "key `group` is an integer in f.conf line 2 column 9: write a string in quotes"
            ),
            (
                "[control]\ngroup = \"123456789012345678901234567890123\"",
                "key `group` cannot be that in f.conf line 2 column 9: write 1 to 32 octets"
            ),
            (
                "[control]\nsocket = \"\"",
                "key `socket` cannot be that in f.conf line 2 column 10: write 1 to 4096 octets"
            ),
            (
                "socket = \"x\"",
                "unknown key `socket` in f.conf line 1 column 1: it belongs in section [control]"
            ),
            (
                "[log]\nlevel = \"loud\"",
                "key `level` cannot be that in f.conf line 2 column 9: write one of \"debug\", \"info\", \"warning\", "
                    + "\"error\""
            ),
        ])
    func refused(text: String, message: String) {
        let error = #expect(throws: ConfigurationError.self) { try Self.read(text, as: PeripheralSettings.self) }
        #expect(error?.description == message)
    }

    @Test("a latency stands for connection parameters, and none for no wish")
    func latency() throws {
        #expect(PeripheralSettings().preferredConnection == nil)
        for (name, interval) in [("low", UInt16(12)...24), ("medium", 48...80), ("high", 160...320)] {
            let settings = try Self.read("[lock]\nlatency = \"\(name)\"", as: PeripheralSettings.self)
            #expect(settings.preferredConnection?.interval == interval)
        }
    }

    @Test("a time zone and holidays make the lock's calendar, as many as there may be")
    func calendar() throws {
        let holiday = "2026-12-24T00:00/2026-12-27T00:00 vacation"
        func text(_ count: Int) -> String {
            let list = [String](repeating: holiday, count: count).joined(separator: ", ")
            return "[lock]\ntime_zone = \"CET-1CEST,M3.5.0,M10.5.0/3\"\nholidays = \"\(list)\""
        }
        let settings = try Self.read(text(LockCalendar.holidaysMaximum), as: PeripheralSettings.self)
        let calendar = try settings.lockSettings().settings.calendar
        #expect(calendar.holidays.map(\.description) == [String](repeating: holiday, count: 10))
        #expect(calendar.timeZone.text == "CET-1CEST,M3.5.0,M10.5.0/3")
        #expect(throws: ConfigurationError.self) {
            try Self.read(text(LockCalendar.holidaysMaximum + 1), as: PeripheralSettings.self)
        }
    }

    @Test("what is fitted to the door makes the lock's rules, and a door with nothing has none")
    func door() throws {
        #expect(PeripheralSettings().doorRules == DoorRules())
        let text = """
            [door]
            ajar_seconds = 30
            lock_when_closed = true
            exit = "announces"
            passage = "mon-fri 08:00-17:00; sat,sun 22:00-02:00"
            """
        let rules = try Self.read(text, as: PeripheralSettings.self).doorRules
        #expect(rules.ajarSeconds == 30 && rules.locksWhenClosed && rules.exit == .announces)
        #expect(rules.passage.weekdays.map(\.description) == ["mon-fri 08:00-17:00", "sat,sun 22:00-02:00"])
        let many = [String](repeating: "sun 10:00-11:00", count: CredentialSchedules.weekdaysMaximum + 1)
        #expect(throws: ConfigurationError.self) {
            try Self.read("[door]\npassage = \"\(many.joined(separator: "; "))\"", as: PeripheralSettings.self)
        }
    }

    @Test("What the file says of the lock is fixed, and what it does not say is left to whoever may set it")
    func fixed() throws {
        let none = try Self.read("[lock]\nname = \"x\"", as: PeripheralSettings.self).lockSettings()
        #expect(none == ConfiguredLockSettings(LockSettings(), fixed: []))
        let keys: [(String, LockSettings.Fields, LockSettings)] = [
            ("relock_seconds = 10", .relock, LockSettings()),
            ("relock_seconds = 0", .relock, LockSettings(relockSeconds: nil)),
            ("lock_and_go_seconds = 3", .lockAndGo, LockSettings(lockAndGoSeconds: 3)),
            ("challenge_life_ms = 1000", .challengeLife, LockSettings(challengeLifeMilliseconds: 1_000)),
            ("signed = false", .acceptsSigned, LockSettings(acceptsSigned: false)),
            (
                "time_zone = \"IST-5:30\"", .timeZone,
                LockSettings(calendar: try LockCalendar(timeZone: "IST-5:30", holidays: nil))
            ),
            (
                "holidays = \"2026-12-24T00:00/2026-12-27T00:00\"", .holidays,
                LockSettings(
                    calendar: try LockCalendar(timeZone: "UTC0", holidays: "2026-12-24T00:00/2026-12-27T00:00"))
            ),
        ]
        for (line, field, expected) in keys {
            let read = try Self.read("[lock]\n" + line, as: PeripheralSettings.self).lockSettings()
            #expect(read == ConfiguredLockSettings(expected, fixed: field), "\(line)")
        }
        #expect(keys.reduce(into: []) { $0.formUnion($1.1) } == LockSettings.Fields.all)
    }

    @Test("both ends of every range are taken")
    func ranges() throws {
        func check<Settings: ConfiguredSettings>(_ type: Settings.Type) throws {
            for key in Settings.keys {
                guard case .integer(let path, let range) = key.field else { continue }
                for value in [range.lowerBound, range.upperBound] {
                    let text = "[\(key.section)]\n\(key.name) = \(value)"
                    #expect(try Self.read(text, as: type)[keyPath: path] == value)
                }
                #expect(throws: ConfigurationError.self) {
                    try Self.read("[\(key.section)]\n\(key.name) = \(range.upperBound + 1)", as: type)
                }
            }
        }
        try check(PeripheralSettings.self)
        try check(CentralSettings.self)
    }

    private static func shipped(_ name: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("config/\(name)"), encoding: .utf8)
    }

    /// The file with every commented-out key switched on: `#key = …` becomes `key = …`.
    private static func uncommented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                line.hasPrefix("#") && line.dropFirst().first?.isLetter == true ? line.dropFirst() : line
            }
            .joined(separator: "\n")
    }

    /// `isOfService`: it names the places of a service, for which there is no default.
    private static func checkShipped<Settings: ConfiguredSettings & Equatable>(
        _ name: String, as type: Settings.Type, daemon: WritableKeyPath<Settings, DaemonSettings>, isOfService: Bool
    ) throws {
        let text = try shipped(name)
        var settings = try read(text, as: type)
        #expect((settings[keyPath: daemon].transport != nil) == isOfService)
        #expect((settings[keyPath: daemon].stateDirectory != nil) == isOfService)
        settings[keyPath: daemon].transport = nil
        settings[keyPath: daemon].stateDirectory = nil
        #expect(settings == Settings(), "what \(name) sets is the default")
        let all = try ConfigurationText(uncommented(text), file: name)
        _ = try read(uncommented(text), as: type)
        let documented = Set(all.entries.map { "\($0.section)/\($0.key)" })
        #expect(documented == Set(Settings.keys.map { "\($0.section)/\($0.name)" }))
    }

    @Test("config/peripheral.conf is read, sets every default and documents every key")
    func peripheralFile() throws {
        try Self.checkShipped("peripheral.conf", as: PeripheralSettings.self, daemon: \.daemon, isOfService: true)
    }

    @Test("config/central.conf is read, sets every default, leaves a user's places alone and documents every key")
    func centralFile() throws {
        try Self.checkShipped("central.conf", as: CentralSettings.self, daemon: \.daemon, isOfService: false)
    }

    @Test("the units hand over what the program asks for", arguments: ["peripheral", "central"])
    func unit(role: String) throws {
        let unit = try Self.shipped("systemd/latch-\(role).service")
        let start = "ExecStart=/usr/bin/latch \(role) run --config /etc/latch/\(role).conf"
        for line in [start, "LoadCredential=latch.machine-key:/etc/latch/\(role).key", "Restart=always", "LimitCORE=0"]
        {
            #expect(unit.contains("\n" + line + "\n"))
        }
    }
}
