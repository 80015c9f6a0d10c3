import BlueZ
import SecurityManager

/// What an operator chooses of a host.
package struct HostConfiguration: Sendable {
    package var deviceName: String
    /// On which of bluetoothd's adapters this side has its central role; nil: on a controller of its own.
    package var besideBlueZ: AdapterChoice?
    /// Of the GAP service; 0 says nothing. Assigned Numbers, 2.6 (Appearance Values)
    package var appearance: UInt16 = 0
    /// The largest ATT_MTU, 23–517.
    package var mtu: Int
    package static let usualLinksMaximum = 8
    /// Links held at once, in both roles together.
    package var linksMaximum: Int
    /// Advertising interval in units of 0.625 ms.
    package var advertisingInterval: UInt16
    /// Connection interval in units of 1.25 ms, and supervision timeout in units of 10 ms, as central.
    package var connectionInterval: UInt16
    package var supervisionTimeout: UInt16
    /// What becomes of pairings that no window and no request pins to a method.
    package var pairing: PairingRules
    /// What this side asks of its centrals, a while after they have connected; nil for nothing.
    package var preferredConnection: PreferredConnection?
    /// Whether this side is on the air under resolvable private addresses, and for how long under each.
    package var privacy = true
    package var privateAddressLifeMilliseconds = PrivateAddress.lifeMilliseconds
    /// Whether a characteristic's subscribers are told with those who are away. An app that never asks for them spares its
    /// launch the reading of every client that the host remembers.
    package var listsAbsentSubscribers = true

    /// Whether this side, as central, encrypts each link to a bonded peer as soon as it stands. What a peer keeps for a bonded
    /// client flows once the client has proved itself, and Apple's API has no call for that. Signed writes want a link in clear.
    package var encryptsBondedLinks = false

    package init(
        deviceName: String, mtu: Int = 247, linksMaximum: Int = usualLinksMaximum, advertisingInterval: UInt16 = 160,
        connectionInterval: UInt16 = 24, supervisionTimeout: UInt16 = 200, pairing: PairingRules = .refused,
        preferredConnection: PreferredConnection? = nil
    ) {
        self.deviceName = deviceName
        self.mtu = mtu
        self.linksMaximum = linksMaximum
        self.advertisingInterval = advertisingInterval
        self.connectionInterval = connectionInterval
        self.supervisionTimeout = supervisionTimeout
        self.pairing = pairing
        self.preferredConnection = preferredConnection
    }
}
