import COpenSSL

/// A point of P-256 that has been validated: on the curve, in the group, not the identity. No other can be made.
///
/// Core 5.4, Vol 3, Part H, 2.3.5.6.1 (Public key exchange)
package struct P256PublicKey: Equatable, Sendable {
    package static let coordinateOctets = 32
    /// X then Y, most significant octets first.
    let xy: [UInt8]

    /// The X coordinate, most significant octet first, as f4 and g2 take it.
    package var x: [UInt8] { Array(xy[..<Self.coordinateOctets]) }
    /// The Y coordinate, most significant octet first.
    package var y: [UInt8] { Array(xy[Self.coordinateOctets...]) }

    /// Coordinates of 32 octets, most significant first; nil when they are no point of the group.
    package init?(x: [UInt8], y: [UInt8]) {
        guard x.count == Self.coordinateOctets, y.count == Self.coordinateOctets else { return nil }
        let xy = x + y
        guard latch_p256_is_valid(xy) == 1 else { return nil }
        self.xy = xy
    }

    fileprivate init(validated xy: [UInt8]) { self.xy = xy }

    /// The 64 octets of a Pairing Public Key PDU: X then Y, each least significant octet first; nil when they are no
    /// point of the group.
    package init?(wire: [UInt8]) {
        guard wire.count == 2 * Self.coordinateOctets else { return nil }
        self.init(x: wire[..<Self.coordinateOctets].reversed(), y: wire[Self.coordinateOctets...].reversed())
    }

    /// X then Y, each least significant octet first.
    package var wire: [UInt8] { (y + x).reversed() }

    /// Whether this is the debug key, whose private half everybody knows. Its X is enough: the other Y is its negation,
    /// and no less known.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.6.1 (Public key exchange, debug mode)
    package var isDebugKey: Bool { x == Self.debugX }

    private static let debugX: [UInt8] = [
        0x20, 0xB0, 0x03, 0xD2, 0xF2, 0x97, 0xBE, 0x2C, 0x5E, 0x2C, 0x83, 0xA7, 0xE9, 0xF9, 0xA5, 0xB9,
        0xEF, 0xF4, 0x91, 0x11, 0xAC, 0xF4, 0xFD, 0xDB, 0xCC, 0x03, 0x01, 0x48, 0x0E, 0x35, 0x9D, 0xE6,
    ]
}

/// A P-256 key pair for one pairing or one out-of-band offer. A shell makes it and hands it in.
package struct P256KeyPair: Sendable {
    package let publicKey: P256PublicKey
    private let scalar: Secret

    /// From OpenSSL's random source: for shells only.
    package static func generate() -> Self {
        var xy = [UInt8](repeating: 0, count: 64)
        let scalar = Secret(count: 32) { required(success: latch_p256_generate($0, &xy)) }
        return Self(publicKey: P256PublicKey(validated: xy), scalar: scalar)
    }

    /// From a private scalar of 32 octets, most significant first; nil unless 0 < scalar < the group's order.
    package init?(scalar: Secret) {
        guard scalar.count == 32 else { return nil }
        var xy = [UInt8](repeating: 0, count: 64)
        guard scalar.withBase({ latch_p256_public($0, &xy) }) == 1 else { return nil }
        self.init(publicKey: P256PublicKey(validated: xy), scalar: scalar)
    }

    private init(publicKey: P256PublicKey, scalar: Secret) {
        self.publicKey = publicKey
        self.scalar = scalar
    }

    /// DHKey: the X coordinate of the shared point, 32 octets.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.6.1 (Public key exchange)
    package func sharedSecret(with peer: P256PublicKey) -> Secret {
        Secret(count: 32) { shared in
            required(success: scalar.withBase { latch_p256_shared_x($0, peer.xy, shared) })
        }
    }
}
