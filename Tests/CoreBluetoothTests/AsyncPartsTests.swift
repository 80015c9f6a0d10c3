import CoreBluetooth
import Testing

@testable import CoreBluetooth

@Suite("What awaited calls and sequences are made of")
struct AsyncPartsTests {
    private struct Late: Error {}

    @Test("of several ends the first counts, before it is waited for or after")
    func promises() async throws {
        let early = Promise<Int>()
        #expect(early.end(.success(1)))
        #expect(!early.end(.failure(Late())))
        #expect(early.isOver)
        #expect(try await early.value() == 1)
        let late = Promise<Int>()
        #expect(await failure { try await late.value(within: .milliseconds(1)) } as? BluetoothSessionError == .timedOut)
        #expect(!late.end(.success(1)), "the callback that comes then ends nothing")
        let cancelled = Promise<Int>()
        let task = Task { try await cancelled.value() }
        task.cancel()
        #expect(await failure { try await task.value } is CancellationError)
        #expect(!cancelled.end(.success(1)))
    }

    @Test("an inbox is bounded: it gives back what finds no room")
    func refusing() async {
        let inbox = Inbox<Int>(maximum: 2, .refused)
        #expect([1, 2, 3].map { inbox.put($0) } == [true, true, false])
        #expect(await [inbox.next(), inbox.next()] == [1, 2])
        #expect(inbox.put(4))
        #expect(await inbox.next() == 4)
    }

    @Test("or keeps the first and the newest")
    func replacing() async {
        let inbox = Inbox<Int>(maximum: 3, .replacesSecond)
        #expect((1...5).allSatisfy { inbox.put($0) })
        #expect(await [inbox.next(), inbox.next(), inbox.next()] == [1, 4, 5])
    }

    @Test("an element goes to somebody who still waits")
    func cancelledWaiter() async {
        let inbox = Inbox<Int>(maximum: 1, .refused)
        let cancelled = Task { await inbox.next() }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        async let waiting = inbox.next()
        #expect(inbox.put(1))
        #expect(await waiting == 1)
    }

    @Test("of calls with one callback one is under way, and one that nobody waits for is not begun")
    func lanes() async throws {
        final class Begun: Sendable {
            let numbers = Inbox<Int>(maximum: 8, .refused)
        }
        let begun = Begun()
        var lanes = CallLanes<String>()
        var effects = Effects()
        let promises = (0..<4).map { _ in Promise<Answer>() }
        for number in 0..<3 { lanes.add(promises[number], to: "read") { begun.numbers.put(number) } }
        lanes.add(promises[3], to: "write") { begun.numbers.put(3) }
        #expect(await [begun.numbers.next(), begun.numbers.next()] == [0, 3])
        promises[1].end(.failure(CancellationError()))
        lanes.end("read", .success(.strength(1)), &effects)
        #expect(await begun.numbers.next() == 2)
        lanes.fail(Late(), &effects)
        // Nobody asked.
        lanes.end("read", .success(.done), &effects)
        effects.run()
        guard case .strength(1) = try await promises[0].value() else {
            Issue.record("another answer")
            return
        }
        #expect(await failure { try await promises[2].value() } is Late)
        #expect(await failure { try await promises[3].value() } is Late)
    }
}
