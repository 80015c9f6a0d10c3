import BluetoothCore
import HCI

/// Keeps the controller connecting to whom it should: one standing attempt for all that are wanted, by address when that
/// is one peer whose address does not change, else by the filter accept list. It never times out; a changed wish cancels and starts anew.
///
/// When more are wanted than the list holds, the others are listened for, and who is heard is connected to by its address
/// in an attempt of its own, which is bounded: docs/GAP.md says why.
///
/// Core 5.4, Vol 3, Part C, 9.3.5–9.3.8 (Connection establishment procedures); Vol 4, Part E, 7.8.12–7.8.17 and 7.8.66
package struct Initiator {
    package enum Action: Equatable, Sendable {
        case addToAcceptList(DeviceAddress)
        case removeFromAcceptList(DeviceAddress)
        case connect(DeviceAddress)
        /// To one who may be a stranger under a peer's address: a link that falls silent is soon given up.
        case connectBriefly(DeviceAddress)
        case connectByAcceptList
        case cancel

        fileprivate var isOfAcceptList: Bool {
            switch self {
            case .addToAcceptList, .removeFromAcceptList: true
            case .connect, .connectBriefly, .connectByAcceptList, .cancel: false
            }
        }
    }

    /// One who was heard under a contested peer's address, and made no link.
    package struct Missed: Equatable, Sendable {
        package let wanted: DeviceAddress
        package let onAir: DeviceAddress
        /// It is the controller that would not, and why: nothing is known of the peer.
        package let refusal: HCIErrorCode?
        package var isRefused: Bool { refusal != nil }
    }

    /// Whom an attempt is for.
    private enum Target: Equatable {
        case nobody
        case peer(DeviceAddress)
        case list(Set<DeviceAddress>)
    }

    /// Where the controller's attempt stands. There is one at a time.
    private enum Attempt: Equatable {
        case none
        /// Sent, and not yet answered by Command Status.
        case asked(Target)
        case standing(Target)
        /// Cancel sent: a Connection Complete, with 0x02 or with a link that was quicker, will end it.
        case cancelling
    }

    /// A peer that the accept list has no room for, and that was heard just now.
    private struct Heard {
        let wanted: DeviceAddress
        let onAir: DeviceAddress
        let until: Instant
    }

    /// A peer that was heard, and could be connected to if it were its turn.
    private struct Turn {
        var heard: Instant
        /// Which attempt was its last: 0 for none.
        var attempt: UInt64 = 0
    }

    /// How long a peer that was heard has to take the connection; afterwards the accept list has at least as long.
    package static let heardAttemptMilliseconds: UInt64 = 2_000
    /// The same for a contested peer, who has no other way to be connected.
    package static let contestedAttemptMilliseconds: UInt64 = 1_000
    /// A peer that was heard and took no connection is not tried again for so long: the others are.
    package static let heardAgainMilliseconds: UInt64 = 10_000
    /// A peer that was heard within this keeps those waiting who have had their turn after its own.
    package static let heardFreshMilliseconds: UInt64 = 1_000
    /// A controller that has answered a cancel says within this that the attempt is over.
    package static let cancelledMilliseconds: UInt64 = 2_000
    /// So many of those who were heard are connected to, or missed, one after the other; then it is the accept list's turn.
    /// Who replays an address and answers nothing would keep it from ever having one.
    package static let heardInARowMaximum = 8

    /// Who is to be connected, the longest asked first.
    package private(set) var wanted: [DeviceAddress] = []
    /// Rests while the address that it connects with is about to change.
    package var isHeld = false { didSet { if isHeld != oldValue { failure = nil } } }
    /// Of those who are wanted, who may be on the air under other addresses than the one that the accept list knows.
    package var privatePeers: Set<DeviceAddress> = []
    /// Who is found by the accept list under whatever address, since the controller resolves it.
    package var resolvedPeers: Set<DeviceAddress> = []
    /// Of those who are to be connected, connected or not, in whose name somebody answers who is not them
    /// (``ContestedPeers``): the accept list would find whoever advertises most. They are only ever connected when
    /// ``heard(_:at:now:)`` names them.
    package var contested: Set<DeviceAddress> = [] {
        // A contested peer is found in another way: an attempt in vain by one way says nothing of the other.
        didSet { for peer in contested.symmetricDifference(oldValue) { triedUntil[peer] = nil } }
    }
    package private(set) var failure: HCIErrorCode?

    /// What the controller says that its accept list holds, and what it has taken.
    private let announcedCapacity: Int
    private var acceptListCapacity: Int
    private var attempt = Attempt.none
    private var acceptList: Set<DeviceAddress> = []
    private var outstanding: Action?
    /// Until when the end of a cancelled attempt is awaited.
    private var cancelledUntil: Instant?
    private var heard: Heard?
    private var missed: Missed?
    private var heardInARow = 0
    /// Nobody else who is heard is connected to before this.
    private var listTurnUntil: Instant?
    /// Of those who are wanted only: when they may be tried again.
    private var triedUntil: [DeviceAddress: Instant] = [:]
    /// The same: in which order those who are heard are connected to.
    private var turns: [DeviceAddress: Turn] = [:]
    private var attempts: UInt64 = 0
    /// Where in `wanted` the accept list begins.
    private var listStart = 0

    package init(acceptListCapacity: Int) {
        announcedCapacity = max(1, acceptListCapacity)
        self.acceptListCapacity = announcedCapacity
    }

    package mutating func want(_ addresses: [DeviceAddress]) {
        guard addresses != wanted else { return }
        wanted = addresses
        failure = nil
        if listable.count <= acceptListCapacity { listStart = 0 }
        triedUntil = triedUntil.filter { addresses.contains($0.key) }
        turns = turns.filter { addresses.contains($0.key) }
        if let heard, !addresses.contains(heard.wanted) { self.heard = nil }
    }

    /// Some are wanted whom the accept list does not find: what advertises is to be told to ``heard(_:at:now:)``.
    package var needsScan: Bool {
        (listable.count > acceptListCapacity || !privatePeers.isSubset(of: resolvedPeers) || !contested.isEmpty)
            && !isHeld
    }

    /// Nothing runs, and nothing is asked of the controller.
    package var isAtRest: Bool { attempt == .none && outstanding == nil }

    package mutating func next() -> Action? {
        guard outstanding == nil, failure == nil else { return nil }
        outstanding = missing()
        switch outstanding {
        case .connect, .connectBriefly, .connectByAcceptList: attempt = .asked(target)
        case .cancel: attempt = .cancelling
        case .addToAcceptList, .removeFromAcceptList, nil: break
        }
        return outstanding
    }

    /// The next change of the accept list, behind one that was made, while what is wanted has not changed.
    package mutating func nextOfAcceptList() -> Action? {
        guard outstanding == nil, failure == nil else { return nil }
        switch missing() {
        case .some(let action) where action.isOfAcceptList: outstanding = action
        default: break
        }
        return outstanding
    }

    /// The controller answered the command that ``next()`` named, by Command Complete or Command Status.
    package mutating func completed(_ status: HCIErrorCode, now: Instant) {
        guard let action = outstanding else { return }
        outstanding = nil
        switch (action, status == .success) {
        case (.addToAcceptList(let address), true): acceptList.insert(address)
        case (.removeFromAcceptList(let address), true): acceptList.remove(address)
        case (.connect, true), (.connectBriefly, true), (.connectByAcceptList, true):
            if case .asked(let target) = attempt { attempt = .standing(target) }
        case (.connect, false), (.connectBriefly, false), (.connectByAcceptList, false): attemptFailed(status)
        case (.cancel, true):
            if attempt == .cancelling { cancelledUntil = now.advanced(byMilliseconds: Self.cancelledMilliseconds) }
        // The link was made before the cancel arrived: its Connection Complete came or is coming.
        case (.cancel, false): if attempt == .cancelling { attempt = .none }
        // The list's memory may be in use for something else: who finds no place is listened for.
        //
        // Core 5.4, Vol 4, Part E, 7.8.14 (LE Read Filter Accept List Size command)
        case (.addToAcceptList, false) where status == .memoryCapacityExceeded: acceptListCapacity = acceptList.count
        case (.addToAcceptList, false), (.removeFromAcceptList, false): failure = status
        }
    }

    /// LE Connection Complete as central, with whatever status: the attempt is over. 0x02 says that it was cancelled, and
    /// 0x3E that the peer was heard, and lost before it answered: it is there, and the air may be better in a moment.
    package mutating func connectionComplete(_ status: HCIErrorCode = .success) {
        let isWorthwhile = [.success, .unknownConnectionIdentifier, .connectionFailedToBeEstablished].contains(status)
        switch attempt {
        case .asked, .standing:
            guard isWorthwhile else { return attemptFailed(status) }
            if let tried = heardBeingTried {
                attempted(tried)
                if status != .success { note(missed: tried) }
            } else {
                heardInARow = 0
            }
        case .none, .cancelling: break
        }
        attempt = .none
        cancelledUntil = nil
        failure = nil
    }

    /// The controller will not connect, or could not. To one who was heard that is another way of taking no connection;
    /// else the next attempt would end like this one, and waits.
    private mutating func attemptFailed(_ status: HCIErrorCode) {
        if let tried = heardBeingTried {
            // It has a link to that address already, which is about to end.
            pass(over: tried, refusal: status == .connectionAlreadyExists ? nil : status)
        } else {
            failure = status
        }
        attempt = .none
    }

    /// Whom the attempt is for, if it is one who was heard.
    private var heardBeingTried: Heard? {
        guard let heard else { return nil }
        let target = Target.peer(heard.onAir)
        return [.asked(target), .standing(target)].contains(attempt) ? heard : nil
    }

    /// What was refused may be asked once more.
    package mutating func retry() {
        failure = nil
        acceptListCapacity = announcedCapacity
    }

    package mutating func reset(acceptListCapacity: Int) {
        let kept = (wanted, isHeld, privatePeers, contested)
        self = Self(acceptListCapacity: acceptListCapacity)
        (wanted, isHeld, privatePeers, contested) = kept
    }

    /// Whom the accept list may be given.
    private var listable: [DeviceAddress] { contested.isEmpty ? wanted : wanted.filter { !contested.contains($0) } }

    private var listed: [DeviceAddress] {
        let listable = listable
        guard listable.count > acceptListCapacity else { return listable }
        return (0..<acceptListCapacity).map { listable[(listStart + $0) % listable.count] }
    }

    private var target: Target {
        if isHeld { return .nobody }
        if let heard { return .peer(heard.onAir) }
        let listed = listed
        guard let first = listed.first else { return .nobody }
        // An address alone is one on the air, unless the list says whose it is.
        return listed.count == 1 && !resolvedPeers.contains(first) ? .peer(first) : .list(Set(listed))
    }

    private func missing() -> Action? {
        let target = target
        switch attempt {
        case .asked, .cancelling: return nil
        case .standing(let standing): return standing == target ? nil : .cancel
        case .none: break
        }
        switch target {
        case .nobody: return nil
        case .peer(let address):
            let isContested = heard.map { contested.contains($0.wanted) } ?? false
            return isContested ? .connectBriefly(address) : .connect(address)
        case .list(let addresses):
            if let stale = acceptList.subtracting(addresses).min(by: { $0.bits < $1.bits }) {
                return .removeFromAcceptList(stale)
            }
            if let fresh = listed.first(where: { !acceptList.contains($0) }) { return .addToAcceptList(fresh) }
            return .connectByAcceptList
        }
    }
}

