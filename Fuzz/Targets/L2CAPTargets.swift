import BluetoothCore
import L2CAP

/// Fragments of any kind in any order: a PDU is never longer than its link takes.
@Sendable func fuzzRecombiner(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let maximum = 23 + Int(input.octet()) * 2
    var recombiner = Recombiner(maximumPayloadOctets: maximum)
    while let event = input.nextEvent() {
        let fragment: Fragment = event & 1 == 0 ? .start : .continuation
        do throws(RecombinationError) {
            guard let pdu = try recombiner.receive(fragment, input.chunk().span.bytes) else { continue }
            require(!recombiner.isMidPDU, "a PDU is complete and goes on")
            switch pdu {
            case .whole(let frame):
                require(frame.payload.count <= maximum, "a PDU is longer than its link takes")
                requireRoundTrip(BasicFrame.self, frame.encoded)
            case .oversized(_, let length, let head):
                require(length > maximum && head.count == maximum, "a PDU that its link takes is refused")
            }
        } catch {
            require(!recombiner.isMidPDU, "a fault leaves a PDU open")
        }
    }
}

@Sendable func fuzzL2CAPFrame(_ octets: [UInt8]) {
    requireRoundTrip(BasicFrame.self, octets)
    requireRoundTrip(SignallingPDU.self, octets)
    requireRoundTrip(ConnectionParameters.self, octets)
}

/// Whatever a peer signals, it gets at most one answer, of the channel's size.
@Sendable func fuzzLESignalling(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var channel = LESignallingChannel(role: input.bool() ? .central : .peripheral)
    var now = Instant(nanoseconds: 0)
    var outputs: [LESignallingOutput] = []
    var asked = 0
    while let event = input.nextEvent() {
        outputs.removeAll()
        switch event & 3 {
        case 0, 1: channel.receive(input.chunk(), into: &outputs)
        case 2:
            let parameters = ConnectionParameters(
                intervalMin: input.uint16(), intervalMax: input.uint16(), latency: input.uint16(),
                timeout: input.uint16())
            do throws(LESignallingError) {
                try channel.requestUpdate(parameters, now: now, into: &outputs)
                asked += 1
            } catch {}
        default:
            now = now.advanced(byMilliseconds: input.milliseconds())
            channel.timerFired(now: now, into: &outputs)
        }
        var sent = 0
        for output in outputs {
            switch output {
            case .send(let payload):
                sent += 1
                require(payload.count <= LESignallingChannel.mtu, "a signal is longer than its channel")
                requireRoundTrip(SignallingPDU.self, payload)
            case .updateConnection(let parameters): require(parameters.isValid, "invalid parameters are taken")
            case .channelCommand: break
            case .updateFinished:
                asked -= 1
                require(asked >= 0, "a request ended twice")
            }
        }
        require(sent <= 1, "one event, \(sent) signals")
        require((channel.deadline != nil) == (asked == 1), "a request is lost, or waits for nothing")
    }
}

/// A peer that signals and sends whatever it likes, and an app that opens, sends, reads and closes: no channel ends twice, is
/// heard of after its end, or holds more than its bounds.
@Sendable func fuzzLogicalLink(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var harness = LogicalLinkHarness(role: input.bool() ? .central : .peripheral)
    while let event = input.nextEvent() { harness.step(event, &input) }
    harness.finish()
}

private struct LogicalLinkHarness {
    private var link: LELogicalLink
    private var now = Instant(nanoseconds: 0)
    private var outputs: [LELogicalLinkOutput] = []
    private var opened: Set<ChannelNumber> = []
    private var asked: Set<ChannelNumber> = []
    private var closed: Set<ChannelNumber> = []
    private var unread: [ChannelNumber: Int] = [:]

    init(role: LESignallingChannel.Role) { link = LELogicalLink(role: role) }

    mutating func step(_ event: UInt8, _ input: inout FuzzInput) {
        outputs.removeAll()
        let number = ChannelNumber(rawValue: UInt64(event >> 4))
        switch event & 0xF {
        case 0...3:
            let security = ChannelSecurity(encrypted: event & 0x10 != 0, keySize: 16, hasKey: event & 0x20 != 0)
            link.receive(
                signal: input.chunk(), security: security,
                requirement: { $0.rawValue & 1 == 0 ? ChannelRequirement(encrypted: $0.rawValue & 2 != 0) : nil },
                now: now, into: &outputs)
        case 4...7:
            let cid = ChannelIdentifier(rawValue: 0x40 + UInt16(event >> 4))
            link.receive(frame: input.chunk(), on: cid, now: now, into: &outputs)
        case 8: link.receivedOversizedFrame(on: .init(rawValue: 0x40 + UInt16(event >> 4)), now: now, into: &outputs)
        case 9:
            if let number = try? link.open(SPSM(rawValue: input.uint16()), now: now, into: &outputs) {
                asked.insert(number)
            }
        case 10: _ = try? link.send([UInt8](repeating: 7, count: Int(input.uint16())), on: number)
        case 11:
            let octets = min(Int(input.uint16()), unread[number] ?? 0)
            unread[number, default: 0] -= octets
            link.consume(octets, of: number, into: &outputs)
        case 12: link.close(number, now: now, into: &outputs)
        case 13:
            let parameters = ConnectionParameters(
                intervalMin: input.uint16(), intervalMax: input.uint16(), latency: input.uint16(),
                timeout: input.uint16())
            try? link.requestUpdate(parameters, now: now, into: &outputs)
        case 14:
            if let frame = link.nextFrame(now: now, into: &outputs) {
                require(frame.channel.isDynamic, "a frame for no channel")
                require(frame.payload.count <= CreditBasedChannel.frameOctetsMaximum, "a frame is too long")
            }
        default:
            now = now.advanced(byMilliseconds: input.milliseconds())
            link.timerFired(now: now, into: &outputs)
        }
        check()
    }

    mutating func finish() {
        outputs.removeAll()
        link.linkLost(into: &outputs)
        check()
        require(opened.union(asked) == closed, "a channel has no end")
    }

    private mutating func check() {
        var signals = 0
        for output in outputs {
            switch output {
            case .signal(let payload):
                signals += 1
                require(payload.count <= LESignallingChannel.mtu, "a signal is longer than its channel")
                requireRoundTrip(SignallingPDU.self, payload)
            case .updateConnection(let parameters): require(parameters.isValid, "invalid parameters are taken")
            case .updateFinished: break
            case .opened(let number):
                require(!closed.contains(number) && opened.insert(number).inserted, "a channel opens twice")
            case .received(let number, let sdu):
                require(opened.contains(number) && !closed.contains(number), "an SDU of no channel")
                unread[number, default: 0] += sdu.count
                require(unread[number, default: 0] <= SDUReassembler.windowOctets, "more than the window")
            case .hasRoom(let number):
                require(opened.contains(number) && !closed.contains(number), "room in no channel")
            case .closed(let number, _): require(closed.insert(number).inserted, "a channel ends twice")
            }
        }
        require(signals <= 1 + ChannelTable.channelsMaximum, "one event, \(signals) signals")
        require(link.channels.count <= ChannelTable.channelsMaximum, "too many channels")
    }
}
