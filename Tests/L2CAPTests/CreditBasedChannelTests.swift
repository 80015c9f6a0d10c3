import BluetoothCore
import Testing

@testable import L2CAP

private let start = Instant(nanoseconds: 5)
private let spsm = SPSM(rawValue: 0x80)
private let own = CreditBasedChannel.ownParameters
private let ownHex = "0008" + "F700" + "4200"

/// One end of a link, with its other end played by a test.
struct ChannelBench {
    var link = LELogicalLink(role: .central)
    var now = start

    mutating func receive(
        _ hex: String, security: ChannelSecurity = .open, requirement: ChannelRequirement? = .open
    ) throws -> [LELogicalLinkOutput] {
        var outputs: [LELogicalLinkOutput] = []
        link.receive(
            signal: try #require(HexText.decode(hex)), security: security,
            requirement: { $0 == spsm ? requirement : nil }, now: now, into: &outputs)
        return outputs
    }

    mutating func receive(frame: [UInt8], on cid: UInt16 = 0x40) -> [LELogicalLinkOutput] {
        var outputs: [LELogicalLinkOutput] = []
        link.receive(frame: frame, on: ChannelIdentifier(rawValue: cid), now: now, into: &outputs)
        return outputs
    }

    mutating func perform(_ body: (inout LELogicalLink, inout [LELogicalLinkOutput]) -> Void) -> [LELogicalLinkOutput] {
        var outputs: [LELogicalLinkOutput] = []
        body(&link, &outputs)
        return outputs
    }

    mutating func open() throws -> [LELogicalLinkOutput] {
        var outputs: [LELogicalLinkOutput] = []
        _ = try link.open(spsm, now: now, into: &outputs)
        return outputs
    }

    mutating func close(_ number: UInt64 = 1) -> [LELogicalLinkOutput] {
        perform { [now] in $0.close(ChannelNumber(rawValue: number), now: now, into: &$1) }
    }

    mutating func frames() -> [BasicFrame] {
        var frames: [BasicFrame] = []
        var outputs: [LELogicalLinkOutput] = []
        while let frame = link.nextFrame(now: now, into: &outputs) { frames.append(frame) }
        return frames
    }
}

private func signal(_ hex: String) -> LELogicalLinkOutput { .signal(HexText.decode(hex) ?? []) }

private let first = ChannelNumber(rawValue: 1)

@Suite("Vol 3, Part A, 4.22-4.24, 10.1: the state of a credit-based channel")
struct CreditBasedChannelTests {
    enum State: CaseIterable { case opening, abandoned, open, draining, closing, gone }

    /// The peer's end is 0x50, ours 0x40; the peer gave one credit.
    static func bench(in state: State) throws -> ChannelBench {
        var bench = ChannelBench()
        #expect(try bench.open() == [signal("14010A00" + "8000" + "4000" + ownHex)])
        switch state {
        case .opening: break
        case .abandoned: #expect(bench.close() == [.closed(first, .local)])
        case .open, .draining, .closing, .gone:
            #expect(try bench.receive("15010A00" + "5000" + "4000" + "1700" + "0100" + "0000") == [.opened(first)])
        }
        switch state {
        case .opening, .abandoned, .open: break
        case .draining:
            try bench.link.send([UInt8](repeating: 1, count: 40), on: first)
            #expect(bench.close() == [.closed(first, .local)])
        case .closing, .gone:
            #expect(bench.close() == [.closed(first, .local), signal("06020400" + "50004000")])
        }
        if case .gone = state {
            #expect(try bench.receive("07020400" + "50004000") == [])
            #expect(bench.link.channels.count == 0)
        }
        return bench
    }

    enum Input: CaseIterable {
        case accepted, refused, unacceptable, noEnd, rejected
        case credit, zeroCredit, tooManyCredits
        case disconnect, disconnectWrongSource, disconnected, disconnectedWrongly
        case frame, wrongFrame, oversizedFrame
        case send, consume, close, timeout, linkLost
    }

