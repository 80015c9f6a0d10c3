// The whole of Core Bluetooth for apps: `import CoreBluetooth` is all that they write, and Foundation comes with it as on
// Apple's systems.
@_exported import CoreBluetoothEssentials
@_exported import Foundation
