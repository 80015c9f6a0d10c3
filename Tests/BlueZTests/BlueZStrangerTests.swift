import ATT
import BlueZSupport
import BluetoothCore
import DBus
import GATT
import Testing

@testable import BlueZ

/// What an app does whose peers have no bond: look for them, and be connected with whom it has found.
@Suite("Strangers beside bluetoothd")
struct BlueZStrangerTests {
    private typealias Script = BlueZScript

    private static let wishes = BlueZWishes(strangers: [Script.lockAddress])
    private static let unpaired: [String: DBusValue] = ["Paired": .boolean(false)]
    private static let heard: [String: DBusValue] = ["Paired": .boolean(false), "RSSI": .int16(-60)]

    /// What bluetoothd was asked to do of devices and for them, in this order.
    private static func asked(_ bench: BlueZBench) -> [String] { bench.members.filter { $0 != "SetDiscoveryFilter" } }

    // MARK: Being connected

    @Test("A stranger that is not heard is looked for, and called when it is heard; then nobody looks any more")
    func called() throws {
        var bench = BlueZBench()
        bench.launch(lock: Self.unpaired)
        bench.handle(.wished(Self.wishes))
        #expect(Self.asked(bench) == ["StartDiscovery"])
        bench.answer("SetDiscoveryFilter")
        bench.answer("StartDiscovery")
        bench.changed(["RSSI": .int16(-60)])
        #expect(bench.members == ["Connect", "StopDiscovery"])
        #expect(bench.calls.first?.call.path == Script.lock)
        bench.answer("StopDiscovery")
        bench.changed(["Connected": .boolean(true)])
        bench.answer("Connect")
        var info = BlueZBench.info
        info.isPaired = false
        #expect(bench.changed(["ServicesResolved": .boolean(true)]) == [.connected(info)])
        #expect(bench.members == [])
        // It goes, and is looked for again.
        #expect(
            bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
                == [.disconnected(link: Script.lock)])
        #expect(bench.members == ["Connect"])
    }

    @Test(
        "A call that fails is made again while the device is heard, later and later; one that is under way is not made twice"
    )
    func failures() {
        var bench = BlueZBench()
        bench.launch(lock: Self.heard)
        bench.handle(.wished(Self.wishes))
        var waits: [UInt64] = []
        for _ in 0..<7 {
            #expect(bench.members.filter { $0 == "Connect" }.count == 1)
            bench.changed(["RSSI": .int16(-61)])
            bench.changed(["RSSI": .int16(-60)])
            #expect(bench.members.filter { $0 == "Connect" }.count == 1)
            bench.refuse("Connect", "org.bluez.Error.Failed", "le-connection-abort-by-local")
            #expect(!bench.members.contains("Connect"))
            let wait = bench.deadline.map { $0.milliseconds(since: bench.now) } ?? 0
            waits.append(wait)
            bench.pass(milliseconds: wait - 1)
            #expect(!bench.members.contains("Connect"))
            bench.pass(milliseconds: 1)
        }
        #expect(waits == [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
    }

    @Test("A link whose tree is still being discovered ends with the wish, as one that is being made does")
    func withdrawnUnresolved() {
        var bench = BlueZBench()
        bench.launch(lock: Self.heard)
        bench.handle(.wished(Self.wishes))
        bench.changed(["Connected": .boolean(true)])
        bench.answer("Connect")
        bench.handle(.wished(BlueZWishes()))
        #expect(bench.members == ["Disconnect"])
        bench.changed(["Connected": .boolean(false)])
        #expect(bench.members == ["Disconnect"] && bench.deadline == nil)
    }

    @Test("A stranger that pairs and says its identity address is the same one: its link and its wish go on")
    func identified() throws {
        var bench = BlueZBench()
        bench.launch(lock: Self.heard)
        bench.handle(.wished(Self.wishes))
        bench.changed(["Connected": .boolean(true)])
        bench.answer("Connect")
        bench.changed(["ServicesResolved": .boolean(true)])
        let identity = DeviceAddress(kind: .public, bits: 0x0012_3456_789A)
        let told = bench.changed(["Address": .string("00:12:34:56:78:9A"), "AddressType": .string("public")])
        #expect(told == [.identified(Script.lockAddress, as: try #require(IdentityAddress(identity)))])
        #expect(bench.changed(["Paired": .boolean(true)]) == [])
        #expect(bench.handle(.wished(BlueZWishes(strangers: [identity]))) == [])
        #expect(!bench.members.contains("StartDiscovery") && !bench.members.contains("Disconnect"))
    }

    @Test("A search that is refused is asked for again, later and later, as long as it is wished for")
    func refusedSearch() {
        var bench = BlueZBench()
        bench.launch(lock: Self.unpaired)
        bench.handle(.wished(Self.wishes))
        var waits: [UInt64] = []
        for _ in 0..<7 {
            bench.answer("SetDiscoveryFilter")
            bench.refuse("StartDiscovery", "org.bluez.Error.InProgress")
            #expect(Self.asked(bench) == [])
            let wait = bench.deadline.map { $0.milliseconds(since: bench.now) } ?? 0
            waits.append(wait)
            bench.pass(milliseconds: wait - 1)
            #expect(Self.asked(bench) == [])
            bench.pass(milliseconds: 1)
            #expect(Self.asked(bench) == ["StartDiscovery"])
        }
        #expect(waits == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
        bench.refuse("StartDiscovery", "org.bluez.Error.InProgress")
        bench.handle(.wished(BlueZWishes()))
        #expect(bench.deadline == nil)
    }

    @Test("A call is taken back with the wish, and a stranger is nobody's to connect with by itself")
    func takenBack() {
        var bench = BlueZBench()
        bench.launch(lock: Self.heard)
        bench.handle(.wished(Self.wishes))
        #expect(bench.members == ["Connect"])
        bench.handle(.wished(BlueZWishes()))
        #expect(bench.members == ["Connect", "Disconnect"])

        bench = BlueZBench()
        bench.launch(lock: Self.heard)
        bench.handle(.wished(BlueZBench.wishes))
        #expect(bench.members == [], "a bonded peer of this side that bluetoothd has no bond with is not called")
    }

    @Test("A bluetoothd that comes anew, and an adapter that is on again, are asked anew")
    func anew() {
        var bench = BlueZBench()
        bench.launch(lock: Self.heard)
        bench.handle(.wished(Self.wishes))
        #expect(bench.takeCall("Connect") != nil)
        bench.powered(false)
        #expect(bench.members == [] && bench.deadline == nil)
        bench.powered(true)
        #expect(bench.takeCall("Connect") != nil)
        bench.owner(":1.9")
        bench.answer("GetManagedObjects", [Script.objects(lock: Self.heard)])
        #expect(bench.takeCall("Connect") != nil)
    }

    @Test("Whom bluetoothd has a bond with, and this side has not, it connects with by itself")
    func bondedElsewhere() {
        var bench = BlueZBench()
        bench.launch()
        bench.handle(.wished(Self.wishes))
        #expect(bench.members == ["RegisterApplication"])
        bench.answer("RegisterApplication")
        #expect(bench.comesUp() == [.connected(BlueZBench.info)])
    }

    @Test(
        "A stranger's link that others have made is joined, and left without being ended; one of this side's is ended")
    func shared() {
        for isShared in [true, false] {
            var bench = BlueZBench()
            bench.launch(lock: Self.unpaired)
            if isShared { bench.comesUp() }
            let joined = bench.handle(.wished(Self.wishes))
            #expect(joined.count == (isShared ? 1 : 0))
            if !isShared { #expect(bench.comesUp().count == 1) }
            let calls = bench.members.count
            let given = bench.handle(.disconnect(link: Script.lock))
            #expect(given == (isShared ? [.disconnected(link: Script.lock)] : [.disconnected(link: Script.lock)]))
            #expect(bench.members.count == (isShared ? calls : calls + 1))
            #expect(bench.members.contains("Disconnect") == !isShared)
            // The same wish once more: the link that still stands is told again where it was not ended.
            #expect(bench.handle(.wished(Self.wishes)).count == (isShared ? 1 : 0))
        }
    }

    @Test("Others' link that is unresolved for ever is not ended for them")
    func unresolved() {
        var bench = BlueZBench()
        bench.launch(lock: Self.unpaired)
        bench.changed(["Connected": .boolean(true)])
        bench.handle(.wished(Self.wishes))
        bench.pass(milliseconds: 31_000)
        #expect(!bench.members.contains("Disconnect"))
    }

    // MARK: Being seen

    @Test("Who is heard is told with all that it advertises, and again when any of it changes")
    func sightings() throws {
        var bench = BlueZBench()
        bench.launch(lock: Self.unpaired)
        bench.handle(.wished(BlueZWishes(isScanning: true)))
        #expect(bench.changed(["Name": .string("Sensor")]) == [], "its name alone is no sign of it")
        let advertised: [String: DBusValue] = [
            "RSSI": .int16(-70), "TxPower": .int16(4), "Appearance": .uint16(0x0341),
            "AdvertisingFlags": .octets([0x06]), "UUIDs": .strings(["180d"]),
            "ManufacturerData": .array(
                of: "{qv}",
                [
                    .entry(.uint16(0x0A0B), .variant(.octets([9]))),
                    .entry(.uint16(0x004C), .variant(.octets([2, 21]))),
                ]),
            "ServiceData": .properties(["180d": .octets([7])]),
        ]
        let seen = bench.changed(advertised)
        guard case .seen(let sighting)? = seen.first, seen.count == 1 else {
            Issue.record("\(seen)")
            return
        }
        let service = BluetoothUUID(0x180D)
        #expect(sighting.address == Script.lockAddress && sighting.name == "Sensor" && sighting.rssi == -70)
        #expect(sighting.txPower == 4 && sighting.appearance == 0x0341 && sighting.flags == 6)
        #expect(sighting.services == [service] && sighting.serviceData == [service: [7]])
        #expect(sighting.manufacturerData == [0x4C, 0x00, 2, 21])
        #expect(bench.changed(["RSSI": .int16(-70)]) == [], "nothing new")
        #expect(bench.changed(["ServiceData": .properties(["180d": .octets([8])])]).count == 1)
        #expect(bench.changed(["ManufacturerData": .string("nonsense")]) == [])
    }

    @Test("Who is heard already, because others look for devices, is told at once; on another adapter nobody is")
    func heardAlready() {
        var bench = BlueZBench()
        bench.launch(lock: Self.heard)
        #expect(bench.changed(["RSSI": .int16(-62)]) == [], "nobody looks")
        #expect(bench.handle(.wished(BlueZWishes(isScanning: true))).count == 1)
        #expect(bench.handle(.wished(BlueZWishes(isScanning: true))) == [])
        bench.changed(["Adapter": .objectPath("/org/bluez/hci1")])
        #expect(bench.changed(["RSSI": .int16(-63)]) == [])
    }

    // MARK: Its tree

    @Test("A link has the MTU that bluetoothd says of its characteristics, and the least one where it says none")
    func mtu() throws {
        var bench = BlueZBench()
        bench.launch(lock: Self.unpaired)
        bench.handle(.wished(Self.wishes))
        func agreed(_ value: DBusValue) {
            bench.handle(.bus(Script.changed(Script.challenge, "GattCharacteristic1", ["MTU": value])))
        }
        func told() -> Int? {
            guard case .connected(let info)? = bench.comesUp().first else { return nil }
            return info.mtu
        }
        agreed(.uint16(185))
        #expect(told() == 185)
        bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
        #expect(told() == 23, "the next link agrees anew")
        bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
        agreed(.uint16(9_000))
        #expect(told() == 517)
        bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
        agreed(.string("much"))
        #expect(told() == 23)
    }

    @Test("Included services are found where their declarations have to be, also when bluetoothd says them later")
    func included() throws {
        var objects = BlueZObjects()
        _ = objects.add(Script.lock, ["org.bluez.Device1": ["Adapter": .objectPath(Script.adapter)]])
        func service(_ handle: String, _ includes: [String]) -> [String: [String: DBusValue]] {
            [
                "org.bluez.GattService1": [
                    "UUID": .string("180f"), "Primary": .boolean(true),
                    "Includes": .array(
                        of: "o", includes.map { .objectPath("\(Script.lock)/service\($0)") }),
                ]
            ]
        }
        _ = objects.add("\(Script.lock)/service0010", service("0010", ["0030"]))
        _ = objects.add("\(Script.lock)/service0020", service("0020", []))
        _ = objects.add("\(Script.lock)/service0030", service("0030", []))
        func included() throws -> [[RemoteIncludedService]] {
            try #require(objects.trees[Script.lock]).database.services.map(\.includedServices)
        }
        let battery = BluetoothUUID(0x180F)
        let last = RemoteIncludedService(
            handle: AttributeHandle(0x11), uuid: battery, declaration: AttributeHandle(0x30), end: .last)
        #expect(try included() == [[last], [], []])
        let both: [String: DBusValue] = [
            "Includes": .array(
                of: "o",
                [
                    .objectPath("\(Script.lock)/service0020"), .objectPath("\(Script.lock)/service0030"),
                    .objectPath("/x"),
                ])
        ]
        let path = "\(Script.lock)/service0010"
        #expect(
            objects.change(path, "org.bluez.GattService1", both, invalidated: []) == .tree(device: Script.lock))
        #expect(objects.change(path, "org.bluez.GattService1", both, invalidated: []) == nil, "nothing new")
        #expect(try included()[0].map(\.declaration.rawValue) == [0x20, 0x30])
        #expect(try included()[0].map(\.handle.rawValue) == [0x11, 0x12])
        let tree = try #require(objects.trees[Script.lock])
        let range = ATTHandleRange(start: AttributeHandle(0x10), end: AttributeHandle(0x11))
        guard case .known(.includedServices(let found)) = BlueZRequest.plan(.findIncludedServices(range), tree) else {
            Issue.record("not known")
            return
        }
        #expect(found.map(\.handle.rawValue) == [0x11])
    }
}
