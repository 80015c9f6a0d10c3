import BluetoothCore

/// A wanted peer's link, by its device's object.
struct BlueZLink: Equatable, Sendable {
    /// It is not this side's to end.
    let isOfOthers: Bool
    /// The host has heard that it is up.
    var isTold = false
    /// bluetoothd calls it connected and does not say that its tree is known: since then.
    private var unresolvedSince: Instant?
    /// How long that may take.
    private var patienceMilliseconds = Self.discoveryMilliseconds
    /// Values whose notifications were asked for, of this bluetoothd.
    private(set) var notified: Set<AttributeHandle> = []
    /// Values that an app has asked to hear no more on this link. Until that is answered, the host still wishes for them.
    private var silenced: Set<AttributeHandle> = []
    /// Values whose notifications were refused, on this tree.
    private var refusals: [AttributeHandle: Refusal] = [:]

    private struct Refusal: Equatable {
        /// When to ask again; nil from then on.
        var again: Instant?
        let failures: UInt64
    }

    private static let wait = DoublingWait(firstMilliseconds: 200, longestMilliseconds: 5_000)

    /// For a link that was made while this side watched: bluetoothd may have to discover the tree, at the peer's pace.
    private static let discoveryMilliseconds: UInt64 = 30_000
    /// For a link that was there before this side looked: a bluetoothd that was killed can leave one that stays unresolved for ever.
    private static let inheritedMilliseconds: UInt64 = 1_500

    init(isOfOthers: Bool = false) { self.isOfOthers = isOfOthers }

    /// When a link that stays unresolved is to be ended.
    var repairDue: Instant? { unresolvedSince?.advanced(byMilliseconds: patienceMilliseconds) }

    /// When something of this link is due.
    var deadline: Instant? { Instant.earliest(repairDue, refusals.values.compactMap(\.again).min()) }

    mutating func isUnresolved(since now: Instant, isInherited: Bool) {
        // Nothing is asked of a tree that is unknown, and the next one is asked at once.
        refusals = [:]
        guard unresolvedSince == nil else { return }
        unresolvedSince = now
        patienceMilliseconds = isInherited ? Self.inheritedMilliseconds : Self.discoveryMilliseconds
    }

    mutating func isResolvedOrGone() { unresolvedSince = nil }

    /// Those of the values that are to be asked for now; they are asked for from now on.
    mutating func notify(_ values: Set<AttributeHandle>, _ now: Instant) -> [AttributeHandle] {
        refusals = refusals.filter { values.contains($0.key) }
        for (value, refusal) in refusals {
            if let again = refusal.again, again <= now { refusals[value]?.again = nil }
        }
        let missing = values.subtracting(notified).subtracting(silenced).filter { refusals[$0]?.again == nil }
        notified.formUnion(missing)
        return missing.sorted()
    }

    /// This side's app asks by itself, and hears the answer.
    mutating func appNotifies(_ value: AttributeHandle) {
        notified.insert(value)
        silenced.remove(value)
    }

    /// It asks to hear no more.
    mutating func appSilences(_ value: AttributeHandle) { silenced.insert(value) }

    /// That was refused: all is as before.
    mutating func notSilenced(_ value: AttributeHandle) { silenced.remove(value) }

    /// It is asked for again with what happens next.
    mutating func notNotified(_ value: AttributeHandle) { notified.remove(value) }

    /// bluetoothd refuses while it ends the link, and tells of the end later: who asks again at once asks without end.
    mutating func notifyRefused(_ value: AttributeHandle, _ now: Instant) {
        notified.remove(value)
        let failures = (refusals[value]?.failures ?? 0) + 1
        let again = now.advanced(byMilliseconds: Self.wait.milliseconds(failures: failures))
        refusals[value] = Refusal(again: again, failures: failures)
    }

    mutating func notifyGranted(_ value: AttributeHandle) { refusals[value] = nil }
}
