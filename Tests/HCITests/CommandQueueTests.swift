import BluetoothCore
import TestSupport
import Testing

@testable import HCI

private let start = Instant(nanoseconds: 1_000_000_000)
private let tooLate = start.advanced(byMilliseconds: CommandQueue.answerTimeoutMilliseconds)

/// A queue and everything it put out, as text that reads like a transcript.
private struct Bench {
    var queue = CommandQueue()
    var now = start
    private(set) var log: [String] = []

    mutating func submit(_ command: some HCICommand, _ token: UInt64) {
        with { queue, now, outputs in queue.submit(command, token: token, now: now, into: &outputs) }
    }

    mutating func complete(_ opcode: HCIOpcode, allow: UInt8 = 1, _ parameters: [UInt8] = [0]) {
        let event = HCICommandComplete(numHCICommandPackets: allow, opcode: opcode, returnParameters: parameters)
        with { queue, now, outputs in queue.receive(event, now: now, into: &outputs) }
    }

    mutating func status(_ opcode: HCIOpcode, _ status: HCIErrorCode = .success, allow: UInt8 = 1) {
        let event = HCICommandStatus(status: status, numHCICommandPackets: allow, opcode: opcode)
        with { queue, now, outputs in queue.receive(event, now: now, into: &outputs) }
    }

    mutating func withdraw(_ tokens: Set<UInt64>) {
        with { queue, now, outputs in queue.withdraw(tokens, now: now, into: &outputs) }
    }

    mutating func fireTimer(at instant: Instant) {
        now = instant
        with { queue, now, outputs in queue.timerFired(now: now, into: &outputs) }
    }

    /// What was put out since the last call.
    mutating func take() -> [String] {
        defer { log = [] }
        return log
    }

    private mutating func with(_ body: (inout CommandQueue, Instant, inout [CommandQueueOutput]) -> Void) {
        var outputs: [CommandQueueOutput] = []
        body(&queue, now, &outputs)
        log += outputs.map { output in
            switch output {
            case .send(let packet): "send \(HexText.encode(packet))"
            case .completed(let completion): "\(completion.token) \(completion.outcome)"
            case .fault(let fault): "fault \(fault)"
            }
        }
    }
}

private let reset = HCIReset.opcode
private let rand = HCILERand.opcode
private let address = HCIReadBDADDR.opcode

@Suite("Vol 4, Part E, 4.4: command flow control")
struct CommandQueueTests {
    @Test("one command at first, the next when the controller has answered")
    func oneAtATime() {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        bench.submit(HCILERand(), 2)
        #expect(bench.take() == ["send 01091000"])
        bench.complete(address, [0, 1, 2, 3, 4, 5, 6])
        #expect(bench.take() == ["1 returned([0, 1, 2, 3, 4, 5, 6])", "send 01182000"])
        bench.status(rand, .unknownHCICommand)
        #expect(bench.take() == ["2 status(unknown HCI command (0x01))"])
        #expect(bench.queue.deadline == nil)
    }

    @Test("an allowance of three is used, and what is pending counts against the next one")
    func allowance() {
        var bench = Bench()
        bench.complete(.none, allow: 3, [])
        bench.submit(HCIReadBDADDR(), 1)
        bench.submit(HCILERand(), 2)
        bench.submit(HCIReadLocalVersionInformation(), 3)
        bench.submit(HCIReadBufferSize(), 4)
        #expect(bench.take() == ["send 01091000", "send 01182000", "send 01011000"])
        bench.complete(rand, allow: 2, [0])
        #expect(bench.take() == ["2 returned([0])"])
        bench.complete(address, allow: 2, [0])
        #expect(bench.take() == ["1 returned([0])", "send 01051000"])
    }

    @Test("an allowance of nought holds everything until an event for no command lifts it")
    func nop() {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        bench.complete(address, allow: 0)
        bench.submit(HCILERand(), 2)
        #expect(bench.take() == ["send 01091000", "1 returned([0])"])
        bench.status(.none, allow: 1)
        #expect(bench.take() == ["send 01182000"])
    }

    @Test("two commands of one opcode are never pending together, and keep their order")
    func sameOpcode() {
        var bench = Bench()
        bench.complete(.none, allow: 9, [])
        bench.submit(HCILERand(), 1)
        bench.submit(HCILERand(), 2)
        #expect(bench.take() == ["send 01182000"])
        bench.complete(rand, allow: 9, [0, 1])
        bench.complete(rand, allow: 9, [0, 2])
        #expect(bench.take() == ["1 returned([0, 1])", "send 01182000", "2 returned([0, 2])"])
    }

