/// bluetoothd's names on the bus.
///
/// BlueZ, doc/*-api.txt
enum BlueZName {
    static let service = "org.bluez"
    static let root = "/org/bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let gattService = "org.bluez.GattService1"
    static let gattCharacteristic = "org.bluez.GattCharacteristic1"
    static let gattDescriptor = "org.bluez.GattDescriptor1"
    static let gattManager = "org.bluez.GattManager1"
    static let gattProfile = "org.bluez.GattProfile1"
    static let agentManager = "org.bluez.AgentManager1"
    static let agent = "org.bluez.Agent1"
    /// An error's: there is no such object.
    static let doesNotExist = "org.bluez.Error.DoesNotExist"
}
