import BluetoothCore
import BluetoothHost
import CoreBluetooth
import Testing

@testable import CoreBluetoothEssentials

/// Each method of Apple's three delegate protocols, as apps write it, is the one that is called. The delegates below declare it in
/// Apple's words; the core's protocols call it; the list of Apple's symbols says what there is.
@Suite("Every delegate method")
struct DelegateMethodTests {
    private let central = CBCentralManager(callbacks: nil, delivery: .inline, host: CBHost(NoLoop()))
    private let manager = CBPeripheralManager(callbacks: nil, delivery: .inline, host: CBHost(NoLoop()))
    private let peripheral: CBPeripheral
    private let subscriber = CBCentral(PeerIdentifier(bits: 2), backlog: Backlog(within: nil))
    private let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
    private let characteristic = CBMutableCharacteristic(
        type: CBUUID(string: "2A37"), properties: .read, value: nil, permissions: .readable)
    private let descriptor = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Pulse")

    init() { peripheral = CBPeripheral(PeerIdentifier(bits: 1), name: nil, core: central.core) }

    /// All that the core tells of a central manager.
    private func tell(_ app: any CBCentralManagerCallbacks) {
        app.centralManagerDidUpdateState(central)
        app.centralManager(central, willRestoreState: [:])
        app.centralManager(central, didDiscover: peripheral, advertisementData: [:], rssi: -40)
        app.centralManager(central, didConnect: peripheral)
        app.centralManager(central, didFailToConnect: peripheral, error: nil)
        app.centralManager(
            central, didDisconnectPeripheral: peripheral, timestamp: 7.5, isReconnecting: false, error: nil)
        app.centralManager(central, connectionEventDidOccur: .peerConnected, for: peripheral)
    }

    /// All that the core tells of a peripheral.
    private func tell(_ app: any CBPeripheralCallbacks) {
        app.peripheralDidUpdateName(peripheral)
        app.peripheral(peripheral, didModifyServices: [service])
        app.peripheral(peripheral, didReadRSSI: -50, error: nil)
        app.peripheral(peripheral, didDiscoverServices: nil)
        app.peripheral(peripheral, didDiscoverIncludedServicesFor: service, error: nil)
        app.peripheral(peripheral, didDiscoverCharacteristicsFor: service, error: nil)
        app.peripheral(peripheral, didUpdateValueFor: characteristic, error: nil)
        app.peripheral(peripheral, didWriteValueFor: characteristic, error: nil)
        app.peripheral(peripheral, didUpdateNotificationStateFor: characteristic, error: nil)
        app.peripheral(peripheral, didDiscoverDescriptorsFor: characteristic, error: nil)
        app.peripheral(peripheral, didUpdateValueFor: descriptor, error: nil)
        app.peripheral(peripheral, didWriteValueFor: descriptor, error: nil)
        app.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
        app.peripheral(peripheral, didOpen: nil, error: nil)
    }

    /// All that the core tells of a peripheral manager.
    private func tell(_ app: any CBPeripheralManagerCallbacks) {
        let request = CBATTRequest(
            central: subscriber, characteristic: characteristic, offset: 0, value: nil, path: nil,
            answer: CBATTRequest.Answer(nil))
        app.peripheralManagerDidUpdateState(manager)
        app.peripheralManager(manager, willRestoreState: [:])
        app.peripheralManagerDidStartAdvertising(manager, error: nil)
        app.peripheralManager(manager, didAdd: service, error: nil)
        app.peripheralManager(manager, central: subscriber, didSubscribeTo: characteristic)
        app.peripheralManager(manager, central: subscriber, didUnsubscribeFrom: characteristic)
        app.peripheralManager(manager, didReceiveRead: request)
        app.peripheralManager(manager, didReceiveWrite: [request])
        app.peripheralManagerIsReady(toUpdateSubscribers: manager)
        app.peripheralManager(manager, didPublishL2CAPChannel: 0x80, error: nil)
        app.peripheralManager(manager, didUnpublishL2CAPChannel: 0x80, error: nil)
        app.peripheralManager(manager, didOpen: nil, error: nil)
    }

    /// The methods of a delegate that are here, in Apple's words without types.
    private func methods(of delegate: String) throws -> [String] {
        let list = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/apple-symbols.tsv")
        return try String(contentsOf: list, encoding: .utf8).split(separator: "\n").compactMap { line in
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard columns.count == 3, columns[0] == delegate else { return nil }
            guard !columns[2].hasPrefix("left out"), !columns[2].hasPrefix("not yet") else { return nil }
            return columns[1].replacing(/: \w+\??,?/, with: ":")
        }
    }

    @Test("CBCentralManagerDelegate: all methods, and the former one where the newest is not there")
    func centralManager() throws {
        let (app, former) = (NewestApp(), FormerApp())
        tell(app as any CBCentralManagerCallbacks)
        tell(former as any CBCentralManagerCallbacks)
        #expect(former.heard == ["centralManager(_:didDisconnectPeripheral:error:)"])
        #expect(try (app.heard + former.heard).sorted() == methods(of: "CBCentralManagerDelegate").sorted())
    }

    @Test("CBPeripheralDelegate: all methods, and the former one where the newest is not there")
    func peripheralDelegate() throws {
        let (app, former) = (NewestApp(), FormerApp())
        tell(app as any CBPeripheralCallbacks)
        tell(former as any CBPeripheralCallbacks)
        #expect(former.heard == ["peripheralDidUpdateRSSI(_:error:)"])
        #expect(try (app.heard + former.heard).sorted() == methods(of: "CBPeripheralDelegate").sorted())
    }

    @Test("CBPeripheralManagerDelegate: all methods")
    func peripheralManager() throws {
        let app = NewestApp()
        tell(app as any CBPeripheralManagerCallbacks)
        #expect(try app.heard.sorted() == methods(of: "CBPeripheralManagerDelegate").sorted())
    }
}

/// Hears everything, in the newest words. The types are those of an app: `Error?`, `NSNumber`, `CFAbsoluteTime`.
private final class NewestApp: NSObject {
    private(set) var heard: [String] = []
    private func hear(_ method: String = #function) { heard.append(method) }
}

extension NewestApp: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) { hear() }
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) { hear() }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) { hear() }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { hear() }
    func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) { hear() }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { hear() }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?
    ) { hear() }
    func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
    ) { hear() }
}

extension NewestApp: CBPeripheralDelegate {
    func peripheralDidUpdateName(_ peripheral: CBPeripheral) { hear() }
    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) { hear() }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) { hear() }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
    ) { hear() }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?
    ) { hear() }
    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { hear() }
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) { hear() }
}

extension NewestApp: CBPeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { hear() }
    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) { hear() }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) { hear() }
    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) { hear() }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) { hear() }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) { hear() }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) { hear() }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) { hear() }
    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { hear() }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { hear() }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { hear() }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
    ) { hear() }
}

/// Hears what only former systems said, and what no system leaves out.
private final class FormerApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private(set) var heard: [String] = []

    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { heard.append(#function) }
    func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) { heard.append(#function) }
}
