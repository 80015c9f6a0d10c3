import Synchronization

/// What a change of guarded state leads to outside of it, done in order once the lock is open: a task that is resumed,
/// or a sequence that ends, calls code that may take the same lock.
struct Effects {
    private var acts: [() -> Void] = []

    mutating func then(_ act: @escaping () -> Void) { acts.append(act) }

    /// Ends a call.
    mutating func end<Value>(_ promise: Promise<Value>, _ result: Result<Value, any Error>) {
        acts.append { promise.end(result) }
    }

    consuming func run() {
        for act in acts { act() }
    }
}

extension Mutex where Value: Sendable {
    /// Changes the state under the lock, and then does what follows from it. Calls of managers and peripherals are made
    /// under the lock: they never block and call nobody back, and so they reach the host in the order of the changes.
    func turn<Output: Sendable>(_ change: (inout Value, inout Effects) -> Output) -> Output {
        var effects = Effects()
        let output = withLock { change(&$0, &effects) }
        effects.run()
        return output
    }
}
