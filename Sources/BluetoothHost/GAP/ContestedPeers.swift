import BluetoothCore

/// Bonded peers that somebody else answers for: a link was made in the peer's name and lost before the bond's key had
/// encrypted it. Says which address such a peer is tried at next.
///
/// An accept list connects to the address that advertises most often. A stranger chooses how often that is. For a contested
/// peer the host therefore listens, and goes through the addresses that it hears. When the stranger uses the peer's own
/// address of the moment, nobody can tell the two apart: then only another attempt helps, and each is as quick as it can be.
///
/// A stranger can also have many addresses, each of them recorded: more than can be told apart, or so many that there is
/// always one that was never tried. The kinds of addresses therefore take turns, and an address that goes on advertising
/// waits for a bounded number of attempts: ``attemptsMaximum``.
///
/// Everything here is in memory and decides about order and time only.
package struct ContestedPeers {
    /// For so long after the last lost link a peer is listened for.
    package static let lifeMilliseconds: UInt64 = 60_000
    /// After the first lost link: how long another address has to be heard before the same one is tried again. A lock
    /// advertises ten times a second. An address that was heard so little in this time gives way to others.
    package static let listeningMilliseconds: UInt64 = 250
    /// An address that was heard within this counts as one that can be tried.
    package static let freshMilliseconds: UInt64 = 1_000
    /// An address that was heard so often goes on advertising, and has its turn among those that do.
    package static let steadyHearings = 3
    /// Addresses of one peer that are told apart.
    package static let addressesMaximum = 16
    /// An address that is told apart and goes on advertising is tried after so many attempts at others, at the latest: each
    /// address that is told apart, and as often the turns of the other kinds.
    package static let attemptsMaximum = 48
    /// Peers that can be contested at once: beyond this the one whose last link was lost longest ago is not, any more.
    package static let peersMaximum = 16
    /// Peers of which it is known where they have proven themselves last, or that they are asked to: beyond this the one of
    /// which that was learned longest ago is forgotten.
    package static let knownPeersMaximum = 64

    /// The kinds of addresses take turns, in this order.
    private enum Turn: CaseIterable {
        /// An address that was never tried: whichever is heard first.
        case untried
        /// The one that the peer itself was met at last.
        case home
        /// Among those that were tried, or go on advertising: the one that has waited longest.
        case longestWaiting
    }

    private struct Place {
        let address: DeviceAddress
        let since: Instant
        var heard: Instant?
        var hearings = 0
        /// When a link to it was lost last.
        var lost: Instant?

        var isSteady: Bool { hearings >= ContestedPeers.steadyHearings }
        var waitsSince: Instant { lost ?? since }
        func isFresh(_ now: Instant) -> Bool {
            heard.map { now.milliseconds(since: $0) <= ContestedPeers.freshMilliseconds } ?? false
        }
    }

    private struct Contest {
        let since: Instant
        var until: Instant
        var places: [Place] = []
        /// The turn of the last attempt.
        var turn = Turn.longestWaiting
        /// The turn of the attempt that was named last, and may be made.
        var named = Turn.longestWaiting
    }

    /// The host knows this of a peer whether it is contested or not.
    private struct Known {
        let peer: DeviceAddress
        /// Where it has encrypted a link last.
        var home: DeviceAddress?
        var isProofAsked = false
    }

    private var contests: [DeviceAddress: Contest] = [:]
    /// The peer of which the host has learned something last comes last.
    private var known: [Known] = []
    /// The controller does not do what telling addresses apart takes.
    private var pausedUntil: Instant?

    package init() {}

    package var isEmpty: Bool { contests.isEmpty }
    /// `peer`: its identity address, as everywhere here.
    package func contains(_ peer: DeviceAddress) -> Bool { contests[peer] != nil }

    /// When ``expire(now:)`` has something to do.
    package var deadline: Instant? { contests.values.lazy.map(\.until).min() }

    package mutating func expire(now: Instant) {
        if !contests.isEmpty { contests = contests.filter { now < $0.value.until } }
    }

    /// A link to `address` in the name of `peer` has come to nothing.
    package mutating func lost(_ peer: DeviceAddress, at address: DeviceAddress, now: Instant) {
        if isPaused(now) { return }
        if contests[peer] == nil, contests.count >= Self.peersMaximum {
            contests = contests.filter { $0.key != contests.min { $0.value.until < $1.value.until }?.key }
        }
        contests[peer, default: Contest(since: now, until: now)].until = now.advanced(
            byMilliseconds: Self.lifeMilliseconds)
        withPlace(peer, address, now) { $0.lost = now }
    }

    /// The peer has encrypted a link: whoever else there is has to be met anew.
    package mutating func proven(_ peer: DeviceAddress, at address: DeviceAddress) {
        contests[peer] = nil
        learned(peer) { $0.home = address }
    }

    /// An app wants every link to the peer encrypted, and asks for that as soon as it can.
    package mutating func proofAsked(of peer: DeviceAddress) { learned(peer) { $0.isProofAsked = true } }

    /// Whether a link to the peer that ends before it is encrypted says anything of who was there.
    package func isProofExpected(of peer: DeviceAddress) -> Bool {
        known.contains { $0.peer == peer && $0.isProofAsked }
    }

    private mutating func learned(_ peer: DeviceAddress, _ change: (inout Known) -> Void) {
        var learned = Known(peer: peer)
        if let index = known.firstIndex(where: { $0.peer == peer }) {
            learned = known.remove(at: index)
        } else if known.count >= Self.knownPeersMaximum {
            known.removeFirst()
        }
        change(&learned)
        known.append(learned)
    }

    /// The controller does not connect to the peer as telling its addresses apart takes.
    package mutating func giveUp(_ peer: DeviceAddress) { contests[peer] = nil }

    /// The controller does not scan while it connects, or connect while it scans: for a while the lists find whom they find.
    package mutating func pause(now: Instant) {
        contests = [:]
        pausedUntil = now.advanced(byMilliseconds: Self.lifeMilliseconds)
    }

    package func isPaused(_ now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

    /// Another controller may do it.
    package mutating func resume() { pausedUntil = nil }
}

// MARK: Turns

extension ContestedPeers {
    /// A contested peer, or somebody in its name, can be connected to at `address`. Says whether to do so now. `isBusy`:
    /// the controller still has a link to that address, and makes no second one.
    package mutating func heard(
        _ peer: DeviceAddress, at address: DeviceAddress, now: Instant, isBusy: (DeviceAddress) -> Bool
    ) -> Bool {
        guard contests[peer] != nil else { return true }
        withPlace(peer, address, now) {
            $0.heard = now
            $0.hearings += 1
        }
        guard let turn = turn(of: address, peer, now, isBusy) else { return false }
        contests[peer]?.named = turn
        return true
    }

    /// The address that ``heard(_:at:now:isBusy:)`` has named is being tried: then it is the turn of the others.
    package mutating func tried(_ peer: DeviceAddress) {
        if let named = contests[peer]?.named { contests[peer]?.turn = named }
    }

    /// The turn that an attempt at `address` would be; nil when it is another's.
    private func turn(
        of address: DeviceAddress, _ peer: DeviceAddress, _ now: Instant, _ isBusy: (DeviceAddress) -> Bool
    ) -> Turn? {
        guard let contest = contests[peer], !isBusy(address) else { return nil }
        let home = known.first { $0.peer == peer }?.home
        let candidates = contest.places.filter { $0.isFresh(now) && !isBusy($0.address) }
        if let place = candidates.first(where: { $0.address == home }), place.lost == nil {
            return address == home ? .home : nil
        }
        let last = Turn.allCases.firstIndex(of: contest.turn) ?? 0
        for step in 1...Turn.allCases.count {
            let turn = Turn.allCases[(last + step) % Turn.allCases.count]
            let isIts: Bool? =
                switch turn {
                case .untried: Self.isUntried(address, contest, candidates)
                case .home: candidates.contains { $0.address == home } ? address == home : nil
                case .longestWaiting: Self.isLongestWaiting(address, candidates.filter { $0.address != home })
                }
            guard let isIts else { continue }
            let place = candidates.first { $0.address == address }
            let isHeardEnough = now >= contest.since.advanced(byMilliseconds: Self.listeningMilliseconds)
            return isIts && (place?.lost == nil || isHeardEnough) ? turn : nil
        }
        return nil
    }

    /// nil when there is none. There may be more of them than are told apart.
    private static func isUntried(_ address: DeviceAddress, _ contest: Contest, _ candidates: [Place]) -> Bool? {
        let isKnown = contest.places.contains { $0.address == address }
        guard isKnown else { return true }
        guard candidates.contains(where: { $0.lost == nil }) else { return nil }
        return candidates.contains { $0.address == address && $0.lost == nil }
    }

    private static func isLongestWaiting(_ address: DeviceAddress, _ candidates: [Place]) -> Bool? {
        let next = candidates.filter { $0.lost != nil || $0.isSteady }.min { $0.waitsSince < $1.waitsSince }
        return next.map { $0.address == address }
    }
}

// MARK: Addresses

extension ContestedPeers {
    private mutating func withPlace(
        _ peer: DeviceAddress, _ address: DeviceAddress, _ now: Instant, _ body: (inout Place) -> Void
    ) {
        guard var contest = contests[peer] else { return }
        if let index = contest.places.firstIndex(where: { $0.address == address }) {
            body(&contest.places[index])
        } else {
            if contest.places.count >= Self.addressesMaximum {
                guard let index = leastWorthKeeping(contest.places, of: peer, now) else { return }
                contest.places.remove(at: index)
            }
            var place = Place(address: address, since: now)
            body(&place)
            contest.places.append(place)
        }
        contests[peer] = contest
    }

    /// An address that is not heard any more; then one that was heard once or twice, and not again; then the one that has
    /// just had its turn. None, when all the others go on advertising and wait for theirs.
    private func leastWorthKeeping(_ places: [Place], of peer: DeviceAddress, _ now: Instant) -> Int? {
        let home = known.first { $0.peer == peer }?.home
        let others = places.indices.filter { places[$0].address != home }
        func first(_ isWorthLess: (Place) -> Bool, by instant: (Place) -> Instant) -> Int? {
            others.filter { isWorthLess(places[$0]) }.min { instant(places[$0]) < instant(places[$1]) }
        }
        func isPassing(_ place: Place) -> Bool {
            place.lost == nil && !place.isSteady
                && now >= place.since.advanced(byMilliseconds: Self.listeningMilliseconds)
        }
        return first({ !$0.isFresh(now) }, by: { $0.heard ?? $0.waitsSince })
            ?? first(isPassing, by: \.since)
            ?? others.filter { places[$0].lost != nil }.max { places[$0].waitsSince < places[$1].waitsSince }
    }
}
