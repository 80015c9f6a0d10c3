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

    /// For a link that was made while this side watched: bluetoothd may have to discover the tree, at the peer's pace.
    private static let discoveryMilliseconds: UInt64 = 30_000
    /// For a link that was there before this side looked: a bluetoothd that was killed can leave one that stays unresolved for ever.
    private static let inheritedMilliseconds: UInt64 = 1_500

    init(isOfOthers: Bool = false) { self.isOfOthers = isOfOthers }

    /// When a link that stays unresolved is to be ended.
    var deadline: Instant? { unresolvedSince?.advanced(byMilliseconds: patienceMilliseconds) }

    mutating func isUnresolved(since now: Instant, isInherited: Bool) {
        guard unresolvedSince == nil else { return }
        unresolvedSince = now
        patienceMilliseconds = isInherited ? Self.inheritedMilliseconds : Self.discoveryMilliseconds
    }

    mutating func isResolvedOrGone() { unresolvedSince = nil }

    /// Those of the values that are not asked for yet; they are from now on.
    mutating func notify(_ values: Set<AttributeHandle>) -> [AttributeHandle] {
        let missing = values.subtracting(notified).sorted()
        notified.formUnion(missing)
        return missing
    }

    mutating func notNotified(_ value: AttributeHandle) { notified.remove(value) }
}
