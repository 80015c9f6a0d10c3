import BluetoothCore
import BluetoothHost
import CoreBluetooth
import Testing

@testable import CoreBluetoothEssentials

/// Apple's spelling of a method that compiles is called. Each app here is written as for Apple's systems.
@Suite("Delegates with Foundation's types")
struct DelegateTests {
    private let manager: CBCentralManager
    private let peripheral: CBPeripheral

    init() {
        manager = CBCentralManager(callbacks: nil, delivery: .inline, host: CBHost(NoLoop()))
        peripheral = CBPeripheral(PeerIdentifier(bits: 1), name: nil, core: manager.core)
    }

    /// What the essentials tell, as their cores do.
    private func tellEverything(_ central: any CBCentralManagerCallbacks, _ device: any CBPeripheralCallbacks) {
        central.centralManager(manager, didDiscover: peripheral, advertisementData: [:], rssi: -40)
        central.centralManager(
            manager, didDisconnectPeripheral: peripheral, timestamp: 7.5, isReconnecting: false, error: nil)
        device.peripheral(peripheral, didReadRSSI: -50, error: nil)
    }

    private class App: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
        var heard: [String] = []

        func centralManagerDidUpdateState(_ central: CBCentralManager) {}
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
            rssi RSSI: NSNumber
        ) { heard.append("discovered at \(RSSI.intValue)") }
        func centralManager(
            _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
            isReconnecting: Bool, error: (any Error)?
        ) { heard.append("disconnected at \(timestamp), \(isReconnecting)") }
        func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
            heard.append("read \(RSSI.doubleValue)")
        }
    }

    /// In extensions, as many apps have them, and with the methods of former systems.
    fileprivate final class FormerApp: NSObject {
        var heard: [String] = []
    }

    private final class Heir: App {
        override func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
            heard.append("heir read \(RSSI)")
        }
    }

    @Test("NSNumber in both methods, and the time of a disconnection")
    func numbers() {
        let app = App()
        tellEverything(app, app)
        #expect(app.heard == ["discovered at -40", "disconnected at 7.5, false", "read -50.0"])
        let heir = Heir()
        tellEverything(heir, heir)
        #expect(heir.heard.last == "heir read -50")
    }

    @Test("What former systems called is called where nothing newer is there")
    func former() {
        let app = FormerApp()
        tellEverything(app, app)
        #expect(app.heard == ["disconnected", "updated"])
    }

    @Test("A delegate is the one that was set, and is not retained")
    func identity() {
        var app: App? = App()
        manager.delegate = app
        peripheral.delegate = app
        #expect(manager.delegate === app && peripheral.delegate === app)
        app = nil
        #expect(manager.delegate == nil && peripheral.delegate == nil)
    }

    @Test("A descriptor's number is an NSNumber, and can be read as every kind of one")
    func descriptor() {
        let number = CBMutableDescriptor(type: CBUUID(string: "2903"), value: NSNumber(value: 3))
        #expect(number.value as? NSNumber == 3)
        #expect(number.value as? UInt16 == 3)
        #expect(number.value as? Int == 3)
        #expect(CBMutableDescriptor(type: CBUUID(string: "2901"), value: NSString("Door")).value as? String == "Door")
        #expect(
            CBMutableDescriptor(type: CBUUID(string: "2904"), value: NSData(data: Data([1]))).value as? Data
                == Data([1]))
    }
}

extension DelegateTests.FormerApp: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { heard.append("disconnected") }
}

extension DelegateTests.FormerApp: CBPeripheralDelegate {
    func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) { heard.append("updated") }
}
