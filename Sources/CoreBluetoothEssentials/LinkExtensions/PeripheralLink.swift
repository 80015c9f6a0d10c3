import ATT
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Synchronization

// What a lock needs of its links and Apple's API does not say: when they come and go, how they are secured, by which path
// a write came.

/// What a peripheral manager's delegate may also be.
package protocol CBPeripheralManagerLinkDelegate: CBPeripheralManagerCallbacks {
    func peripheralManager(_ peripheral: CBPeripheralManager, centralDidConnect central: CBCentral, link: LinkInfo)
    func peripheralManager(
        _ peripheral: CBPeripheralManager, centralDidDisconnect central: CBCentral, link: LinkInfo,
        reason: HCIErrorCode)
    /// Encryption came up, or failed to. A bonded central is proven from here on.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didChangeSecurity link: LinkInfo, error: HostError?)
    /// Show these six digits to whoever holds the other side.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, displayPasskey passkey: UInt32, to central: CBCentral, link: LinkInfo)
    /// The central displays six digits: answer with ``CBPeripheralManager/answerPairing(_:with:)``.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, passkeyRequestedFor central: CBCentral, link: LinkInfo)
    /// Both sides show six digits: answer with ``CBPeripheralManager/answerPairing(_:with:)``.
    func peripheralManager(
        _ peripheral: CBPeripheralManager, compareNumericValue value: UInt32, with central: CBCentral, link: LinkInfo)
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didPair result: Result<BondID, HostError>,
        link: LinkInfo)
}

extension CBPeripheralManagerLinkDelegate {
    package func peripheralManager(
        _ peripheral: CBPeripheralManager, passkeyRequestedFor central: CBCentral, link: LinkInfo
    ) {
        peripheral.answerPairing(central, with: .refusal)
    }
    package func peripheralManager(
        _ peripheral: CBPeripheralManager, compareNumericValue value: UInt32, with central: CBCentral, link: LinkInfo
    ) {
        peripheral.answerPairing(central, with: .numbersAreEqual(false))
    }
}

extension CBATTError.Code {
    /// The client has to ask for indications first.
    package static let cccdImproperlyConfigured = Self(number: Int(ATTErrorCode.cccdImproperlyConfigured.rawValue))
    /// The client's last request has yet to be answered, or the answer to be confirmed.
    package static let procedureAlreadyInProgress = Self(number: Int(ATTErrorCode.procedureAlreadyInProgress.rawValue))
}

extension CBATTRequest {
    /// How a write arrived; nil for a read.
    package var writePath: WritePath? { path }
}

extension CBCentral {
    /// The central's link, as it was last spoken of; nil while it is away.
    package var link: LinkInfo? { state.withLock { $0.link } }
}

extension CBMutableCharacteristic {
    /// Replaces what ``permissions`` and ``properties`` say: one requirement for each path to the value.
    package var access: AttributeAccess? {
        get { state.withLock { $0.access } }
        set { state.withLock { $0.access = newValue } }
    }

    /// Whether bonded subscribers that are away get updates when they return. False for what is worth nothing later. True
    /// again in a restored characteristic: set it in `willRestoreState` too.
    package var keepsUpdatesForAbsentCentrals: Bool {
        get { state.withLock { $0.keepsUpdatesForAbsentCentrals } }
        set { state.withLock { $0.keepsUpdatesForAbsentCentrals = newValue } }
    }
}

extension CBPeripheralManager {
    /// Ends the link that a central was last heard on.
    package func disconnect(_ central: CBCentral) {
        if let link = central.link { disconnect(link.link) }
    }

    /// Ends a link. A central that is here twice keeps the other one.
    package func disconnect(_ link: LinkID) {
        core.submit { host, _ in host.disconnect(link) }
    }

    /// Updates whoever is subscribed on this link, and nobody whose link is gone: says whether there was room. `isBulk`: it is much, and
    /// in no hurry, so that it leaves the controller's buffers to others.
    package func updateValue(
        _ value: [UInt8], for characteristic: CBMutableCharacteristic, onLink link: LinkID, isBulk: Bool = false
    ) -> Bool {
        core.updateValue(value, for: characteristic, to: [.link(link)], isBulk: isBulk)
    }

    /// Answers what a pairing asked of the user.
    package func answerPairing(_ central: CBCentral, with answer: PairingAnswer) {
        guard let link = central.link else { return }
        core.submit { host, _ in host.answerPairing(link.link, answer) }
    }

    /// Asks a central to encrypt the link or to pair.
    package func requestSecurity(of central: CBCentral) {
        guard let link = central.link else { return }
        core.submit { host, _ in host.requestSecurity(link.link) }
    }

    /// Lets a stranger pair, or, with nil, nobody.
    package func setPairingWindow(_ window: PairingWindow?) {
        core.submit { host, _ in host.setPairingWindow(window) }
    }
}

extension PeripheralCore {
    /// Calls the delegate if it wants to hear of links. What a peer causes: false when it was dropped.
    @discardableResult
    func tellLink(
        of central: CBCentral,
        _ call: @escaping @Sendable (CBPeripheralManager, any CBPeripheralManagerLinkDelegate) -> Void
    ) -> Bool {
        tellFlooded(by: central) { manager, delegate in
            if let delegate = delegate as? any CBPeripheralManagerLinkDelegate { call(manager, delegate) }
        }
    }

    func tellBeginning(of link: LinkInfo, _ central: CBCentral) {
        let isTold = tellLink(of: central) { $1.peripheralManager($0, centralDidConnect: central, link: link) }
        if isTold { toldLinks.insert(link.link) }
    }

    /// Never dropped: it follows a beginning that counted, and an app that missed it would serve a link that is gone.
    func tellEnd(of link: LinkInfo, _ central: CBCentral, reason: HCIErrorCode) {
        guard toldLinks.remove(link.link) != nil else { return }
        tell { manager, delegate in
            guard let delegate = delegate as? any CBPeripheralManagerLinkDelegate else { return }
            delegate.peripheralManager(manager, centralDidDisconnect: central, link: link, reason: reason)
        }
    }
}
