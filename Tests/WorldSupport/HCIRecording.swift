import Glibc
import HCI
import HCITransport
import Simulation

/// What one host and its controller said to each other, in memory, until it is known whether anybody wants to read it.
package final class HCIRecording: WireRecorder {
    /// The virtual clock's origin in captures: the first instant that `btmon` can tell.
    package static let originUnixMicroseconds: UInt64 = 946_684_800_000_000

    package let name: String
    private var packets: [(nanoseconds: UInt64, direction: BTSnoopWriter.Direction, octets: [UInt8])] = []

    init(name: String) { self.name = name }

    /// One H4 packet, at an instant of the virtual clock.
    package func record(_ octets: [UInt8], isFromHost: Bool, atNanoseconds instant: UInt64) {
        packets.append((instant, isFromHost ? .sent : .received, octets))
    }

    /// Writes all of it to `path`, in place of what was there.
    package func write(to path: String) throws {
        // The writer goes on with a file that is there.
        guard unlink(path) == 0 || errno == ENOENT else { throw CaptureError(path, errno) }
        var microseconds: UInt64 = 0
        let writer = try BTSnoopWriter(path: path, unixMicroseconds: { microseconds })
        // A host that reads late has said something since.
        for packet in packets.sorted(by: { $0.nanoseconds < $1.nanoseconds }) {
            guard let indicator = packet.octets.first else { continue }
            microseconds = Self.originUnixMicroseconds + packet.nanoseconds / 1_000
            writer.record(
                HCIPacketType(rawValue: indicator), packet.octets.span.bytes.extracting(1..<packet.octets.count),
                direction: packet.direction)
        }
        if let failure = writer.failure { throw failure }
    }
}

/// What was said between the hosts and the controllers of one air.
final class AirRecording: AirRecorder {
    /// Within its test, from 1.
    let number: Int
    private(set) var hosts: [HCIRecording] = []

    init(number: Int) { self.number = number }

    /// A second host of the same name is told from the first.
    func beginRecording(of name: String) -> any WireRecorder {
        let count = hosts.count { $0.name == name || $0.name.hasPrefix(name + "-") }
        let recording = HCIRecording(name: count == 0 ? name : "\(name)-\(count + 1)")
        hosts.append(recording)
        return recording
    }
}

/// No capture can be written where LATCH_TEST_CAPTURE asks for it.
package struct CaptureError: Error, Equatable, CustomStringConvertible {
    package let path: String
    package let errorNumber: Int32

    init(_ path: String, _ errorNumber: Int32) {
        self.path = path
        self.errorNumber = errorNumber
    }

    package var description: String {
        "\(CaptureDirectory.variable): no capture can be written to \(path): \(String(cString: strerror(errorNumber)))"
    }
}
