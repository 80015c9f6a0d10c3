import BluetoothCore
import Glibc

/// Packets on their way to a controller, until its descriptor has taken them.
struct HCIOutput {
    private var octets: [UInt8] = []
    private var written = 0
    /// Lengths of the packets in `octets`, where each must be one write.
    private var packetLengths: [Int] = []
    private var packetsWritten = 0
    private let isOfWholePackets: Bool
    private let isSocket: Bool

    init(ofWholePackets isOfWholePackets: Bool, isSocket: Bool) {
        self.isOfWholePackets = isOfWholePackets
        self.isSocket = isSocket
    }

    /// Octets that wait.
    var count: Int { octets.count - written }

    /// Takes a packet, indicator first.
    mutating func append(_ packet: RawSpan) {
        packet.withUnsafeBytes { octets.append(contentsOf: $0) }
        if isOfWholePackets { packetLengths.append(packet.byteCount) }
    }

    /// Writes until nothing is left or the descriptor takes no more. The error's number when it takes nothing ever again.
    mutating func flush(to descriptor: Int32) -> Int32? {
        guard count > 0 else { return nil }
        while count > 0 {
            let wanted = packetsWritten < packetLengths.count ? packetLengths[packetsWritten] : count
            let taken = write(wanted, to: descriptor)
            if taken < 0 {
                if errno == EINTR { continue }
                guard errno == EAGAIN else { return errno }
                compact()
                return nil
            }
            written += taken
            if isOfWholePackets { packetsWritten += 1 }
        }
        octets.removeAll(keepingCapacity: true)
        packetLengths.removeAll(keepingCapacity: true)
        written = 0
        packetsWritten = 0
        return nil
    }

    /// A controller that is slow but never stops must not make the buffer grow.
    private mutating func compact() {
        guard written > HCIStream.maximumBufferedOctets / 4 else { return }
        octets.removeFirst(written)
        packetLengths.removeFirst(packetsWritten)
        written = 0
        packetsWritten = 0
    }

    private func write(_ count: Int, to descriptor: Int32) -> Int {
        octets.withUnsafeBytes { octets in
            let start = octets.baseAddress.map { $0 + written }
            return isSocket
                ? Glibc.send(descriptor, start, count, Int32(MSG_NOSIGNAL))
                : Glibc.write(descriptor, start, count)
        }
    }
}
