import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockPeripheral
import LockProtocol
import SecurityManager
import Simulation
import Testing
import WorldSupport

@testable import LockCentral

/// An operator enrols a key anew while the key has a link to that lock for something else. The enrolment has a link of its
/// own, and nobody else acts on it.
@Suite("An enrolment while the key's machine has a link", .capturesFailures)
struct EnrolmentOverMeasuringTests {
    enum State: CaseIterable {
        /// A link to measure on is asked for.
        case pending
        /// In clear, for a command.
        case clear
        case encrypting
        /// Encrypted, for a command.
        case encrypted
        case measuring
        /// For so long that its end falls into the pairing.
        case lateMeasuring
    }

    /// -83 dBm: the edge of the range.
    private static let edgeMetres = 20.0

    private func household() throws -> Household {
        let household = try Household(unlocksWhenNear: true)
        try household.enrollToTheEnd("alice")
        try household.openWindow("alice")
        return household
    }

    private func slot(_ household: Household) -> KeyMachine.LockSlot? { household.key?.machine.locks.values.first }

    private func isIn(_ state: State, _ household: Household) -> Bool {
        guard let slot = slot(household) else { return false }
        switch (state, slot.link) {
        case (.pending, .none): return slot.isLinkAskedToMeasure
        case (.clear, .clear), (.encrypting, .encrypting), (.encrypted, .encrypted): return true
        case (.measuring, .encrypted): if case .measuring = slot.nearness.activity { return true } else { return false }
        case (.lateMeasuring, .encrypted):
            guard case .measuring(let measurement) = slot.nearness.activity else { return false }
            return household.world.now.milliseconds(since: measurement.began) >= 1_000
        default: return false
        }
    }

    private func bring(_ household: Household, to state: State) throws {
        switch state {
        case .pending, .encrypting, .measuring, .lateMeasuring:
            household.world.setDistance(household.door, household.pocket, metres: Self.edgeMetres)
        case .clear: household.ask(.lock, waitMilliseconds: 60_000)
        case .encrypted:
            // Without a challenge in clear the key encrypts.
            household.door.wire.loses = { $0.count == 20 && $0[0] == 2 && $0[7...9] == [4, 0, 0x1B] }
            household.ask(.lock, waitMilliseconds: 60_000)
        }
        try #require(household.world.run(forMilliseconds: 60_000) { isIn(state, household) })
        household.door.wire.loses = { _ in false }
    }

    @Test("In each state of that link the key is enrolled, and then it is obeyed", arguments: State.allCases)
    func everyState(_ state: State) throws {
        let household = try household()
        try bring(household, to: state)
        let old = household.pocket.host?.bonds.map(\.id)
        let links = household.links.count
        try household.enroll()
        #expect(household.world.run(forMilliseconds: 60_000) { household.isEnrolled || household.failure != nil })
        #expect(household.isEnrolled, "\(String(describing: household.failure))")
        #expect(household.pocket.host?.bonds.count == 1 && household.pocket.host?.bonds.map(\.id) != old)
        // One to pair on, and one to come back on.
        #expect(household.links.count == links + 2, "the link that was there is not the pairing's")
        if state == .clear || state == .encrypted {
            #expect(household.world.run(forMilliseconds: 60_000) { household.commandEnd != nil })
            switch household.commandEnd {
            case .accepted, .outcome, .ended(.accepted), .ended(.done): break
            default: Issue.record("\(String(describing: household.commandEnd))")
            }
            household.world.run(forMilliseconds: 10_000)
        }
        #expect(household.isObeyed())
        #expect(household.openings.isEmpty)
    }

    @Test("While the key is paired, what its machine still wants of the lock does not reach the pairing's link")
    func machineIsBlind() throws {
        for state in [State.clear, .encrypting, .encrypted, .measuring] {
            let household = try household()
            try bring(household, to: state)
            try household.enroll()
            #expect(slot(household)?.link.open == nil, "\(state)")
            #expect(household.world.run(forMilliseconds: 30_000) { household.isPaired }, "\(state)")
            #expect(slot(household)?.link.open == nil, "\(state)")
        }
    }

    @Test("A command whose time is over while an enrolment waits for the lock does not end the enrolment")
    func commandEnds() throws {
        let household = try household()
        household.world.cut(household.door, household.pocket)
        household.ask(.lock, waitMilliseconds: 3_000)
        try household.enroll()
        household.world.run(forMilliseconds: 10_000)
        guard case .ended(.expired) = household.commandEnd else {
            Issue.record("\(String(describing: household.commandEnd))")
            return
        }
        household.world.join(household.door, household.pocket)
        #expect(household.world.run(forMilliseconds: 30_000) { household.isEnrolled })
        #expect(household.failure == nil)
    }

    @Test("A command waits while the key is paired; when the pairing fails, it goes on")
    func pairingFails() throws {
        let household = try household()
        household.call(household.door) { household.lock?.cancelEnrolment() }
        household.world.cut(household.door, household.pocket)
        household.ask(.lock, waitMilliseconds: 60_000)
        try household.enroll()
        household.world.join(household.door, household.pocket)
        #expect(household.world.run(forMilliseconds: 50_000) { household.failure != nil })
        #expect(household.world.run(forMilliseconds: 10_000) { household.commandEnd != nil })
        switch household.commandEnd {
        case .accepted, .outcome, .ended(.accepted), .ended(.done): break
        default: Issue.record("\(String(describing: household.commandEnd))")
        }
    }
}
