import BluetoothCore
import DBus
import GATT

/// What is wanted of the air. The machine compares it with what it has told bluetoothd. So it does the same for a new wish, for a bluetoothd
/// that has begun anew, and for an adapter that is on again.
package struct BlueZWishes: Equatable, Sendable {
    /// Bonded peers to be connected with whenever they are near.
    package var connections: Set<DeviceAddress>
    /// The same of peers that this side has no bond with. bluetoothd may have one.
    package var strangers: Set<DeviceAddress>
    /// Values that are to be notified of, by the peer that has them.
    package var notifications: [DeviceAddress: Set<AttributeHandle>]
    package var isScanning: Bool

    package init(
        connections: Set<DeviceAddress> = [], strangers: Set<DeviceAddress> = [],
        notifications: [DeviceAddress: Set<AttributeHandle>] = [:], isScanning: Bool = false
    ) {
        self.connections = connections
        self.strangers = strangers
        self.notifications = notifications
        self.isScanning = isScanning
    }

    /// A wish for a peer stays when the peer gets another address.
    mutating func move(_ old: DeviceAddress, to new: DeviceAddress) {
        if connections.remove(old) != nil { connections.insert(new) }
        if strangers.remove(old) != nil { strangers.insert(new) }
        if let values = notifications.removeValue(forKey: old) { notifications[new, default: []].formUnion(values) }
    }
}

/// What there is to stand on.
package enum BlueZState: Hashable, Sendable {
    /// Nobody has answered yet.
    case unknown
    /// There was a bluetoothd, and there is none now; or the bus itself has gone.
    case away
    /// No bluetoothd has been there.
    case absent
    /// bluetoothd has no adapter of those that are meant.
    case noAdapter
    case off
    case on
}

/// A device whose link is up: encrypted with its bond, where it has one, and with its tree known.
package struct BlueZLinkInfo: Hashable, Sendable {
    /// The device's object, which names the link for as long as it is up.
    package var path: String
    package var address: DeviceAddress
    package var name: String?
    package var isPaired: Bool
    /// ATT_MTU of the link, which bluetoothd has agreed on.
    package var mtu: Int
}

extension BlueZCentral {
    package enum Event: Equatable, Sendable {
        case bus(DBusEvent)
        case wished(BlueZWishes)
        /// Exactly one ``Output/completed(_:_:)`` follows. `until`: a write without response must not leave later.
        case operation(UInt64, link: String, GATTClientOperation, until: Instant? = nil)
        /// Nothing of a call with a time has left, and nothing will.
        case lapsed(DBusCallID)
        case disconnect(link: String)
        /// By a setup code. Exactly one ``Output/paired(_:_:)`` follows, unless it is cancelled; the pairing's link has ended by then.
        case pair(DeviceAddress)
        /// Nobody waits for the pairing with this device any more, if it is the one that is under way.
        case cancelPairing(DeviceAddress)
        /// The kernel has the code of the pairing that is under way, or nobody may give it one.
        case codeProvided(BlueZPairingFailure?)
        /// bluetoothd's bond with this device is of no use any more.
        case forget(DeviceAddress)
        case timerFired
    }

    /// To be carried out in this order; acts behind the commit of the iteration.
    package enum Output: Equatable, Sendable {
        /// `until`: it must not leave later. Whoever carries it out says ``Event/lapsed(_:)`` in its place then.
        case act(DBusAct, until: Instant? = nil)
        case state(BlueZState)
        case connected(BlueZLinkInfo)
        case disconnected(link: String)
        case treeChanged(link: String)
        case updated(link: String, AttributeHandle, [UInt8])
        case completed(UInt64, Result<GATTClientResult, GATTClientError>)
        /// A write without response that was completed already has not left in its time.
        case lapsed(UInt64)
        case seen(BlueZSighting)
        /// The peer that was at the first address is at the second one from now on. Its link goes on.
        case identified(DeviceAddress, as: IdentityAddress)
        /// The peer is there: the kernel is to have its code, for its adapter of this number. ``Event/codeProvided(_:)`` follows.
        case provideCode(DeviceAddress, adapter: UInt16)
        /// nil: with a bond that both sides keep.
        case paired(DeviceAddress, BlueZPairingFailure?)
    }
}
