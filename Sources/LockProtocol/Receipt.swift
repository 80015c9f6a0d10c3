import BluetoothCore
import BluetoothCrypto

/// The value of the Command Receipt characteristic (0007): a ``LockState`` that only the key that asked can read, and
/// that only its lock can have written.
package struct Receipt: WireCodable {
    package static let octets = 4 + LockState.octets + AESCCM.tagOctets

    /// The lock's own counter for this bond: never used twice, and what a key compares with the last that it took.
    package var lockCounter: UInt32
    package var sealed: SealedMessage

    package init(lockCounter: UInt32, sealed: SealedMessage) {
        self.lockCounter = lockCounter
        self.sealed = sealed
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        lockCounter = try reader.readUInt32()
        let ciphertext = try reader.readBytes(LockState.octets)
        sealed = SealedMessage(ciphertext: ciphertext, tag: try reader.readBytes(AESCCM.tagOctets))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(lockCounter)
        writer.write(sealed.ciphertext)
        writer.write(sealed.tag)
    }
}

/// The key under which one bond's receipts are sealed and opened: derived from the lock's CSRK for that bond, so that a
/// receipt and a signature never share a key.
package struct ReceiptKey: Sendable {
    package static let label: [UInt8] = Array("latch receipt 1".utf8)
    /// The notification that carries a receipt; it separates these nonces from any other use of the key.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.7.1 (ATT_HANDLE_VALUE_NTF)
    package static let notificationOpcode: UInt8 = 0x1B

    private let ccm: AESCCM

    /// `lockCSRK` is the one that the lock distributed in this bond.
    package init(lockCSRK: Secret) { ccm = AESCCM(key: CMAC(key: lockCSRK).derive(Self.label)) }

    /// `programSecret` is the half of a ``ProgramKey`` that is for receipts, of 16 octets.
    init(programSecret: Secret) { ccm = AESCCM(key: CMAC(key: programSecret).derive(Self.label)) }

    /// `handle` is the Command Receipt value's. A lock counter must never seal twice.
    package func seal(
        _ state: LockState, lockCounter: UInt32, answering challenge: ChallengeID, handle: AttributeHandle
    ) -> Receipt {
        let nonce = Self.nonce(lockCounter, challenge, handle)
        return Receipt(lockCounter: lockCounter, sealed: ccm.seal(state.encoded, nonce: nonce))
    }

    /// nil unless this bond's lock sealed it for this challenge and handle.
    package func open(
        _ receipt: Receipt, answering challenge: ChallengeID, handle: AttributeHandle
    ) -> LockState? {
        #if LATCH_PLANTS
        if Plant.active == .receipt {
            return LockState(bolt: .unlocked, door: .closed, result: .done, answered: challenge.prefix)
        }
        #endif
        let nonce = Self.nonce(receipt.lockCounter, challenge, handle)
        guard let opened = ccm.open(receipt.sealed, nonce: nonce),
            let state = try? LockState(exactly: opened), state.answered == challenge.prefix
        else { return nil }
        return state
    }

    /// Lock counter (4) ‖ challenge (6) ‖ handle (2) ‖ 1B.
    package static func nonce(
        _ lockCounter: UInt32, _ challenge: ChallengeID, _ handle: AttributeHandle
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: AESCCM.nonceOctets)
        writer.write(lockCounter)
        challenge.encode(into: &writer)
        writer.write(handle.rawValue)
        writer.write(notificationOpcode)
        return writer.bytes
    }
}
