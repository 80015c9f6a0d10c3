import BluetoothHost
import Synchronization

/// Reaches a host that is being composed on another thread: what is asked before it is there waits, in order.
package final class DeferredExecutor: HostExecutor {
    private enum Target: Sendable {
        case none(waiting: [@Sendable (Host) -> Void])
        case host(any HostExecutor)
    }

    private let target = Mutex(Target.none(waiting: []))

    package init() {}

    package func execute(_ body: @escaping @Sendable (Host) -> Void) {
        let inline: (any HostExecutor)? = target.withLock { target in
            switch target {
            case .host(let executor):
                if executor.isOnLoop { return executor }
                // Posted while nobody can take the host away: what is posted later than that would be lost.
                executor.execute(body)
            case .none(let waiting): target = .none(waiting: waiting + [body])
            }
            return nil
        }
        inline?.execute(body)
    }

    /// Whoever is on the loop finds the host that is there: it comes and goes on this thread alone.
    package func join() -> Host? {
        let executor: (any HostExecutor)? = target.withLock { target in
            if case .host(let executor) = target { executor } else { nil }
        }
        return executor?.join()
    }

    package var isOnLoop: Bool {
        target.withLock { target in
            if case .host(let executor) = target { executor.isOnLoop } else { false }
        }
    }

    /// The host is there, or another is in its place. On the loop's thread, which runs what waited at once: before
    /// anything that other threads ask from now on.
    package func reach(_ executor: any HostExecutor) {
        let waiting: [@Sendable (Host) -> Void] = target.withLock { target in
            defer { target = .host(executor) }
            if case .none(let waiting) = target { return waiting }
            return []
        }
        for body in waiting { executor.execute(body) }
    }

    /// The host ends, and another will come: what is asked from now on waits. On the loop's thread.
    package func reachNobody() {
        target.withLock { target in
            if case .host = target { target = .none(waiting: []) }
        }
    }
}
