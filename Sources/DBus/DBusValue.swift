/// One value of D-Bus with its type: the basic types, and the containers that they make.
///
/// D-Bus Specification, Type System
package indirect enum DBusValue: Hashable, Sendable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    case signature(String)
    /// An array of bytes, which is what values of attributes are.
    case octets([UInt8])
    /// The signature is an element's: an empty array has a type too.
    case array(of: String, [DBusValue])
    case structure([DBusValue])
    /// An element of an array that is a dictionary. The key is of a basic type.
    case entry(DBusValue, DBusValue)
    case variant(DBusValue)

    package var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .octets: "ay"
        case .array(let element, _): "a" + element
        case .structure(let fields): "(" + fields.map(\.signature).joined() + ")"
        case .entry(let key, let value): "{" + key.signature + value.signature + "}"
        case .variant: "v"
        }
    }
}

// MARK: The shapes that objects with properties have

extension DBusValue {
    /// `a{sv}`, in the order of the names.
    package static func properties(_ values: [String: DBusValue]) -> Self {
        .array(
            of: "{sv}",
            values.sorted { $0.key < $1.key }.map { .entry(.string($0.key), .variant($0.value)) })
    }

    /// `as`
    package static func strings(_ texts: [String]) -> Self { .array(of: "s", texts.map { .string($0) }) }

    /// Of `a{sv}`, without the variants around them; nil for anything else.
    package var properties: [String: DBusValue]? {
        entries(of: "{sv}")?.reduce(into: [:]) { properties, entry in
            guard let name = entry.key.text, case .variant(let value) = entry.value else { return }
            properties[name] = value
        }
    }

    /// Of `a{qv}`, without the variants around them; nil for anything else.
    package var numbered: [UInt16: DBusValue]? {
        entries(of: "{qv}")?.reduce(into: [:]) { numbered, entry in
            guard case (.uint16(let number), .variant(let value)) = entry else { return }
            numbered[number] = value
        }
    }

    /// Of `a{sa{sv}}`: the properties of each interface of an object.
    package var interfaces: [String: [String: DBusValue]]? {
        entries(of: "{sa{sv}}")?.reduce(into: [:]) { interfaces, entry in
            if let name = entry.key.text { interfaces[name] = entry.value.properties }
        }
    }

    /// Of `a{oa{sa{sv}}}`: every object below a path, as org.freedesktop.DBus.ObjectManager has it.
    package var objects: [String: [String: [String: DBusValue]]]? {
        entries(of: "{oa{sa{sv}}}")?.reduce(into: [:]) { objects, entry in
            if let path = entry.key.text { objects[path] = entry.value.interfaces }
        }
    }

    private func entries(of signature: String) -> [(key: DBusValue, value: DBusValue)]? {
        guard case .array(of: signature, let elements) = self else { return nil }
        return elements.compactMap { if case .entry(let key, let value) = $0 { (key, value) } else { nil } }
    }

    /// Of a string, an object's path or a signature.
    package var text: String? {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): text
        default: nil
        }
    }

    package var flag: Bool? { if case .boolean(let value) = self { value } else { nil } }

    /// Of any type of whole numbers, where it fits.
    package func integer<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number? {
        switch self {
        case .byte(let value): Number(exactly: value)
        case .int16(let value): Number(exactly: value)
        case .uint16(let value): Number(exactly: value)
        case .int32(let value): Number(exactly: value)
        case .uint32(let value): Number(exactly: value)
        case .int64(let value): Number(exactly: value)
        case .uint64(let value): Number(exactly: value)
        default: nil
        }
    }

    /// Of an array of bytes, also of an empty one.
    package var octets: [UInt8]? { if case .octets(let octets) = self { octets } else { nil } }

    /// The texts of an array of strings or of object paths.
    package var texts: [String]? {
        switch self {
        case .array(of: "s", let elements), .array(of: "o", let elements): elements.compactMap(\.text)
        default: nil
        }
    }
}
