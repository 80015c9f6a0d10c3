import Testing

@testable import LockPeripheral

@Suite("Updates that wait for room")
struct UpdateQueueTests {
    private let stalled = LockLink(rawValue: 1)
    private let quick = LockLink(rawValue: 2)

    @Test("Stalled listener: a stranger who takes nothing keeps no challenge and no receipt from anybody else")
    func stalledListener() {
        var queue = UpdateQueue<Int>()
        var sent: [Int] = []
        func send(_ update: Int, _ link: LockLink) -> Bool {
            guard link != stalled else { return false }
            sent.append(update)
            return true
        }
        for update in 0..<100 { queue.put(update, for: stalled, send: send) }
        queue.put(1_000, for: quick, send: send)
        queue.put(1_001, for: quick, send: send)
        #expect(sent == [1_000, 1_001])
        queue.drain(send: send)
        #expect(sent == [1_000, 1_001])
    }

    @Test("one link's updates keep their order, and the newest stay when there are too many")
    func order() {
        var queue = UpdateQueue<Int>()
        var room = 0
        var sent: [Int] = []
        func send(_ update: Int, _ link: LockLink) -> Bool {
            guard room > 0 else { return false }
            room -= 1
            sent.append(update)
            return true
        }
        let count = UpdateQueue<Int>.perLinkMaximum + 1
        for update in 0..<count { queue.put(update, for: quick, send: send) }
        room = 3
        queue.drain(send: send)
        #expect(sent == [1, 2, 3])
        // Room again, but what waits goes first.
        room = 1
        queue.put(count, for: quick, send: send)
        #expect(sent == [1, 2, 3])
        room = count
        queue.drain(send: send)
        #expect(sent == Array(1...count))
        queue.put(count + 1, for: quick, send: { _, _ in false })
        queue.drop(quick)
        queue.drain(send: send)
        #expect(sent == Array(1...count))
    }
}