    @Test("a command that is not answered in time ends everything until a reset, and not a nanosecond earlier")
    func timeout() {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        bench.submit(HCILERand(), 2)
        _ = bench.take()
        #expect(bench.queue.deadline == tooLate)
        bench.fireTimer(at: Instant(nanoseconds: tooLate.nanoseconds - 1))
        #expect(bench.take() == [])
        bench.fireTimer(at: tooLate)
        #expect(bench.take() == ["1 timedOut", "2 abandoned", "fault unresponsive(0x1009)"])
        #expect(bench.queue.deadline == nil)
        bench.submit(HCILERand(), 3)
        bench.complete(address)
        #expect(bench.take() == ["3 abandoned", "fault unexpectedAnswer(0x1009)"])
        bench.submit(HCIReset(), 4)
        bench.submit(HCILERand(), 5)
        bench.complete(reset)
        #expect(bench.take() == ["send 01030C00", "4 returned([0])", "send 01182000"])
    }

    @Test("a controller that never allows the next command is unresponsive too")
    func starvation() {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        bench.complete(address, allow: 0)
        #expect(bench.queue.deadline == nil)
        bench.submit(HCILERand(), 2)
        #expect(bench.queue.deadline == tooLate)
        bench.submit(HCILERand(), 3)
        #expect(bench.queue.deadline == tooLate)
        _ = bench.take()
        bench.fireTimer(at: tooLate)
        #expect(bench.take() == ["2 abandoned", "3 abandoned", "fault unresponsive(0x0000)"])
    }

    @Test("7.3.2: a reset overtakes what is pending and queued, holds what comes after it, ignores late answers")
    func resetBarrier() {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        bench.submit(HCILERand(), 2)
        bench.submit(HCIReset(), 3)
        bench.submit(HCIReadBufferSize(), 4)
        #expect(bench.take() == ["send 01091000", "1 abandoned", "2 abandoned", "send 01030C00"])
        bench.complete(address)
        #expect(bench.take() == [])
        bench.complete(reset)
        #expect(bench.take() == ["3 returned([0])", "send 01051000"])
    }

    @Test("a reset that is not answered fails, and the next one may succeed")
    func resetTimeout() {
        var bench = Bench()
        bench.submit(HCIReset(), 1)
        bench.submit(HCILERand(), 2)
        bench.fireTimer(at: tooLate)
        #expect(bench.take() == ["send 01030C00", "1 timedOut", "2 abandoned", "fault unresponsive(0x0C03)"])
        bench.submit(HCIReset(), 3)
        bench.complete(reset)
        #expect(bench.take() == ["send 01030C00", "3 returned([0])"])
    }

    @Test("one command more than the queue holds is refused, and only that one")
    func bound() {
        var bench = Bench()
        for token in 0...UInt64(CommandQueue.maximumQueuedCommands) { bench.submit(HCILERand(), token) }
        #expect(bench.take() == ["send 01182000"])
        bench.submit(HCILERand(), 99)
        #expect(bench.take() == ["99 queueFull"])
    }

    @Test("what is withdrawn before its turn is not sent, and what it stood in the way of is")
    func withdrawn() {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        bench.complete(address, allow: 2)
        bench.submit(HCILERand(), 2)
        for token: UInt64 in [3, 4] { bench.submit(HCILERand(), token) }
        bench.submit(HCIReadBDADDR(), 5)
        #expect(bench.take() == ["send 01091000", "1 returned([0])", "send 01182000"])
        bench.withdraw([2, 3, 4, 7])
        #expect(bench.take() == ["3 abandoned", "4 abandoned", "send 01091000"])
        bench.complete(rand)
        #expect(bench.take() == ["2 returned([0])"])
    }

    @Test("a command that is withdrawn starves no more")
    func withdrawnStarving() {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        bench.complete(address, allow: 0)
        bench.submit(HCILERand(), 2)
        #expect(bench.queue.deadline == tooLate)
        bench.withdraw([2])
        #expect(bench.queue.deadline == nil)
    }

    /// What each input does in each state. `running` has Read BD_ADDR (token 1) pending.
    private static let table: [(state: String, input: String, outputs: [String])] = [
        ("running", "submit", []),
        ("running", "reset", ["1 abandoned", "send 01030C00"]),
        ("running", "answer", ["1 returned([0])"]),
        ("running", "answer to nothing", ["fault unexpectedAnswer(0x2018)"]),
        ("running", "answer to reset", ["fault unexpectedAnswer(0x0C03)"]),
        ("running", "nop", []),
        ("running", "withdrawal", ["8 abandoned"]),
        ("running", "timer", ["1 timedOut", "fault unresponsive(0x1009)"]),
        ("resetting", "submit", []),
        ("resetting", "reset", ["2 abandoned", "send 01030C00"]),
        ("resetting", "answer", []),
        ("resetting", "answer to nothing", []),
        ("resetting", "answer to reset", ["2 returned([0])"]),
        ("resetting", "nop", []),
        ("resetting", "withdrawal", ["8 abandoned"]),
        ("resetting", "timer", ["2 timedOut", "fault unresponsive(0x0C03)"]),
        ("unresponsive", "submit", ["9 abandoned"]),
        ("unresponsive", "reset", ["send 01030C00"]),
        ("unresponsive", "answer", ["fault unexpectedAnswer(0x1009)"]),
        ("unresponsive", "answer to nothing", ["fault unexpectedAnswer(0x2018)"]),
        ("unresponsive", "answer to reset", ["fault unexpectedAnswer(0x0C03)"]),
        ("unresponsive", "withdrawal", []),
        ("unresponsive", "nop", ["fault unexpectedAnswer(0x0000)"]),
        ("unresponsive", "timer", []),
    ]