// MARK: Those whom the accept list has no room for

extension Initiator {
    /// Somebody can be connected to now, `onAir`, who may be wanted under that address or another. Whether they are, and
    /// ``next()`` has something else to do than before.
    package mutating func heard(_ address: DeviceAddress, at onAir: DeviceAddress, now: Instant) -> Bool {
        guard needsScan, wanted.contains(address), onAir != address || !listed.contains(address),
            !isResting(address, now)
        else { return false }
        // Also when it is not its turn now: then it keeps those from theirs who have had it more often.
        turns[address, default: Turn(heard: now)].heard = now
        guard heard == nil, !(listTurnUntil.map { now < $0 } ?? false), isItsTurn(address, now) else { return false }
        attempts += 1
        turns[address]?.attempt = attempts
        heard = Heard(
            wanted: address, onAir: onAir, until: now.advanced(byMilliseconds: attemptMilliseconds(address)))
        return true
    }

    /// A stranger who advertises in a contested peer's name, as often as he likes, keeps nobody else from being connected.
    private func isItsTurn(_ address: DeviceAddress, _ now: Instant) -> Bool {
        let own = turns[address]?.attempt ?? 0
        return !turns.contains { other, turn in
            turn.attempt < own && now.milliseconds(since: turn.heard) <= Self.heardFreshMilliseconds
                && !isResting(other, now)
        }
    }

