import CoreBluetoothEssentials

/// What an app hears of a peripheral manager. Only `peripheralManagerDidUpdateState` is required.
///
/// See ``CBCentralManagerDelegate`` for delegates that are subclasses.
public protocol CBPeripheralManagerDelegate: CBPeripheralManagerCallbacks {}
