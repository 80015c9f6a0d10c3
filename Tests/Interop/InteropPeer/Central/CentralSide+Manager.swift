import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials

// What the central manager's delegate hears.

extension CentralSide: CBCentralLinkDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        voice.event("centralState", ["state": .string("\(central.state)")])
    }

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        restored.forEach { meet($0) }
        voice.event(
            "centralRestored",
            [
                "peripherals": .array(restored.map { JSONValue($0) }),
                "services": .array(restored.flatMap { $0.services ?? [] }.map { .object(describe($0)) }),
                "scanning": .bool(dict[CBCentralManagerRestoredStateScanOptionsKey] != nil),
            ])
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        meet(peripheral)
        let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
        voice.event(
            "discovered",
            [
                "peripheral": JSONValue(peripheral), "rssi": JSONValue(RSSI),
                "name": (advertisementData[CBAdvertisementDataLocalNameKey] as? String).map { .string($0) } ?? .null,
                "services": .array(services.map { JSONValue($0) }),
                "manufacturerData": JSONValue(
                    optional: advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data),
                "connectable": .bool(advertisementData[CBAdvertisementDataIsConnectable] as? Bool ?? false),
            ])
    }

    func centralManager(_ central: CBCentralManager, willConnect peripheral: CBPeripheral, link: LinkInfo) {
        voice.event("willConnect", ["peripheral": JSONValue(peripheral), "link": .object(JSONObject(link))])
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        voice.event("connected", ["peripheral": JSONValue(peripheral)])
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        voice.event("failedToConnect", ["peripheral": JSONValue(peripheral), "error": JSONValue(error: error)])
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        voice.event("disconnected", ["peripheral": JSONValue(peripheral), "error": JSONValue(error: error)])
    }
}
