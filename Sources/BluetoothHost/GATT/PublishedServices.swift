import BluetoothCore
import GATT

/// The services that apps have published, each with its owner, in the order of handles.
struct PublishedServices {
    typealias Owner = RestorationLedger.Owner

    struct Entry {
        let owner: Owner
        let service: PublishedService
        /// An earlier life's, that the app has not published again in this one.
        var isInherited = false
    }

    private var entries: [Entry] = []

    mutating func insert(_ service: PublishedService, of owner: Owner) {
        entries.insert(Entry(owner: owner, service: service), at: place(of: service.declaration))
    }

    /// The service that was declared there, if it was this owner's.
    mutating func remove(at declaration: AttributeHandle, of owner: Owner) -> PublishedService? {
        let place = place(of: declaration)
        guard place < entries.count, entries[place].service.declaration == declaration, entries[place].owner == owner
        else { return nil }
        return entries.remove(at: place).service
    }

    func services(of owner: Owner) -> [PublishedService] {
        entries.lazy.filter { $0.owner == owner }.map(\.service)
    }

    /// A service that an earlier life has published with this definition. The owner says so again: it is this life's, and the next one
    /// that is equal stands beside it.
    mutating func claim(_ definition: ServiceDefinition, of owner: Owner) -> PublishedService? {
        guard
            let place = entries.firstIndex(where: {
                $0.owner == owner && $0.isInherited && $0.service.definition == definition
            })
        else { return nil }
        entries[place].isInherited = false
        return entries[place].service
    }

    /// An app begins another life: what it has published is what an earlier one did.
    mutating func inherit(_ owner: Owner) {
        for place in entries.indices where entries[place].owner == owner { entries[place].isInherited = true }
    }

    /// Whether a service of this owner's is an earlier life's, and not published again in this one.
    func isInherited(_ declaration: AttributeHandle, of owner: Owner) -> Bool {
        let place = place(of: declaration)
        return place < entries.count && entries[place].service.declaration == declaration
            && entries[place].owner == owner && entries[place].isInherited
    }

    /// What the owner's earlier lives published under this UUID and this one has not.
    func inherited(_ uuid: BluetoothUUID, of owner: Owner) -> [PublishedService] {
        entries.lazy.filter { $0.owner == owner && $0.isInherited && $0.service.definition.uuid == uuid }.map(\.service)
    }

    /// Whether some value is there that only an encrypted link reaches.
    var asksForEncryption: Bool {
        entries.contains { $0.service.definition.characteristics.contains { $0.access.asksForEncryption } }
    }

    /// Whose service a handle lies in.
    func owner(of handle: AttributeHandle) -> Owner? {
        let place = place(of: handle)
        return contains(handle, at: place) ? entries[place].owner : nil
    }

    /// The Client Characteristic Configuration descriptor of the characteristic with this value handle.
    func configuration(ofValueAt handle: AttributeHandle) -> AttributeHandle? {
        let place = place(of: handle)
        guard contains(handle, at: place) else { return nil }
        return entries[place].service.characteristics.first { $0.value == handle }?.configuration
    }

    private func contains(_ handle: AttributeHandle, at place: Int) -> Bool {
        place < entries.count && entries[place].service.declaration <= handle
    }

    /// Of the first service that does not end before a handle. By halves: it is looked for with every request.
    private func place(of handle: AttributeHandle) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].service.end < handle { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension AttributeAccess {
    fileprivate var asksForEncryption: Bool {
        [read, writeRequest, writeCommand, subscribe].contains { $0 != .open && $0 != .forbidden }
    }
}
