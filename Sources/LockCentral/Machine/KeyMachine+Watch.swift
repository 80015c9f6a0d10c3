import BluetoothCore
import LockProtocol

/// One lock as somebody who watches the key sees it.
package struct WatchedLock: Hashable, Sendable {
    package enum Link: Hashable, Sendable {
        /// None is there, and nothing wants one.
        case none
        case wanted
        /// With whoever answers in the lock's name: nothing has shown that it is the lock.
        case unproven
        /// The lock has encrypted it.
        case proven
        /// It has been asked to end.
        case ending
    }

    /// As the lock has said it in a sealed receipt, or on a link that it has encrypted. It may be otherwise by now.
    package struct State: Hashable, Sendable {
        package var bolt: BoltCode
        package var door: DoorCode
        package var at: Instant
    }

    /// What the lock has said last of a command of this key's.
    package struct Answer: Hashable, Sendable {
        package var operation: LockOperation
        package var result: LockResult
        package var at: Instant
    }

    package var record: LockRecord
    package var link: Link
    /// Smoothed, of the link; nil until it is read.
    package var dBm: Int?
    /// Since this process began; nil before the lock has said anything.
    package var state: State?
    package var answer: Answer?
    /// What is asked of the lock and not yet answered.
    package var asked: LockOperation?
    package var note: LockNote?
    /// Its place among the preferred locks, from 1; nil where it is not one of them.
    package var preference: Int?

    package var order: LockOrder { LockOrder(record, preference: preference) }
}

/// What is read while somebody watches, and nothing otherwise: how strong the links are that are there.
struct SignalWatch {
    static let readingMilliseconds: UInt64 = 1_000
    private var next: Instant

    init(now: Instant) { next = now }

    /// Whether the links' RSSI is to be read now.
    mutating func takesReading(now: Instant) -> Bool {
        guard next <= now else { return false }
        next = now.advanced(byMilliseconds: Self.readingMilliseconds)
        return true
    }

    /// Without a link nothing is due.
    func wakes(isConnected: Bool) -> Instant? { isConnected ? next : nil }
}

extension KeyMachine {
    /// In their order.
    package var watchedLocks: [WatchedLock] {
        let preferences = preferences
        return locks.map { $0.value.watched(isSought: isSought($0.key), preference: preferences[$0.key]) }
            .sorted { $0.order < $1.order }
    }

    mutating func watched(_ isWatched: Bool, _ turn: inout KeyTurn) {
        guard isWatched != (watch != nil) else { return }
        watch = isWatched ? SignalWatch(now: turn.now) : nil
        readWatchedSignals(&turn)
    }

    mutating func readWatchedSignals(_ turn: inout KeyTurn) {
        let peers = linkedPeers
        guard !peers.isEmpty, watch?.takesReading(now: turn.now) == true else { return }
        for peer in peers { read(peer, &turn) }
    }

    private var linkedPeers: [PeerIdentifier] { sortedPeers.filter { locks[$0]?.link.isUsable == true } }

    var watchDeadline: Instant? {
        watch.flatMap { $0.wakes(isConnected: locks.values.contains { $0.link.isUsable }) }
    }
}

extension KeyLink {
    fileprivate var isUsable: Bool { open?.isLeaving == false }
}

extension KeyMachine.LockSlot {
    fileprivate func watched(isSought: Bool, preference: Int?) -> WatchedLock {
        let isWanted = needsLink || nearness.wantsLink || isLinkAskedToMeasure || isSought
        let posture: WatchedLock.Link =
            switch link {
            case .none: isWanted ? .wanted : .none
            case .clear(let open, _), .encrypting(let open, _):
                open.isLeaving ? .ending : open.hasReceipt ? .proven : .unproven
            case .proven(let open, _), .encrypted(let open): open.isLeaving ? .ending : .proven
            }
        return WatchedLock(
            record: record, link: posture, dBm: link.open == nil ? nil : signal.level.wholeDBm, state: lastState,
            answer: lastAnswer, asked: request?.operation, note: note, preference: preference)
    }
}
