import BluetoothCore
import CLinux
import Glibc
import HCI

/// Writes every packet to a file that Wireshark and `btmon` read. Each record is one write, so a kill loses none that
/// was captured. The file holds whatever passes, **keys included**: it is made for its owner's eyes only.
package final class BTSnoopWriter {
    package enum Direction: Sendable { case sent, received }

    /// H4: each record starts with the packet indicator.
    private static let datalinkH4: UInt32 = 1002
    /// Microseconds from the year 0 to 1970, since the format counts from there.
    private static let unixEpochMicroseconds: UInt64 = 0x00DC_DDB3_0F2F_8000
    private static let headerOctets = 24

    private let descriptor: OwnedDescriptor
    private let now: () -> UInt64
    private var buffer: [UInt8] = []
    /// What stopped the capture. The controller goes on without it.
    package private(set) var failure: TransportError?

    /// Makes `path` anew. `unixMicroseconds`: wall time, for a test to say.
    package init(
        path: String,
        unixMicroseconds: @escaping () -> UInt64 = { latch_clock_nanoseconds(CLOCK_REALTIME) / 1000 }
    ) throws(TransportError) {
        let raw = latch_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard raw >= 0 else { throw TransportError(system: errno, "capture to \(path)") }
        descriptor = OwnedDescriptor(raw)
        now = unixMicroseconds
        guard fchmod(raw, 0o600) == 0 else { throw TransportError(system: errno, "capture to \(path)") }
        buffer.append(contentsOf: Array("btsnoop".utf8) + [0])
        append(UInt32(1))
        append(Self.datalinkH4)
        flush()
        if let failure { throw failure }
    }

    /// `octets` without the indicator.
    package func record(_ type: HCIPacketType, _ octets: RawSpan, direction: Direction) {
        guard failure == nil else { return }
        let isCommandOrEvent = type == .command || type == .event
        let length = UInt32(truncatingIfNeeded: octets.byteCount + 1)
        buffer.removeAll(keepingCapacity: true)
        append(length)
        append(length)
        append((direction == .received ? 0b01 : 0) | (isCommandOrEvent ? 0b10 : 0) as UInt32)
        append(UInt32(0))
        append(Self.unixEpochMicroseconds &+ now())
        buffer.append(type.rawValue)
        octets.withUnsafeBytes { buffer.append(contentsOf: $0) }
        flush()
    }

    /// A packet on its way out, indicator first.
    func record(sent packet: RawSpan) {
        guard packet.byteCount > 0 else { return }
        let type = HCIPacketType(rawValue: packet.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
        record(type, packet.extracting(1..<packet.byteCount), direction: .sent)
    }

    private func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { buffer.append(contentsOf: $0) }
    }

    private func flush() {
        var offset = 0
        while offset < buffer.count {
            let count = buffer.withUnsafeBytes { octets in
                write(descriptor.rawValue, octets.baseAddress.map { $0 + offset }, octets.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                failure = TransportError(system: errno, "capture stopped")
                return
            }
            offset += count
        }
    }
}
