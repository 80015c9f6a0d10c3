import BluetoothCore
import BluetoothCrypto

/// How a program and a lock come by a ``ProgramKey``: a Diffie-Hellman exchange over the encrypted link, which the setup code's r
/// authenticates. Whoever shares the link does not know r, and whoever finds the code later has neither private key.
///
/// The program writes ``offer(_:)``, the lock answers with ``answer(_:to:)``, and both derive.
package struct ProgramKeyAgreement: Sendable {
    /// A public key and its authenticator.
    package static let messageOctets = 2 * P256PublicKey.coordinateOctets + 16
    private static let agreementLabel: [UInt8] = Array("latch agreement 1".utf8)
    private static let keyLabel: [UInt8] = Array("latch program key 1".utf8)

    /// Who speaks; it separates the two messages.
    private enum Side: UInt8 { case program = 1, lock = 2 }

    private let random: Secret
    private let lock: [UInt8]

    /// `random` is the r of a setup code, of 16 octets; nil for any other number of them. `lock` is whom the code names.
    package init?(random: Secret, lock: IdentityAddress) {
        guard random.count == SetupCode.randomOctets else { return nil }
        self.random = random
        var writer = ByteWriter(capacity: 7)
        writer.write(lock.address.kind.rawValue)
        for shift in stride(from: 0, through: 40, by: 8) {
            writer.write(UInt8(truncatingIfNeeded: lock.address.bits >> UInt64(shift)))
        }
        self.lock = writer.bytes
    }

    // MARK: Messages

    package func offer(_ key: P256PublicKey) -> [UInt8] { key.wire + authenticator(.program, key.wire) }

    /// The program's public key; nil unless the message comes from somebody who knows r, and the key is one of the group's.
    package func key(ofOffer message: [UInt8]) -> P256PublicKey? { key(of: message) { authenticator(.program, $0) } }

    package func answer(_ key: P256PublicKey, to offered: P256PublicKey) -> [UInt8] {
        key.wire + authenticator(.lock, offered.wire + key.wire)
    }

    /// The lock's public key, in the same way. A program's own key that comes back is refused.
    package func key(ofAnswer message: [UInt8], to offered: P256PublicKey) -> P256PublicKey? {
        let key = key(of: message) { authenticator(.lock, offered.wire + $0) }
        return key?.x == offered.x ? nil : key
    }

    private func key(of message: [UInt8], _ authenticator: ([UInt8]) -> [UInt8]) -> P256PublicKey? {
        guard message.count == Self.messageOctets else { return nil }
        let wire = Array(message.prefix(2 * P256PublicKey.coordinateOctets))
        guard ConstantTime.equal(Array(message.dropFirst(wire.count)), authenticator(wire)) else { return nil }
        return P256PublicKey(wire: wire)
    }

    private func authenticator(_ side: Side, _ keys: [UInt8]) -> [UInt8] {
        let key = CMAC(key: random).derive(Self.agreementLabel)
        return CMAC(key: key).authenticate([side.rawValue] + lock + keys).octets
    }

    // MARK: The key

    /// nil never, of keys that were checked. `own` is either side's key pair, `peer` the other's public key.
    package func programKey(
        own: P256KeyPair, peer: P256PublicKey, offered: P256PublicKey, answered: P256PublicKey
    ) -> ProgramKey? {
        ProgramKey(
            HKDF.derive(
                own.sharedSecret(with: peer), salt: random,
                info: Self.keyLabel + lock + offered.wire + answered.wire, octets: ProgramKey.octets))
    }
}
