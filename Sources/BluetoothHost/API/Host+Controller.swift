import ATT
import BlueZ
import BluetoothCore
import BluetoothCrypto
import DBus
import GATT
import HCI
import SecurityManager

// MARK: The controller's transport

extension Host {
    /// A transport is open: the controller is reset, and everything that is wanted runs once it has come up.
    package func transportOpened() { ask { $0.transportOpened() } }

    /// The transport is gone, and with it every link.
    package func transportClosed() { ask { $0.transportClosed() } }

    /// There is no transport, and managers are to hear why: ``HostState/unsupported``, ``HostState/unauthorized`` or
    /// ``HostState/poweredOff``. It stands until one opens.
    package func transportUnavailable(_ state: HostState) { ask { $0.transportUnavailable(state) } }

    /// The transport cannot tell any more where a packet starts, and drops octets until a Reset is answered. `indicator`:
    /// what stood in the place of a packet indicator.
    package func transportOutOfStep(indicator: UInt8?) { ask { $0.transportOutOfStep(indicator: indicator) } }

    /// What the kernel says to ``Act/strength(_:adapter:)``; nil where it does not.
    package func strengthRead(of peer: DeviceAddress, _ rssi: Int8?) { ask { $0.strengthRead(of: peer, rssi) } }

    /// What the bus tells, where bluetoothd keeps the adapter.
    package func heard(_ event: DBusEvent) {
        ask { $0.heard(event) }
        if core.tellings.count >= Self.tellingsMaximum { tellApps() }
    }

    /// Why there is no radio, for people, where bluetoothd keeps the adapter; nil where that is not known.
    package var radioAbsence: String? { core.blueZ?.machine.absence }

    /// What the controller can do that apps ask after, once it is there.
    package var controllerFeatures: ControllerFeatures { core.controller.facts.apps }

    /// One packet from the controller: its type, and what follows the packet indicator.
    package func received(_ type: HCIPacketType, _ octets: RawSpan) {
        ask { $0.receivedPacket(type, octets) }
        if core.tellings.count >= Self.tellingsMaximum { tellApps() }
    }
}
