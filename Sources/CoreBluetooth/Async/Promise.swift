import Synchronization

/// One call's end: the first that comes counts, and everything after it is ignored. Awaited by one task.
///
/// A callback, the end of a link, a change of the adapter, cancellation and a timeout may come at the same moment, on
/// different threads. This is the one place that decides between them.
final class Promise<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case open(CheckedContinuation<Value, any Error>?)
        case over(Result<Value, any Error>)
    }

    private let state = Mutex(State.open(nil))

    /// Whether nobody waits any more.
    var isOver: Bool { state.withLock { if case .over = $0 { true } else { false } } }

    /// False when it has ended before. Resumes the task that waits: not to be called with a lock held.
    @discardableResult
    func end(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
            guard case .open(let waiting) = state else { return (false, nil) }
            state = .over(result)
            return (true, waiting)
        }
        waiting?.resume(with: result)
        return isFirst
    }

    /// Waits for the end, which cancellation of the task and `limit` bring too.
    func value(within limit: Duration? = nil) async throws -> Value {
        let timer = limit.map { limit in
            Task {
                try await Task.sleep(for: limit)
                end(.failure(BluetoothSessionError.timedOut))
            }
        }
        defer { timer?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let over = state.withLock { state -> Result<Value, any Error>? in
                    if case .over(let result) = state { return result }
                    state = .open(continuation)
                    return nil
                }
                if let over { continuation.resume(with: over) }
            }
        } onCancel: {
            end(.failure(CancellationError()))
        }
    }
}
