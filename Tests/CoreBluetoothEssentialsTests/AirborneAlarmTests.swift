import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// A bolt whose sensors say what the test says, and that ends where the test has it end.
private final class SensedBolt: Actuator {
    private static let lookMilliseconds: UInt64 = 100

    var end: BoltPosition?
    private var reports: [ActuatorReport] = []
    private var next = Instant(nanoseconds: 0)

    func feel(_ report: ActuatorReport) { reports.append(report) }

    func reading(asking intent: Intent?, now: Instant) -> BoltReading {
        next = now
        return BoltReading(position: .locked, door: .closed)
    }
    func perform(_ order: ActuatorOrder, now: Instant) -> ActuatorReport? {
        .ended(order.intent, end ?? order.movement.target)
    }
    var deadline: Instant? { next }
    func poll(now: Instant) -> ActuatorReport? {
        next = now.advanced(byMilliseconds: Self.lookMilliseconds)
        return reports.isEmpty ? nil : reports.removeFirst()
    }
}

@Suite("Alarms over the air", .capturesFailures)
struct AirborneAlarmTests {
    private struct Scene {
        let household: Household
        let bolt: SensedBolt

        /// Alice has enrolled with this role.
        init(_ role: Role, settings: LockSettings = LockSettings()) throws {
            let bolt = SensedBolt()
            self.bolt = bolt
            household = try Household(bolt: bolt, settings: settings)
            try household.enrollToTheEnd("alice", role)
        }

        /// Her app, in her key's place.
        func app(hearsAlarms: Bool = true) throws -> RemoteManager {
            try household.launchManager(hearsAlarms: hearsAlarms)
        }

        func feel(_ report: ActuatorReport) {
            bolt.feel(report)
            household.world.run(forMilliseconds: 1_000)
        }

        func read(_ app: RemoteManager) {
            household.call(household.pocket) { app.readAlarm() }
            household.world.run(forMilliseconds: 2_000)
        }
    }

    @Test("An owner who has subscribed hears that the door is forced, on its record of the audit")
    func forced() throws {
        let scene = try Scene(.owner)
        let app = try scene.app()
        scene.feel(.door(.open))
        let alarm = try #require(app.alarms.first)
        #expect(app.alarms.count == 1 && alarm.kind == .forced && alarm.cause == ForcedPart.door.rawValue)
        let record = scene.household.lockStore.audit.first { $0.sequence == alarm.record }
        #expect(record?.event == .door(.forced))
    }

    @Test("An owner who has subscribed hears that the bolt did not lock by itself")
    func jam() throws {
        let scene = try Scene(.owner, settings: LockSettings(relockSeconds: 60))
        scene.household.ask(.unlock, waitMilliseconds: 10_000)
        scene.household.world.run(forMilliseconds: 10_000)
        try #require(scene.household.lock?.status.bolt == .unlocked)
        let app = try scene.app()
        scene.bolt.end = .jammed
        scene.household.world.run(forMilliseconds: 60_000)
        #expect(app.alarms.first?.kind == .jam && app.alarms.first?.cause == BoltPosition.jammed.rawValue)
        guard
            case .outcome = scene.household.lockStore.audit.first(where: { $0.sequence == app.alarms.first?.record })?
                .event
        else {
            Issue.record("the alarm stands on no outcome")
            return
        }
    }

    @Test("An owner who was away reads the last alarm, and how many there were")
    func away() throws {
        let scene = try Scene(.owner)
        let before = try scene.app()
        scene.read(before)
        #expect(before.alarms.last?.kind == AlarmKind(rawValue: 0) && before.alarms.last?.count == 0)
        scene.household.killKey()
        scene.household.world.run(forMilliseconds: 10_000)
        scene.feel(.door(.open))
        scene.feel(.door(.closed))
        scene.feel(.door(.open))
        let app = try scene.app()
        scene.read(app)
        #expect(app.alarms.last?.kind == .forced && app.alarms.last?.count == 2)
        #expect(scene.household.lock?.status.alarms.count == 2)
    }

    @Test(
        "Killed at each act behind the record's commit, a lock raises the alarm when it is back, and its owner who connects again reads it"
    )
    func killed() throws {
        var silenced = 0
        for acts in 0..<20 {
            let scene = try Scene(.owner)
            let app = try scene.app()
            let door = scene.household.door
            door.killAfterActs = door.actCount + acts
            scene.feel(.door(.open))
            door.killAfterActs = nil
            let isKilled = door.host == nil
            let record = scene.household.lockStore.audit.first { $0.event == .door(.forced) }
            if isKilled {
                if record != nil, app.alarms.isEmpty { silenced += 1 }
                scene.household.killLock()
                scene.household.launchLock()
            }
            // What was told is taken back by then.
            scene.household.world.run(forMilliseconds: 10_000)
            // Cut off before its commit, it has no record, and finds a door that is closed again.
            guard let record else { continue }
            scene.read(app)
            #expect(
                app.alarms.last?.kind == .forced && app.alarms.last?.record == record.sequence, "behind \(acts) acts")
            #expect(scene.household.lockStore.committed.owedAlarms == [], "behind \(acts) acts")
            if !isKilled { break }
        }
        #expect(silenced > 0)
    }

    @Test("Attack: a resident who subscribes hears nothing, and may not read", arguments: [Role.resident, .guest])
    func resident(role: Role) throws {
        let scene = try Scene(role)
        let app = try scene.app()
        scene.feel(.door(.open))
        #expect(app.alarms.isEmpty && scene.household.lock?.status.alarms.count == 1)
        scene.read(app)
        #expect(app.alarms.isEmpty)
        #expect(app.alarmErrors == [CBATTError.Code.insufficientAuthorization.rawValue])
    }

    @Test("Attack: an owner who is disabled while the link stands hears and reads nothing more")
    func disabled() throws {
        let scene = try Scene(.owner)
        let app = try scene.app()
        _ = try scene.household.call(scene.household.door) { try scene.household.lock?.administer("alice", .disabled) }
        scene.feel(.door(.open))
        scene.read(app)
        #expect(app.alarms.isEmpty && app.alarmErrors.count == 1)
    }
}
