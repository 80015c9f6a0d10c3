import BluetoothCore
import CLinux
import Glibc

/// Who may speak to a daemon beside its own user and root: the members of a group of the system.
package struct ControlGroup: Equatable, Sendable {
    /// As the operator wrote it.
    package let name: String
    package let id: gid_t

    /// Looks the group up by its name, or takes it by its number where no group has that for a name.
    ///
    /// - Throws: ``ControlSocketError``, when there is no such group.
    package init(named name: String) throws(ControlSocketError) {
        guard let id = try Self.number(of: name) ?? Self.number(written: name) else {
            throw ControlSocketError(
                reason: .misconfigured,
                description:
                    "there is no group `\(name)` for the control socket: make it (`groupadd --system \(name)`, or "
                    + "`systemd-sysusers`), or name another one")
        }
        (self.name, self.id) = (name, id)
    }

    /// Makes a socket this group's, by its name, since what is done to a socket's descriptor does not reach the name.
    ///
    /// - Throws: ``ControlSocketError``: of the configuration where this user, or its unit, may not do that.
    package func take(_ socket: String) throws(ControlSocketError) {
        var made = stat()
        // A directory with the set-group-ID bit has given it already, and then the call is not needed.
        guard lstat(socket, &made) == 0, made.st_gid == id || lchown(socket, uid_t.max, id) == 0 else {
            guard errno == EPERM else { throw .unusable(socket, "cannot be given to group `\(name)`") }
            throw ControlSocketError(
                reason: .misconfigured,
                description:
                    "control socket \(socket) cannot be given to group `\(name)`: this user is no member of it, "
                    + "or its unit forbids the call: `SupplementaryGroups=\(name)` and `SystemCallFilter=@chown` "
                    + "are wanted there")
        }
    }

    /// The greatest number is no group's: calls take it for "leave it as it is".
    private static func number(written text: String) -> gid_t? {
        gid_t(digits: text).flatMap { $0 == gid_t.max ? nil : $0 }
    }

    private static func number(of name: String) throws(ControlSocketError) -> gid_t? {
        // A group of many members takes more room.
        for room in [1 << 10, 1 << 15, 1 << 20] {
            var entry = group()
            var found: UnsafeMutablePointer<group>?
            var buffer = [CChar](repeating: 0, count: room)
            switch getgrnam_r(name, &entry, &buffer, room, &found) {
            case 0: return found == nil ? nil : entry.gr_gid
            // What the C library may say of a name that is not there.
            case ENOENT, ESRCH, EBADF, EPERM: return nil
            case ERANGE: continue
            case let failure:
                throw ControlSocketError(
                    reason: .unusable,
                    description: "group `\(name)` cannot be looked up: \(String(cString: strerror(failure)))")
            }
        }
        throw ControlSocketError(
            reason: .misconfigured,
            description: "group `\(name)` has more members than are read: name one that is for the control socket alone"
        )
    }
}
