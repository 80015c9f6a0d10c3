import CLinux
import Glibc

/// The programs that a drill starts.
struct Programs: Sendable {
    /// This one, which is the radio as well.
    let lab: String
    /// The lock and the key.
    let latch: String

    /// `latch`: its path; nil for the one beside this program.
    init(latch named: String?) throws(DrillError) {
        guard let resolved = realpath("/proc/self/exe", nil) else { throw .system("cannot find this program") }
        defer { free(resolved) }
        lab = String(cString: resolved)
        let beside = String(lab.prefix(through: lab.lastIndex(of: "/") ?? lab.startIndex)) + "latch"
        latch = named ?? beside
        guard Self.isProgram(latch) else {
            throw DrillError(
                .environment,
                named == nil
                    ? "there is no program \(beside): build it there with `swift build --product latch`, or name another "
                        + "with `--latch PATH`"
                    : "option `--latch`: \(latch) is no program that can be run")
        }
    }

    static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
