import CSQLite

/// What a row's MAC is over: each value with its type and, where it may have any length, its length before it. So no value
/// passes for two others.
struct RowMessage {
    private(set) var octets: [UInt8] = []

    /// Begins another one in the same room: ten thousand rows are authenticated one behind the other.
    mutating func begin(_ table: StaticString) {
        octets.removeAll(keepingCapacity: true)
        table.withUTF8Buffer { append(octets: UnsafeRawBufferPointer($0)) }
    }

    mutating func append(_ value: SQLValue) {
        switch value {
        case .null: appendNull()
        case .integer(let integer): append(integer)
        case .text(var text): text.withUTF8 { append(text: UnsafeRawBufferPointer($0)) }
        case .blob(let blob): blob.withUnsafeBytes { append(blob: $0) }
        }
    }

    mutating func appendNull() { octets.append(0) }

    mutating func append(_ integer: Int64) {
        octets.append(1)
        append(bigEndian: UInt64(bitPattern: integer))
    }

    mutating func append(text: UnsafeRawBufferPointer) {
        octets.append(2)
        append(octets: text)
    }

    mutating func append(blob: UnsafeRawBufferPointer) {
        octets.append(3)
        append(octets: blob)
    }

    private mutating func append(octets more: UnsafeRawBufferPointer) {
        append(bigEndian: UInt64(more.count))
        octets.append(contentsOf: more)
    }

    private mutating func append(bigEndian number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { octets.append(contentsOf: $0) }
    }
}
