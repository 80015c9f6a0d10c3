import BluetoothCore
import Testing

@testable import HCITransport

private let absent = TransportError(.notFound, "unix:x: no such socket")
private let refused = TransportError(.refused, "unix:x: nobody listens there")

private func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

extension TransportRecovery {
    fileprivate mutating func given(_ input: Input, at milliseconds: UInt64) -> [Output] {
        var outputs: [Output] = []
        handle(input, now: HCITransportTests.at(milliseconds), into: &outputs)
        return outputs
    }
}

@Suite("A transport that breaks is opened again")
struct TransportRecoveryTests {
    private static func machine(canReopen: Bool = true) -> TransportRecovery {
        TransportRecovery(name: "unix:x", canReopen: canReopen)
    }

    /// A machine in each of its states, reached at instant 0; what waits, waits for 100 ms or 5 s.
    static let states: [(String, TransportRecovery)] = {
        let opening = machine()
        var connecting = machine()
        _ = connecting.given(.connecting, at: 0)
        var open = machine()
        _ = open.given(.opened, at: 0)
        var waiting = machine()
        _ = waiting.given(.failed(absent), at: 0)
        var ended = machine(canReopen: false)
        _ = ended.given(.failed(absent), at: 0)
        return [
            ("opening", opening), ("connecting", connecting), ("open", open), ("waiting", waiting), ("ended", ended),
        ]
    }()

    static let inputs: [(String, TransportRecovery.Input)] = [
        ("connecting", .connecting), ("opened", .opened), ("failed", .failed(refused)),
        ("broke", .broke(reason: "gone")), ("timer", .timerFired),
    ]

    private static let late = TransportError(
        .timedOut, "unix:x: no answer within 5 s; is the controller's host up?")

    /// At 5 s, when every wait is over. What is not named changes nothing and says nothing.
    static let table: [String: ([TransportRecovery.Output], TransportRecovery.State)] = [
        "opening, connecting": ([], .connecting(until: at(10_000))),
        "opening, opened": ([.hostOpened], .open(since: at(5_000))),
        "opening, failed": (
            [.say(.unavailable(refused, retryMilliseconds: 100))], .waiting(until: at(5_100))
        ),
        "connecting, opened": ([.hostOpened], .open(since: at(5_000))),
        "connecting, failed": (
            [.close, .say(.unavailable(refused, retryMilliseconds: 100))], .waiting(until: at(5_100))
        ),
        "connecting, timer": (
            [.close, .say(.unavailable(late, retryMilliseconds: 100))], .waiting(until: at(5_100))
        ),
        "open, broke": (
            [.close, .hostClosed, .say(.lost(reason: "gone", retryMilliseconds: 100))], .waiting(until: at(5_100))
        ),
        "waiting, timer": ([.open], .opening),
    ]

    @Test("every input in every state of a transport", arguments: states.map(\.0), inputs.map(\.0))
    func transition(_ state: String, _ input: String) throws {
        var machine = try #require(Self.states.first { $0.0 == state }).1
        let before = machine.state
        let given = try #require(Self.inputs.first { $0.0 == input }).1
        let outputs = machine.given(given, at: 5_000)
        let expected = Self.table["\(state), \(input)"] ?? ([], before)
        #expect(outputs == expected.0)
        #expect(machine.state == expected.1)
    }

    @Test("the table names no transition that there is not")
    func tableIsWhole() {
        let all = Self.states.flatMap { state in Self.inputs.map { "\(state.0), \($0.0)" } }
        #expect(Set(Self.table.keys).isSubset(of: all))
    }

    @Test("attempts follow each other at intervals that double, up to 5 s")
    func backOff() {
        var machine = Self.machine()
        var now: UInt64 = 0
        var delays: [UInt64] = []
        for _ in 0..<100 {
            _ = machine.given(.failed(absent), at: now)
            guard case .waiting(let until) = machine.state else { return }
            delays.append(until.milliseconds(since: at(now)))
            #expect(machine.deadline == until)
            // One millisecond too early is too early.
            #expect(machine.given(.timerFired, at: now + delays[delays.count - 1] - 1) == [])
            now += delays[delays.count - 1]
            #expect(machine.given(.timerFired, at: now) == [.open])
        }
        #expect(delays.prefix(8) == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
        #expect(delays.last == 5_000)
    }

    @Test("a transport that opens and breaks at once is not opened as often as it likes", arguments: [29_999, 30_000])
    func flapping(_ lasting: UInt64) {
        var machine = Self.machine()
        _ = machine.given(.opened, at: 0)
        _ = machine.given(.broke(reason: "gone"), at: 0)
        _ = machine.given(.timerFired, at: 100)
        #expect(machine.given(.opened, at: 100) == [.say(.found), .hostOpened])
        let outputs = machine.given(.broke(reason: "gone"), at: 100 + lasting)
        let delay: UInt64 = lasting < 30_000 ? 200 : 100
        #expect(outputs.last == .say(.lost(reason: "gone", retryMilliseconds: delay)))
    }

    @Test("the same failure is said once, another one again, and the same again after it was open")
    func saidOnce() {
        var machine = Self.machine()
        func said(_ outputs: [TransportRecovery.Output]) -> Int {
            outputs.count { if case .say = $0 { true } else { false } }
        }
        #expect(said(machine.given(.failed(absent), at: 0)) == 1)
        _ = machine.given(.timerFired, at: 100)
        #expect(said(machine.given(.failed(absent), at: 100)) == 0)
        _ = machine.given(.timerFired, at: 300)
        #expect(said(machine.given(.failed(refused), at: 300)) == 1)
        _ = machine.given(.timerFired, at: 700)
        #expect(machine.given(.opened, at: 700) == [.say(.found), .hostOpened])
        _ = machine.given(.broke(reason: "gone"), at: 700)
        _ = machine.given(.timerFired, at: 10_000)
        #expect(said(machine.given(.failed(refused), at: 10_000)) == 1)
    }

    @Test("an inherited descriptor that broke is the end, which says what to do")
    func inherited() {
        var machine = TransportRecovery(name: "fd:3", canReopen: false)
        #expect(machine.given(.opened, at: 0) == [.hostOpened])
        let outputs = machine.given(.broke(reason: "the controller is gone"), at: 1)
        #expect(outputs.prefix(2) == [.close, .hostClosed])
        guard case .end(let error) = outputs.last else {
            Issue.record("\(outputs)")
            return
        }
        #expect(error.description.hasPrefix("fd:3: the controller is gone; "))
        #expect(error.description.contains("start this anew"))
        #expect(machine.deadline == nil)
    }
}
