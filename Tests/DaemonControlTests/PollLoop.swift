import CLinux
import DaemonControl
import Glibc

/// The smallest loop that the server can live on.
final class PollLoop: ReadinessLoop {
    private var watched: [Int32: (interest: Readiness, ready: (Readiness) -> Void)] = [:]

    func watch(_ descriptor: Int32, for interest: Readiness, _ ready: @escaping (Readiness) -> Void) -> Bool {
        watched[descriptor] = (interest, ready)
        return true
    }

    func change(_ descriptor: Int32, to interest: Readiness) { watched[descriptor]?.interest = interest }
    func unwatch(_ descriptor: Int32) { watched[descriptor] = nil }

    var descriptors: [Int32] { Array(watched.keys) }

    /// Serves until nothing is ready any more. Everything happens in one process, so what was sent is there.
    func settle() {
        while true {
            var polled = watched.map { descriptor, entry in
                pollfd(
                    fd: descriptor,
                    events: Int16(entry.interest.contains(.readable) ? POLLIN : 0)
                        | Int16(entry.interest.contains(.writable) ? POLLOUT : 0), revents: 0)
            }
            guard poll(&polled, nfds_t(polled.count), 0) > 0 else { return }
            for entry in polled where entry.revents != 0 {
                var readiness: Readiness = []
                if entry.revents & Int16(POLLIN) != 0 { readiness.insert(.readable) }
                if entry.revents & Int16(POLLOUT) != 0 { readiness.insert(.writable) }
                if entry.revents & Int16(POLLHUP | POLLERR) != 0 { readiness.insert(.hangup) }
                watched[entry.fd]?.ready(readiness)
            }
        }
    }
}
