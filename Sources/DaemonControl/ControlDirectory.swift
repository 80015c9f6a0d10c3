import CLinux
import Glibc

/// The directory that a control socket lies in. Who can write there can put a socket of his own in the daemon's place, and
/// an operator would type a setup code into that. So daemon and operator both look at it.
struct ControlDirectory {
    let path: String
    let owner: uid_t
    private let group: gid_t
    private let mode: mode_t

    /// nil where it cannot be looked at; errno says why.
    init?(of socket: String) {
        path = Self.path(of: socket)
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        (owner, group, mode) = (found.st_uid, found.st_gid, found.st_mode & 0o7777)
    }

    static func path(of socket: String) -> String {
        socket.lastIndex(of: "/").map { $0 == socket.startIndex ? "/" : String(socket[..<$0]) } ?? "."
    }

    /// A sticky bit keeps nobody from being the first.
    var isOpenToOthers: Bool { mode & 0o022 != 0 }

    /// What a daemon asks of it before it makes a socket there.
    ///
    /// - Throws: ``ControlSocketError``, with the remedy.
    func require(for socket: String, _ members: ControlGroup?) throws(ControlSocketError) {
        guard !isOpenToOthers else {
            throw refusal(
                socket, "other users can write to its directory \(path), and put a socket of theirs in its place",
                "close it with `chmod go-w \(path)`, or name a socket in another directory")
        }
        guard let members else { return }
        guard owner == 0 || owner == geteuid() else {
            throw refusal(
                socket, "its directory \(path) belongs to user \(owner)",
                "name a socket in a directory of the daemon's user or of root")
        }
        let enter: mode_t = group == members.id ? 0o010 : 0o001
        guard mode & enter != 0 else {
            throw refusal(
                socket, "members of group `\(members.name)` cannot enter its directory \(path)",
                "name a socket in another one (under systemd RuntimeDirectory= makes it, with RuntimeDirectoryMode=0711), "
                    + "and leave the state directory closed")
        }
    }

    private func refusal(_ socket: String, _ problem: String, _ remedy: String) -> ControlSocketError {
        ControlSocketError(reason: .misconfigured, description: "control socket \(socket): \(problem): \(remedy)")
    }
}
