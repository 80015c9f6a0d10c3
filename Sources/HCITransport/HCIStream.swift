import BluetoothCore
import CLinux
import Glibc
import HCI

/// Why a transport is of no use any more. It reaches the controller: open it again, reset it, start anew.
package enum HCIStreamError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The controller is gone; `midPacket`: in the middle of a packet.
    case endOfFile(midPacket: Bool)
    case framing(H4FramingError)
    /// A read that should be one packet is not.
    case malformedPacket
    /// The controller has not taken ``HCIStream/maximumBufferedOctets``.
    case outputFull
    case system(operation: String, number: Int32)

    package var description: String {
        switch self {
        case .endOfFile(let midPacket): "the controller is gone" + (midPacket ? ", in the middle of a packet" : "")
        case .framing(.unknownPacketIndicator(let octet)):
            "the controller's octets are no HCI: packet indicator 0x" + HexText.encode([octet])
        case .malformedPacket: "the controller's octets are no HCI: a packet's length is wrong"
        case .outputFull: "the controller has stopped taking octets"
        case .system(let operation, let number): "\(operation): \(systemMessage(number))"
        }
    }
}

/// Whole packets from and to an open transport. Confined to its loop's thread.
package final class HCIStream {
    /// What may wait for a controller that takes nothing.
    package static let maximumBufferedOctets = 262_144
    /// What one call of ``readAvailable(_:)`` takes at most, so that other descriptors get their turn.
    package static let readBudgetOctets = 131_072

    private static let bufferOctets = 1 + H4Deframer.maximumPacketOctets

    private let transport: Transport
    private let isSocket: Bool
    private let capture: BTSnoopWriter?
    private var deframer = H4Deframer()
    private var buffer = [UInt8](repeating: 0, count: HCIStream.bufferOctets)
    private var output: [UInt8] = []
    private var written = 0
    /// Lengths of the packets in `output`, where each must be one write.
    private var packetLengths: [Int] = []
    private var packetsWritten = 0
    private var failure: HCIStreamError?

    /// The peer has not accepted yet: nothing is read or written before ``finishConnecting()``.
    package private(set) var isConnecting: Bool

    package init(_ transport: consuming Transport, capture: BTSnoopWriter? = nil) {
        isSocket = transport.descriptor.socketType != nil
        isConnecting = transport.isConnecting
        self.transport = transport
        self.capture = capture
    }

    /// For the loop. It stays this stream's.
    package var descriptor: Int32 { transport.descriptor.rawValue }

    /// To be called when the descriptor of a stream that is connecting has become ready.
    package func finishConnecting() throws(TransportError) {
        try transport.finishConnecting()
        isConnecting = false
    }

    /// Whether octets wait until the descriptor is writable.
    package var wantsWrite: Bool { written < output.count }

    /// Reads what is there and hands each whole packet on, without its indicator. An error is final.
    package func readAvailable(_ body: (HCIPacketType, RawSpan) -> Void) throws(HCIStreamError) {
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
                try deframe(count, body)
            }
        }
    }

    private func deframe(_ count: Int, _ body: (HCIPacketType, RawSpan) -> Void) throws(HCIStreamError) {
        do throws(H4FramingError) {
            try deframer.receive(buffer.span.bytes.extracting(0..<count)) { type, octets in
                capture?.record(type, octets, direction: .received)
                body(type, octets)
            }
        } catch {
            throw fail(.framing(error))
        }
        if transport.framing == .packets, deframer.isMidPacket { throw fail(.malformedPacket) }
    }

    /// Takes a packet, indicator first; it goes out at the next ``flush()``.
    package func send(_ packet: RawSpan) throws(HCIStreamError) {
        if let failure { throw failure }
        guard output.count - written + packet.byteCount <= Self.maximumBufferedOctets else {
            throw fail(.outputFull)
        }
        packet.withUnsafeBytes { output.append(contentsOf: $0) }
        if transport.framing == .packets { packetLengths.append(packet.byteCount) }
        capture?.record(sent: packet)
    }

    /// Writes until nothing is left or the descriptor takes no more.
    package func flush() throws(HCIStreamError) {
        if let failure { throw failure }
        while wantsWrite {
            let wanted = packetsWritten < packetLengths.count ? packetLengths[packetsWritten] : output.count - written
            let count = write(wanted)
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return compact() }
                throw fail(
                    errno == EPIPE || errno == ECONNRESET
                        ? .endOfFile(midPacket: false) : .system(operation: "write", number: errno))
            }
            written += count
            if transport.framing == .packets { packetsWritten += 1 }
        }
        output.removeAll(keepingCapacity: true)
        packetLengths.removeAll(keepingCapacity: true)
        written = 0
        packetsWritten = 0
    }

    /// A controller that is slow but never stops must not make the buffer grow.
    private func compact() {
        guard written > Self.maximumBufferedOctets / 4 else { return }
        output.removeFirst(written)
        packetLengths.removeFirst(packetsWritten)
        written = 0
        packetsWritten = 0
    }

    private func write(_ count: Int) -> Int {
        output.withUnsafeBytes { octets in
            let start = octets.baseAddress.map { $0 + written }
            let descriptor = transport.descriptor.rawValue
            return isSocket
                ? Glibc.send(descriptor, start, count, Int32(MSG_NOSIGNAL))
                : Glibc.write(descriptor, start, count)
        }
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