    private static func apply(_ input: Input, to bench: inout ChannelBench) throws -> [LELogicalLinkOutput] {
        switch input {
        case .accepted: return try bench.receive("15010A00" + "5000" + "4000" + "1700" + "0100" + "0000")
        case .refused: return try bench.receive("15010A00" + "00000000000000000200")
        case .unacceptable: return try bench.receive("15010A00" + "5000" + "1600" + "1700" + "0100" + "0000")
        case .noEnd: return try bench.receive("15010A00" + "3F00" + "4000" + "1700" + "0100" + "0000")
        case .rejected:
            let opening = try bench.receive("010102000000")
            return try opening + bench.receive("010206000200" + "50004000")
        case .credit: return try bench.receive("16090400" + "5000" + "0100")
        case .zeroCredit: return try bench.receive("16090400" + "5000" + "0000")
        case .tooManyCredits: return try bench.receive("16090400" + "5000" + "FFFF")
        case .disconnect: return try bench.receive("06090400" + "40005000")
        case .disconnectWrongSource: return try bench.receive("06090400" + "40005100")
        case .disconnected: return try bench.receive("07020400" + "50004000")
        case .disconnectedWrongly:
            return try bench.receive("07020400" + "51004000") + bench.receive("07020400" + "50004100")
                + bench.receive("07030400" + "50004000")
        case .frame: return bench.receive(frame: [1, 0, 7])
        case .wrongFrame: return bench.receive(frame: [1, 0, 7, 7])
        case .oversizedFrame:
            return bench.perform { $0.receivedOversizedFrame(on: .init(rawValue: 0x40), now: start, into: &$1) }
        case .send:
            do {
                try bench.link.send([1], on: first)
                return []
            } catch { return [.closed(first, .refused(.init(rawValue: 0xFFFF)))] }
        case .consume: return bench.perform { $0.consume(1, of: first, into: &$1) }
        case .close: return bench.close()
        case .timeout:
            bench.now = start.advanced(byMilliseconds: 30_000)
            return bench.perform { [now = bench.now] in $0.timerFired(now: now, into: &$1) }
        case .linkLost: return bench.perform { $0.linkLost(into: &$1) }
        }
    }

