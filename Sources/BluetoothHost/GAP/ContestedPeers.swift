import BluetoothCore

/// Bonded peers that somebody else answers for: a link was made in the peer's name and lost before the bond's key had
/// encrypted it. Says which address such a peer is tried at next.
///
/// An accept list connects to the address that advertises most often. A stranger chooses how often that is. For a contested
/// peer the host therefore listens, and goes through the addresses that it hears: first the one that the peer itself was met
/// at last, then one that was never tried, then those that were tried in vain, the one that failed longest ago first. When the stranger uses the peer's own address of the
/// moment, nobody can tell the two apart: then only another attempt helps, and each is as quick as it can be.
///
/// Everything here is in memory and decides about order and time only.
package struct ContestedPeers {
    /// For so long after the last lost link a peer is listened for.
    package static let lifeMilliseconds: UInt64 = 60_000
    /// After the first lost link: how long another address has to be heard before the same one is tried again. A lock
    /// advertises ten times a second.
    package static let listeningMilliseconds: UInt64 = 250
    /// An address that was heard within this counts as one that can be tried.
    package static let freshMilliseconds: UInt64 = 1_000
    /// Addresses of one peer that are told apart: beyond this the one that was heard longest ago is forgotten.
    package static let addressesMaximum = 16
    /// Peers that can be contested at once: beyond this the one whose last link was lost longest ago is not, any more.
    package static let peersMaximum = 16

    private struct Place {
        let address: DeviceAddress
        var heard: Instant?
        /// When a link to it was lost last.
        var lost: Instant?
    }

    private struct Contest {
        let since: Instant
        var until: Instant
        var places: [Place] = []
    }

    private var contests: [DeviceAddress: Contest] = [:]
    /// Where peers have encrypted a link last.
    private var homes: [DeviceAddress: DeviceAddress] = [:]

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
        if contests[peer] == nil, contests.count >= Self.peersMaximum {
            contests = contests.filter { $0.key != contests.min { $0.value.until < $1.value.until }?.key }
        }
        contests[peer, default: Contest(since: now, until: now)].until = now.advanced(
            byMilliseconds: Self.lifeMilliseconds)
        withPlace(peer, address) { $0.lost = now }
    }

    /// The peer has encrypted a link: whoever else there is has to be met anew.
    package mutating func proven(_ peer: DeviceAddress, at address: DeviceAddress) {
        contests[peer] = nil
        if homes[peer] == nil, homes.count >= Self.peersMaximum { homes.removeAll() }
        homes[peer] = address
    }

    /// The controller does not do what telling the peer's addresses apart takes.
    package mutating func giveUp(_ peer: DeviceAddress) { contests[peer] = nil }

    /// A contested peer, or somebody in its name, can be connected to at `address`. Says whether to do so now. `isBusy`:
    /// the controller still has a link to that address, and makes no second one.
    package mutating func heard(
        _ peer: DeviceAddress, at address: DeviceAddress, now: Instant, isBusy: (DeviceAddress) -> Bool
    ) -> Bool {
        guard let contest = contests[peer] else { return true }
        withPlace(peer, address) { $0.heard = now }
        let candidates = (contests[peer]?.places ?? []).filter { place in
            guard let heard = place.heard else { return false }
            return now.milliseconds(since: heard) <= Self.freshMilliseconds && !isBusy(place.address)
        }
        let home = candidates.first { $0.address == homes[peer] && $0.lost == nil }
        guard let next = home ?? candidates.min(by: Self.isBefore), next.address == address else { return false }
        return next.lost == nil || now >= contest.since.advanced(byMilliseconds: Self.listeningMilliseconds)
    }

    private static func isBefore(_ a: Place, _ b: Place) -> Bool {
        switch (a.lost, b.lost) {
        case (nil, .some): true
        case (.some, nil), (nil, nil): false
        case (let a?, let b?): a < b
        }
    }

    private mutating func withPlace(_ peer: DeviceAddress, _ address: DeviceAddress, _ body: (inout Place) -> Void) {
        guard var contest = contests[peer] else { return }
        if let index = contest.places.firstIndex(where: { $0.address == address }) {
            body(&contest.places[index])
        } else {
            if contest.places.count >= Self.addressesMaximum,
                let oldest = contest.places.indices.min(by: {
                    Self.lastHeard(contest.places[$0]) < Self.lastHeard(contest.places[$1])
                })
            {
                contest.places.remove(at: oldest)
            }
            var place = Place(address: address)
            body(&place)
            contest.places.append(place)
        }
        contests[peer] = contest
    }

    private static func lastHeard(_ place: Place) -> Instant { place.heard ?? place.lost ?? Instant(nanoseconds: 0) }
}
