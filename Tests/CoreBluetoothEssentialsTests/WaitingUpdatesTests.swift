import BluetoothCore
import BluetoothHost
import Testing

@testable import CoreBluetoothEssentials

@Suite("Updates that wait for room")
struct WaitingUpdatesTests {
    private static func central(_ number: UInt64) -> UpdateRecipient {
        .peer(PeerIdentifier(bits: UInt128(number)))
    }

    /// Each update is known by its value: the first for central 1, and so on; nil is for every subscriber.
    private static func waiting(_ recipients: [[UInt64]?]) -> WaitingUpdates {
        var waiting = WaitingUpdates()
        for (number, centrals) in recipients.enumerated() {
            waiting.append(
                ValueUpdate(
                    handle: AttributeHandle(3), value: [UInt8(number)], recipients: centrals?.map(central),
                    keepForAbsent: false))
        }
        return waiting
    }

    /// What goes while these centrals have no room, and what goes next when they have.
    private static func sent(_ recipients: [[UInt64]?], full: Set<UInt64>) -> (now: [UInt8], later: [UInt8]) {
        var waiting = waiting(recipients)
        let isFull = Set(full.map(central))
        var now: [UInt8] = []
        let count = waiting.send { update in
            let hasRoom = update.recipients.map(isFull.isDisjoint) ?? isFull.isEmpty
            if hasRoom { now += update.value }
            return hasRoom
        }
        #expect(count == now.count && waiting.count == recipients.count - now.count)
        var later: [UInt8] = []
        _ = waiting.send { update in
            later += update.value
            return true
        }
        #expect(waiting.isEmpty)
        return (now, later)
    }

    @Test("Attack: a central that has no room holds up what is for it, and nothing for the others")
    func overtaking() {
        #expect(Self.sent([[1], [2], [1], [2]], full: [1]) == (now: [1, 3], later: [0, 2]))
        #expect(Self.sent([[1], [2], [3]], full: []) == (now: [0, 1, 2], later: []))
    }

    @Test("each central gets its own in their order: what it shares with one that waits waits too")
    func order() {
        #expect(Self.sent([[1], [1, 2], [2], [3]], full: [1]) == (now: [3], later: [0, 1, 2]))
        #expect(Self.sent([[1], nil, [2]], full: [1]) == (now: [], later: [0, 1, 2]))
        #expect(Self.sent([nil, [2]], full: [1]) == (now: [], later: [0, 1]))
        #expect(Self.sent([nil, [1], [2]], full: []) == (now: [0, 1, 2], later: []))
    }

    @Test("what is taken back is counted")
    func takenBack() {
        var waiting = Self.waiting([[1], [2], nil])
        let count = waiting.removeAll { $0.value != [1] }
        #expect(count == 2 && waiting.count == 1)
    }
}
