import BluetoothCore
import CommandInterface
import DaemonControl
import Glibc

/// Who is heard, and whose members may open the socket's file.
///
/// Looked up when the line is at rest. A look-up may wait for a directory in the network, and a door that a kill has left open must not.
struct StrikePeer {
    let user: uid_t
    /// The keeper's own where it is nil.
    let group: ControlGroup?

    /// - Throws: ``Failure``: of the configuration where there is no such user or group, else that it could not be asked.
    init(_ plan: StrikePlan) throws(Failure) {
        user = try Self.user(plan)
        do throws(ControlSocketError) {
            group = try plan.group.map { name throws(ControlSocketError) in try ControlGroup(named: name) }
        } catch {
            throw plan.refusal(ofGroup: error)
        }
    }

    private static func user(_ plan: StrikePlan) throws(Failure) -> uid_t {
        let none = plan.refusal(
            "socket", "user",
            "names `\(plan.user)`, and there is no such user: write the one that the lock's daemon runs as")
        if let number = uid_t(digits: plan.user) {
            // The greatest number is nobody's.
            guard number != uid_t.max else { throw none }
            return number
        }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 1 << 14)
        switch getpwnam_r(plan.user, &entry, &buffer, buffer.count, &found) {
        case 0 where found != nil: return entry.pw_uid
        // What the C library may say of a name that is not there.
        case 0, ENOENT, ESRCH, EBADF, EPERM: throw none
        case let code:
            throw Failure(.unavailable, "user `\(plan.user)` cannot be looked up: \(String(cString: strerror(code)))")
        }
    }
}

extension StrikePlan {
    /// Why the group cannot have the socket: the configuration's fault, or the system's.
    func refusal(ofGroup error: ControlSocketError) -> Failure {
        guard error.reason == .misconfigured else { return Failure(.unavailable, "\(error)") }
        return refusal("socket", "group", "cannot be that: \(error)")
    }
}
