import CLinux
import CommandInterface
import Glibc

/// A program of the operator's that the daemon runs as its own user: named by a key of the configuration.
struct OperatorProgram {
    let path: String
    let section: String
    let key: String

    /// What is wrong with this path wherever it is read; nil for nothing.
    static func fault(_ path: String) -> String? {
        path.hasPrefix("/") ? nil : "write the program's whole path, from / on"
    }

    /// The same of a file that the daemon makes.
    static func faultOfFile(_ path: String) -> String? {
        path.hasPrefix("/") ? nil : "write the file's whole path, from / on"
    }

    /// What the daemon ends with where a look at the program failed. One that the system cannot look at for a while may be right.
    static func status(_ error: Int32) -> ExitCode {
        SmallFile.ReadError.system(error).isOfFile ? .configuration : PeripheralSettings.unreadable
    }

    /// Why it cannot be run: at a start the program is there, and nobody but root and the daemon's user can put another in its place.
    func faults(in configuration: String) -> [Failure] {
        func fault(_ problem: String, _ remedy: String, _ code: ExitCode = .configuration) -> Failure {
            Failure(
                code,
                "key `\(key)` in section [\(section)] of \(configuration): \(path) \(problem): \(remedy)")
        }
        var status = stat()
        guard stat(path, &status) == 0 else {
            let error = errno
            return [
                fault(
                    "cannot be found: \(String(cString: strerror(error)))", "install it, or name another program",
                    Self.status(error))
            ]
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return [fault("is no file", "name a program")] }
        var faults: [Failure] = []
        if access(path, X_OK) != 0 { faults.append(fault("may not be executed", "`chmod a+x` it", Self.status(errno))) }
        let isItsOwners = status.st_uid == 0 || status.st_uid == geteuid()
        if !isItsOwners || status.st_mode & 0o022 != 0 {
            faults.append(
                fault(
                    "can be changed by other users, who would get the lock's keys",
                    "give it to root, and `chmod go-w` it"))
        }
        return faults
    }
}
