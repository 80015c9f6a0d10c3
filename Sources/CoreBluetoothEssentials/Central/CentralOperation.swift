import BluetoothCore
import GATT

/// What a procedure that runs at a peer was asked for, so that its end reaches the delegate method that the app waits
/// for.
enum CentralOperation: Sendable {
    typealias Filter = Set<BluetoothUUID>?

    /// Discovers the whole tree, and shows the app the services that it asked for.
    case discoverServices(Filter)
    /// A tree is kept of a peer that is not bonded: it is good if the peer still has the Database Hash that it had.
    case checkDatabaseHash(RemoteDatabase, Filter)
    case read(CBCharacteristic)
    case readDescriptor(CBDescriptor)
    case write(CBCharacteristic)
    case writeWithoutResponse
    case writeDescriptor(CBDescriptor)
    case signedWrite(CBCharacteristic)
    /// Without response, and not later than it says.
    case datedWrite(CBCharacteristic)
    case setNotify(CBCharacteristic, enabled: Bool)
    case readRSSI
    /// The manager's own, after a discovery: the peer is to say when its tree changes. Nobody waits for it.
    case subscribeToServiceChanged
}
