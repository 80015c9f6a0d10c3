import CLinux
import CommandInterface
import Glibc

/// The directory where a daemon keeps everything: private to its user, and there before the daemon is.
struct StateDirectory: Sendable {
    enum Role: String, Sendable {
        case peripheral, central

        var other: Self { self == .peripheral ? .central : .peripheral }
    }

    let path: String
    private let isOpenToOthers: Bool

    func controlSocket(_ role: Role) -> String { "\(path)/\(role.rawValue).sock" }
    var database: String { "\(path)/latch.sqlite" }
    var boltJournal: String { "\(path)/bolt.journal" }
    /// Held by the bolt's command while it runs.
    var boltCommand: String { "\(path)/bolt.command" }
    var machineKey: String { "\(path)/\(Self.machineKeyName)" }
    static let machineKeyName = "machine.key"
    var anchor: String { "\(path)/\(Self.anchorName)" }
    static let anchorName = "lock.anchor"

    /// One that this user may read and write, and nobody else.
    init(_ path: String) throws(Failure) {
        try self.init(readable: path)
        try requireUsable()
    }

    /// One that can be looked at, whatever else is wrong with it. A daemon does what its bolt is owed before it says so.
    init(readable path: String) throws(Failure) {
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
        isOpenToOthers = information.st_mode & 0o077 != 0
        self.path = path
        guard access(path, R_OK | X_OK) == 0 else { throw inaccessible }
    }

    func requireUsable() throws(Failure) {
        guard !isOpenToOthers else {
            throw Failure(
                .state, "state directory \(path) is open to other users: close it with `chmod 0700 \(path)`")
        }
        guard access(path, W_OK) == 0 else { throw inaccessible }
    }

    private var inaccessible: Failure {
        Failure(
            .state, "state directory \(path) cannot be read and written by this user: run as its owner, or `chown` it")
    }
}
