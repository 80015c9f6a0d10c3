import CoreBluetoothEssentials
import Foundation

/// What an app hears of a peripheral, with Foundation's types where Apple has them. Every method is optional.
///
/// See ``CBCentralManagerDelegate`` for delegates that are subclasses.
public protocol CBPeripheralDelegate: CBPeripheralCallbacks {
    /// Ends `readRSSI`: the link's signal strength, in dBm.
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?)
    /// Ends `readRSSI`, for whoever has not the method above: the strength is the peripheral's `rssi`.
    @available(*, deprecated, message: "Use peripheral(_:didReadRSSI:error:) instead.")
    func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?)
}

extension CBPeripheralDelegate {
    /// Tells it as systems before iOS 8 and macOS 10.13 did.
    public func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        let former: any FormerNews = FormerRSSI(delegate: self, peripheral: peripheral, error: error)
        former.tell()
    }
    /// Does nothing.
    public func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) {}
    /// Tells it as Apple does.
    public func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: Int, error: (any Error)?) {
        self.peripheral(peripheral, didReadRSSI: NSNumber(value: RSSI), error: error)
    }
}

/// What only former systems told. Not deprecated itself, so that what is can be called by way of it.
private protocol FormerNews {
    func tell()
}

private struct FormerRSSI: FormerNews {
    let delegate: any CBPeripheralDelegate
    let peripheral: CBPeripheral
    let error: (any Error)?

    @available(*, deprecated)
    func tell() { delegate.peripheralDidUpdateRSSI(peripheral, error: error) }
}
