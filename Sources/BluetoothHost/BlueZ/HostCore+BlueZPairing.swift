import BlueZ
import BluetoothCore
import BluetoothCrypto
import SecurityManager

// MARK: Bonds that bluetoothd keeps

extension HostCore {
    /// bluetoothd finds the peer, connects and pairs by itself: no link is needed, and the one that it made has ended when the result is
    /// told. It keeps one bond with a peer, and has given the old one up by then, whatever becomes of the new one.
    mutating func pairByBlueZ(
        _ manager: ManagerID, _ peer: PeerIdentifier, _ request: PairingRequest, credential: String,
        applicationSecret: Secret?
    ) {
        guard case .outOfBand(let data) = request else {
            return announce(.paired(peer, .failure(.unsupportedByController)), to: manager)
        }
        guard blueZ?.pairing == nil else { return announce(.paired(peer, .failure(.blueZ(.busy))), to: manager) }
        guard let identity = IdentityAddress(data.address), peers[peer]?.address == data.address else {
            return announce(.paired(peer, .failure(.unknownPeer)), to: manager)
        }
        guard replaceable(identity, credential) != nil else {
            return announce(.paired(peer, .failure(.pairing(.identityTaken))), to: manager)
        }
        blueZ?.pairing = BlueZSide.Pairing(
            manager: manager, peer: peer, data: data, credential: credential, applicationSecret: applicationSecret)
        tellBlueZ(.pair(data.address))
    }

    /// Elsewhere a pairing ends with its link. Whoever gives it up hears nothing more of it.
    mutating func cancelPairingByBlueZ(_ manager: ManagerID, _ peer: PeerIdentifier) {
        guard let asked = blueZ?.pairing, asked.manager == manager, asked.peer == peer,
            let pairing = blueZ?.takePairing()
        else { return }
        tellBlueZ(.cancelPairing(pairing.data.address))
    }

    private func replaceable(_ identity: IdentityAddress, _ credential: String) -> [BondID]? {
        bondBook.replaceable(by: identity.address, identity: identity, credential: credential, strength: .full)
    }

    mutating func codeProvided(_ failure: BlueZPairingFailure?) { tellBlueZ(.codeProvided(failure)) }

    mutating func pairedByBlueZ(_ address: DeviceAddress, _ failure: BlueZPairingFailure?) {
        guard let pairing = blueZ?.takePairing() else { return }
        if let failure {
            return announce(.paired(pairing.peer, .failure(.blueZ(failure))), to: pairing.manager)
        }
        guard let identity = IdentityAddress(address), let replaced = replaceable(identity, pairing.credential) else {
            return announce(.paired(pairing.peer, .failure(.pairing(.identityTaken))), to: pairing.manager)
        }
        // Its keys are bluetoothd's.
        let bond = Bond(
            id: BondID(random: random.uint64()), identity: identity, ltk: Secret([]), model: .outOfBand,
            state: .unconfirmed, credential: pairing.credential, applicationSecret: pairing.applicationSecret)
        for mutation in bondBook.admit(bond, replacing: replaced) { persist(mutation) }
        _ = name(pairing.peer, withIdentity: identity)
        announce(.paired(pairing.peer, .success(bond.id)), to: pairing.manager)
        wishesChanged()
    }

    /// A bond of this side's has gone: bluetoothd's is of no use where it was the last one with that peer.
    mutating func bondDeleted(with identity: IdentityAddress?) {
        guard let identity, blueZ != nil, bondBook.bonds(with: identity).isEmpty else { return }
        tellBlueZ(.forget(identity.address))
    }
}
