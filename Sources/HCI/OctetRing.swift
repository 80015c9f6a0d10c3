import BluetoothCore

/// Octets first in, first out, in storage that grows to what was once needed and is then reused.
struct OctetRing: Sendable {
    private var storage: [UInt8] = []
    private var head = 0
    private(set) var count = 0

    private static let initialCapacity = 512

    mutating func append(_ octets: RawSpan) {
        reserve(count + octets.byteCount)
        let tail = (head + count) % max(1, storage.count)
        let untilEnd = min(octets.byteCount, storage.count - tail)
        octets.withUnsafeBytes { source in
            storage.withUnsafeMutableBytes { target in
                target[tail..<tail + untilEnd].copyBytes(from: source[0..<untilEnd])
                target[0..<source.count - untilEnd].copyBytes(from: source[untilEnd...])
            }
        }
        count += octets.byteCount
    }

    /// Moves the first `wanted` octets, or all there are, to `writer`.
    mutating func move(_ wanted: Int, into writer: inout ByteWriter) {
        let moved = min(wanted, count)
        let untilEnd = min(moved, storage.count - head)
        writer.write(storage.span.bytes.extracting(head..<head + untilEnd))
        writer.write(storage.span.bytes.extracting(0..<moved - untilEnd))
        head = (head + moved) % max(1, storage.count)
        count -= moved
    }

    private mutating func reserve(_ needed: Int) {
        guard needed > storage.count else { return }
        var capacity = max(storage.count, Self.initialCapacity)
        while capacity < needed { capacity *= 2 }
        var grown = ByteWriter(capacity: capacity)
        move(count, into: &grown)
        count = grown.bytes.count
        head = 0
        storage = grown.bytes
        storage.append(contentsOf: repeatElement(0, count: capacity - count))
    }
}
