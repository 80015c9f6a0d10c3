/// Why octets from a peer or a controller are not what they claim to be.
///
/// Always the peer's fault; it reaches as far as the PDU that was read, and the layer that read it decides what
/// becomes of the bearer or the link.
package enum DecodingError: Error, Equatable, Sendable {
    /// A field needed more octets than are left.
    case truncated(needed: Int, available: Int)
    /// A PDU of fixed length is followed by octets that belong to nothing.
    case trailingOctets(count: Int)
    /// A field's value is outside what the specification allows there.
    case invalidValue(field: StaticString)

    package static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.truncated(let n, let m), .truncated(let x, let y)): n == x && m == y
        case (.trailingOctets(let n), .trailingOctets(let x)): n == x
        case (.invalidValue(let f), .invalidValue(let g)): f.description == g.description
        default: false
        }
    }
}
