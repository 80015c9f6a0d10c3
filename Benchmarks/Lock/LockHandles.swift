import ATT
import BluetoothCore
import CLinux
import GATT
import Glibc
import LockProtocol

/// Where the lock's values are: in the tree that its first launch published.
struct LockHandles {
    let command: AttributeHandle
    let challenge: AttributeHandle
    let receipt: AttributeHandle
    /// Of the descriptors that a key writes when it enrols.
    let configurations: [AttributeHandle]
    let databaseHash: [UInt8]

    init(published: ServiceDefinition, at declaration: AttributeHandle) throws {
        var server = GATTServer(configuration: GATTServerConfiguration(deviceName: ""))
        let service = try server.publish(published, at: declaration)
        func find(_ uuid: BluetoothUUID) throws -> (value: AttributeHandle, configuration: AttributeHandle?) {
            for (definition, handles) in zip(published.characteristics, service.characteristics)
            where definition.uuid == uuid {
                return (handles.value, handles.configuration)
            }
            throw BenchmarkError("the lock publishes no \(uuid)")
        }
        command = try find(LockUUID.lockCommand).value
        challenge = try find(LockUUID.challenge).value
        receipt = try find(LockUUID.commandReceipt).value
        configurations = try [LockUUID.challenge, LockUUID.commandReceipt, LockUUID.lockState].compactMap {
            try find($0).configuration
        }
        databaseHash = server.databaseHash
    }
}
