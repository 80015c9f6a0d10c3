import Glibc

/// Threads of this program that work until they have done.
package final class Threads {
    private final class Job: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private var threads: [pthread_t] = []

    /// How many of them the machine runs at the same time.
    static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Starts one for each body. Some may do where the machine has no room for all.
    package init(_ bodies: [@Sendable () -> Void]) throws(DrillError) {
        var status: Int32 = 0
        for body in bodies where status == 0 {
            var thread = pthread_t()
            let context = Unmanaged.passRetained(Job(body))
            status = pthread_create(
                &thread, nil,
                { context in
                    if let context { Unmanaged<Job>.fromOpaque(context).takeRetainedValue().body() }
                    return nil
                }, context.toOpaque())
            if status == 0 { threads.append(thread) } else { context.release() }
        }
        guard threads.isEmpty else { return }
        throw DrillError(.environment, "cannot start a thread: \(String(cString: strerror(status)))")
    }

    /// Returns when all have ended.
    package func join() {
        for thread in threads { pthread_join(thread, nil) }
        threads = []
    }
}
