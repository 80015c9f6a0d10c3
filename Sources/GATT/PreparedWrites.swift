import BluetoothCore

/// What a client prepared to write and has not yet executed.
///
/// Core 5.4, Vol 3, Part F, 3.4.6 (Queued writes)
struct PreparedWrites: Sendable {
    /// Of all values together, each with what it costs to keep it: an empty one costs too.
    static let capacityOctets = 4096
    static let overheadOctets = 16

    private var writes: [AttributeWrite] = []
    private var octets = 0
    /// The tree changed under what was prepared: nothing of it may be written, and nothing added to what is left.
    private(set) var isVoid = false

    /// False when the queue has no room for it.
    mutating func append(_ write: AttributeWrite) -> Bool {
        let cost = write.value.count + Self.overheadOctets
        guard octets + cost <= Self.capacityOctets else { return false }
        octets += cost
        guard let last = writes.last, last.handle == write.handle, last.offset + last.value.count == write.offset else {
            writes.append(write)
            return true
        }
        writes[writes.count - 1].value += write.value
        return true
    }

    /// In the order of preparation, adjoining parts of one value joined.
    mutating func take() -> [AttributeWrite] {
        defer { removeAll() }
        return writes
    }

    mutating func removeAll() { self = Self() }

    /// The handles may name something else now.
    mutating func databaseChanged() {
        guard !writes.isEmpty else { return }
        removeAll()
        isVoid = true
    }
}
