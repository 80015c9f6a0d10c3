import BluetoothCore
import BluetoothCrypto

/// What a program has offered to its lock, until the answer is there. In memory only: another try makes another key pair.
package struct ProgramKeyOffer: Equatable, Sendable {
    private let agreement: ProgramKeyAgreement
    private let keyPair: P256KeyPair

    /// nil for an r of another length.
    package init?(random: Secret, lock: IdentityAddress, keyPair: P256KeyPair) {
        guard let agreement = ProgramKeyAgreement(random: random, lock: lock) else { return nil }
        self.agreement = agreement
        self.keyPair = keyPair
    }

    package static func == (a: Self, b: Self) -> Bool { a.keyPair.publicKey == b.keyPair.publicKey }

    /// The operands of ``ControlPointOpcode/agreeOnKey``.
    package var message: [UInt8] { agreement.offer(keyPair.publicKey) }

    /// nil unless the lock has answered this offer.
    package func key(ofAnswer message: [UInt8]) -> ProgramKey? {
        guard let answered = agreement.key(ofAnswer: message, to: keyPair.publicKey) else { return nil }
        return agreement.programKey(
            own: keyPair, peer: answered, offered: keyPair.publicKey, answered: answered)
    }
}
