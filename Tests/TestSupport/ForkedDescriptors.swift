import CLinux
import Glibc

/// What a process that was forked just now has open until it executes its program: this one's descriptors, once more,
/// until this goes.
package final class ForkedDescriptors {
    package let copies: [Int32]

    package init(_ descriptors: [Int32]) { copies = descriptors.map { latch_fcntl($0, F_DUPFD_CLOEXEC, 0) } }

    /// Those of a file.
    package convenience init(ofFile path: String) {
        var wanted = stat()
        stat(path, &wanted)
        self.init(
            (0..<Int32(clamping: sysconf(Int32(_SC_OPEN_MAX)))).filter { descriptor in
                var found = stat()
                return fstat(descriptor, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino
            })
    }

    deinit { copies.forEach { close($0) } }
}
