import CLinux
import Glibc

/// The directory where a daemon keeps everything: private to its user, and there before the daemon is.
struct StateDirectory: Sendable {
    enum Role: String, Sendable { case peripheral, central }

    let path: String

    func controlSocket(_ role: Role) -> String { "\(path)/\(role.rawValue).sock" }
    var database: String { "\(path)/latch.sqlite" }
    var boltJournal: String { "\(path)/bolt.journal" }
    var machineKey: String { "\(path)/machine.key" }

    init(_ path: String) throws(Failure) {
        var information = stat()
        guard stat(path, &information) == 0 else {
            let number = errno
            let reason = String(cString: strerror(number))
            let remedy = number == ENOENT ? "make it with `install -d -m 0700 \(path)`" : "check the path and its owner"
            throw Failure(.state, "state directory \(path) cannot be used: \(reason): \(remedy)")
        }
        guard information.st_mode & S_IFMT == S_IFDIR else {
            throw Failure(.state, "state directory \(path) is no directory: name another with --state")
        }
        guard information.st_mode & 0o077 == 0 else {
            throw Failure(
                .state, "state directory \(path) is open to other users: close it with `chmod 0700 \(path)`")
        }
        self.path = path
        guard access(path, R_OK | X_OK) == 0 else { throw inaccessible }
    }

    /// A daemon whose directory cannot be written does what its bolt is owed before it says so.
    func requireWritable() throws(Failure) {
        guard access(path, W_OK) == 0 else { throw inaccessible }
    }

    private var inaccessible: Failure {
        Failure(
            .state, "state directory \(path) cannot be read and written by this user: run as its owner, or `chown` it")
    }
}