    /// It was tried a short while ago. A contested peer has no other way to be connected.
    private func isResting(_ address: DeviceAddress, _ now: Instant) -> Bool {
        guard !contested.contains(address), let tried = triedUntil[address] else { return false }
        return now < tried
    }

    private func attemptMilliseconds(_ address: DeviceAddress) -> UInt64 {
        contested.contains(address) ? Self.contestedAttemptMilliseconds : Self.heardAttemptMilliseconds
    }

    /// Who of a contested peer's addresses was tried and made no link, each time once.
    package mutating func takeMissed() -> Missed? {
        defer { missed = nil }
        return missed
    }

    private mutating func note(missed tried: Heard, refusal: HCIErrorCode? = nil) {
        guard contested.contains(tried.wanted) else { return }
        missed = Missed(wanted: tried.wanted, onAir: tried.onAir, refusal: refusal)
    }

    /// When ``timerFired(now:)`` has something to do.
    package var deadline: Instant? { Instant.earliest(heard?.until, cancelledUntil) }

    /// The controller has cancelled an attempt, and does not say that it is over: without that there is never another one.
    package func isEndOverdue(now: Instant) -> Bool { cancelledUntil.map { $0 <= now } ?? false }

    package mutating func timerFired(now: Instant) {
        guard let over = heard, over.until <= now else { return }
        pass(over: over)
    }

    /// One who was heard has a link, or was missed and may be tried again.
    private mutating func attempted(_ tried: Heard) {
        heard = nil
        heardInARow += 1
        if heardInARow >= Self.heardInARowMaximum { giveListItsTurn(after: tried) }
    }

    /// One who was heard had the time to take a connection: now it is the list's turn, and then the others'.
    private mutating func pass(over tried: Heard, refusal: HCIErrorCode? = nil) {
        heard = nil
        note(missed: tried, refusal: refusal)
        giveListItsTurn(after: tried)
        guard !contested.contains(tried.wanted) else { return }
        triedUntil[tried.wanted] = tried.until.advanced(byMilliseconds: Self.heardAgainMilliseconds)
    }

    private mutating func giveListItsTurn(after tried: Heard) {
        heardInARow = 0
        // Without anybody in the list its turn would be nobody's.
        guard !listed.isEmpty else { return }
        listTurnUntil = tried.until.advanced(byMilliseconds: attemptMilliseconds(tried.wanted))
    }

    /// Nobody can be listened for: those who wait take their turn in the accept list.
    package mutating func rotate() {
        let count = listable.count
        guard count > acceptListCapacity else { return }
        listStart = (listStart + acceptListCapacity) % count
    }
}
