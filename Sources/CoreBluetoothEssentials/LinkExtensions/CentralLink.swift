import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import FoundationEssentials
import SecurityManager
import Synchronization

// What a key needs of its links and Apple's API does not say: signed writes, pairing by a pinned method, encryption.

/// What a central manager's delegate may also be.
package protocol CBCentralLinkDelegate: CBCentralManagerCallbacks {
    /// Right before `didConnect`: who is on the other end, as far as is known.
    func centralManager(_ central: CBCentralManager, willConnect peripheral: CBPeripheral, link: LinkInfo)
}

/// Why a write that must not leave late did not leave at all.
package enum UnwrittenReason: Sendable {
    case late
    /// The link or the stack did not take it.
    case refused
}

/// What a peripheral's delegate may also be.
package protocol CBPeripheralLinkDelegate: CBPeripheralCallbacks {
    /// Encryption came up, or failed to. A bonded peripheral is proven from here on.
    func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?)
    /// Ends ``CBPeripheral/pair(_:credential:)``.
    func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>)
    /// The peripheral displays six digits: answer with ``CBPeripheral/enterPasskey(_:)``.
    func peripheralDidRequestPasskey(_ peripheral: CBPeripheral)
    /// Show these six digits, which the peripheral's user types.
    func peripheral(_ peripheral: CBPeripheral, displayPasskey passkey: UInt32)
    /// Both sides show six digits: answer with ``CBPeripheral/answerPairing(_:)``.
    func peripheral(_ peripheral: CBPeripheral, compareNumericValue value: UInt32)
    /// Ends ``CBPeripheral/writeSignedValue(_:for:)``: the write left with this counter, or with none for the reason.
    func peripheral(
        _ peripheral: CBPeripheral, didSignValueFor characteristic: CBCharacteristic, counter: UInt32?,
        error: (any Error)?)
    /// Nothing of a write by ``CBPeripheral/writeValue(_:for:isSigned:until:)`` has left, and nothing will.
    func peripheral(_ peripheral: CBPeripheral, didNotWriteBecause reason: UnwrittenReason)
}

extension CBPeripheralLinkDelegate {
    package func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?) {}
    package func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>) {}
    package func peripheralDidRequestPasskey(_ peripheral: CBPeripheral) { peripheral.enterPasskey(nil) }
    package func peripheral(_ peripheral: CBPeripheral, displayPasskey passkey: UInt32) {}
    package func peripheral(_ peripheral: CBPeripheral, compareNumericValue value: UInt32) {
        peripheral.answerPairing(.numbersAreEqual(false))
    }
    package func peripheral(
        _ peripheral: CBPeripheral, didSignValueFor characteristic: CBCharacteristic, counter: UInt32?,
        error: (any Error)?
    ) {}
    package func peripheral(_ peripheral: CBPeripheral, didNotWriteBecause reason: UnwrittenReason) {}
}

extension CBPeripheral {
    /// Writes a value by a Signed Write Command, which needs an unencrypted link and a bond with a CSRK.
    ///
    /// Core 5.4, Vol 3, Part G, 4.9.2 (Signed Write Without Response)
    package func writeSignedValue(_ data: Data, for characteristic: CBCharacteristic) {
        let octets = Array(data)
        core.submit(.signedWrite(characteristic, octets), for: self)
    }

    /// Writes a value without response, signed or not, and not later than `until`: the time is looked at when the packet
    /// leaves.
    package func writeValue(_ data: Data, for characteristic: CBCharacteristic, isSigned: Bool, until: Instant) {
        let octets = Array(data)
        core.submit(.datedWrite(characteristic, octets, isSigned: isSigned, until: until), for: self)
    }

    /// Pairs by this method and no other. `credential` names whom this is with: a bond is only ever replaced by one of the
    /// same name. `applicationSecret`: kept with the bond from its first moment on.
    package func pair(_ request: PairingRequest, credential: String, applicationSecret: Secret? = nil) {
        core.submit { host, id in
            host.pair(id, self.peer, request, credential: credential, applicationSecret: applicationSecret)
        }
    }

    /// Answers a request for a passkey; nil refuses.
    package func enterPasskey(_ passkey: UInt32?) {
        core.submit { host, _ in host.enterPasskey(passkey, for: self.peer) }
    }

    /// Answers what a pairing asked of the user.
    package func answerPairing(_ answer: PairingAnswer) {
        core.submit { host, _ in
            if let link = host.link(of: self.peer) { host.answerPairing(link.link, answer) }
        }
    }

    /// Pairs by what both sides can do, as the host's rules for pairing allow; its ``PairingAgent`` asks the user.
    package func pair() {
        core.submit { host, id in host.pair(id, self.peer) }
    }

    /// Encrypts the link with the bond's LTK.
    package func encrypt() {
        core.submit { host, _ in host.encrypt(self.peer) }
    }

    /// What came over the link shows that the peripheral is who it says, though the link is not encrypted.
    package func vouch() {
        core.submit { host, _ in host.vouch(for: self.peer) }
    }

    /// Asks the peripheral what it is called; ``ownName`` has the answer before any answer to what is asked behind this.
    package func readName() {
        core.submit { host, _ in host.readName(of: self.peer) }
    }

    /// What the peripheral itself has said that it is called; nil as long as it was not asked. ``name`` may be what somebody advertised.
    package var ownName: String? { content.withLock { $0.isNameRead ? $0.name : nil } }

    /// See ``Host/advanceSignCounter(of:beyond:)``.
    package func advanceSignCounter(beyond counter: UInt32?) {
        core.submit { host, _ in host.advanceSignCounter(of: self.peer, beyond: counter) }
    }

    /// Shows the tree that is kept of this peripheral as if it had just been discovered, and says whether one is: a bonded
    /// key commands its lock without discovering anything. On the loop only.
    package func showKeptServices() -> Bool { core.showKeptServices(self) }
}

extension CBCentralManager {
    /// The peripheral at an address, which need not have been heard yet: a setup code names one. On the loop only.
    package func peripheral(at address: DeviceAddress) -> CBPeripheral? {
        guard let host = core.host, core.handle.executor.isOnLoop else { return nil }
        return core.peripheral(host.peer(at: address))
    }

    /// The one with this name, for those that keep names. On the loop only.
    package func peripheral(_ peer: PeerIdentifier) -> CBPeripheral? {
        guard let host = core.host, core.handle.executor.isOnLoop, host.peerRecord(peer) != nil else { return nil }
        return core.peripheral(peer)
    }

    /// The peripheral's link. On the loop only.
    package func link(of peripheral: CBPeripheral) -> LinkInfo? {
        guard core.handle.executor.isOnLoop else { return nil }
        return core.host?.link(of: peripheral.peer)
    }
}
