/// What protects a link at the moment a PDU arrives or leaves. The host knows it and hands it in with every PDU: no room
/// below remembers it, so none can remember it wrongly.
///
/// Core 5.4, Vol 3, Part C, 10.2 (LE security modes)
package struct LinkSecurity: Hashable, Sendable {
    /// The link is encrypted now.
    package var encrypted: Bool
    /// The key in use came from a pairing with MITM protection.
    package var authenticated: Bool
    /// The key in use came from LE Secure Connections.
    package var secureConnections: Bool
    /// Octets of the key in use, 7–16; 0 on an unencrypted link.
    package var keySize: UInt8
    /// A key for this peer exists, whether or not it is in use: decides between "pair" and "encrypt" when refusing.
    package var bonded: Bool
    /// The host's owner has authorised this peer.
    package var authorized: Bool

    package init(
        encrypted: Bool = false, authenticated: Bool = false, secureConnections: Bool = false, keySize: UInt8 = 0,
        bonded: Bool = false, authorized: Bool = false
    ) {
        self.encrypted = encrypted
        self.authenticated = authenticated
        self.secureConnections = secureConnections
        self.keySize = keySize
        self.bonded = bonded
        self.authorized = authorized
    }

    /// An unencrypted link to a stranger.
    package static let open = Self()
}
