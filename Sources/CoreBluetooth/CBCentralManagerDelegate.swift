import CoreBluetoothEssentials
import Foundation

/// Seconds since the year 2001, as Apple's time stamps count them. Foundation on Linux has no name for them.
public typealias CFAbsoluteTime = TimeInterval

/// The time now, as a disconnection's time stamp counts it.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }

/// What an app hears of a central manager, with Foundation's types where Apple has them. Only `centralManagerDidUpdateState` is
/// required.
///
/// A delegate that is a subclass must find the methods that it overrides declared in its base class: a default implementation
/// makes a method optional, and is what a base class without the method calls.
public protocol CBCentralManagerDelegate: CBCentralManagerCallbacks {
    /// A scan found a peripheral, or something new about it. The signal strength is in dBm.
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber)
}

extension CBCentralManagerDelegate {
    /// Does nothing.
    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {}
    /// Tells it as Apple does.
    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        centralManager(
            central, didDiscover: peripheral, advertisementData: advertisementData, rssi: NSNumber(value: RSSI))
    }
}
