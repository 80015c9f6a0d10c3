import BluetoothCore
import CLinux
import Glibc
import HCI

/// Writes every packet to a file that Wireshark and `btmon` read. Each record is one write, so that a kill loses the last
/// one at most, and a capture that is there already is gone on with, so that a restart keeps what led to it. The file
/// holds whatever passes, **keys included**: it is made for its owner's eyes only.
package final class BTSnoopWriter {
    package enum Direction: Sendable { case sent, received }

    /// H4: each record starts with the packet indicator.
    private static let datalinkH4: UInt32 = 1002
    /// Microseconds from the year 0 to 1970, since the format counts from there.
    private static let unixEpochMicroseconds: UInt64 = 0x00DC_DDB3_0F2F_8000
    private static let fileHeader: [UInt8] =
        Array("btsnoop".utf8) + [0] + bigEndian(UInt32(1)) + bigEndian(datalinkH4)
    /// Original length, included length, flags, drops, time.
    private static let recordHeaderOctets = 24
    /// Indicator, header and data of the longest packet.
    private static let packetMaximumOctets = 1 + H4Deframer.maximumPacketOctets

    private let descriptor: OwnedDescriptor
    private let now: () -> UInt64
    private var buffer: [UInt8] = []
    /// What stopped the capture. The controller goes on without it.
    package private(set) var failure: TransportError?
    /// Told of ``failure`` once.
    package var onFailure: (TransportError) -> Void = { _ in }

    /// Goes on with the capture at `path`, or makes it. A record that a kill cut short is taken off; a file that is no
    /// capture is left as it is. `unixMicroseconds`: wall time, for a test to say.
    package init(
        path: String,
        unixMicroseconds: @escaping () -> UInt64 = { latch_clock_nanoseconds(CLOCK_REALTIME) / 1000 }
    ) throws(TransportError) {
        let raw = latch_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard raw >= 0 else { throw TransportError(system: errno, "capture to \(path)") }
        descriptor = OwnedDescriptor(raw)
        now = unixMicroseconds
        let end = try Self.end(of: descriptor, path)
        guard fchmod(raw, 0o600) == 0, ftruncate(raw, end) == 0, lseek(raw, end, SEEK_SET) == end else {
            throw TransportError(system: errno, "capture to \(path)")
        }
        guard end == 0 else { return }
        buffer = Self.fileHeader
        flush()
        if let failure { throw failure }
    }

    /// Where the last whole record of a capture ends; 0 for a file without any.
    private static func end(of descriptor: borrowing OwnedDescriptor, _ path: String) throws(TransportError) -> Int {
        var information = stat()
        guard fstat(descriptor.rawValue, &information) == 0 else {
            throw TransportError(system: errno, "capture to \(path)")
        }
        guard information.st_mode & S_IFMT == S_IFREG else {
            throw TransportError(.unsupported, "capture to \(path): not a file")
        }
        let size = Int(information.st_size)
        let header = octets(of: descriptor, at: 0, fileHeader.count)
        // Also one that a kill cut short.
        guard !fileHeader.starts(with: header) || header.count == fileHeader.count else { return 0 }
        guard header == fileHeader else {
            throw TransportError(.unsupported, "capture to \(path): there is a file that is no btsnoop of H4")
        }
        var end = fileHeader.count
        while true {
            let record = octets(of: descriptor, at: end, recordHeaderOctets)
            guard record.count == recordHeaderOctets else { return end }
            let length = record[4..<8].reduce(0) { $0 << 8 | Int($1) }
            guard length <= packetMaximumOctets else {
                throw TransportError(.unsupported, "capture to \(path): damaged after octet \(end)")
            }
            guard end + recordHeaderOctets + length <= size else { return end }
            end += recordHeaderOctets + length
        }
    }

    private static func octets(of descriptor: borrowing OwnedDescriptor, at offset: Int, _ count: Int) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        let taken = octets.withUnsafeMutableBytes { pread(descriptor.rawValue, $0.baseAddress, $0.count, offset) }
        return Array(octets.prefix(max(0, taken)))
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

    private static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    private func flush() {
        var offset = 0
        while offset < buffer.count {
            let count = buffer.withUnsafeBytes { octets in
                write(descriptor.rawValue, octets.baseAddress.map { $0 + offset }, octets.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = TransportError(system: errno, "capture stopped")
                failure = error
                return onFailure(error)
            }
            offset += count
        }
    }
}
