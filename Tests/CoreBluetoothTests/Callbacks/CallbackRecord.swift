import CoreBluetooth
import Synchronization

/// One call of a delegate: the method in Apple's words, and what of its arguments a table says.
struct HeardCallback: Equatable, Sendable, CustomStringConvertible {
    let callback: String
    let detail: String

    var description: String { detail.isEmpty ? callback : "\(callback) [\(detail)]" }
}

/// Every call of an app's delegates, in order, whichever object it was made on.
final class CallbackRecord: Sendable {
    private struct Waiting {
        let isMet: @Sendable ([HeardCallback]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var heard: [HeardCallback] = []
        var waiting: [Int: Waiting] = [:]
        var isOver = false
        var next = 0
    }

    private let state = Mutex(State())

    var heard: [HeardCallback] { state.withLock { $0.heard } }

    func note(_ callback: String, _ details: String?...) {
        let detail = details.compactMap { $0 }.joined(separator: ", ")
        let met = state.withLock { state in
            state.heard.append(HeardCallback(callback: callback, detail: detail))
            let met = state.waiting.filter { $0.value.isMet(state.heard) }
            for key in met.keys { state.waiting[key] = nil }
            return met.values
        }
        for waiting in met { waiting.continuation.resume() }
    }

    /// Until what was heard is enough, or the test's time is over.
    func wait(until isMet: @escaping @Sendable ([HeardCallback]) -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isNow = state.withLock { state in
                    guard !state.isOver, !isMet(state.heard) else { return true }
                    state.waiting[state.next] = Waiting(isMet: isMet, continuation: continuation)
                    state.next += 1
                    return false
                }
                if isNow { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                defer { state.waiting = [:] }
                state.isOver = true
                return state.waiting.values
            }
            for waiting in waiting { waiting.continuation.resume() }
        }
    }

    /// Does `body`, and waits until this callback has come once more than before it.
    func hears(_ callback: String, after body: () async throws -> Void) async rethrows {
        let before = heard.count { $0.callback == callback }
        try await body()
        await wait { heard in heard.count { $0.callback == callback } > before }
    }
}

/// An error as the page writes it; nil for none.
func name(of error: (any Error)?) -> String? {
    switch error {
    case nil: nil
    case let error as CBError: "CBError.\(error.code)"
    case let error as CBATTError: "CBATTError.\(error.code)"
    case let error?: "\(error)"
    }
}
