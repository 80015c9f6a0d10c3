import CLinux
import Glibc

/// The least that a durable fact costs: one page overwritten in a file that has its length, and flushed. Page after page, as a
/// log is written.
final class BareFlush {
    static let pageOctets = 4096
    private static let pages = 256

    private let descriptor: Int32
    private var next = 0

    init(_ path: String) throws {
        descriptor = latch_open(path, O_WRONLY | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw BenchmarkError(system: path) }
        for _ in 0..<Self.pages { try overwrite() }
        guard fsync(descriptor) == 0 else { throw BenchmarkError(system: path) }
    }

    func milliseconds() throws -> Double {
        let begin = Clock.milliseconds
        try overwrite()
        guard fdatasync(descriptor) == 0 else { throw BenchmarkError(system: "fdatasync") }
        return Clock.milliseconds - begin
    }

    private func overwrite() throws {
        let page = [UInt8](repeating: UInt8(truncatingIfNeeded: next), count: Self.pageOctets)
        guard pwrite(descriptor, page, page.count, off_t(next % Self.pages * page.count)) == page.count else {
            throw BenchmarkError(system: "pwrite")
        }
        next += 1
    }

    deinit { close(descriptor) }
}
