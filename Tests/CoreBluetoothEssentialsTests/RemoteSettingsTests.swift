import BluetoothCore
import BluetoothHost
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Alice owns the lock, and asks in her key's place.
@Suite("A lock's settings, mode and time over the air", .capturesFailures)
struct RemoteSettingsTests {
    private final class Scene {
        let household: Household
        var manager: RemoteManager

        init(settings: LockSettings = LockSettings(), fixed: LockSettings.Fields = []) throws {
            household = try Household(settings: settings)
            household.fixed = fixed
            try household.enrollToTheEnd("alice")
            manager = try household.launchManager()
        }

        func ask(_ procedure: ControlPointProcedure) throws -> ControlPointResponse {
            let count = manager.answers.count
            household.call(household.pocket) { manager.ask(procedure) }
            try #require(household.world.run(forMilliseconds: 20_000) { manager.answers.count > count })
            // The confirmation is on its way.
            household.world.run(forMilliseconds: 500)
            return try #require(manager.answers.last)
        }

        func read() throws -> SettingsRecord {
            var octets: [UInt8] = []
            while true {
                let version = octets.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
                let answer = try ask(
                    .getSettings(
                        ReadingPlace(offset: UInt16(octets.count), version: ValueVersion(rawValue: version))))
                let part = try ValuePart(exactly: answer.parameters)
                octets += part.octets
                if part.isLast { return try SettingsRecord(exactly: Array(octets.dropFirst(4))) }
            }
        }

        /// The lock's process is killed, and another begins.
        func relaunch() throws {
            household.killLock()
            household.launchLock()
            manager = try household.launchManager()
        }

        var kept: LockSettings { household.lockStore.committed.settings }
    }

    @Test(
        "What an owner has set outlives the lock's process; what the configuration says by then is the configuration's")
    func settings() throws {
        let scene = try Scene()
        // The first launch had all of it from its configuration.
        try scene.relaunch()
        let before = try scene.read()
        #expect(before == SettingsRecord(LockSettings(), fixed: []))
        var settings = LockSettings(relockSeconds: 77, lockAndGoSeconds: 9)
        settings.calendar = try LockCalendar(timeZone: "CET-1CEST,M3.5.0,M10.5.0/3", holidays: nil)
        let answer = try scene.ask(.setSettings(ValueVersion(of: before.encoded), settings))
        #expect(answer.result == .success && scene.kept == settings)
        try scene.relaunch()
        #expect(scene.kept == settings)
        #expect(try scene.read() == SettingsRecord(settings, fixed: []))

        scene.household.fixed = .relock
        try scene.relaunch()
        settings.relockSeconds = 10
        let fixed = SettingsRecord(settings, fixed: .relock)
        #expect(scene.kept == settings)
        #expect(try scene.read() == fixed)
        var wanted = settings
        wanted.relockSeconds = nil
        #expect(try scene.ask(.setSettings(ValueVersion(of: fixed.encoded), wanted)).result == .fixed)
        wanted.relockSeconds = 10
        wanted.lockAndGoSeconds = 11
        #expect(try scene.ask(.setSettings(ValueVersion(of: fixed.encoded), wanted)).result == .success)
        #expect(scene.kept == wanted)
    }

    @Test("A mode is on disk before it is answered, and no launch ends it; the operator's word goes beside the owner's")
    func modes() throws {
        let scene = try Scene()
        #expect(try scene.ask(.setMode(.lockdown)).result == .success)
        #expect(scene.kept.mode == .lockdown)
        try scene.relaunch()
        #expect(scene.kept.mode == .lockdown)
        #expect(try scene.household.call(scene.household.door) { try scene.household.lock?.enter(.lockdown) } == false)
        #expect(try scene.household.call(scene.household.door) { try scene.household.lock?.enter(.privacy) } == true)
        #expect(scene.kept.mode == .privacy)
        let alice = try #require(scene.household.lockStore.committed.credentials.values.first)
        let manager = AuditedManager(credential: alice.id, name: "alice")
        #expect(
            scene.household.lockStore.audit.map(\.event).filter {
                if case .modeChanged = $0 { true } else { false }
            } == [.modeChanged(.lockdown, by: manager), .modeChanged(.privacy, by: nil)])
    }

    @Test("The time that an owner tells outlives the lock's process, and ends with its machine's own")
    func time() throws {
        let scene = try Scene()
        #expect(try scene.ask(.setTime(1_800_000_500)).result == .fixed)
        scene.household.wallClockSeconds = nil
        #expect(try scene.ask(.setTime(1_800_000_500)).result == .success)
        try scene.relaunch()
        let told = try LockTime(exactly: try scene.ask(.getTime).parameters)
        #expect(told.source == .manager && (1_800_000_500...1_800_000_560).contains(told.seconds ?? 0))
        scene.household.wallClockSeconds = 1_800_001_000
        let own = try LockTime(exactly: try scene.ask(.getTime).parameters)
        #expect(own.source == .machine && own.seconds == 1_800_001_000)
    }

    @Test("A reset leaves nobody a key, a bond or a link, and a new lock's settings; the audit says whom it knew")
    func reset() throws {
        let scene = try Scene()
        let household = scene.household
        try scene.relaunch()
        let record = try scene.read()
        let settings = LockSettings(relockSeconds: nil)
        #expect(try scene.ask(.setSettings(ValueVersion(of: record.encoded), settings)).result == .success)
        #expect(try scene.ask(.setMode(.passage)).result == .success)
        for number in 100..<300 as Range<UInt64> {
            household.lockStore.append(
                .credential(Credential(id: CredentialID(rawValue: number), name: "n\(number)", role: .guest)))
        }
        household.lockStore.didCommit()
        let lost = scene.manager.linksLost
        #expect(try household.call(household.door) { try household.lock?.reset() } == 201)
        let store = household.lockStore.committed
        #expect(store.credentials.isEmpty && store.lastCommands.isEmpty && store.receiptCounters.isEmpty)
        #expect(store.settings == LockSettings())
        let host = try #require(household.door.host)
        #expect(host.confirmedBonds(after: nil, limit: 10).rows.isEmpty && host.unconfirmedBonds.isEmpty)
        #expect(household.world.run(forMilliseconds: 10_000) { scene.manager.linksLost > lost })
        let events = household.lockStore.audit.map(\.event)
        let reset = try #require(events.lastIndex(of: .reset))
        #expect(
            events[reset...].filter { if case .administered(_, _, .removed) = $0 { true } else { false } }.count == 201)
        // It is open to the next household.
        try household.openWindow("bob")
        #expect(household.code != nil)
    }
}
