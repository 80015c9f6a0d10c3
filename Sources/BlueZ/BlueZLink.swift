import BluetoothCore

/// A wanted peer's link, by its device's object.
struct BlueZLink: Equatable, Sendable {
    /// The host has heard that it is up.
    var isTold = false
    /// bluetoothd calls it connected and does not say that its tree is known: since then.
    private var unresolvedSince: Instant?
    /// How long that may take.
    private var patienceMilliseconds = Self.discoveryMilliseconds
    /// Values whose notifications were asked for, of this bluetoothd.
    private(set) var notified: Set<AttributeHandle> = []

    /// Of a link that this side saw being made: a tree that nobody knows yet takes as long as the peer does.
    private static let discoveryMilliseconds: UInt64 = 30_000
    /// Of one that was there before: behind a bluetoothd that was killed it may stay so for ever.
    private static let inheritedMilliseconds: UInt64 = 1_500

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
