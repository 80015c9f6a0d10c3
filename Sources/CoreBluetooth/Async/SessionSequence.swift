import Synchronization

/// What comes to a session, oldest first. Elements are kept from the session's beginning on, up to the bound that the
/// property names, until somebody iterates. Each element goes to one iteration. An iteration ends when its task is
/// cancelled; what it has not taken stays for the next one.
public struct SessionSequence<Element: Sendable>: AsyncSequence, Sendable {
    let inbox: Inbox<Element>
    let session: any AnyObject & Sendable

    /// Takes elements out of the sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let inbox: Inbox<Element>
        let session: any AnyObject & Sendable

        /// The next element, waited for; nil when the task is cancelled.
        public mutating func next() async -> Element? {
            // Who waits here keeps the session, though nobody else may hold it.
            defer { withExtendedLifetime(session) {} }
            return await inbox.next()
        }
    }

    /// Another iteration over what is not taken yet.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(inbox: inbox, session: session) }
}

/// A bounded queue that tasks wait at. Filled on one serial queue.
final class Inbox<Element: Sendable>: Sendable {
    /// What becomes of an element that finds no room.
    enum Overflow: Sendable {
        /// It is given back.
        case refused
        /// The second oldest goes in its place: the oldest may be what was restored.
        case replacesSecond
    }

    private struct State: Sendable {
        var kept: [Element] = []
        var waiting: [Promise<Element>] = []
    }

    private let maximum: Int
    private let overflow: Overflow
    private let state = Mutex(State())

    init(maximum: Int, _ overflow: Overflow) {
        self.maximum = maximum
        self.overflow = overflow
    }

    /// False when it is given back.
    @discardableResult
    func put(_ element: Element) -> Bool {
        while true {
            let (waiting, isTaken) = state.withLock { state -> (Promise<Element>?, Bool) in
                if !state.waiting.isEmpty { return (state.waiting.removeFirst(), true) }
                if state.kept.count >= maximum {
                    guard overflow == .replacesSecond, state.kept.count > 1 else { return (nil, false) }
                    state.kept.remove(at: 1)
                }
                state.kept.append(element)
                return (nil, true)
            }
            guard let waiting else { return isTaken }
            // Else its task was cancelled.
            if waiting.end(.success(element)) { return true }
        }
    }

    func next() async -> Element? {
        let promise = Promise<Element>()
        let kept = state.withLock { state -> Element? in
            guard state.kept.isEmpty else { return state.kept.removeFirst() }
            state.waiting.removeAll(where: \.isOver)
            state.waiting.append(promise)
            return nil
        }
        if let kept { return kept }
        return try? await promise.value()
    }
}
