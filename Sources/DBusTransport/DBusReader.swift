import CSystemBus
import DBus
import Glibc

/// Reads what a message carries, whatever its types are, up to a bound: two octets of a message can be a value that takes forty.
///
/// D-Bus Specification, Type System
struct DBusReader {
    /// Values of one message, containers among them. A thousand devices of bluetoothd's, with all that a device can have, are half of that.
    static let valuesMaximum = 524_288
    /// Octets of texts, of byte arrays and of signatures in one message.
    static let octetsMaximum = 8_388_608
    /// Containers within containers. bluetoothd's are 11 deep, and D-Bus allows 64.
    static let depthMaximum = 32

    /// A type that this side has no value for: descriptors.
    private static let unreadable = DBusError(name: "org.freedesktop.DBus.Error.InvalidSignature")
    private static let tooMuch = DBusError(name: "org.freedesktop.DBus.Error.LimitsExceeded")

    private let message: OpaquePointer
    private var valuesLeft = Self.valuesMaximum
    private var octetsLeft = Self.octetsMaximum

    private init(_ message: OpaquePointer) { self.message = message }

    /// Once for each message.
    static func body(of message: OpaquePointer) throws(DBusError) -> [DBusValue] {
        var reader = Self(message)
        return try reader.values(depth: 0)
    }

    /// One of a message's strings; empty for what it has not, and for one that is longer than all of its octets may be.
    static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        guard let pointer, strnlen(pointer, octetsMaximum + 1) <= octetsMaximum else { return "" }
        return String(cString: pointer)
    }

    /// Up to the end of the container that was entered last, or of the message.
    private mutating func values(depth: Int) throws(DBusError) -> [DBusValue] {
        var values: [DBusValue] = []
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            let result = latch_bus_peek(message, &type, &contents)
            guard result >= 0 else { throw Self.unreadable }
            guard result > 0 else { return values }
            guard valuesLeft > 0 else { throw Self.tooMuch }
            valuesLeft -= 1
            values.append(try value(UInt8(bitPattern: type), try copied(contents), depth))
        }
    }

    private mutating func value(
        _ type: UInt8, _ contents: String, _ depth: Int
    ) throws(DBusError) -> DBusValue {
        switch type {
        case UInt8(ascii: "a") where contents == "y": return try octets()
        case UInt8(ascii: "a"): return .array(of: contents, try inside(type, contents, depth))
        case UInt8(ascii: "r"): return .structure(try inside(type, contents, depth))
        case UInt8(ascii: "e"):
            let pair = try inside(type, contents, depth)
            guard pair.count == 2 else { throw Self.unreadable }
            return .entry(pair[0], pair[1])
        case UInt8(ascii: "v"):
            let held = try inside(type, contents, depth)
            guard held.count == 1 else { throw Self.unreadable }
            return .variant(held[0])
        case UInt8(ascii: "y"): return .byte(try basic(type, 0))
        case UInt8(ascii: "b"): return .boolean(try basic(type, Int32(0)) != 0)
        case UInt8(ascii: "n"): return .int16(try basic(type, 0))
        case UInt8(ascii: "q"): return .uint16(try basic(type, 0))
        case UInt8(ascii: "i"): return .int32(try basic(type, 0))
        case UInt8(ascii: "u"): return .uint32(try basic(type, 0))
        case UInt8(ascii: "x"): return .int64(try basic(type, 0))
        case UInt8(ascii: "t"): return .uint64(try basic(type, 0))
        case UInt8(ascii: "d"): return .double(try basic(type, 0))
        case UInt8(ascii: "s"): return .string(try text(type))
        case UInt8(ascii: "o"): return .objectPath(try text(type))
        case UInt8(ascii: "g"): return .signature(try text(type))
        default: throw Self.unreadable
        }
    }

    private mutating func inside(
        _ type: UInt8, _ contents: String, _ depth: Int
    ) throws(DBusError) -> [DBusValue] {
        guard depth < Self.depthMaximum else { throw Self.tooMuch }
        guard latch_bus_enter(message, CChar(bitPattern: type), contents) > 0 else { throw Self.unreadable }
        let values = try values(depth: depth + 1)
        guard latch_bus_leave(message) >= 0 else { throw Self.unreadable }
        return values
    }

    private func basic<Value: BitwiseCopyable>(_ type: UInt8, _ initial: Value) throws(DBusError) -> Value {
        var value = initial
        guard latch_bus_read(message, CChar(bitPattern: type), &value) > 0 else { throw Self.unreadable }
        return value
    }

    private mutating func text(_ type: UInt8) throws(DBusError) -> String {
        try copied(try basic(type, UnsafePointer<CChar>?.none))
    }

    private mutating func octets() throws(DBusError) -> DBusValue {
        var octets: UnsafeRawPointer?
        var count = 0
        guard latch_bus_read_octets(message, &octets, &count) >= 0 else { throw Self.unreadable }
        try take(count)
        return .octets(Array(UnsafeRawBufferPointer(start: octets, count: count)))
    }

    /// Empty for nothing.
    private mutating func copied(_ text: UnsafePointer<CChar>?) throws(DBusError) -> String {
        guard let text else { return "" }
        try take(strnlen(text, octetsLeft + 1))
        return String(cString: text)
    }

    private mutating func take(_ octets: Int) throws(DBusError) {
        guard octets <= octetsLeft else { throw Self.tooMuch }
        octetsLeft -= octets
    }
}
