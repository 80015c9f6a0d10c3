import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

// MARK: What a host is on the air

extension Host {
    /// Advertises from now on, in place of what this manager advertised before, until it is stopped and over every restart.
    /// In the limited discoverable mode that begins now for ``DiscoverableMode/limitedMilliseconds``, also when it had begun
    /// before.
    package func startAdvertising(_ manager: ManagerID, _ record: AdvertisingRecord) {
        ask { $0.startAdvertising(manager, record) }
    }

    package func stopAdvertising(_ manager: ManagerID) { ask { $0.stopAdvertising(manager) } }

    package func isAdvertising(_ manager: ManagerID) -> Bool { core.isAdvertising(manager) }

    /// What a manager advertises now, its limited discoverable mode over when it is.
    package func advertising(of manager: ManagerID) -> AdvertisingRecord? { core.advertising(of: manager) }

    /// What the app received over a peer's link shows that the peer is who it says: a link that is not encrypted, and was
    /// not in vain.
    package func vouch(for peer: PeerIdentifier) { ask { $0.vouch(for: peer) } }

    /// Whether a scan may go on for as long as somebody likes. Beside bluetoothd it takes the air from everything else that is connected.
    package var hearsAdvertisements: Bool { core.blueZ == nil }

    /// Under which address this side advertises, scans and connects now; nil while there is no controller to do it.
    package var addressOnAir: DeviceAddress? { core.addressOnAir }
}
