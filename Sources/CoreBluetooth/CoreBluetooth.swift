// The whole of Core Bluetooth for apps: `import CoreBluetooth` is all that they write.
@_exported import CoreBluetoothEssentials
