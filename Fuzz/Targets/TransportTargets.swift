import BluetoothCore
import BluetoothHost
import Glibc
import HCI
import HCITransport

/// What an operator writes of a controller's place survives its text, and a mistake is said in one line.
@Sendable func fuzzTransportAddress(_ octets: [UInt8]) {
    let text = String(decoding: octets, as: UTF8.self)
    do throws(TransportError) {
        let address = try TransportAddress(parsing: text)
        require((try? TransportAddress(parsing: "\(address)")) == address, "an address does not survive its text")
    } catch {
        require(error.kind == .malformedAddress, "a text is more than malformed")
        require(error.description.contains("serial:DEVICE"), "a mistake has no remedy")
    }
}

/// A stream whose controller says anything, loses its way and is reset. Out of step, nothing is handed on; and behind
/// the answer to a Reset every packet is whole.
@Sendable func fuzzHCIStream(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    guard let line = FuzzLine(framing: input.bool() ? .packets : .stream) else { return }
    while let event = input.nextEvent() { line.happen(event, &input) }
    line.finish()
}

private final class FuzzLine {
    private static let reset: [UInt8] = [1, 3, 0x0C, 0]
    private static let answer: [UInt8] = [4, 0x0E, 4, 1, 3, 0x0C, 0]
    private static let event: [UInt8] = [4, 0xFF, 2, 7, 9]

    private final class Clock { var now = Instant(nanoseconds: 0) }

    private let clock = Clock()
    private let controller: OwnedDescriptor
    private let stream: HCIStream
    private var isInStep = true
    private var hasFailed = false
    private var last: [UInt8] = []

    init?(framing: Transport.Framing) {
        var ends: [Int32] = [-1, -1]
        let type = framing == .stream ? SOCK_STREAM : SOCK_SEQPACKET
        let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        guard socketpair(AF_UNIX, Int32(type.rawValue | flags), 0, &ends) == 0 else { return nil }
        controller = OwnedDescriptor(ends[0])
        let transport = Transport(OwnedDescriptor(ends[1]), framing: framing, name: "fuzz")
        stream = HCIStream(transport, now: { [clock] in clock.now })
    }

    func happen(_ event: UInt8, _ input: inout FuzzInput) {
        switch event & 7 {
        case 0, 1: say(input.chunk())
        case 2: say(Self.event)
        case 3: say(Self.answer)
        case 4: send(Self.reset)
        case 5: send([2, 0x40, 0, 1, 0, input.octet()])
        case 6: pass(milliseconds: input.milliseconds())
        default: say([input.octet()])
        }
    }

    private func say(_ octets: [UInt8]) {
        // No read gives an empty packet.
        guard !octets.isEmpty else { return }
        _ = write(controller.rawValue, octets, octets.count)
        guarded { () throws(HCIStreamError) in try stream.readAvailable { take($0) } }
    }

    private func send(_ packet: [UInt8]) {
        guarded { () throws(HCIStreamError) in
            try stream.send(packet.span.bytes)
            try stream.flush()
        }
        var sink = [UInt8](repeating: 0, count: 512)
        while read(controller.rawValue, &sink, sink.count) > 0 {}
    }

    private func pass(milliseconds: UInt64) {
        clock.now = clock.now.advanced(byMilliseconds: milliseconds)
        stream.timerFired { take($0) }
    }

    private func guarded(_ body: () throws(HCIStreamError) -> Void) {
        do throws(HCIStreamError) { try body() } catch {
            guard case .noSynchronisation = error else { return require(false, "an open stream fails: \(error)") }
            hasFailed = true
        }
    }

    private func take(_ input: HCIStreamInput) {
        switch input {
        case .packet(let type, let octets):
            require(isInStep, "a stream out of step hands a packet on")
            require(octets.byteCount <= H4Deframer.maximumPacketOctets, "a packet is longer than any")
            last = [type.rawValue] + octets.withUnsafeBytes { Array($0) }
        case .outOfStep:
            require(isInStep, "a stream is out of step twice")
            isInStep = false
        case .inStep(let octets):
            require(octets >= 0, "an answer was made up")
            isInStep = true
        }
    }

    /// A Reset, its answer and a silence mend whatever it is; a second time if the first Reset met octets that had yet to
    /// show that they are none.
    func finish() {
        for _ in 0..<2 where !hasFailed {
            send(Self.reset)
            say(Self.answer)
            pass(milliseconds: H4Resynchroniser.silenceMilliseconds)
        }
        guard !hasFailed else { return }
        require(isInStep && last == Self.answer, "a Reset does not bring a stream back")
        say(Self.event)
        require(last == Self.event, "a stream that is back is not")
    }
}

