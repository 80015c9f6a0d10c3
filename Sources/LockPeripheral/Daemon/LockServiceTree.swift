import BluetoothCore
import CoreBluetoothEssentials
import FoundationEssentials
import GATT
import LockProtocol

/// The Lock service as it is published. docs/PROTOCOL.md has the table.
struct LockServiceTree {
    let service: CBMutableService
    let lockState: CBMutableCharacteristic
    let command: CBMutableCharacteristic
    let challenge: CBMutableCharacteristic
    let controlPoint: CBMutableCharacteristic
    let receipt: CBMutableCharacteristic
    let auditRecord: CBMutableCharacteristic
    let recordAccess: CBMutableCharacteristic
    let alarm: CBMutableCharacteristic

    /// LE security mode 1 level 4.
    ///
    /// Core 5.4, Vol 3, Part C, 10.2.1 (LE security mode 1)
    private static let proven = AttributeRequirement.encryptedSecureConnections
    private static let keyOctets: UInt8 = 16

    private static let profileVersion: UInt8 = 1

    /// Version of the profile, operations as a bit mask, procedures of both control points as another.
    private static let capabilities = Capabilities(
        version: profileVersion, operations: LockOperation.known,
        procedures: ControlPointOpcode.known + RecordAccessOpcode.known.map { ControlPointOpcode($0) }
    ).encoded

    /// A fresh tree. What came later stands behind the others, whose handles stay as they were.
    init() {
        lockState = Self.characteristic(
            LockUUID.lockState, [.read, .notify, .notifyEncryptionRequired],
            AttributeAccess(read: Self.proven, subscribe: Self.proven, minimumKeySize: Self.keyOctets))
        // Permission is per path: signed on an unencrypted link, the other two under encryption. Every path wants the key of
        // a pairing with MITM protection.
        command = Self.characteristic(
            LockUUID.lockCommand, [.authenticatedSignedWrites, .write, .writeWithoutResponse],
            AttributeAccess(
                writeRequest: Self.proven, writeCommand: Self.proven, signedWrite: true,
                signatureNeedsAuthentication: true, minimumKeySize: Self.keyOctets))
        challenge = Self.characteristic(
            LockUUID.challenge, [.read, .notify], AttributeAccess(read: .open, subscribe: .open))
        controlPoint = Self.characteristic(
            LockUUID.lockControlPoint, [.write, .indicate, .indicateEncryptionRequired],
            AttributeAccess(writeRequest: Self.proven, subscribe: Self.proven, minimumKeySize: Self.keyOctets))
        let capabilities = Self.characteristic(
            LockUUID.capabilities, [.read],
            AttributeAccess(read: Self.proven, minimumKeySize: Self.keyOctets), value: Data(Self.capabilities))
        receipt = Self.characteristic(LockUUID.commandReceipt, [.notify], AttributeAccess(subscribe: .open))
        auditRecord = Self.characteristic(
            LockUUID.auditRecord, [.notify, .notifyEncryptionRequired],
            AttributeAccess(subscribe: Self.proven, minimumKeySize: Self.keyOctets))
        recordAccess = Self.characteristic(
            LockUUID.recordAccessControlPoint, [.write, .indicate, .indicateEncryptionRequired],
            AttributeAccess(writeRequest: Self.proven, subscribe: Self.proven, minimumKeySize: Self.keyOctets))
        alarm = Self.characteristic(
            LockUUID.alarm, [.read, .notify, .notifyEncryptionRequired],
            AttributeAccess(read: Self.proven, subscribe: Self.proven, minimumKeySize: Self.keyOctets))
        service = CBMutableService(type: CBUUID(LockUUID.lockService), primary: true)
        service.characteristics = [
            lockState, command, challenge, controlPoint, capabilities, receipt, auditRecord, recordAccess, alarm,
        ]
    }

    /// The tree that an earlier process published, if it is the one that this one would publish.
    init?(restored service: CBMutableService) {
        let fresh = Self()
        let found = (service.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
        let wanted = (fresh.service.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
        guard service.uuid == fresh.service.uuid, found.count == wanted.count,
            zip(found, wanted).allSatisfy({ $0.uuid == $1.uuid && $0.access == $1.access && $0.value == $1.value }),
            found.count == 9
        else { return nil }
        // Not kept with the tree: every process says it anew.
        for characteristic in found { characteristic.keepsUpdatesForAbsentCentrals = false }
        self.service = service
        lockState = found[0]
        command = found[1]
        challenge = found[2]
        controlPoint = found[3]
        receipt = found[5]
        auditRecord = found[6]
        recordAccess = found[7]
        alarm = found[8]
    }

    private static func characteristic(
        _ uuid: BluetoothUUID, _ properties: CBCharacteristicProperties, _ access: AttributeAccess, value: Data? = nil
    ) -> CBMutableCharacteristic {
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(uuid), properties: properties, value: value, permissions: [])
        characteristic.access = access
        // A challenge, a receipt, a state are worth nothing later, and who comes back reads the last alarm.
        characteristic.keepsUpdatesForAbsentCentrals = false
        return characteristic
    }

    func subscription(_ characteristic: CBCharacteristic) -> LockSubscription? {
        if characteristic === challenge { return .challenge }
        if characteristic === receipt { return .receipt }
        if characteristic === alarm { return .alarm }
        return characteristic === lockState ? .lockState : nil
    }

    func characteristic(_ subscription: LockSubscription) -> CBMutableCharacteristic {
        switch subscription {
        case .challenge: challenge
        case .receipt: receipt
        case .lockState: lockState
        case .alarm: alarm
        }
    }
}
