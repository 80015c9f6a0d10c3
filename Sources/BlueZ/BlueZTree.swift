import ATT
import BluetoothCore
import GATT

/// A device's attributes, as far as bluetoothd shows them. It keeps the services of GAP and of GATT for itself.
struct BlueZTree: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let path: String
        let attribute: BlueZAttribute
    }

    private var entries: [AttributeHandle: Entry] = [:]

    /// ATT_MTU of the device's link, as bluetoothd says it of each characteristic while there is a link.
    private(set) var mtu = ATTBound.defaultMTUOctets

    var count: Int { entries.count }

    mutating func agreed(mtu: UInt16) {
        self.mtu = min(max(Int(mtu), ATTBound.defaultMTUOctets), ATTBound.maximumMTUOctets)
    }

    /// bluetoothd knows the services that one includes when it knows them all.
    /// False where nothing changes by it.
    mutating func include(_ services: [AttributeHandle], in declaration: AttributeHandle) -> Bool {
        guard let entry = entries[declaration], case .service(let uuid, let isPrimary, let before) = entry.attribute,
            services != before
        else { return false }
        insert(.service(uuid, isPrimary: isPrimary, includes: services), at: declaration, path: entry.path)
        return true
    }

    mutating func insert(_ attribute: BlueZAttribute, at handle: AttributeHandle, path: String) {
        entries[handle] = Entry(path: path, attribute: attribute)
    }

    mutating func remove(_ handle: AttributeHandle) { entries[handle] = nil }

    /// Core 5.4, Vol 3, Part G, 3 (Service interoperability requirements): a service, and a characteristic, goes up to where the next one
    /// begins.
    var database: RemoteDatabase {
        let sorted = entries.sorted { $0.key < $1.key }
        var services: [RemoteService] = []
        for (handle, entry) in sorted {
            switch entry.attribute {
            case .service(let uuid, let isPrimary, _):
                services.close(before: handle)
                services.append(
                    RemoteService(uuid: uuid, isPrimary: isPrimary, declaration: handle, end: .last))
            case .characteristic(let uuid, let properties):
                guard !services.isEmpty, handle < .last else { continue }
                services[services.count - 1].characteristics.close(before: handle)
                services[services.count - 1].characteristics.append(
                    RemoteCharacteristic(
                        uuid: uuid, properties: properties, declaration: handle,
                        value: AttributeHandle(handle.rawValue + 1), end: .last))
            case .descriptor(let uuid):
                guard let service = services.indices.last,
                    let characteristic = services[service].characteristics.indices.last
                else { continue }
                services[service].characteristics[characteristic].descriptors.append(
                    RemoteDescriptor(uuid: uuid, handle: handle))
            }
        }
        for place in services.indices { services[place].includedServices = included(by: services[place], of: services) }
        return RemoteDatabase(services: services)
    }

    /// bluetoothd does not say where the declarations of included services are: they come behind their service's, in their order.
    ///
    /// Core 5.4, Vol 3, Part G, 3.2 (Include definition)
    private func included(by service: RemoteService, of all: [RemoteService]) -> [RemoteIncludedService] {
        guard case .service(_, _, let includes)? = entries[service.declaration]?.attribute else { return [] }
        return includes.enumerated().compactMap { place, declaration in
            guard let included = all.first(where: { $0.declaration == declaration }),
                let handle = UInt16(exactly: Int(service.declaration.rawValue) + 1 + place),
                handle <= service.end.rawValue
            else { return nil }
            return RemoteIncludedService(
                handle: AttributeHandle(handle), uuid: included.uuid, declaration: declaration, end: included.end)
        }
    }

    /// The object of the characteristic whose value is at this handle.
    func characteristic(ofValue handle: AttributeHandle) -> String? {
        guard handle > .first, case .characteristic? = entries[AttributeHandle(handle.rawValue - 1)]?.attribute else {
            return nil
        }
        return entries[AttributeHandle(handle.rawValue - 1)]?.path
    }

    func descriptor(_ handle: AttributeHandle) -> String? {
        guard case .descriptor? = entries[handle]?.attribute else { return nil }
        return entries[handle]?.path
    }

    /// The object of the characteristic that this descriptor is of, and its value's handle.
    func owner(ofDescriptor handle: AttributeHandle) -> (path: String, value: AttributeHandle)? {
        guard let path = descriptor(handle), let end = path.lastIndex(of: "/"),
            let owner = BlueZAttributePath(String(path[..<end])), owner.handle < .last
        else { return nil }
        return (String(path[..<end]), AttributeHandle(owner.handle.rawValue + 1))
    }
}

extension [RemoteService] {
    fileprivate mutating func close(before handle: AttributeHandle) {
        guard !isEmpty else { return }
        self[count - 1].end = AttributeHandle(handle.rawValue - 1)
        self[count - 1].characteristics.close(before: handle)
    }
}

extension [RemoteCharacteristic] {
    fileprivate mutating func close(before handle: AttributeHandle) {
        if !isEmpty { self[count - 1].end = AttributeHandle(handle.rawValue - 1) }
    }
}
