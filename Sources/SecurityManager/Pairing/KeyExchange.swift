import BluetoothCore
import BluetoothCrypto

// Phase 3: keys, on the encrypted link, the responder's first.
//
// Core 5.4, Vol 3, Part H, 3.6.1 (Key distribution and generation)

extension PairingMachine {
    mutating func encryptionChanged(_ enabled: Bool, _ turn: inout PairingTurn) {
        guard case .awaitingEncryption(let agreed, let key) = state else { return }
        guard enabled else { return fail(.encryptionFailed, &turn) }
        var keys = ReceivedKeys(agreed: agreed, ltk: key, from: role == .initiator ? .responder : .initiator)
        if !agreed.isSecureConnections, role == .responder {
            keys.ltk = agreed.material.legacyLTK.shortened(to: agreed.keyOctets)
            (keys.ediv, keys.rand) = (agreed.material.ediv, agreed.material.rand)
        }
        if role == .responder {
            turn.persist(turn.book.begin(bond(keys, turn.book.localIdentity, state: .provisional)))
            sendKeys(keys, turn.book.localIdentity, &turn)
        }
        state = .receivingKeys(keys)
        if keys.owed.isEmpty { finish(keys, &turn) }
    }

    mutating func key(_ pdu: SMPPDU, _ received: ReceivedKeys, _ turn: inout PairingTurn) {
        var keys = received
        switch pdu {
        case .encryptionInformation(let ltk):
            guard !ltk.isAllZero else { return reject(.keyRejected, &turn) }
            keys.ltk = ltk.shortened(to: keys.agreed.keyOctets)
        case .centralIdentification(let ediv, let rand): (keys.ediv, keys.rand) = (ediv, rand)
        case .identityInformation(let irk):
            // All zero says that the peer has no resolvable addresses.
            guard irk != turn.book.localIdentity.irk else { return reject(.keyRejected, &turn) }
            keys.irk = irk.isAllZero ? nil : irk
        case .identityAddressInformation(let address):
            guard let identity = IdentityAddress(address) else { return reject(.invalidParameters, &turn) }
            keys.identity = identity
        case .signingInformation(let csrk):
            guard !csrk.isAllZero, csrk != keys.agreed.material.localCSRK else {
                return reject(.keyRejected, &turn)
            }
            keys.csrk = csrk
        default: return reject(.unspecifiedReason, &turn)
        }
        keys.owed = keys.owed.dropFirst()
        state = .receivingKeys(keys)
        if keys.owed.isEmpty { finish(keys, &turn) }
    }

    /// The responder's bond takes its predecessor's place now, if a key of the initiator says that it has all of the
    /// responder's, over a link that the new key encrypts; nobody but this initiator had the old one, and ours sends its keys
    /// when the new bond is on its disk. Else, and always the initiator's, it waits beside it until one of them encrypts a
    /// link. Two bonds on both sides would not be safer: with LE Secure Connections neither side says which key it takes, and
    /// each could go on trying the one that the other does not.
    private mutating func finish(_ keys: ReceivedKeys, _ turn: inout PairingTurn) {
        let bond = bond(keys, turn.book.localIdentity, state: .unconfirmed)
        guard let identity = bond.identity, isExpected(identity, keys.agreed.method),
            let replaced = turn.book.replaceable(
                by: peerAddress, identity: identity, irk: bond.peerIRK, credential: bond.credential,
                renewable: keys.agreed.parameters.renewable, strength: bond.strength)
        else { return fail(.identityTaken, telling: .keyRejected, &turn) }
        let isProven = role == .responder && !keys.agreed.keys(from: .initiator).isEmpty
        let gone = isProven ? replaced : turn.book.surplus(with: identity, among: replaced)
        guard !turn.book.isKeyTaken(of: bond, besides: gone) else {
            return fail(.identityTaken, telling: .keyRejected, &turn)
        }
        turn.persist(turn.book.admit(bond, replacing: gone))
        if role == .initiator { sendKeys(keys, turn.book.localIdentity, &turn) }
        state = .idle(refusing: .pairingNotSupported)
        deadline = nil
        turn.output(.completed(bond))
    }

    /// Out-of-band data names whom it came from.
    private func isExpected(_ identity: IdentityAddress, _ method: PairingMethod) -> Bool {
        if case .outOfBand(_, let received?) = method { identity.address == received.address } else { true }
    }

    private mutating func sendKeys(_ received: ReceivedKeys, _ local: LocalIdentity, _ turn: inout PairingTurn) {
        let agreed = received.agreed
        let keys = agreed.keys(from: role)
        if keys.contains(.encKey) {
            send(.encryptionInformation(longTermKey: received.ltk), &turn)
            send(.centralIdentification(ediv: received.ediv, rand: received.rand), &turn)
        }
        if keys.contains(.idKey) {
            send(.identityInformation(identityResolvingKey: local.irk), &turn)
            send(.identityAddressInformation(local.address.address), &turn)
        }
        if keys.contains(.signKey) {
            send(.signingInformation(signatureKey: signatureKey(agreed, local)), &turn)
        }
    }

    /// Of this bond alone: what one peer gets signed means nothing to another.
    private func signatureKey(_ agreed: AgreedFeatures, _ local: LocalIdentity) -> Secret {
        #if LATCH_PLANTS
        if Plant.active == .shared, role == .initiator { return local.irk }
        #endif
        return agreed.material.localCSRK
    }

    private func bond(_ keys: ReceivedKeys, _ local: LocalIdentity, state: BondState) -> Bond {
        let parameters = keys.agreed.parameters
        return Bond(
            id: parameters.material.bondID, identity: keys.identity ?? IdentityAddress(peerAddress),
            peerIRK: keys.irk, ltk: keys.ltk, keySize: keys.agreed.keyOctets, ediv: keys.ediv, rand: keys.rand,
            localCSRK: keys.agreed.keys(from: role).contains(.signKey) ? signatureKey(keys.agreed, local) : nil,
            remoteCSRK: keys.csrk, secureConnections: keys.agreed.isSecureConnections, model: keys.agreed.method.model,
            state: state, credential: parameters.credential, applicationSecret: parameters.applicationSecret)
    }
}
