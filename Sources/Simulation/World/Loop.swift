import BluetoothCore
import BluetoothHost
import Glibc
import Synchronization

/// Reaches a host from any thread, for as long as it lives.
package final class Loop: HostExecutor, @unchecked Sendable {
    private let thread = pthread_self()
    private let calls = Mutex<[@Sendable (Host) -> Void]>([])
    /// The loop's thread alone touches these.
    private var host: Host?
    private var isDirty = false
    private let now: () -> Instant?

    init(_ host: Host, now: @escaping () -> Instant?) {
        self.host = host
        self.now = now
    }

    package var isOnLoop: Bool { pthread_equal(pthread_self(), thread) != 0 }

    package func execute(_ body: @escaping @Sendable (Host) -> Void) {
        guard isOnLoop else { return calls.withLock { $0.append(body) } }
        if let host = join() { body(host) }
    }

    package func join() -> Host? {
        guard isOnLoop, let host else { return nil }
        // A test is an app that calls in an iteration of its own, unless its world has gone before it.
        if let now = now() { host.beginIteration(now: now) }
        isDirty = true
        return host
    }

    func takeCalls() -> [@Sendable (Host) -> Void] {
        calls.withLock { calls in
            defer { calls = [] }
            return calls
        }
    }

    func takeIsDirty() -> Bool {
        defer { isDirty = false }
        return isDirty
    }

    func die() { host = nil }
}
