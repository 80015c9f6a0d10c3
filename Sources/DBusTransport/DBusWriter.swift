import CSystemBus
import DBus

/// Puts values into a message.
struct DBusWriter {
    private let message: OpaquePointer

    init(_ message: OpaquePointer) { self.message = message }

    /// False where the message does not take one of them: a text that is no path, or none of Unicode.
    func append(_ values: [DBusValue]) -> Bool { values.allSatisfy(append) }

    private func append(_ value: DBusValue) -> Bool {
        switch value {
        case .byte(let value): basic("y", value)
        case .boolean(let value): basic("b", Int32(value ? 1 : 0))
        case .int16(let value): basic("n", value)
        case .uint16(let value): basic("q", value)
        case .int32(let value): basic("i", value)
        case .uint32(let value): basic("u", value)
        case .int64(let value): basic("x", value)
        case .uint64(let value): basic("t", value)
        case .double(let value): basic("d", value)
        case .string(let text): self.text("s", text)
        case .objectPath(let text): self.text("o", text)
        case .signature(let text): self.text("g", text)
        case .octets(let octets):
            octets.withUnsafeBytes { latch_bus_append_octets(message, $0.baseAddress, $0.count) } >= 0
        case .array(let element, let elements): container("a", element, elements)
        case .structure(let fields): container("r", fields.map(\.signature).joined(), fields)
        case .entry(let key, let value): container("e", key.signature + value.signature, [key, value])
        case .variant(let value): container("v", value.signature, [value])
        }
    }

    private func basic<Value: BitwiseCopyable>(_ type: Unicode.Scalar, _ value: Value) -> Bool {
        withUnsafePointer(to: value) { latch_bus_append(message, Self.code(type), $0) } >= 0
    }

    private func text(_ type: Unicode.Scalar, _ text: String) -> Bool {
        // It would end at its first zero.
        !text.utf8.contains(0) && text.withCString { latch_bus_append(message, Self.code(type), $0) } >= 0
    }

    private func container(_ type: Unicode.Scalar, _ contents: String, _ values: [DBusValue]) -> Bool {
        latch_bus_open_container(message, Self.code(type), contents) >= 0 && append(values)
            && latch_bus_close_container(message) >= 0
    }

    private static func code(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
}
