import ATT
import BlueZ
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

// MARK: Pairing, bonds and encryption

extension Host {
    /// Encrypts a link to a bonded peer with the key that both kept, or asks the peer to on a link that it made;
    /// `securityChanged` follows, with an error when the peer does not answer in the time that a pairing may take. A link
    /// that is encrypted already stays as it is, and nothing follows.
    package func encrypt(_ peer: PeerIdentifier) { ask { $0.encrypt(peer) } }

    /// Opens the window in which a stranger may pair, or closes it (nil). An attempt ends with its window, so that nobody
    /// keeps the next one to himself. An out-of-band offer is burnt by the first check value that somebody sends.
    package func setPairingWindow(_ window: PairingWindow?) { ask { $0.setPairingWindow(window) } }

    /// Whether there is a window that somebody may still pair in.
    package var isPairingWindowOpen: Bool { core.pairingDoor.isOpen }

    /// Attempts that may fail in one window, each behind a try at the secret.
    package static let pairingFailuresMaximum = PairingDoor.failuresMaximum

    /// Pairs with a connected peer by the one method that was asked for. `credential` names whom this is with: a bond is
    /// only ever replaced by one of the same name. `applicationSecret`: kept with the bond from its first moment on.
    package func pair(
        _ manager: ManagerID, _ peer: PeerIdentifier, _ request: PairingRequest, credential: String,
        applicationSecret: Secret? = nil
    ) {
        ask { $0.pair(manager, peer, request, credential: credential, applicationSecret: applicationSecret) }
    }

    /// Whether ``pair(_:_:_:credential:applicationSecret:)`` finds its peer and makes its link itself, and ends it when it has paired: bluetoothd does.
    package var pairsWithoutLink: Bool { core.blueZ != nil }

    /// The kernel has the code of ``Act/code(_:)``; or why not.
    package func codeProvided(_ failure: BlueZPairingFailure?) { ask { $0.codeProvided(failure) } }

    /// The digits that the other side shows; nil gives up.
    package func enterPasskey(_ passkey: UInt32?, for peer: PeerIdentifier) {
        ask { $0.enterPasskey(passkey, for: peer) }
    }

    package var bonds: [Bond] { core.bonds }

    /// Those whose keys have yet to prove themselves, in no order.
    package var unconfirmedBonds: [BondID] { core.unconfirmedBonds }

    /// With its CSRKs, from which the lock's receipts derive their keys.
    package func bond(_ id: BondID) -> Bond? { core.bond(id) }

    /// The other side has shown, over a link encrypted with it, that it kept the bond: it may be used from now on.
    package func promoteBond(_ id: BondID) { ask { $0.promoteBond(id) } }

    /// One of a bond's counters for what the app authenticates itself, before it leaves; nil once they are spent, or without such a bond.
    package func takeSignCounter(_ bond: BondID) -> UInt32? { ask { $0.takeSignCounter(bond) } }

    /// Keeps a secret of the app's with a bond, as its keys are kept, or, with nil, nothing more; what there was is gone. At most
    /// ``BondBook/applicationSecretOctetsMaximum`` octets, else nothing changes.
    package func keep(_ secret: Secret?, with bond: BondID) { ask { $0.keep(secret, with: bond) } }

    package func deleteBond(_ id: BondID) { ask { $0.deleteBond(id) } }

    /// What a link's user says.
    package func answerPairing(_ id: LinkID, _ answer: PairingAnswer) { ask { $0.answerPairing(id, answer) } }

    /// Pairs with a connected peer by whatever both sides can do, under the host's ``PairingRules``. `received` is what the
    /// peer gave out of band.
    package func pair(_ manager: ManagerID, _ peer: PeerIdentifier, received: OutOfBandData? = nil) {
        ask { $0.pair(manager, peer, received: received) }
    }

    /// As peripheral: asks the central to encrypt or to pair.
    ///
    /// Core 5.4, Vol 3, Part H, 2.4.6 (Peripheral Security Request)
    package func requestSecurity(_ id: LinkID) { ask { $0.requestSecurity(id) } }
}
