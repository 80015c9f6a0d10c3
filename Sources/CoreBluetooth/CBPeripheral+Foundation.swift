import CoreBluetoothEssentials
import Foundation

extension CBPeripheral {
    /// Who hears of this peripheral; not retained.
    public var delegate: (any CBPeripheralDelegate)? {
        get { callbacks as? any CBPeripheralDelegate }
        set { callbacks = newValue }
    }

    /// The signal strength that was read last, in dBm; nil before.
    @available(*, deprecated, message: "Use the delegate's peripheral(_:didReadRSSI:error:) instead.")
    public var rssi: NSNumber? { lastRSSI.map { NSNumber(value: $0) } }
}
