import CoreBluetoothEssentials
import LockProtocol

/// The characteristics of a lock as a key needs them: nil unless all are there.
struct LockHandles {
    let lockState: CBCharacteristic
    let command: CBCharacteristic
    let challenge: CBCharacteristic
    let controlPoint: CBCharacteristic
    let receipt: CBCharacteristic

    init?(_ peripheral: CBPeripheral) {
        let service = peripheral.services?.first { $0.uuid.bluetoothUUID == LockUUID.lockService }
        guard let found = service?.characteristics else { return nil }
        func find(_ uuid: CBUUID) -> CBCharacteristic? { found.first { $0.uuid == uuid } }
        guard let lockState = find(CBUUID(LockUUID.lockState)), let command = find(CBUUID(LockUUID.lockCommand)),
            let challenge = find(CBUUID(LockUUID.challenge)),
            let controlPoint = find(CBUUID(LockUUID.lockControlPoint)),
            let receipt = find(CBUUID(LockUUID.commandReceipt))
        else { return nil }
        self.lockState = lockState
        self.command = command
        self.challenge = challenge
        self.controlPoint = controlPoint
        self.receipt = receipt
    }

    /// What a key listens to.
    var subscriptions: [CBCharacteristic] { [challenge, receipt, lockState, controlPoint] }
}
