import BluetoothCore
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials

/// Why a command makes no sense.
struct Refusal: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

/// A JSON object that says what a command is to do. Absent members are nil, wrong ones are refused.
struct Arguments {
    private let object: JSONObject

    init(_ object: JSONObject) { self.object = object }

    init(line: [UInt8]) throws(Refusal) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(line: line)
        } catch {
            throw Refusal(error.description)
        }
        guard let object = value.object else { throw Refusal("a command is an object") }
        self.object = object
    }

    subscript(_ name: String) -> JSONValue? { object[name] }

    func number(_ name: String) throws(Refusal) -> Int64 { try needed(name, "a number") { $0.number } }
    func text(_ name: String) throws(Refusal) -> String { try needed(name, "text") { $0.string } }
    func octets(_ name: String) throws(Refusal) -> [UInt8] { try needed(name, "hexadecimal octets", Self.octets) }
    func uuid(_ name: String) throws(Refusal) -> BluetoothUUID { try needed(name, "a UUID", Self.uuid) }
    func handle(_ name: String) throws(Refusal) -> AttributeHandle { try needed(name, "a handle", Self.handle) }
    func peer(_ name: String) throws(Refusal) -> PeerIdentifier {
        try needed(name, "an identifier") { $0.string.flatMap { UUID(uuidString: $0) }.map { PeerIdentifier($0) } }
    }

    func flag(_ name: String) throws(Refusal) -> Bool { try optional(name, "true or false") { $0.bool } ?? false }
    func optionalNumber(_ name: String) throws(Refusal) -> Int64? { try optional(name, "a number") { $0.number } }
    func optionalText(_ name: String) throws(Refusal) -> String? { try optional(name, "text") { $0.string } }
    func optionalOctets(_ name: String) throws(Refusal) -> [UInt8]? {
        try optional(name, "hexadecimal octets", Self.octets)
    }
    func optionalUUIDs(_ name: String) throws(Refusal) -> [CBUUID]? {
        try optional(name, "a list of UUIDs") { value in
            guard let list = value.array else { return nil }
            let uuids = list.compactMap(Self.uuid)
            return uuids.count == list.count ? uuids.map { CBUUID($0) } : nil
        }
    }

    func handles(_ name: String) throws(Refusal) -> [AttributeHandle] {
        try needed(name, "a list of handles") { value in
            guard let list = value.array else { return nil }
            let handles = list.compactMap(Self.handle)
            return handles.count == list.count ? handles : nil
        }
    }

    func texts(_ name: String) throws(Refusal) -> [String] {
        try optional(name, "a list of texts") { value in
            guard let list = value.array else { return nil }
            let texts = list.compactMap(\.string)
            return texts.count == list.count ? texts : nil
        } ?? []
    }

    /// The objects of a list; none when it is absent.
    func objects(_ name: String) throws(Refusal) -> [Arguments] {
        try optional(name, "a list of objects") { value in
            guard let list = value.array else { return nil }
            let objects = list.compactMap(\.object)
            return objects.count == list.count ? objects.map { Arguments($0) } : nil
        } ?? []
    }

    func optionalObject(_ name: String) throws(Refusal) -> Arguments? {
        try optional(name, "an object") { value in value.object.map { Arguments($0) } }
    }

    private func optional<Value>(
        _ name: String, _ what: String, _ read: (JSONValue) -> Value?
    ) throws(Refusal) -> Value? {
        guard let value = object[name], value != .null else { return nil }
        guard let read = read(value) else { throw Refusal("`\(name)` is not \(what)") }
        return read
    }

    private func needed<Value>(
        _ name: String, _ what: String, _ read: (JSONValue) -> Value?
    ) throws(Refusal) -> Value {
        guard let value = try optional(name, what, read) else { throw Refusal("`\(name)` is missing: \(what)") }
        return value
    }

    private static func octets(_ value: JSONValue) -> [UInt8]? { value.string.flatMap { HexText.decode($0) } }
    private static func uuid(_ value: JSONValue) -> BluetoothUUID? { value.string.flatMap { BluetoothUUID($0) } }
    private static func handle(_ value: JSONValue) -> AttributeHandle? {
        value.number.flatMap { UInt16(exactly: $0) }.map { AttributeHandle($0) }
    }
}
