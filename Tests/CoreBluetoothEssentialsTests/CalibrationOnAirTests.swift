import BluetoothCore
import CoreBluetoothEssentials
import LockCentral
import Simulation
import Testing
import WorldSupport

/// The key's daemon on a walk that calibrates its lock.
@Suite("A calibration walk on the air", .capturesFailures)
struct CalibrationOnAirTests {
    private static let edgeMetres = 20.0
    private static let nearMetres = 1.0

    /// What a walk told.
    private final class Walk {
        var reports: [CalibrationReport] = []
        var rssi: Set<Int8> {
            Set(reports.compactMap { if case .reading(let rssi, _) = $0 { rssi } else { nil } })
        }
    }

    private func household() throws -> Household {
        let household = try Household(unlocksWhenNear: true)
        try household.enrollToTheEnd("alice")
        // The openings that a launch counts as are over.
        household.world.run(forMilliseconds: 600_000)
        return household
    }

    private func move(_ household: Household, to metres: Double, forMilliseconds milliseconds: UInt64) {
        household.world.setDistance(household.door, household.pocket, metres: metres)
        household.world.run(forMilliseconds: milliseconds)
    }

    private func begin(_ household: Household) throws -> (CalibratedLock, Walk) {
        let walk = Walk()
        let lock = try household.call(household.pocket) {
            try #require(household.key).calibrate(nil) { walk.reports.append($0) }
        }
        return (lock, walk)
    }

    @Test("To the door and away and back: each reading is told, nothing opens; behind it the next coming does")
    func opensNothing() throws {
        let household = try household()
        move(household, to: Self.edgeMetres, forMilliseconds: 60_000)
        #expect(household.key?.status.locks.first?.proximity == .away)
        let (lock, walk) = try begin(household)
        #expect(!lock.isCalibrated && lock.rules.nearDBm == ProximityRules.usualNearDBm)
        for metres in [Self.nearMetres, Self.edgeMetres, Self.nearMetres] {
            move(household, to: metres, forMilliseconds: 20_000)
        }
        #expect(walk.reports.first == .linked && walk.rssi == [-50, -83], "\(walk.rssi)")
        #expect(walk.reports.count > 550)
        #expect(throws: KeyLockRefusal.isCalibrating) { try begin(household) }
        household.call(household.pocket) { household.key?.endCalibration(lock.peer) }
        household.world.run(forMilliseconds: 60_000)
        #expect(household.openings.isEmpty && household.key?.status.locks.first?.connection == .disconnected)
        move(household, to: Self.edgeMetres, forMilliseconds: 60_000)
        move(household, to: Self.nearMetres, forMilliseconds: 10_000)
        #expect(household.openings.count == 1)
    }

    @Test("A lock's own thresholds open where the configuration's would not, at once and after a kill")
    func thresholds() throws {
        let household = try household()
        try household.call(household.pocket) {
            // -66 dBm at four and a half metres.
            let own = try #require(ProximityThresholds(nearDBm: -70, awayDBm: -80))
            #expect(try household.key?.setThresholds(own, of: nil) != nil)
        }
        for openings in 1...2 {
            move(household, to: Self.edgeMetres, forMilliseconds: 60_000)
            move(household, to: 4.5, forMilliseconds: 10_000)
            #expect(household.openings.count == openings)
            household.killKey()
            household.launchKey()
            household.world.run(forMilliseconds: 600_000)
        }
    }

    @Test("Out of the lock's range a walk is over in its time")
    func outOfRange() throws {
        let household = try household()
        move(household, to: 200, forMilliseconds: 60_000)
        let (_, walk) = try begin(household)
        household.world.run(forMilliseconds: 25_000)
        #expect(walk.reports == [.ended(.notConnected)])
    }
}
