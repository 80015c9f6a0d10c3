import BluetoothCore
import CLinux
import Glibc
import HCI

/// Why a transport is of no use any more: open it again.
package enum HCIStreamError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The controller is gone; `midPacket`: in the middle of a packet.
    case endOfFile(midPacket: Bool)
    /// So many octets, and no answer to a Reset among them.
    case noSynchronisation(discardedOctets: Int)
    /// The controller has not taken ``HCIStream/maximumBufferedOctets``.
    case outputFull
    case system(operation: String, number: Int32)

    package var description: String {
        switch self {
        case .endOfFile(let midPacket): "the controller is gone" + (midPacket ? ", in the middle of a packet" : "")
        case .noSynchronisation(let octets): "\(octets) octets from the controller hold no answer to a Reset"
        case .outputFull: "the controller has stopped taking octets"
        case .system(let operation, let number): "\(operation): \(systemMessage(number))"
        }
    }
}

/// What a stream hands on.
package enum HCIStreamInput: ~Escapable {
    /// Without its indicator.
    case packet(HCIPacketType, RawSpan)
    /// Where the next packet starts is unknown, because `indicator` is none or, without one, because a read that should
    /// be one packet is not. Nothing is handed on until a Reset has been sent and is answered.
    case outOfStep(indicator: UInt8?)
    /// A Reset has been answered; its answer follows.
    case inStep(discardedOctets: Int)
}

