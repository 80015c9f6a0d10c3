import CLinux
import Glibc

/// A btsnoop file that grows. It holds what passes between a host and its controller, keys included, so only its owner
/// may read it.
struct CaptureFile: ~Copyable {
    private let file: FileDescriptor
    private let unixOffsetNanoseconds: UInt64

    init(path: String) throws(RadioServerError) {
        let file = try FileDescriptor(
            latch_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600), "cannot write \(path)")
        guard Self.write(BTSnoop.header, file.number) else { throw .errno("cannot write \(path)") }
        self.file = file
        unixOffsetNanoseconds =
            latch_clock_nanoseconds(CLOCK_REALTIME) &- latch_clock_nanoseconds(CLOCK_BOOTTIME)
    }

    /// False when the file cannot take it.
    func append(_ packet: some Collection<UInt8>, _ direction: BTSnoop.Direction, at nanoseconds: UInt64) -> Bool {
        Self.write(
            BTSnoop.record(packet, direction, unixMicroseconds: (nanoseconds &+ unixOffsetNanoseconds) / 1000),
            file.number)
    }

    private static func write(_ octets: [UInt8], _ file: Int32) -> Bool {
        octets.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) } == octets.count
    }
}

/// A descriptor that is closed with its owner.
struct FileDescriptor: ~Copyable {
    let number: Int32

    init(_ number: Int32, _ what: String) throws(RadioServerError) {
        guard number >= 0 else { throw .errno(what) }
        self.number = number
    }

    deinit { close(number) }
}

extension RadioServerError {
    static func errno(_ what: String) -> Self {
        Self(description: "\(what): \(String(cString: strerror(Glibc.errno)))")
    }
}
