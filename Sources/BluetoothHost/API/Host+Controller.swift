import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

// MARK: The controller's transport

extension Host {
    /// A transport is open: the controller is reset, and everything that is wanted runs once it has come up.
    package func transportOpened() { core.transportOpened() }

    /// The transport is gone, and with it every link.
    package func transportClosed() { core.transportClosed() }

    /// There is no transport, and managers are to hear why: ``HostState/unsupported``, ``HostState/unauthorized`` or
    /// ``HostState/poweredOff``. It stands until one opens.
    package func transportUnavailable(_ state: HostState) { core.transportUnavailable(state) }

    /// The transport cannot tell any more where a packet starts, and drops octets until a Reset is answered. `indicator`:
    /// what stood in the place of a packet indicator.
    package func transportOutOfStep(indicator: UInt8?) { core.transportOutOfStep(indicator: indicator) }

    /// One packet from the controller: its type, and what follows the packet indicator.
    package func received(_ type: HCIPacketType, _ octets: RawSpan) { core.received(type, octets) }
}