    @Test("A channel that was refused is asked for once more under its number, with a request of its own")
    func again() throws {
        var bench = try Self.bench(in: .opening)
        #expect(
            try bench.receive("15010A00" + "00000000000000000800")
                == [.closed(first, .refused(.insufficientEncryption))])
        var outputs: [LELogicalLinkOutput] = []
        #expect(try bench.link.open(spsm, again: first, now: bench.now, into: &outputs) == first)
        #expect(outputs == [signal("14020A00" + "8000" + "4100" + ownHex)])
        #expect(try bench.receive("15020A00" + "5000" + "4000" + "1700" + "0100" + "0000") == [.opened(first)])
        // The next one is another.
        #expect(try bench.link.open(spsm, now: bench.now, into: &outputs) == ChannelNumber(rawValue: 2))
    }

    private static let disconnection = signal("06020400" + "50004000")
    private static let notOpen = LELogicalLinkOutput.closed(first, .refused(.init(rawValue: 0xFFFF)))
    private static func violation(_ violation: ChannelViolation) -> [LELogicalLinkOutput] {
        [.closed(first, .violation(violation)), disconnection]
    }

    /// What each input leads to in each state, and whether the channel is there after it; what is not here does nothing.
    private static let table: [State: [Input: (outputs: [LELogicalLinkOutput], stays: Bool)]] = [
        .opening: [
            .accepted: ([.opened(first)], true),
            .refused: ([.closed(first, .refused(.spsmNotSupported))], false),
            .unacceptable: (violation(.unacceptableParameters), true),
            .noEnd: ([.closed(first, .violation(.unacceptableParameters))], false),
            .rejected: ([.closed(first, .notUnderstood)], false),
            .send: ([notOpen], true),
            .close: ([.closed(first, .local)], true),
            .timeout: ([.closed(first, .timedOut)], false),
            .linkLost: ([.closed(first, .linkLost)], false),
        ],
        .abandoned: [
            .accepted: ([disconnection], true),
            .refused: ([], false),
            .unacceptable: ([disconnection], true),
            .noEnd: ([], false),
            .rejected: ([], false),
            .send: ([notOpen], true),
            .timeout: ([], false),
            .linkLost: ([], false),
        ],
        .open: [
            .tooManyCredits: (violation(.tooManyCredits), true),
            .disconnect: ([signal("07090400" + "40005000"), .closed(first, .peer)], false),
            .frame: ([.received(first, [7])], true),
            .wrongFrame: (violation(.excessOctets), true),
            .oversizedFrame: (violation(.frameTooLong), true),
            .close: ([.closed(first, .local), disconnection], true),
            .linkLost: ([.closed(first, .linkLost)], false),
        ],
        .draining: [
            .tooManyCredits: ([disconnection], true),
            .disconnect: ([signal("07090400" + "40005000")], false),
            .send: ([notOpen], true),
            .timeout: ([disconnection], true),
            .linkLost: ([], false),
        ],
        .closing: [
            .rejected: ([], false),
            .disconnect: ([signal("07090400" + "40005000")], false),
            .disconnected: ([], false),
            .send: ([notOpen], true),
            .timeout: ([], false),
            .linkLost: ([], false),
        ],
        .gone: [
            .disconnect: ([signal("01090600" + "0200" + "40005000")], false),
            .disconnectWrongSource: ([signal("01090600" + "0200" + "40005100")], false),
            .send: ([notOpen], false),
        ],
    ]

    @Test("every input in every state of a credit-based channel", arguments: State.allCases, Input.allCases)
    func stateTimesInput(_ state: State, _ input: Input) throws {
        var bench = try Self.bench(in: state)
        let expected = Self.table[state]?[input] ?? ([], state != .gone)
        #expect(try Self.apply(input, to: &bench) == expected.outputs)
        #expect(bench.link.channels.count == (expected.stays ? 1 : 0))
    }

    @Test("10.1: a frame that no credit allows disconnects the channel, and nothing of it is read any more")
    func frameWithoutCredit() throws {
        var bench = try Self.bench(in: .open)
        for _ in 0..<own.initialCredits {
            // The app is done with none of it: no credit comes back.
            #expect(bench.receive(frame: [0xF7, 0] + [UInt8](repeating: 3, count: 247)).count == 1)
        }
        #expect(bench.receive(frame: [1, 0, 1]) == Self.violation(.frameWithoutCredit))
        #expect(bench.receive(frame: [1, 0, 1]) == [])
    }

    @Test("10.1: without credit nothing is sent; with each credit one frame of the peer's MPS")
    func sendsByCredit() throws {
        var bench = try Self.bench(in: .open)
        let sdu = [UInt8](0..<40)
        try bench.link.send(sdu, on: first)
        let cid = ChannelIdentifier(rawValue: 0x50)
        #expect(bench.frames() == [BasicFrame(channel: cid, payload: [40, 0] + sdu[..<21])])
        #expect(try bench.receive("16090400" + "5000" + "0200") == [])
        #expect(bench.frames() == [BasicFrame(channel: cid, payload: Array(sdu[21...]))])
        try bench.link.send([9], on: first)
        #expect(bench.frames() == [BasicFrame(channel: cid, payload: [1, 0, 9])])
        try bench.link.send([9], on: first)
        #expect(bench.frames() == [])
    }

    @Test("a channel that is closed with SDUs in its queue sends them, and is disconnected behind the last frame")
    func drains() throws {
        var bench = try Self.bench(in: .draining)
        var outputs: [LELogicalLinkOutput] = []
        #expect(bench.link.nextFrame(now: start, into: &outputs) != nil)
        #expect(outputs == [])
        #expect(bench.link.nextFrame(now: start, into: &outputs) == nil)
        #expect(try bench.receive("16090400" + "5000" + "0100") == [])
        #expect(bench.link.nextFrame(now: start, into: &outputs)?.payload == [UInt8](repeating: 1, count: 19))
        #expect(outputs == [Self.disconnection])
    }

    @Test("4.24: credit comes back when the app is done with what it got, in lots")
    func returnsCredit() throws {
        var bench = try Self.bench(in: .open)
        let full = [0xF7, 0] + [UInt8](repeating: 3, count: 247)
        for _ in 0..<40 { _ = bench.receive(frame: full) }
        #expect(bench.perform { $0.consume(247, of: first, into: &$1) } == [])
        let credit = bench.perform { $0.consume(39 * 247, of: first, into: &$1) }
        #expect(credit == [signal("16020400" + "4000" + "2800")])
    }

    @Test("an app that was told to wait is told once when half of the queue is free")
    func hasRoom() throws {
        var bench = try Self.bench(in: .open)
        #expect(try bench.receive("16090400" + "5000" + "F0FF") == [])
        let sdu = [UInt8](repeating: 1, count: 62)
        var taken = 0
        while (try? bench.link.send(sdu, on: first)) != nil { taken += 1 }
        #expect(taken == SDUSegmenter.queuedOctetsMaximum / 64)
        var outputs: [LELogicalLinkOutput] = []
        while outputs.isEmpty { _ = try #require(bench.link.nextFrame(now: start, into: &outputs)) }
        #expect(outputs == [.hasRoom(first)])
        outputs = []
        while bench.link.nextFrame(now: start, into: &outputs) != nil {}
        #expect(outputs == [])
    }

    @Test("6.2.1: an answer is awaited for 30 s and not a nanosecond longer")
    func timeout() throws {
        for state in [State.opening, .closing, .draining] {
            var bench = try Self.bench(in: state)
            let deadline = try #require(bench.link.deadline)
            #expect(deadline.milliseconds(since: start) == 30_000)
            let before = Instant(nanoseconds: deadline.nanoseconds - 1)
            #expect(bench.perform { $0.timerFired(now: before, into: &$1) } == [])
            #expect(bench.link.channels.count == 1)
        }
        #expect(try Self.bench(in: .open).link.deadline == nil)
    }
}
