import CoreBluetooth

/// Prints what it hears on the air.
final class Listener: NSObject, CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else {
            return print("\(central.state): \(CBHost.default.obstacle ?? "waiting for the adapter")")
        }
        central.scanForPeripherals(withServices: nil)
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        print(peripheral.identifier, peripheral.name ?? "no name", "\(RSSI) dBm")
    }
}

let listener = Listener()
let manager = CBCentralManager(delegate: listener, queue: nil)
RunLoop.main.run()
