import BlueZSupport
import BluetoothCore
import DBus
import GATT
import Testing

@testable import BlueZ

@Suite("What is known of bluetoothd's objects")
struct BlueZObjectsTests {
    private static let adapter = BlueZScript.adapter

    private static func device(_ number: Int, isPaired: Bool = false) -> [String: [String: DBusValue]] {
        let octets = [number >> 16, number >> 8, number].map { octet -> String in
            let text = String(octet & 0xFF, radix: 16, uppercase: true)
            return text.utf8.count == 1 ? "0" + text : text
        }
        return [
            "org.bluez.Device1": [
                "Adapter": .objectPath(adapter), "Address": .string("C0:00:00:" + octets.joined(separator: ":")),
                "AddressType": .string("random"), "Paired": .boolean(isPaired),
            ]
        ]
    }

    private static func path(_ number: Int) -> String { "\(adapter)/dev_\(number)" }

    @Test("Strangers are known up to a number, and a paired device beyond it; what is removed makes room")
    func devices() {
        var objects = BlueZObjects()
        for number in 0..<BlueZObjects.devicesMaximum {
            #expect(objects.add(Self.path(number), Self.device(number)) != nil)
        }
        #expect(objects.add(Self.path(90_000), Self.device(90_000)) == nil)
        #expect(objects.add(Self.path(90_001), Self.device(90_001, isPaired: true)) != nil)
        #expect(objects.remove(Self.path(1), ["org.bluez.Device1"]) != nil)
        #expect(objects.remove(Self.path(2), ["org.bluez.Device1"]) != nil)
        #expect(objects.add(Self.path(90_000), Self.device(90_000)) != nil)
    }

    @Test("A device has attributes up to a number, and one that is not known has none")
    func attributes() {
        var objects = BlueZObjects()
        let service: [String: [String: DBusValue]] = ["org.bluez.GattService1": ["UUID": .string("fff0")]]
        func path(_ handle: Int) -> String {
            let digits = String(handle, radix: 16)
            return Self.path(0) + "/service" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        }
        #expect(objects.add(path(1), service) == nil)
        _ = objects.add(Self.path(0), Self.device(0))
        for handle in 1...BlueZObjects.attributesMaximum { #expect(objects.add(path(handle), service) != nil) }
        #expect(objects.add(path(BlueZObjects.attributesMaximum + 1), service) == nil)
        #expect(objects.remove(path(7), ["org.bluez.GattService1"]) != nil)
        #expect(objects.add(path(BlueZObjects.attributesMaximum + 1), service) != nil)
    }

    @Test("A service stands for a device until another paired device has it, or the device has others or is gone")
    func services() {
        let (own, shared, rare): (BluetoothUUID, BluetoothUUID, BluetoothUUID) = (0xFFF0, 0xFFF1, 0xFFF2)
        var objects = BlueZObjects()
        func change(_ number: Int, _ properties: [String: DBusValue]) {
            _ = objects.change(Self.path(number), "org.bluez.Device1", properties, invalidated: [])
        }
        let wanted = [Self.path(1)]
        for number in 1...3 { _ = objects.add(Self.path(number), Self.device(number, isPaired: number < 3)) }
        change(1, ["UUIDs": .strings(["1800", "fff0", "fff1"])])
        change(2, ["UUIDs": .strings(["1800", "fff1"])])
        change(3, ["UUIDs": .strings(["fff0"])])
        #expect(objects.services(of: wanted) == [own])
        #expect(objects.services(of: wanted + [Self.path(2)]) == [own, shared], "others are wanted now")
        #expect(objects.services(of: wanted) == [own])
        change(2, ["UUIDs": .strings(["fff0"])])
        #expect(objects.services(of: wanted) == [shared])
        change(1, ["UUIDs": .strings(["fff0", "fff2"])])
        #expect(objects.services(of: wanted) == [rare])
        change(3, ["UUIDs": .strings(["fff0", "fff2"])])
        #expect(objects.services(of: wanted) == [rare], "it is nobody's")
        change(3, ["Paired": .boolean(true)])
        change(2, ["UUIDs": .strings([])])
        #expect(objects.services(of: wanted) == [own])
        _ = objects.remove(Self.path(3), ["org.bluez.Device1"])
        _ = objects.add(Self.path(4), Self.device(4, isPaired: true))
        change(4, ["UUIDs": .strings(["fff0"])])
        #expect(objects.services(of: wanted) == [rare])
        change(4, ["RSSI": .int16(-40), "Connected": .boolean(true)])
        #expect(objects.services(of: wanted) == [rare])
    }

    @Test("Properties of a wrong type change nothing, and those that are gone are gone")
    func properties() {
        var device = BlueZDevice(path: "/d", ["Name": .string("a"), "RSSI": .int16(-60), "Connected": .boolean(true)])
        device.take(["Name": .byte(1), "RSSI": .string("x"), "Connected": .uint32(0), "Address": .string("nonsense")])
        #expect(device.name == "a" && device.rssi == -60 && device.isConnected && device.address == nil)
        device.lose(["RSSI", "Name", "Unknown"])
        #expect(device.rssi == nil && device.name == nil)
        // Kind and address may come one after the other.
        device.take(["Address": .string("C0:00:00:00:00:01")])
        device.take(["AddressType": .string("random")])
        #expect(device.address == DeviceAddress(kind: .random, bits: 0xC000_0000_0001))
    }
}
