import CoreBluetoothEssentials

/// One lock as ``KeyDaemon`` holds it: the peripheral, what is wanted of it at the manager, and how far its tree is known.
/// Everything that is decided about it, the machines decide.
struct LockSession {
    enum Tree {
        case unknown
        case known(LockHandles)
        /// Subscriptions that are asked for and not yet answered.
        case subscribing(LockHandles, [CBCharacteristic])
    }

    /// What a step on the way to a lock that can be spoken to asks for.
    enum Step {
        /// Something is still awaited, or the word was not about this.
        case wait
        case discover
        case subscribe([CBCharacteristic])
        /// The tree is known, and the key is subscribed to all that it listens to.
        case ready
        /// This is no lock, or it takes no subscription.
        case failed
    }

    /// Held, so that its delegate is called; nil until the lock is first spoken to.
    var peripheral: CBPeripheral?
    /// A connection is to be asked for as soon as the radio is on.
    var isWanted = false
    /// Links, or wishes for one, that the enrolment gave up and does not want to hear of. They end before anything newer does.
    private var releasedEnds = 0
    /// No connection was known when the enrolment gave it up. A wish outlives the radio's restart: it may end all the same.
    private var mayEndReleased = false
    private(set) var tree = Tree.unknown

    init(_ peripheral: CBPeripheral? = nil) { self.peripheral = peripheral }

    var handles: LockHandles? {
        switch tree {
        case .unknown: nil
        case .known(let handles), .subscribing(let handles, _): handles
        }
    }
}

// MARK: Links that are nobody's any more

extension LockSession {
    /// The link, or the wish for one, is about to be given up: an end that is still to come is not for the enrolment.
    mutating func release() {
        switch peripheral?.state {
        case .disconnected, nil: mayEndReleased = true
        // Its end is under way.
        case .disconnecting: releasedEnds = max(releasedEnds, 1)
        case .connecting, .connected: releasedEnds += 1
        }
    }

    /// Whether a link that is told of was released before it could be.
    mutating func isReleased() -> Bool {
        if releasedEnds == 0 { mayEndReleased = false }
        return releasedEnds > 0
    }

    /// Whether a link that is over was released.
    mutating func takeReleasedEnd() -> Bool {
        if releasedEnds > 0 {
            releasedEnds -= 1
            return true
        }
        defer { mayEndReleased = false }
        return mayEndReleased
    }
}

// MARK: The tree

extension LockSession {
    /// What was known of it is void.
    mutating func forgetTree() { tree = .unknown }

    /// Takes what the peripheral shows.
    mutating func look() { tree = peripheral.flatMap(LockHandles.init).map { .known($0) } ?? .unknown }

    /// The same, of what an earlier link or process has kept.
    mutating func lookAtKept() {
        if handles == nil, peripheral?.showKeptServices() == true { look() }
    }

    /// `everything`: what a former bond had subscribed to, the lock keeps under that bond; a new one asks for everything.
    mutating func prepare(everything: Bool) -> Step {
        lookAtKept()
        guard let handles else { return .discover }
        let missing = everything ? handles.subscriptions : handles.subscriptions.filter { !$0.isNotifying }
        guard !missing.isEmpty else { return .ready }
        tree = .subscribing(handles, missing)
        return .subscribe(missing)
    }

    mutating func subscribed(to characteristic: CBCharacteristic, isTaken: Bool) -> Step {
        guard case .subscribing(let handles, let awaited) = tree, awaited.contains(characteristic) else { return .wait }
        let left = isTaken ? awaited.filter { $0 !== characteristic } : []
        tree = left.isEmpty ? .known(handles) : .subscribing(handles, left)
        guard isTaken else { return .failed }
        return left.isEmpty ? .ready : .wait
    }

    /// Nothing is answered any more.
    mutating func linkEnded() { if let handles { tree = .known(handles) } }
}