    @Test("every input in every state", arguments: table)
    func stateTimesInput(_ row: (state: String, input: String, outputs: [String])) {
        var bench = Bench()
        bench.submit(HCIReadBDADDR(), 1)
        if row.state != "running" { bench.submit(HCIReset(), 2) }
        if row.state == "unresponsive" { bench.fireTimer(at: tooLate) }
        if row.input == "withdrawal" { bench.submit(HCILERand(), 8) }
        _ = bench.take()
        switch row.input {
        case "withdrawal": bench.withdraw([1, 8])
        case "submit": bench.submit(HCILEReadBufferSize(), 9)
        case "reset": bench.submit(HCIReset(), 9)
        case "answer": bench.complete(address)
        case "answer to nothing": bench.complete(rand)
        case "answer to reset": bench.complete(reset)
        case "nop": bench.complete(.none, [])
        case "timer": bench.fireTimer(at: tooLate)
        default: Issue.record("no such input")
        }
        #expect(bench.take() == row.outputs)
    }

    @Test("any order of answers and allowances: never more outstanding than allowed, one completion for each token")
    func property() {
        var random = SeededGenerator(announcedBy: "CommandQueueTests")
        for _ in 0..<200 {
            var queue = CommandQueue()
            var outstanding: [HCIOpcode] = []
            var allowed = 1
            var seen: Set<UInt64> = []
            var submitted: UInt64 = 0
            func note(_ outputs: [CommandQueueOutput]) {
                for output in outputs {
                    switch output {
                    case .send(let packet):
                        outstanding.append(HCIOpcode(UInt16(packet[1]) | UInt16(packet[2]) << 8))
                        #expect(outstanding.count <= allowed, "seed \(random.seed)")
                    case .completed(let completion):
                        #expect(seen.insert(completion.token).inserted, "seed \(random.seed)")
                    case .fault(let fault): Issue.record("\(fault), seed \(random.seed)")
                    }
                }
            }
            for _ in 0..<60 {
                var outputs: [CommandQueueOutput] = []
                if Bool.random(using: &random), submitted < 40 {
                    submitted += 1
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: queue.submit(HCILERand(), token: submitted, now: start, into: &outputs)
                    case 1: queue.submit(HCIReadBDADDR(), token: submitted, now: start, into: &outputs)
                    default: queue.submit(HCIReadBufferSize(), token: submitted, now: start, into: &outputs)
                    }
                } else if !outstanding.isEmpty {
                    let opcode = outstanding.remove(at: Int.random(in: 0..<outstanding.count, using: &random))
                    allowed = Int.random(in: 1...3, using: &random)
                    let event = HCICommandComplete(
                        numHCICommandPackets: UInt8(allowed), opcode: opcode, returnParameters: [0])
                    allowed = max(allowed, outstanding.count)
                    queue.receive(event, now: start, into: &outputs)
                }
                note(outputs)
            }
            while !outstanding.isEmpty {
                var outputs: [CommandQueueOutput] = []
                allowed = 1
                let event = HCICommandComplete(
                    numHCICommandPackets: 1, opcode: outstanding.removeFirst(), returnParameters: [0])
                allowed = max(1, outstanding.count)
                queue.receive(event, now: start, into: &outputs)
                note(outputs)
            }
            #expect(seen.count == Int(submitted), "seed \(random.seed)")
        }
    }

    @Test("what a completion holds: values, a refusal, an answer too short, none")
    func results() throws {
        func completion(_ outcome: HCICommandCompletion.Outcome) -> HCICommandCompletion {
            HCICommandCompletion(token: 1, opcode: rand, outcome: outcome)
        }
        let good = completion(.returned([0, 1, 0, 0, 0, 0, 0, 0, 0]))
        #expect(try good.returnParameters(of: HCILERand.self).random == 1)
        #expect(good.status == .success)
        #expect(throws: HCICommandFailure.status(.commandDisallowed)) {
            try completion(.returned([0x0C])).returnParameters(of: HCILERand.self)
        }
        #expect(throws: HCICommandFailure.status(.unknownHCICommand)) {
            try completion(.status(.unknownHCICommand)).returnParameters(of: HCILERand.self)
        }
        #expect(throws: HCICommandFailure.malformed(.truncated(needed: 8, available: 2))) {
            try completion(.returned([0, 1, 2])).returnParameters(of: HCILERand.self)
        }
        for outcome in [HCICommandCompletion.Outcome.timedOut, .abandoned, .queueFull] {
            #expect(throws: HCICommandFailure.noAnswer) {
                try completion(outcome).returnParameters(of: HCILERand.self)
            }
            #expect(completion(outcome).status == nil)
        }
    }
}
