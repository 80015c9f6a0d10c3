import BluetoothHost
import Dispatch
import FoundationEssentials
import GATT
import Simulation
import Synchronization
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

@Suite("Two apps on one air", .capturesFailures)
struct EndToEndTests {
    @Test("Publish, advertise, scan, connect, discover: every call ends in one callback, in Apple's order")
    func discovery() throws {
        let scene = Scene()
        try scene.start()
        let door = try #require(scene.door)
        let key = try #require(scene.key)
        #expect(door.log == ["state poweredOn", "added FFF0", "advertising"])
        #expect(
            key.log.filter { $0 != "discovered" } == ["state poweredOn", "connected", "services", "characteristics"])
        #expect(key.advertisement[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [Door.service])
        #expect(key.manager?.isScanning == false)
        #expect(door.manager?.isAdvertising == true)
        let peripheral = try #require(key.door)
        #expect(peripheral.state == .connected)
        let service = try #require(peripheral.services?.first)
        #expect(peripheral.services?.count == 1 && service.peripheral === peripheral && service.isPrimary)
        #expect(
            service.characteristics?.map(\.uuid) == [
                Door.readable, Door.writable, Door.notifying, Door.fixed, Door.guarded,
            ])
        #expect(key.manager?.retrievePeripherals(withIdentifiers: [peripheral.identifier]).first === peripheral)
        #expect(key.manager?.retrievePeripherals(withIdentifiers: [UUID()]).isEmpty == true)
        #expect(key.manager?.retrieveConnectedPeripherals(withServices: [Door.service]).first === peripheral)
        // Discovered again, the same attributes are the same objects.
        peripheral.discoverServices(nil)
        #expect(scene.world.run { key.count("services") == 2 })
        #expect(peripheral.services?.first { $0.uuid == Door.service } === service)
        #expect(peripheral.services?.count == 1, "1800 and 1801 are none of an app's business")
    }

    @Test("Core 5.4, Vol 3, Part G, 4.3.1 (Exchange MTU): a central asks on each link, and both sides' lengths follow")
    func exchangeMTU() throws {
        let scene = Scene()
        try scene.start()
        let door = try #require(scene.door)
        let peripheral = try #require(scene.key?.door)
        #expect(scene.world.run { door.centrals.first?.link?.mtu == 247 })
        // The hosts take 247 octets, three of which are a header.
        #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 244)
        #expect(door.centrals.first?.maximumUpdateValueLength == 244)
    }

    @Test("Core 5.4, Vol 3, Part G, 4.9.3 (Write Characteristic Value): what fits into one request is written by one")
    func shortWrites() throws {
        let scene = Scene()
        try scene.start()
        let door = try #require(scene.door)
        let key = try #require(scene.key)
        let peripheral = try #require(key.door)
        #expect(scene.world.run { door.centrals.first?.link?.mtu == 247 })
        let writable = try #require(key.characteristic(Door.writable))
        // What the hosts ask of each other by themselves.
        scene.world.run(forMilliseconds: 1_000)
        // A Write Request has a header of three octets, a Prepare Write Request one of five.
        let requests: [(Int, [UInt8])] = [(1, [0x12]), (243, [0x12]), (244, [0x12]), (245, [0x16, 0x16, 0x18])]
        for (octets, opcodes) in requests {
            let before = (scene.pocket.sent.count, key.count("written") + key.count("written failed"))
            peripheral.writeValue(Data(count: octets), for: writable, type: .withResponse)
            // The door takes no more than 200 octets, but it is asked.
            #expect(scene.world.run { key.count("written") + key.count("written failed") > before.1 })
            #expect(scene.pocket.sent.dropFirst(before.0).compactMap(Self.attOpcode) == opcodes, "\(octets)")
        }
    }

    /// Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets): what begins a PDU of the ATT channel, which is 4.
    private static func attOpcode(_ packet: [UInt8]) -> UInt8? {
        guard packet.count > 9, packet[0] == 0x02, packet[2] & 0x30 != 0x10, packet[7...8] == [4, 0] else { return nil }
        return packet[9]
    }

    @Test("Read, write, long and refused, descriptors, signal strength")
    func values() throws {
        let scene = Scene()
        try scene.start()
        let door = try #require(scene.door)
        let key = try #require(scene.key)
        let peripheral = try #require(key.door)
        let readable = try #require(key.characteristic(Door.readable))
        door.value = Data(0..<60)
        peripheral.readValue(for: readable)
        #expect(scene.world.run { key.values.count == 1 })
        #expect(key.values.last == door.value && readable.value == door.value)

        peripheral.readValue(for: try #require(key.characteristic(Door.fixed)))
        #expect(scene.world.run { key.values.count == 2 })
        #expect(key.values.last == Data([7]))

        let writable = try #require(key.characteristic(Door.writable))
        let long = Data((0..<100).map { UInt8($0) })
        peripheral.writeValue(long, for: writable, type: .withResponse)
        #expect(scene.world.run { key.has("written") })
        #expect(door.requests.reduce(Data()) { $0 + ($1.value ?? Data()) } == long)
        #expect(door.requests.allSatisfy { $0.writePath == .request })

        peripheral.writeValue(Data([5]), for: writable, type: .withoutResponse)
        #expect(scene.world.run { door.requests.last?.value == Data([5]) })
        #expect(door.requests.last?.writePath == .command)
        #expect(key.count("written") == 1)

        peripheral.writeValue(Data(count: 300), for: writable, type: .withResponse)
        #expect(scene.world.run { key.has("written failed") })
        #expect((key.errors.last ?? nil) as? CBATTError == CBATTError(.invalidAttributeValueLength))

        peripheral.readValue(for: try #require(key.characteristic(Door.guarded)))
        #expect(scene.world.run { key.has("value FFF5 failed") })
        #expect((key.errors.last ?? nil) as? CBATTError == CBATTError(.insufficientAuthentication))

        peripheral.discoverDescriptors(for: readable)
        #expect(scene.world.run { key.has("descriptors") })
        let description = try #require(readable.descriptors?.first)
        peripheral.readValue(for: description)
        #expect(scene.world.run { key.has("descriptor") })
        #expect(description.content as? String == "State")

        peripheral.readRSSI()
        #expect(scene.world.run { key.has("rssi") })
    }

    @Test("Notify: subscribers are told, named, and forgotten with their link when they are not bonded")
    func notifications() throws {
        let scene = Scene()
        try scene.start()
        try scene.subscribe()
        let door = try #require(scene.door)
        let key = try #require(scene.key)
        let notifying = try #require(door.characteristic(Door.notifying))
        #expect(door.log.last == "subscribed FFF3")
        let central = try #require(notifying.subscribedCentrals?.first)
        #expect(door.centrals.first === central)
        #expect(central.maximumUpdateValueLength >= 20)
        #expect(key.characteristic(Door.notifying)?.isNotifying == true)

        #expect(door.manager?.updateValue(Data([1]), for: notifying, onSubscribedCentrals: nil) == true)
        #expect(door.manager?.updateValue(Data([2]), for: notifying, onSubscribedCentrals: [central]) == true)
        #expect(scene.world.run { key.values.count == 2 })
        #expect(key.values == [Data([1]), Data([2])])

        let manager = try #require(key.manager)
        manager.cancelPeripheralConnection(try #require(key.door))
        #expect(scene.world.run { door.links == 0 })
        #expect(key.log.last == "disconnected" && key.door?.state == .disconnected)
        #expect(door.log.last == "unsubscribed FFF3")
        #expect(notifying.subscribedCentrals == [])
        #expect(key.characteristic(Door.notifying)?.isNotifying == false)
    }

    @Test("Calls before poweredOn are misuse and ignored, as with Apple")
    func misuse() throws {
        let world = World()
        let machine = world.add("key", seed: 5)
        let heard = Misuses()
        var key: Key?
        machine.launchApp({ host in
            let app = Key(host)
            app.manager?.scanForPeripherals(withServices: nil)
            key = app
        }) { heard.add($0) }
        #expect(key?.manager?.isScanning == false)
        #expect(heard.all.count == 1)
        #expect(heard.all.first?.hasPrefix("API MISUSE: scanForPeripherals") == true)
    }

    @Test("Didn't answer, answered twice: the second answer is misuse, and nothing is sent")
    func answeredTwice() throws {
        let scene = Scene()
        try scene.start()
        let door = try #require(scene.door)
        let key = try #require(scene.key)
        let writable = try #require(key.characteristic(Door.writable))
        key.door?.writeValue(Data([1]), for: writable, type: .withResponse)
        #expect(scene.world.run { key.has("written") })
        door.manager?.respond(to: try #require(door.requests.first), withResult: .unlikelyError)
        scene.world.run(forMilliseconds: 1_000)
        #expect(key.count("written") == 1 && !key.has("written failed"))
    }

    @Test("A lost link ends what was running, each operation once, and then the connection, with Apple's reason")
    func lostLink() throws {
        let scene = Scene()
        try scene.start()
        let key = try #require(scene.key)
        let readable = try #require(key.characteristic(Door.readable))
        scene.killDoor()
        key.door?.readValue(for: readable)
        #expect(scene.world.run { key.door?.state == .disconnected })
        #expect(key.count("value FFF1 failed") == 1)
        #expect(key.log.last == "disconnected failed")
        #expect((key.errors.last ?? nil) as? CBError == CBError(.connectionTimeout))
        key.door?.readValue(for: readable)
        scene.world.settle()
        #expect(key.count("value FFF1 failed") == 2)
    }

    @Test("Services that changed are taken from the tree, with what is in them, and discovered anew")
    func modifiedServices() throws {
        let scene = Scene()
        try scene.start()
        let key = try #require(scene.key)
        let peripheral = try #require(key.door)
        let service = try #require(peripheral.services?.first)
        let readable = try #require(key.characteristic(Door.readable))
        scene.world.run(forMilliseconds: 1_000)
        let door = try #require(scene.door)
        door.manager?.remove(try #require(door.published))
        #expect(scene.world.run { key.log.contains { $0.hasPrefix("modified") } })
        #expect(key.log.last == "modified [\"FFF0\"]")
        #expect(peripheral.services == [])
        peripheral.readValue(for: readable)
        #expect((key.errors.last ?? nil) as? CBError == CBError(.invalidHandle))
        door.manager?.add(Door.makeService())
        #expect(scene.world.run { key.log.filter { $0.hasPrefix("modified") }.count == 2 })
        peripheral.discoverServices([Door.service])
        #expect(scene.world.run { key.count("characteristics") == 2 })
        #expect(peripheral.services?.first.map { $0 !== service } == true)
    }

    @Test("A stranger that comes back with the tree that is kept is asked to tell of changes on the new link too")
    func watchedAgain() throws {
        let scene = Scene()
        try scene.start()
        let door = try #require(scene.door)
        let key = try #require(scene.key)
        let peripheral = try #require(key.door)
        scene.world.run(forMilliseconds: 1_000)
        key.manager?.cancelPeripheralConnection(peripheral)
        #expect(scene.world.run { key.has("disconnected") && door.links == 0 })
        key.manager?.connect(peripheral)
        #expect(scene.world.run { key.count("characteristics") == 2 })
        scene.world.run(forMilliseconds: 1_000)
        // Its server forgot the subscription with the link.
        door.manager?.remove(try #require(door.published))
        #expect(scene.world.run { key.has("modified [\"FFF0\"]") })
    }

    @Test("On queues: callbacks come on the queue that was asked for, calls from there are posted, nothing blocks")
    func queues() throws {
        let world = World()
        let lock = world.add("lock", seed: 31)
        let pocket = world.add("key", seed: 32)
        let doorQueue = DispatchQueue(label: "door")
        let keyQueue = DispatchQueue(label: "key")
        var door: Door?
        var key: Key?
        lock.launchApp { host in door = Door(host, queue: doorQueue) }
        pocket.launchApp { host in key = Key(host, queue: keyQueue) }
        let theDoor = try #require(door)
        let theKey = try #require(key)
        /// Lets the queues come to rest between steps of the virtual clock.
        func run(until condition: () -> Bool) -> Bool {
            for _ in 0..<2_000 {
                world.run(forMilliseconds: 10)
                doorQueue.sync {}
                keyQueue.sync {}
                if condition() { return true }
            }
            return false
        }
        #expect(run { theKey.has("characteristics") })
        #expect(theDoor.log == ["state poweredOn", "added FFF0", "advertising"])
        // `sync` would run these on the loop's own thread.
        keyQueue.async {
            guard let notifying = theKey.characteristic(Door.notifying) else { return }
            theKey.door?.setNotifyValue(true, for: notifying)
        }
        #expect(run { theKey.has("notify true") })
        doorQueue.async {
            guard let notifying = theDoor.characteristic(Door.notifying) else { return }
            for octet in UInt8(0)..<10 {
                let isTaken = theDoor.manager?.updateValue(Data([octet]), for: notifying, onSubscribedCentrals: nil)
                #expect(isTaken == true)
            }
        }
        #expect(run { theKey.values.count == 10 })
        // One after the other, each with the value that it brought.
        #expect(theKey.values == (UInt8(0)..<10).map { Data([$0]) })
    }
}

/// What a host says of its apps' misuse.
private final class Misuses: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
