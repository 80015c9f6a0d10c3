import BluetoothCore
import DBus

/// What a bluetoothd says that has an adapter, and bonds with a lock and with a headset.
package enum BlueZScript {
    package static let daemon = ":1.7"
    package static let adapter = "/org/bluez/hci0"
    package static let lock = adapter + "/dev_C0_00_00_00_00_01"
    package static let headset = adapter + "/dev_F0_00_00_00_00_AA"
    package static let lockAddress = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
    package static let lockService = "fd510000-d1db-463d-86fd-15efb82160a8"
    package static let challenge = lock + "/service0010/char0011"
    package static let command = lock + "/service0010/char0014"
    package static let challengeValue = AttributeHandle(0x12)
    package static let challengeConfiguration = AttributeHandle(0x13)
    package static let commandValue = AttributeHandle(0x15)

    // MARK: Its signals

    /// A new bluetoothd takes the name, or, with an empty one, there is none any more.
    package static func owner(_ new: String, before: String = daemon) -> DBusEvent {
        .signal(
            DBusMessage(
                sender: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
                member: "NameOwnerChanged", body: [.string("org.bluez"), .string(before), .string(new)]))
    }

    package static func changed(
        _ path: String, _ interface: String, _ properties: [String: DBusValue], by sender: String = daemon
    ) -> DBusEvent {
        .signal(
            DBusMessage(
                sender: sender, path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
                body: [.string("org.bluez." + interface), .properties(properties), .strings([])]))
    }

    package static func notified(_ value: [UInt8], by sender: String = daemon) -> DBusEvent {
        changed(challenge, "GattCharacteristic1", ["Value": .octets(value)], by: sender)
    }

    /// One of many locks, with a bond and with the service that all of them have.
    package static func address(_ number: Int) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0xC000_0001_0000 + UInt64(number))
    }

    /// bluetoothd tells of that lock.
    package static func added(_ number: Int) -> DBusEvent {
        let address = address(number).description
        let properties: [String: DBusValue] = [
            "Adapter": .objectPath(adapter), "Address": .string(String(address.prefix(17))),
            "AddressType": .string("random"), "Paired": .boolean(true), "Connected": .boolean(false),
            "UUIDs": .strings([lockService]),
        ]
        return interfacesAdded("\(adapter)/dev_\(number)", "Device1", properties)
    }

    /// The adapter is pulled out: bluetoothd takes its devices away, and then it.
    package static var unplugged: [DBusEvent] {
        [(lock, "Device1"), (headset, "Device1"), (adapter, "Adapter1")].map { path, interface in
            objectManager("InterfacesRemoved", [.objectPath(path), .strings(["org.bluez." + interface])])
        }
    }

    /// And is back, with the same objects, switched off.
    package static var plugged: [DBusEvent] {
        guard case .array(_, let all) = objects(powered: false) else { return [] }
        return all.compactMap { object in
            guard case .entry(let path, let interfaces) = object else { return nil }
            return objectManager("InterfacesAdded", [path, interfaces])
        }
    }

    private static func interfacesAdded(_ path: String, _ interface: String, _ properties: [String: DBusValue])
        -> DBusEvent
    {
        objectManager("InterfacesAdded", [.objectPath(path), interfaces(interface, properties)])
    }

    /// Another one that is plugged in as hci1, on.
    package static var second: DBusEvent {
        let properties: [String: DBusValue] = ["Address": .string("00:00:00:00:00:03"), "Powered": .boolean(true)]
        return interfacesAdded("/org/bluez/hci1", "Adapter1", properties)
    }

    package static var secondGone: DBusEvent {
        objectManager("InterfacesRemoved", [.objectPath("/org/bluez/hci1"), .strings(["org.bluez.Adapter1"])])
    }

    private static func objectManager(_ member: String, _ body: [DBusValue]) -> DBusEvent {
        .signal(DBusMessage(sender: daemon, path: "/", interface: DBusName.objectManager, member: member, body: body))
    }

    // MARK: Its objects

    package static func objects(powered: Bool = true, lock changes: [String: DBusValue] = [:]) -> DBusValue {
        let lockDevice: [String: DBusValue] = [
            "Adapter": .objectPath(adapter), "Address": .string("C0:00:00:00:00:01"), "AddressType": .string("random"),
            "Name": .string("Latch"), "Paired": .boolean(true), "Connected": .boolean(false),
            "ServicesResolved": .boolean(false),
            "UUIDs": .strings(["00001800-0000-1000-8000-00805f9b34fb", lockService, battery]),
        ]
        let headsetDevice: [String: DBusValue] = [
            "Adapter": .objectPath(adapter), "Address": .string("F0:00:00:00:00:AA"), "AddressType": .string("random"),
            "Paired": .boolean(true), "Connected": .boolean(true), "ServicesResolved": .boolean(true),
            "UUIDs": .strings([battery]),
        ]
        return .array(
            of: "{oa{sa{sv}}}",
            [
                object(adapter, "Adapter1", ["Address": .string("00:00:00:00:00:02"), "Powered": .boolean(powered)]),
                object(lock, "Device1", lockDevice.merging(changes) { $1 }),
                object(headset, "Device1", headsetDevice),
                object(
                    lock + "/service0010", "GattService1", ["UUID": .string(lockService), "Primary": .boolean(true)]),
                object(challenge, "GattCharacteristic1", attribute(1, ["read", "notify"])),
                object(challenge + "/desc0013", "GattDescriptor1", ["UUID": .string("2902")]),
                object(command, "GattCharacteristic1", attribute(2, ["write-without-response", "encrypt-write"])),
            ])
    }

    private static let battery = "0000180f-0000-1000-8000-00805f9b34fb"

    private static func attribute(_ number: Int, _ flags: [String]) -> [String: DBusValue] {
        ["UUID": .string("fd51000\(number)-d1db-463d-86fd-15efb82160a8"), "Flags": .strings(flags)]
    }

    private static func object(_ path: String, _ interface: String, _ properties: [String: DBusValue]) -> DBusValue {
        .entry(.objectPath(path), interfaces(interface, properties))
    }

    private static func interfaces(_ interface: String, _ properties: [String: DBusValue]) -> DBusValue {
        .array(of: "{sa{sv}}", [.entry(.string("org.bluez." + interface), .properties(properties))])
    }
}