/// Whole packets from and to an open transport. Confined to its loop's thread.
///
/// A stream that falls out of step stays open: what comes is dropped until the host has sent HCI_Reset, and then until
/// that is answered. A Reset that goes out in the middle of a packet is answered in what looks like its rest, and is
/// looked for in the same way.
///
/// Core 5.4, Vol 4, Part A, 4 (Error recovery)
package final class HCIStream {
    /// What may wait for a controller that takes nothing.
    package static let maximumBufferedOctets = 262_144
    /// What one call of ``readAvailable(_:)`` takes at most, so that other descriptors get their turn.
    package static let readBudgetOctets = 131_072

    private enum Reading {
        case inStep
        /// Out of step, and no Reset is on its way: nothing that comes is of use.
        case deaf
        case seeking(H4Resynchroniser)
    }

    private static let reset: [UInt8] = {
        var writer = ByteWriter()
        H4Framer.encode(HCIReset(), into: &writer)
        return writer.bytes
    }()
    private static let bufferOctets = 1 + H4Deframer.maximumPacketOctets

    private let transport: Transport
    private let capture: BTSnoopWriter?
    private let now: () -> Instant
    private var reading = Reading.inStep {
        didSet {
            if case .deaf = reading { wantsRead = false } else { wantsRead = true }
            if case .seeking(let seeker) = reading { deadline = seeker.deadline } else { deadline = nil }
        }
    }
    private var deframer = H4Deframer()
    private var buffer = [UInt8](repeating: 0, count: HCIStream.bufferOctets)
    private var output: HCIOutput
    private var failure: HCIStreamError?

    /// The peer has not accepted yet: nothing is read or written before ``finishConnecting()``.
    private(set) var isConnecting: Bool

    package init(
        _ transport: consuming Transport, capture: BTSnoopWriter? = nil, now: @escaping () -> Instant = SystemClock.now
    ) {
        self.now = now
        output = HCIOutput(
            ofWholePackets: transport.framing == .packets, isSocket: transport.descriptor.socketType != nil)
        isConnecting = transport.isConnecting
        self.transport = transport
        self.capture = capture
    }

    /// For the loop. It stays this stream's.
    package var descriptor: Int32 { transport.descriptor.rawValue }

    /// To be called when the descriptor of a stream that is connecting has become ready.
    ///
    /// - Throws: ``TransportError`` when the other end has refused.
    package func finishConnecting() throws(TransportError) {
        try transport.finishConnecting()
        isConnecting = false
    }

    /// Whether octets wait until the descriptor is writable.
    private(set) var wantsWrite = false

    /// Whether it is of use to read: while it is not, a controller that never stops talking is left to itself.
    private(set) var wantsRead = true

    /// When ``timerFired(_:)`` has something to do.
    private(set) var deadline: Instant?

    /// Reads what is there and hands each whole packet on. An error is final.
    ///
    /// - Throws: ``HCIStreamError``; every later call throws it again.
    package func readAvailable(_ body: (HCIStreamInput) -> Void) throws(HCIStreamError) {
        if let failure { throw failure }
        var budget = Self.readBudgetOctets
        while budget > 0 {
            let count = buffer.withUnsafeMutableBytes { read(transport.descriptor.rawValue, $0.baseAddress, $0.count) }
            switch count {
            case 0: throw fail(.endOfFile(midPacket: deframer.isMidPacket))
            case ..<0:
                if errno == EINTR { continue }
                if errno == EAGAIN { return }
                throw fail(Self.readError(errno, midPacket: deframer.isMidPacket))
            default:
                budget -= count
                try take(count, body)
                // A stream that gave less than it was asked for has no more: the next look at it is the loop's.
                if transport.framing == .stream, count < buffer.count { return }
            }
        }
    }

    private func take(_ count: Int, _ body: (HCIStreamInput) -> Void) throws(HCIStreamError) {
        switch reading {
        case .inStep: deframe(count, body)
        case .deaf: break
        case .seeking(var seeker):
            seeker.receive(buffer.span.bytes.extracting(0..<count), now: now())
            reading = .seeking(seeker)
            if seeker.isHopeless { throw fail(.noSynchronisation(discardedOctets: seeker.discardedOctets)) }
        }
    }

    private func deframe(_ count: Int, _ body: (HCIStreamInput) -> Void) {
        do throws(H4FramingError) {
            try deframer.receive(buffer.span.bytes.extracting(0..<count)) { type, octets in
                capture?.record(type, octets, direction: .received)
                body(.packet(type, octets))
            }
        } catch {
            guard case .unknownPacketIndicator(let indicator) = error else { return }
            return loseStep(indicator, body)
        }
        if transport.framing == .packets, deframer.isMidPacket { loseStep(nil, body) }
    }

    private func loseStep(_ indicator: UInt8?, _ body: (HCIStreamInput) -> Void) {
        deframer.reset()
        reading = .deaf
        body(.outOfStep(indicator: indicator))
    }

    /// The controller has been silent for long enough after the answer to a Reset.
    package func timerFired(_ body: (HCIStreamInput) -> Void) {
        guard case .seeking(let seeker) = reading, let answer = seeker.answer(now: now()) else { return }
        reading = .inStep
        capture?.record(.event, answer.span.bytes, direction: .received)
        body(.inStep(discardedOctets: seeker.strayOctets))
        body(.packet(.event, answer.span.bytes))
    }

    /// Takes a packet, indicator first; it goes out at the next ``flush()``.
    ///
    /// - Throws: ``HCIStreamError/outputFull`` when the controller has stopped taking octets, or the earlier error that
    /// ended the stream.
    package func send(_ packet: RawSpan) throws(HCIStreamError) {
        if let failure { throw failure }
        guard output.count + packet.byteCount <= Self.maximumBufferedOctets else {
            throw fail(.outputFull)
        }
        if packet.byteCount == Self.reset.count, packet.withUnsafeBytes({ $0.elementsEqual(Self.reset) }) { resets() }
        output.append(packet)
        wantsWrite = true
        capture?.record(sent: packet)
    }

    private func resets() {
        if case .inStep = reading, !deframer.isMidPacket { return }
        deframer.reset()
        reading = .seeking(H4Resynchroniser())
    }

    /// Writes until nothing is left or the descriptor takes no more.
    ///
    /// - Throws: ``HCIStreamError`` when the controller is gone. A full descriptor is no error.
    package func flush() throws(HCIStreamError) {
        if let failure { throw failure }
        guard wantsWrite else { return }
        let number = output.flush(to: transport.descriptor.rawValue)
        wantsWrite = output.count > 0
        guard let number else { return }
        throw fail(
            number == EPIPE || number == ECONNRESET
                ? .endOfFile(midPacket: false) : .system(operation: "write", number: number))
    }

    private static func readError(_ number: Int32, midPacket: Bool) -> HCIStreamError {
        switch number {
        // A unix or TCP peer that was killed, an adapter that was unplugged, a terminal whose other end closed.
        case ECONNRESET, ENODEV, EIO, EPIPE: .endOfFile(midPacket: midPacket)
        default: .system(operation: "read", number: number)
        }
    }

    private func fail(_ error: HCIStreamError) -> HCIStreamError {
        failure = error
        return error
    }
}
