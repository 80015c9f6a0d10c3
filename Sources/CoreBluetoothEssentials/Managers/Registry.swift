import BluetoothCore

/// Objects by the name of the peer that they stand for, not retained, one for each.
struct Registry<Object: AnyObject & Sendable>: Sendable {
    private struct Entry: Sendable { weak var object: Object? }

    /// Entries whose object is gone are dropped when as many have been added since the last time.
    private static var sweepIntervalMinimum: Int { 64 }

    private var entries: [PeerIdentifier: Entry] = [:]
    private var nextSweep = Self.sweepIntervalMinimum

    subscript(peer: PeerIdentifier) -> Object? { entries[peer]?.object }

    mutating func object(_ peer: PeerIdentifier, make: () -> Object) -> Object {
        if let known = entries[peer]?.object { return known }
        let object = make()
        if entries.count >= nextSweep {
            entries = entries.filter { $0.value.object != nil }
            nextSweep = max(Self.sweepIntervalMinimum, entries.count * 2)
        }
        entries[peer] = Entry(object: object)
        return object
    }

    /// Entries, dead ones among them.
    var count: Int { entries.count }

    var all: [Object] { entries.values.compactMap(\.object) }
}
