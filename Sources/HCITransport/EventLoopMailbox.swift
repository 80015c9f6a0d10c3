import CLinux
import Glibc
import Synchronization

/// The one part of an ``EventLoop`` that other threads may touch.
package final class EventLoopMailbox: Sendable {
    private let posted = Mutex<[@Sendable () -> Void]>([])
    private let thread: Atomic<UInt>
    /// An eventfd: readable while something is posted.
    let wakeup: OwnedDescriptor

    init(wakeup: consuming OwnedDescriptor) {
        self.wakeup = wakeup
        thread = Atomic(UInt(pthread_self()))
    }

    /// Whether the caller is on the thread that made the loop, or, since it runs, on the one that runs it.
    package var isOnLoopThread: Bool { thread.load(ordering: .acquiring) == UInt(pthread_self()) }

    /// Runs `work` on the loop's thread, in the order of posting, in an iteration of its own or another's. Never waits.
    package func post(_ work: @escaping @Sendable () -> Void) {
        let wasEmpty = posted.withLock { queue in
            defer { queue.append(work) }
            return queue.isEmpty
        }
        guard wasEmpty else { return }
        var one: UInt64 = 1
        _ = write(wakeup.rawValue, &one, MemoryLayout<UInt64>.size)
    }

    func adoptCurrentThread() { thread.store(UInt(pthread_self()), ordering: .releasing) }

    /// All that was posted so far. What these post is for the next iteration.
    func take() -> [@Sendable () -> Void] {
        var count: UInt64 = 0
        _ = read(wakeup.rawValue, &count, MemoryLayout<UInt64>.size)
        return posted.withLock { queue in
            defer { queue.removeAll() }
            return queue
        }
    }
}
