import BluetoothCore

/// Octets read as choices: a fuzzer's input tells a machine's harness what happens next. Past the end everything is 0.
struct FuzzInput {
    /// Octets of one chunk; longer ones come as several.
    static let chunkOctetsMaximum = 255
    /// Events of one input, so that an input's time is bounded by more than its length.
    static let eventsMaximum = 512

    private let octets: [UInt8]
    private var offset = 0
    private var events = 0

    init(_ octets: [UInt8]) { self.octets = octets }

    var isAtEnd: Bool { offset >= octets.count }

    /// The next event's choice; nil when there are no more.
    mutating func nextEvent() -> UInt8? {
        guard !isAtEnd, events < Self.eventsMaximum else { return nil }
        events += 1
        return octet()
    }

    mutating func octet() -> UInt8 {
        guard offset < octets.count else { return 0 }
        defer { offset += 1 }
        return octets[offset]
    }

    mutating func uint16() -> UInt16 { UInt16(octet()) | UInt16(octet()) << 8 }
    mutating func bool() -> Bool { octet() & 1 == 1 }

    /// As many octets as the next one says, or what is left of them.
    mutating func chunk() -> [UInt8] { take(Int(octet())) }

    mutating func take(_ count: Int) -> [UInt8] {
        let end = min(offset + count, octets.count)
        defer { offset = end }
        return Array(octets[offset..<end])
    }

    mutating func rest() -> [UInt8] { take(octets.count - offset) }

    /// A step of time: nothing, milliseconds, or seconds, enough to reach any timeout in a few steps.
    mutating func milliseconds() -> UInt64 {
        let octet = octet()
        return octet < 0x80 ? UInt64(octet) : UInt64(octet & 0x7F) * 500
    }
}

/// A promise that the code under test broke. Traps in every build.
func require(_ condition: Bool, _ promise: @autoclosure () -> String) {
    if !condition { fatalError("broken: \(promise())") }
}

/// What decodes survives encoding, which never needs more octets than there were.
func requireRoundTrip<Value: WireCodable>(_ type: Value.Type, _ octets: [UInt8]) {
    guard let value = try? Value(exactly: octets) else { return }
    let encoded = value.encoded
    require(encoded.count <= octets.count, "\(type) grew from \(octets.count) to \(encoded.count) octets")
    require((try? Value(exactly: encoded)) == value, "\(type) does not survive its encoding")
}

/// Chance without chance: the same input gives the same octets.
struct CountingRandom: RandomSource {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) {
        for _ in 0..<count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            octets.append(UInt8(truncatingIfNeeded: state >> 56))
        }
    }
}
