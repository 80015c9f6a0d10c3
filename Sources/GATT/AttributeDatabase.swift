import ATT
import BluetoothCore

/// A local fault: why a definition cannot be published.
package enum AttributeDatabaseError: Error, Hashable, Sendable {
    case outOfHandles
    /// The explicit handles are taken, or run past the last handle.
    case handlesInUse
    case unknownIncludedService
    /// A static value is longer than 512 octets.
    case valueTooLong
}

/// The attributes of one server, in the order of their handles.
///
/// Core 5.4, Vol 3, Part G, 2.5 (Attribute protocol) and 3 (Service interoperability requirements)
package struct AttributeDatabase: Sendable {
    struct Attribute: Sendable {
        enum Content: Sendable {
            case `static`([UInt8])
            case dynamic
            /// The CCC descriptor of the characteristic with this value handle.
            case configuration(of: AttributeHandle)
            case clientSupportedFeatures
            case databaseHash
        }

        let handle: AttributeHandle
        let type: BluetoothUUID
        let access: AttributeAccess
        var content: Content
        /// The end of the group that this attribute declares, else its own handle.
        var groupEnd: AttributeHandle
        /// Of the characteristic whose value this is.
        var properties: CharacteristicProperties = []
        /// The CCC descriptor of the characteristic whose value this is.
        var configuration: AttributeHandle?
    }

    private(set) var attributes: [Attribute] = []
    /// In the order of their handles.
    package private(set) var services: [PublishedService] = []
    /// One past the highest handle ever given, as a number that may be past the last handle.
    private var fresh = 1

    package init() {}

    package mutating func publish(
        _ definition: ServiceDefinition, at declaration: AttributeHandle? = nil
    ) throws(AttributeDatabaseError) -> PublishedService {
        let count = definition.attributeCount
        let first = try allocate(count, at: declaration)
        var layout = ServiceLayout(first: first, end: AttributeHandle(first.rawValue + UInt16(count - 1)))
        let service = try layout.lay(definition, among: services)
        attributes.insert(contentsOf: layout.attributes, at: index(atOrAfter: first))
        services.insert(service, at: services.firstIndex { $0.declaration > first } ?? services.endIndex)
        fresh = max(fresh, Int(service.end.rawValue) + 1)
        return service
    }

    /// Leaves the handles of a service that may come back to it for as long as there are others.
    package mutating func reserve(_ definition: ServiceDefinition, at declaration: AttributeHandle) {
        let end = Int(declaration.rawValue) + definition.attributeCount
        fresh = max(fresh, min(end, Int(AttributeHandle.last.rawValue) + 1))
    }

    /// The handles that are gone; nil when no service is declared there.
    package mutating func remove(serviceAt declaration: AttributeHandle) -> ClosedRange<AttributeHandle>? {
        guard let place = services.firstIndex(where: { $0.declaration == declaration }) else { return nil }
        let range = declaration...services.remove(at: place).end
        attributes.removeAll { range.contains($0.handle) }
        return range
    }

    /// Makes an attribute one whose value the server itself knows.
    mutating func setContent(_ content: Attribute.Content, at handle: AttributeHandle) {
        guard let index = index(of: handle) else { return }
        attributes[index].content = content
    }

    func index(of handle: AttributeHandle) -> Int? {
        let index = index(atOrAfter: handle)
        return index < attributes.count && attributes[index].handle == handle ? index : nil
    }

    subscript(handle: AttributeHandle) -> Attribute? { index(of: handle).map { attributes[$0] } }

    /// The attributes of a range of handles.
    func slice(_ range: ClosedRange<AttributeHandle>) -> ArraySlice<Attribute> {
        let lower = index(atOrAfter: range.lowerBound)
        let upper = range.upperBound == .last ? attributes.endIndex : index(atOrAfter: range.upperBound.next)
        return attributes[lower..<upper]
    }

    private func index(atOrAfter handle: AttributeHandle) -> Int {
        var (low, high) = (0, attributes.count)
        while low < high {
            let middle = (low + high) / 2
            if attributes[middle].handle < handle { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Handles never given before as long as there are any: a client with a stale cache then meets Invalid Handle rather
    /// than somebody else's attribute.
    private func allocate(_ count: Int, at wanted: AttributeHandle?) throws(AttributeDatabaseError) -> AttributeHandle {
        if let wanted {
            let end = Int(wanted.rawValue) + count - 1
            guard wanted >= .first, end <= Int(AttributeHandle.last.rawValue) else { throw .handlesInUse }
            let range = wanted...AttributeHandle(UInt16(end))
            guard !services.contains(where: { ($0.declaration...$0.end).overlaps(range) }) else { throw .handlesInUse }
            return wanted
        }
        if fresh + count - 1 <= Int(AttributeHandle.last.rawValue) { return AttributeHandle(UInt16(fresh)) }
        var candidate = 1
        for service in services {
            if candidate + count <= Int(service.declaration.rawValue) { break }
            candidate = Int(service.end.rawValue) + 1
        }
        guard candidate + count - 1 <= Int(AttributeHandle.last.rawValue) else { throw .outOfHandles }
        return AttributeHandle(UInt16(candidate))
    }
}

extension AttributeHandle {
    /// The handle behind this one; the last one's is itself.
    var next: Self { self == .last ? .last : Self(rawValue + 1) }
    /// The handle before this one; the reserved one's is itself.
    var previous: Self { rawValue == 0 ? self : Self(rawValue - 1) }
}
