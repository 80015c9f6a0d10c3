import BluetoothCore
import Testing

/// A value and the octets that it is on the wire.
struct CodecCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    private let check: @Sendable () throws -> Void

    init<Value: WireCodable>(
        _ title: String, _ hex: String, _ value: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        testDescription = title
        check = {
            let octets = try #require(HexText.decode(hex.filter { $0 != " " }), sourceLocation: sourceLocation)
            #expect(HexText.encode(value.encoded) == HexText.encode(octets), sourceLocation: sourceLocation)
            #expect(try Value(exactly: octets) == value, sourceLocation: sourceLocation)
            for length in 0..<octets.count {
                #expect(
                    throws: DecodingError.self, "the first \(length) octets", sourceLocation: sourceLocation
                ) { try Value(exactly: Array(octets.prefix(length))) }
            }
            #expect(throws: DecodingError.self, "an octet too many", sourceLocation: sourceLocation) {
                try Value(exactly: octets + [0])
            }
        }
    }

    func run() throws { try check() }
}
