import BluetoothCore
import DBus

/// A device, as bluetoothd has it. Its path has the address under which it was met first, its property the one that it is known by.
///
/// BlueZ, doc/device-api.txt
struct BlueZDevice: Hashable, Sendable {
    let path: String
    private(set) var adapter: String?
    private(set) var address: DeviceAddress?
    private(set) var name: String?
    private(set) var services: [BluetoothUUID] = []
    private(set) var isPaired = false
    private(set) var isTrusted = false
    private(set) var isConnected = false
    /// Its tree is known, and its link is as secure as the bond makes it: a bonded device is connected before it is encrypted.
    private(set) var isResolved = false
    /// dBm, of the last advertisement; nil while nothing is heard of it.
    private(set) var rssi: Int8?
    private(set) var txPower: Int8?
    /// Of its last advertisements: the company identifier, least significant octet first, and what follows it.
    private(set) var manufacturerData: [UInt8]?
    private(set) var serviceData: [BluetoothUUID: [UInt8]] = [:]
    /// The octet of the Flags AD type; nil where it has sent none.
    private(set) var flags: UInt8?
    private(set) var appearance: UInt16?

    init(path: String, _ properties: [String: DBusValue]) {
        self.path = path
        take(properties)
    }

    /// What has changed, or everything.
    mutating func take(_ properties: [String: DBusValue]) {
        if let text = properties["Address"]?.text {
            let isRandom = properties["AddressType"]?.text.map { $0 == "random" } ?? (address?.kind == .random)
            address = DeviceAddress(isRandom ? text + "/random" : text)
        } else if let type = properties["AddressType"]?.text, let bits = address?.bits {
            address = DeviceAddress(kind: type == "random" ? .random : .public, bits: bits)
        }
        adapter = properties["Adapter"]?.text ?? adapter
        name = properties["Name"]?.text ?? name
        services = properties["UUIDs"]?.texts?.compactMap { BluetoothUUID($0) } ?? services
        isPaired = properties["Paired"]?.flag ?? isPaired
        isTrusted = properties["Trusted"]?.flag ?? isTrusted
        isConnected = properties["Connected"]?.flag ?? isConnected
        isResolved = properties["ServicesResolved"]?.flag ?? isResolved
        rssi = properties["RSSI"]?.integer() ?? rssi
        txPower = properties["TxPower"]?.integer() ?? txPower
        appearance = properties["Appearance"]?.integer() ?? appearance
        if let flags = properties["AdvertisingFlags"]?.octets { self.flags = flags.first }
        if let data = properties["ManufacturerData"]?.numbered { manufacturerData = Self.first(of: data) }
        if let data = properties["ServiceData"]?.properties {
            serviceData = data.reduce(into: [:]) { all, entry in
                if let uuid = BluetoothUUID(entry.key), let octets = entry.value.octets { all[uuid] = octets }
            }
        }
    }

    /// Of several companies' data, which one advertisement hardly ever has, that of the least number.
    private static func first(of data: [UInt16: DBusValue]) -> [UInt8]? {
        data.sorted { $0.key < $1.key }.lazy
            .compactMap { company, value in
                value.octets.map { [UInt8(truncatingIfNeeded: company), UInt8(company >> 8)] + $0 }
            }
            .first
    }

    /// Properties that there are no longer.
    mutating func lose(_ names: some Sequence<String>) {
        for name in names {
            switch name {
            case "RSSI": rssi = nil
            case "TxPower": txPower = nil
            case "Name": self.name = nil
            case "ManufacturerData": manufacturerData = nil
            case "ServiceData": serviceData = [:]
            case "AdvertisingFlags": flags = nil
            default: break
            }
        }
    }
}
