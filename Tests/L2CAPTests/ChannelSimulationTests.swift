import BluetoothCore
import Foundation
import Testing

@testable import L2CAP

/// Octets of a generator that a seed fixes.
private struct Dice {
    var state: UInt64

    mutating func roll(_ sides: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(truncatingIfNeeded: (state >> 16) % UInt64(max(1, sides)))
    }
}

/// Both ends of a link that loses nothing and keeps its order, each with an app that opens, sends, reads and closes as the
/// dice say.
private struct Pair {
    struct End {
        var link: LELogicalLink
        /// What is on its way to this end: signals and frames in their order.
        var incoming: [BasicFrame] = []
        var open: [ChannelNumber: ChannelIdentifier] = [:]
        var opened: Set<ChannelNumber> = []
        var closed: [ChannelNumber: ChannelCloseReason] = [:]
        /// Octets of each open channel that the app has not said to be done with.
        var unread: [ChannelNumber: Int] = [:]
        var sent: [ChannelNumber: [[UInt8]]] = [:]
        var received: [ChannelNumber: [[UInt8]]] = [:]
        /// Our end's channel by the peer's name of it.
        var remote: [ChannelNumber: ChannelIdentifier] = [:]
        var local: [ChannelNumber: ChannelIdentifier] = [:]
    }

    var ends = [End(link: LELogicalLink(role: .central)), End(link: LELogicalLink(role: .peripheral))]
    var dice: Dice
    var now = Instant(nanoseconds: 0)

    init(seed: UInt64) { dice = Dice(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1) }

    mutating func perform(_ end: Int, _ outputs: [LELogicalLinkOutput]) throws {
        for output in outputs {
            switch output {
            case .signal(let payload):
                ends[1 - end].incoming.append(BasicFrame(channel: .leSignalling, payload: payload))
            case .opened(let number):
                #expect(ends[end].opened.insert(number).inserted && ends[end].closed[number] == nil)
                let channel = try #require(ends[end].link.channels[number])
                ends[end].open[number] = channel.remoteCID
                ends[end].local[number] = channel.localCID
                ends[end].remote[number] = channel.remoteCID
            case .received(let number, let sdu):
                #expect(ends[end].open[number] != nil)
                ends[end].received[number, default: []].append(sdu)
                ends[end].unread[number, default: 0] += sdu.count
            case .hasRoom(let number): #expect(ends[end].open[number] != nil)
            case .closed(let number, let reason):
                #expect(ends[end].closed.updateValue(reason, forKey: number) == nil)
                #expect(reason == .local || reason == .peer || reason == .refused(.noResources), "\(reason)")
                ends[end].open[number] = nil
            case .updateConnection, .updateFinished: Issue.record("nobody asked")
            }
        }
    }

    mutating func step() throws {
        let end = dice.roll(2)
        var outputs: [LELogicalLinkOutput] = []
        let numbers = ends[end].open.keys.sorted { $0.rawValue < $1.rawValue }
        let number = numbers.isEmpty ? nil : numbers[dice.roll(numbers.count)]
        switch dice.roll(20) {
        case 0: _ = try? ends[end].link.open(SPSM(rawValue: 0x80), now: now, into: &outputs)
        case 1 where dice.roll(4) == 0:
            guard let number else { return }
            ends[end].link.close(number, now: now, into: &outputs)
        case 2...7:
            guard let number else { return }
            let sdu = (0..<dice.roll(dice.roll(4) == 0 ? 2049 : 60)).map { UInt8(truncatingIfNeeded: $0) }
            if (try? ends[end].link.send(sdu, on: number)) != nil { ends[end].sent[number, default: []].append(sdu) }
        case 8...10:
            guard let number, let unread = ends[end].unread[number], unread > 0 else { return }
            let octets = 1 + dice.roll(unread)
            ends[end].unread[number] = unread - octets
            ends[end].link.consume(octets, of: number, into: &outputs)
        case 11...14:
            guard let frame = ends[end].link.nextFrame(now: now, into: &outputs) else { return }
            ends[1 - end].incoming.append(frame)
        default: try deliver(to: end)
        }
        try perform(end, outputs)
    }