/// What is found behind garbage is the answer to a Reset, and only in silence.
@Sendable func fuzzH4Resynchroniser(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let cut = max(1, Int(input.octet()))
    let stream = input.rest()
    var seeker = H4Resynchroniser()
    let start = Instant(nanoseconds: 0)
    for begin in stride(from: 0, to: stream.count, by: cut) {
        seeker.receive(stream[begin..<min(begin + cut, stream.count)].span.bytes, now: start)
    }
    require(seeker.discardedOctets == stream.count, "octets were not counted")
    require(seeker.answer(now: start) == nil, "an answer without a silence")
    let answers = stream.indices.filter { index in
        let packet = stream[index...].prefix(7)
        return packet.count == 7 && packet.starts(with: [4, 0x0E, 4]) && packet.suffix(3) == [3, 0x0C, 0]
    }
    let found = seeker.answer(now: start.advanced(byMilliseconds: H4Resynchroniser.silenceMilliseconds))
    require(found == answers.last.map { Array(stream[($0 + 1)..<($0 + 7)]) }, "it found something else")
}

/// A controller that does anything at any time, and the two machines that reset it and open its transport, joined as the
/// host and its driver join them. However it fails, resets and openings stay rare.
@Sendable func fuzzRecovery(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var world = RecoveryWorld(canReopen: input.bool())
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

private struct RecoveryWorld {
    private var transport: TransportRecovery
    private var controller = ControllerRecovery()
    private let canReopen: Bool
    private var now = Instant(nanoseconds: 0)
    private var isOpen = false
    private var isEnded = false
    private var openings = 0
    private var resetsOfThisOpening = 0
    private var stableUntil = Instant(nanoseconds: 0)

    init(canReopen: Bool) {
        self.canReopen = canReopen
        transport = TransportRecovery(name: "fuzz", canReopen: canReopen)
    }

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        switch event & 7 {
        case 0: feed(.opened)
        case 1: feed(.connecting)
        case 2: feed(.failed(error(input.octet())))
        case 3: feed(.broke(reason: "fuzz"))
        case 4: feed(.failed(failure(input.octet())))
        case 5: feed(.cameUp)
        default:
            now = now.advanced(byMilliseconds: input.milliseconds())
            feed(TransportRecovery.Input.timerFired)
            feed(ControllerRecovery.Input.timerFired)
        }
        require(isEnded == (transport.state == .ended), "an end is no end")
        if case .waiting(let until) = transport.state {
            require(until <= now.advanced(byMilliseconds: 5_000), "an attempt is too far away")
        }
    }

    private func error(_ choice: UInt8) -> TransportError {
        do throws(TransportError) {
            _ = try TransportAddress(parsing: choice & 1 == 0 ? "" : "none:")
        } catch {
            return error
        }
        fatalError("broken: no address is one")
    }

    private func failure(_ choice: UInt8) -> ControllerFailure {
        switch choice & 7 {
        case 0: .hardwareError(code: choice)
        case 1: .unresponsive(HCIReset.opcode)
        case 2: .unresponsive(.none)
        case 3: .bringUpFailed(HCIReset.opcode, .status(.hardwareFailure))
        default: .outOfStep(indicator: choice)
        }
    }

    private mutating func feed(_ input: TransportRecovery.Input) {
        var outputs: [TransportRecovery.Output] = []
        transport.handle(input, now: now, into: &outputs)
        require(outputs.count { if case .say = $0 { true } else { false } } <= 1, "one thing is said twice")
        for output in outputs {
            switch output {
            case .open: openings += 1
            case .close, .say: break
            case .hostOpened:
                require(!isOpen, "opened twice")
                isOpen = true
                resetsOfThisOpening = 0
                feed(ControllerRecovery.Input.transportOpened)
            case .hostClosed:
                require(isOpen, "closed twice")
                isOpen = false
                feed(ControllerRecovery.Input.transportClosed)
            case .end:
                require(!canReopen && !isEnded, "a transport that could come back ends")
                isEnded = true
            }
        }
    }

    private mutating func feed(_ input: ControllerRecovery.Input) {
        var outputs: [ControllerRecovery.Output] = []
        controller.handle(input, now: now, into: &outputs)
        for output in outputs {
            switch output {
            case .reset:
                require(isOpen, "a Reset for nobody")
                if stableUntil <= now { resetsOfThisOpening = 0 }
                resetsOfThisOpening += 1
                stableUntil = now.advanced(byMilliseconds: ControllerRecovery.stableMilliseconds)
                require(resetsOfThisOpening <= ControllerRecovery.resetsMaximum + 1, "Resets without end")
            case .startOver(let failure, .reopen): feed(.broke(reason: failure.description))
            case .startOver: break
            }
        }
    }

    /// Left alone with a transport that opens, everything is up again, or has ended.
    mutating func finish() {
        for _ in 0..<4 where !isEnded {
            if let deadline = transport.deadline { now = max(now, deadline) }
            feed(TransportRecovery.Input.timerFired)
            feed(TransportRecovery.Input.opened)
            if let deadline = controller.deadline { now = max(now, deadline) }
            feed(ControllerRecovery.Input.timerFired)
            feed(ControllerRecovery.Input.cameUp)
        }
        guard !isEnded, case .up = controller.state else { return require(isEnded, "it never comes up again") }
    }
}
