import CoreBluetooth
import Foundation

// Symbols that Apple deprecates, and that old apps still have. Warnings are all that they cost.

final class FormerCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private(set) var lastRSSI: NSNumber?

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state.rawValue == CBCentralManagerState.poweredOn.rawValue {
            central.scanForPeripherals(withServices: nil)
        }
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.delegate = self
        peripheral.readRSSI()
    }

    func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: Error?) {
        lastRSSI = peripheral.rssi
    }
}

final class FormerPeripheral: NSObject, CBPeripheralManagerDelegate {
    var mayAdvertise: Bool {
        switch CBPeripheralManager.authorizationStatus() {
        case .authorized, .notDetermined: return true
        case .denied, .restricted: return false
        @unknown default: return false
        }
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state.rawValue == CBPeripheralManagerState.poweredOn.rawValue, mayAdvertise else { return }
        peripheral.startAdvertising([CBAdvertisementDataLocalNameKey: "Former"])
    }
}

func isUnknownDevice(_ error: Error) -> Bool { return (error as? CBError)?.code == .unkownDevice }
func isBroadcast(_ characteristic: CBCharacteristic) -> Bool { return characteristic.isBroadcasted }
