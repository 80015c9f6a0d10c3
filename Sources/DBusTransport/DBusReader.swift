import CSystemBus
import DBus

/// Reads what a message carries, whatever its types are.
///
/// D-Bus Specification, Type System
struct DBusReader {
    /// Containers within containers: as many as D-Bus allows, arrays and structures together.
    private static let deepest = 64

    private let message: OpaquePointer

    init(_ message: OpaquePointer) { self.message = message }

    /// nil for what has a type that this side has no value for: descriptors.
    func body() -> [DBusValue]? { values(depth: 0) }

    /// Up to the end of the container that was entered last, or of the message.
    private func values(depth: Int) -> [DBusValue]? {
        var values: [DBusValue] = []
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            let result = latch_bus_peek(message, &type, &contents)
            guard result > 0 else { return result == 0 ? values : nil }
            guard let value = value(UInt8(bitPattern: type), contents.map { String(cString: $0) } ?? "", depth) else {
                return nil
            }
            values.append(value)
        }
    }

    private func value(_ type: UInt8, _ contents: String, _ depth: Int) -> DBusValue? {
        switch type {
        case UInt8(ascii: "a") where contents == "y": octets()
        case UInt8(ascii: "a"): inside(type, contents, depth).map { .array(of: contents, $0) }
        case UInt8(ascii: "r"): inside(type, contents, depth).map { .structure($0) }
        case UInt8(ascii: "e"):
            inside(type, contents, depth).flatMap { $0.count == 2 ? .entry($0[0], $0[1]) : nil }
        case UInt8(ascii: "v"): inside(type, contents, depth).flatMap { $0.count == 1 ? .variant($0[0]) : nil }
        case UInt8(ascii: "y"): basic(type, UInt8(0)).map { .byte($0) }
        case UInt8(ascii: "b"): basic(type, Int32(0)).map { .boolean($0 != 0) }
        case UInt8(ascii: "n"): basic(type, Int16(0)).map { .int16($0) }
        case UInt8(ascii: "q"): basic(type, UInt16(0)).map { .uint16($0) }
        case UInt8(ascii: "i"): basic(type, Int32(0)).map { .int32($0) }
        case UInt8(ascii: "u"): basic(type, UInt32(0)).map { .uint32($0) }
        case UInt8(ascii: "x"): basic(type, Int64(0)).map { .int64($0) }
        case UInt8(ascii: "t"): basic(type, UInt64(0)).map { .uint64($0) }
        case UInt8(ascii: "d"): basic(type, Double(0)).map { .double($0) }
        case UInt8(ascii: "s"): text(type).map { .string($0) }
        case UInt8(ascii: "o"): text(type).map { .objectPath($0) }
        case UInt8(ascii: "g"): text(type).map { .signature($0) }
        default: nil
        }
    }

    private func inside(_ type: UInt8, _ contents: String, _ depth: Int) -> [DBusValue]? {
        guard depth < Self.deepest, latch_bus_enter(message, CChar(bitPattern: type), contents) > 0,
            let values = values(depth: depth + 1), latch_bus_leave(message) >= 0
        else { return nil }
        return values
    }

    private func basic<Value: BitwiseCopyable>(_ type: UInt8, _ initial: Value) -> Value? {
        var value = initial
        return latch_bus_read(message, CChar(bitPattern: type), &value) > 0 ? value : nil
    }

    private func text(_ type: UInt8) -> String? {
        basic(type, UnsafePointer<CChar>?.none).flatMap { $0 }.map { String(cString: $0) }
    }

    private func octets() -> DBusValue? {
        var octets: UnsafeRawPointer?
        var count = 0
        guard latch_bus_read_octets(message, &octets, &count) >= 0 else { return nil }
        return .octets(Array(UnsafeRawBufferPointer(start: octets, count: count)))
    }
}
