import BluetoothCore

/// What bluetoothd says of a device that it hears while it looks for devices: what its last advertisements carried, taken together.
package struct BlueZSighting: Hashable, Sendable {
    package var address: DeviceAddress
    package var name: String?
    /// Of its advertisements, and those that a link has shown.
    package var services: [BluetoothUUID]
    /// dBm.
    package var rssi: Int8
    package var txPower: Int8?
    /// The company identifier, least significant octet first, and what follows it.
    package var manufacturerData: [UInt8]?
    package var serviceData: [BluetoothUUID: [UInt8]]
    /// The octet of the Flags AD type.
    package var flags: UInt8?
    package var appearance: UInt16?

    /// nil for a device that is not heard.
    init?(_ device: BlueZDevice) {
        guard let address = device.address, let rssi = device.rssi else { return nil }
        self.address = address
        self.rssi = rssi
        name = device.name
        services = device.services
        txPower = device.txPower
        manufacturerData = device.manufacturerData
        serviceData = device.serviceData
        flags = device.flags
        appearance = device.appearance
    }
}
