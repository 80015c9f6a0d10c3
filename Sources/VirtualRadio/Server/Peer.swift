import CLinux
import Glibc

/// A connected descriptor with what it has sent in part and what it has not taken yet.
final class Peer {
    /// More than this unread, and the peer counts as gone.
    static let maximumUnsentOctets = 1 << 20

    let descriptor: FileDescriptor
    let token: UInt64
    var inbound: [UInt8] = []
    private var unsent: [UInt8] = []
    private var sentCount = 0
    /// To be closed when everything that is unsent has gone.
    var isClosing = false

    init(descriptor: consuming FileDescriptor, token: UInt64) {
        self.descriptor = descriptor
        self.token = token
    }

    var hasUnsent: Bool { sentCount < unsent.count }

    /// Writes what it takes now and keeps the rest. False when the peer is gone or does not read.
    func send(_ octets: UnsafeRawBufferPointer) -> Bool {
        var done = 0
        if !hasUnsent {
            done = Glibc.send(descriptor.number, octets.baseAddress, octets.count, Int32(MSG_NOSIGNAL))
            if done < 0 {
                guard errno == EAGAIN || errno == EINTR else { return false }
                done = 0
            }
        }
        guard unsent.count - sentCount + octets.count - done <= Self.maximumUnsentOctets else { return false }
        unsent.append(contentsOf: octets.dropFirst(done))
        return true
    }

    func send(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes(send) }

    /// Goes on with what is unsent.
    func flush() -> Bool {
        guard hasUnsent else { return true }
        let done = unsent.withUnsafeBytes {
            Glibc.send(
                descriptor.number, $0.baseAddress.map { $0 + sentCount }, $0.count - sentCount,
                Int32(MSG_NOSIGNAL))
        }
        guard done >= 0 || errno == EAGAIN || errno == EINTR else { return false }
        sentCount += max(done, 0)
        if sentCount == unsent.count {
            unsent.removeAll(keepingCapacity: true)
            sentCount = 0
        }
        return true
    }
}

/// What a read came to.
enum Reading: Equatable {
    case octets(Int)
    case nothing
    case end

    init(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) {
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        self =
            if count > 0 { .octets(count) } else if count < 0, errno == EAGAIN || errno == EINTR { .nothing } else {
                .end
            }
    }
}

/// Where every read goes, one at a time.
final class ReadBuffer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 16)

    deinit { bytes.deallocate() }
}