    mutating func deliver(to end: Int) throws {
        guard !ends[end].incoming.isEmpty else { return }
        let frame = ends[end].incoming.removeFirst()
        var outputs: [LELogicalLinkOutput] = []
        if frame.channel == .leSignalling {
            ends[end].link.receive(
                signal: frame.payload, security: .open, requirement: { _ in .open }, now: now, into: &outputs)
        } else {
            ends[end].link.receive(frame: frame.payload, on: frame.channel, now: now, into: &outputs)
        }
        try perform(end, outputs)
    }

    /// Lets everything that is under way arrive and be read.
    mutating func settle() throws {
        for _ in 0..<100_000 {
            var isBusy = false
            for end in 0...1 {
                var outputs: [LELogicalLinkOutput] = []
                for (number, unread) in ends[end].unread where unread > 0 {
                    ends[end].link.consume(unread, of: number, into: &outputs)
                    ends[end].unread[number] = 0
                }
                if let frame = ends[end].link.nextFrame(now: now, into: &outputs) {
                    ends[1 - end].incoming.append(frame)
                    isBusy = true
                }
                try perform(end, outputs)
                if !ends[end].incoming.isEmpty { isBusy = true }
                try deliver(to: end)
            }
            if !isBusy { return }
        }
        Issue.record("it never ends")
    }
}

extension Pair {
    /// Two ends that close a channel at once, each with octets left for which it has no credits, give each other none: they
    /// drop them when the time for that is over.
    fileprivate mutating func giveUpDraining() throws {
        now = now.advanced(byMilliseconds: CreditBasedChannel.drainTimeoutMilliseconds)
        for end in 0...1 {
            var outputs: [LELogicalLinkOutput] = []
            ends[end].link.timerFired(now: now, into: &outputs)
            try perform(end, outputs)
        }
        try settle()
    }
}

@Suite("Simulation: two hosts open, use and close channels to each other")
struct ChannelSimulationTests {
    @Test(
        "what is sent on a channel arrives whole and in order, or the channel was closed before it did; nothing hangs")
    func randomUse() throws {
        let environment = ProcessInfo.processInfo.environment["LATCH_TEST_SEED"].flatMap(UInt64.init)
        let seed = environment ?? UInt64.random(in: 1...UInt64(UInt32.max))
        print("LATCH_TEST_SEED=\(seed)")
        var opened = 0
        for round in 0..<40 {
            var pair = Pair(seed: seed &+ UInt64(round))
            // Few enough that no end goes round and names a second channel.
            for _ in 0..<800 { try pair.step() }
            try pair.settle()
            for end in pair.ends {
                #expect(end.link.channels.pendingIdentifiers.isEmpty, "seed \(seed) round \(round): no answer")
            }
            try pair.giveUpDraining()
            opened += pair.ends[0].opened.count
            for end in 0...1 {
                let here = pair.ends[end]
                let there = pair.ends[1 - end]
                #expect(here.link.channels.count == here.open.count, "seed \(seed) round \(round): a channel hangs")
                #expect(here.link.deadline == nil, "seed \(seed) round \(round): something waits")
                for number in here.opened {
                    let twins = there.opened.filter {
                        there.local[$0] == here.remote[number] && there.remote[$0] == here.local[number]
                    }
                    guard let twin = twins.first else {
                        // Closed by whoever asked for it before it heard that it was open.
                        #expect(here.closed[number] == .peer, "seed \(seed) round \(round)")
                        continue
                    }
                    let sent = here.sent[number] ?? []
                    let received = there.received[twin] ?? []
                    #expect(sent.starts(with: received), "seed \(seed) round \(round)")
                    // Whoever closed a channel reads no more of it; what its peer had sent until it heard of that is lost.
                    if there.closed[twin] != .local, here.closed[number] != .peer {
                        #expect(received.count == sent.count, "seed \(seed) round \(round)")
                    }
                }
                #expect((here.open.isEmpty) == (there.open.isEmpty), "seed \(seed) round \(round)")
            }
        }
        #expect(opened > 200)
    }
}
