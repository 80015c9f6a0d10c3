import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

/// What a central manager hears, inline on the loop and inside the iteration's transaction.
package protocol CentralRoleDelegate: AnyObject {
    func hostStateChanged(_ state: HostState)
    func discovered(_ report: AdvertisementReport)
    func connected(_ link: LinkInfo)
    func connectionFailed(_ peer: PeerIdentifier, error: HostError)
    /// `error` is nil when this side asked for it.
    func disconnected(_ peer: PeerIdentifier, error: HostError?)
    /// Exactly once for each operation that was accepted.
    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<ClientValue, HostError>)
    /// A write with a time, of which ``completed(_:peer:result:)`` said that it was on its way, was not released in time:
    /// nothing of it has left, and nothing will.
    func writeLapsed(_ token: OperationToken, peer: PeerIdentifier)
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool)
    /// ATT_MTU was agreed: more fits a PDU than before.
    func mtuChanged(_ link: LinkInfo)
    /// The peer's tree changed between these handles: what was discovered there is void.
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle)
    /// Encryption came up (or failed to) on a link; a bonded peer is proven from here on.
    func securityChanged(_ link: LinkInfo, error: HostError?)
    /// The other side displays six digits: answer with ``Host/enterPasskey(_:for:)``.
    func passkeyRequested(_ peer: PeerIdentifier)
    /// Show these six digits, which the other side's user types.
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32)
    /// Both sides show six digits: answer whether they are equal with ``Host/answerPairing(_:_:)``.
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32)
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>)
}

extension CentralRoleDelegate {
    /// For those who give no write a time.
    package func writeLapsed(_ token: OperationToken, peer: PeerIdentifier) {}
}

/// A GATT procedure that a central runs at a connected peer.
package enum ClientProcedure: Sendable {
    /// The whole tree, descriptors and all.
    case discoverDatabase
    case discoverServices
    case discoverServicesByUUID(BluetoothUUID)
    case discoverIncludedServices(first: AttributeHandle, last: AttributeHandle)
    case discoverCharacteristics(first: AttributeHandle, last: AttributeHandle)
    case discoverDescriptors(first: AttributeHandle, last: AttributeHandle)
    /// Long values are read whole.
    case read(AttributeHandle)
    /// In the whole tree.
    case readByUUID(BluetoothUUID)
    case readMultiple([AttributeHandle])
    case readMultipleVariable([AttributeHandle])
    /// Long values are written by prepare and execute.
    case write(AttributeHandle, [UInt8])
    /// All of them or none, each checked on its way.
    case reliableWrites([AttributeWrite])
    case writeWithoutResponse(AttributeHandle, [UInt8])
    /// Signed with the bond's CSRK and its next counter; only on an unencrypted link.
    case signedWrite(AttributeHandle, [UInt8])
    case readRSSI
    /// Which of the 37 data channels the link uses now.
    case readChannelMap
}

/// What a procedure brought back.
package enum ClientValue: Sendable {
    case database(RemoteDatabase)
    case services([RemoteService])
    case includedServices([RemoteIncludedService])
    case characteristics([RemoteCharacteristic])
    case descriptors([RemoteDescriptor])
    case value([UInt8])
    /// By Read Using Characteristic UUID and Read Multiple Variable Length.
    case values([RemoteValue])
    case written
    /// The counter that the write was signed with: part of what a receipt answers.
    case signed(counter: UInt32)
    case rssi(Int8)
    case channelMap(LEChannelMap)
}

/// How a central pairs. The method is pinned: another one is a failure, never a fallback.
package enum PairingRequest: Sendable {
    /// From the peer's setup code: address, confirm value and random value.
    case outOfBand(OutOfBandData)
    /// The peer displays or has a keyboard too, the user types here.
    case passkeyEntry
    /// The user types at the peer what this side displays.
    case passkeyDisplay
    case numericComparison
}
