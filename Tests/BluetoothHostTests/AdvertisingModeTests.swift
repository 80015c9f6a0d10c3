import BluetoothCore
import BluetoothHost
import HCI
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// A mode of discovery and one of connection, as GAP combines them.
struct ModeCase: Sendable, CustomTestStringConvertible {
    var mode: DiscoverableMode
    var connectability: ConnectableMode
    var generation: ControllerGeneration
    var testDescription: String { "\(mode), \(connectability), \(generation)" }

    static let all = DiscoverableMode.allCases.flatMap { mode in
        ConnectableMode.allCases.flatMap { connectability in
            ControllerGeneration.allCases.map { Self(mode: mode, connectability: connectability, generation: $0) }
        }
    }
}

/// A house that advertises and a phone that listens.
final class ModeScene {
    let world = World()
    let house: Node
    let phone: Node
    private(set) var app: PeripheralApp?
    private(set) var central: CentralApp?
    /// Whatever the house sends on the air since the phone listens.
    var reports: [AdvertisementReport] { central?.reports ?? [] }

    init(_ generation: ControllerGeneration = .core54) {
        house = world.add("house", seed: 1, hardware: ControllerConfiguration(generation: generation))
        phone = world.add("phone", seed: 2, hardware: ControllerConfiguration(generation: generation))
        phone.launch { central = CentralApp($0, restoreIdentifier: nil) }
    }

    func launchHouse() { house.launch { app = PeripheralApp($0, restoreIdentifier: "bell") } }

    func advertise(_ record: AdvertisingRecord) throws {
        if app == nil { launchHouse() }
        let manager = try #require(app).manager
        house.call { $0.startAdvertising(manager, record) }
        world.run(forMilliseconds: 500)
    }

    func listen(
        _ procedure: DiscoveryProcedure = .observation, services: [BluetoothUUID] = [], isPassive: Bool = false,
        duplicates: Bool = true
    ) throws {
        let manager = try #require(central).manager
        let scan = ScanRecord(
            services: services, allowDuplicates: duplicates, procedure: procedure, isPassive: isPassive)
        phone.call { $0.startScan(manager, scan) }
    }

    /// What is heard in two seconds from now.
    func heard() -> [AdvertisementReport] {
        let before = reports.count
        world.run(forMilliseconds: 2_000)
        return Array(reports.dropFirst(before))
    }

    /// Whether the phone's attempt to connect ends in a link within three seconds.
    func connects() throws -> Bool {
        let (app, address) = (try #require(central), try #require(house.host?.identity.address.address))
        var peer: PeerIdentifier?
        phone.call { peer = $0.peer(at: address) }
        let door = try #require(peer)
        phone.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
        defer { phone.call { $0.cancelConnection(app.manager, door) } }
        return world.run(forMilliseconds: 3_000) { app.link != nil }
    }

    static func record(_ mode: DiscoverableMode, _ connectability: ConnectableMode) -> AdvertisingRecord {
        var record = AdvertisingRecord(localName: "Bell", services: [PeripheralApp.service])
        record.discoverability = mode
        record.connectability = connectability
        return record
    }
}

@Suite("Core 5.4, Vol 3, Part C, 9.2 and 9.3: modes of advertising", .capturesFailures)
struct AdvertisingModeTests {
    @Test(
        "GAP/DISC/NONM, LIMM, GENM, GAP/CONN/NCON, UCON: the flags say the mode, and who may connect can",
        arguments: ModeCase.all)
    func modes(_ row: ModeCase) throws {
        let scene = ModeScene(row.generation)
        try scene.advertise(ModeScene.record(row.mode, row.connectability))
        try scene.listen()
        let heard = scene.heard()
        let flags: UInt8 =
            switch row.mode {
            case .nonDiscoverable: 0b100
            case .limited: 0b101
            case .general: 0b110
            }
        let advertisements = heard.filter { $0.data.flags != nil }
        let responses = heard.filter { $0.data.flags == nil }
        #expect(!advertisements.isEmpty && advertisements.allSatisfy { $0.data.flags?.rawValue == flags })
        #expect(advertisements.allSatisfy { $0.services == [PeripheralApp.service] })
        #expect(heard.allSatisfy { $0.address == scene.house.host?.identity.address.address })
        #expect(heard.allSatisfy { $0.mode == row.mode }, "the scan response's, too")
        #expect(heard.allSatisfy { $0.isConnectable == (row.connectability == .connectable) })
        #expect(responses.isEmpty == (row.connectability == .nonConnectable))
        #expect(Set(heard.compactMap(\.localName)) == ["Bell"])
        #expect(try scene.connects() == (row.connectability == .connectable))
    }

    @Test("GAP/BROB/BCST/BV-01-C: nothing that is broadcast can be asked for more, and the asking is not answered")
    func broadcast() throws {
        let scene = ModeScene()
        var record = ModeScene.record(.nonDiscoverable, .nonConnectable)
        record.manufacturerData = [0x4C, 0, 2, 0x15]
        try scene.advertise(record)
        try scene.listen()
        let heard = scene.heard()
        #expect(!heard.isEmpty && heard.allSatisfy { $0.data.manufacturerData == [0x4C, 0, 2, 0x15] })
        #expect(heard.allSatisfy { $0.mode == .nonDiscoverable && !$0.isConnectable && $0.localName == "Bell" })
    }

    @Test("GAP/BROB/BCST/BV-02-C: a broadcast with a scan response, and neither says that it is discoverable")
    func broadcastWithScanResponse() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.nonDiscoverable, .scannable))
        try scene.listen()
        let heard = scene.heard()
        #expect(heard.contains { $0.localName == "Bell" && $0.data.flags == nil })
        #expect(heard.contains { $0.services == [PeripheralApp.service] })
        #expect(heard.allSatisfy { !$0.isConnectable && $0.mode == .nonDiscoverable })
    }

    @Test("What nobody can connect to is on the air while every slot is taken; what takes connections rests")
    func fullHouse() throws {
        let scene = ModeScene()
        scene.house.configuration.linksMaximum = 1
        try scene.advertise(ModeScene.record(.general, .connectable))
        let address = try #require(scene.house.host?.identity.address.address)
        let guest = RawPeer(scene.world, address: DeviceAddress(kind: .random, bits: 0xC000_0000_0099))
        #expect(guest.connect(to: address))
        try scene.listen()
        #expect(scene.heard().isEmpty)
        try scene.advertise(ModeScene.record(.general, .nonConnectable))
        #expect(!scene.heard().isEmpty)
    }

    @Test("A mode that changes while it advertises is heard, with the link that there is undisturbed")
    func change() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.general, .connectable))
        try scene.listen()
        #expect(scene.heard().allSatisfy { $0.isConnectable })
        #expect(try scene.connects())
        try scene.advertise(ModeScene.record(.nonDiscoverable, .scannable))
        #expect(scene.heard().allSatisfy { !$0.isConnectable && $0.mode == .nonDiscoverable })
        try scene.advertise(ModeScene.record(.general, .connectable))
        #expect(scene.heard().contains { $0.isConnectable && $0.mode == .general })
        #expect(scene.app?.advertisingStarts.count == 3)
    }

    @Test("What no structure can say is refused; what is advertised goes on")
    func malformed() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.general, .connectable))
        var records = [AdvertisingRecord](repeating: ModeScene.record(.limited, .nonConnectable), count: 5)
        records[0].manufacturerData = [0x4C]
        records[1].manufacturerData = [UInt8](repeating: 0, count: AdvertisingData.structureMaximumOctets + 1)
        records[2].txPowerLevel = -128
        records[3].serviceData = [AdvertisedServiceData(service: 0x180A, octets: [])]
        records[4].serviceData = [
            AdvertisedServiceData(service: 0x180A, octets: [UInt8](repeating: 0, count: 253))
        ]
        for record in records { try scene.advertise(record) }
        let app = try #require(scene.app)
        #expect(app.advertisingStarts == [nil] + [HostError?](repeating: .invalidAdvertisement, count: 5))
        #expect(scene.house.host?.advertising(of: app.manager) == ModeScene.record(.general, .connectable))
        records[0].manufacturerData = [0x4C, 0]
        records[1].manufacturerData?.removeLast()
        records[2].txPowerLevel = -127
        records[3].serviceData[0].octets = [1]
        records[4].serviceData[0].octets.removeLast()
        #expect(records.allSatisfy { $0.isWellFormed }, "one less is accepted")
    }
}

@Suite("Core 5.4, Vol 3, Part C, 9.2.3: the limited discoverable mode has an end", .capturesFailures)
struct LimitedModeTests {
    private let limit = DiscoverableMode.limitedMilliseconds

    private func mode(_ scene: ModeScene) -> DiscoverableMode? {
        let heard = scene.heard()
        let modes = Set(heard.map(\.mode))
        return modes.count == 1 ? modes.first : nil
    }

    @Test(
        "GAP/DISC/LIMM/BV-03-C, BV-04-C: limited for 180 s and not discoverable after, as connectable as before",
        arguments: ConnectableMode.allCases)
    func timeout(_ connectability: ConnectableMode) throws {
        let scene = ModeScene()
        let begin = scene.world.now
        try scene.advertise(ModeScene.record(.limited, connectability))
        try scene.listen()
        #expect(mode(scene) == .limited)
        let end = begin.advanced(byMilliseconds: limit)
        scene.world.run(forMilliseconds: end.milliseconds(since: scene.world.now) - 1_000)
        let before = scene.reports.count
        scene.world.run(forMilliseconds: 990)
        #expect(Set(scene.reports.dropFirst(before).map(\.mode)) == [.limited], "to its last moment")
        scene.world.run(forMilliseconds: 10)
        #expect(mode(scene) == .nonDiscoverable)
        let manager = try #require(scene.app).manager
        #expect(scene.house.host?.advertising(of: manager) == ModeScene.record(.nonDiscoverable, connectability))
        #expect(try scene.connects() == (connectability == .connectable))
    }

    @Test("A kill takes nothing from the rest of the time and adds nothing to it")
    func killed() throws {
        let scene = ModeScene()
        let begin = scene.world.now
        try scene.advertise(ModeScene.record(.limited, .connectable))
        try scene.listen()
        for _ in 0..<5 {
            scene.world.run(forMilliseconds: 20_000)
            scene.house.kill()
            scene.world.run(forMilliseconds: 5_000)
            scene.launchHouse()
            #expect(mode(scene) == .limited)
        }
        let end = begin.advanced(byMilliseconds: limit)
        scene.world.run(forMilliseconds: end.milliseconds(since: scene.world.now))
        #expect(mode(scene) == .nonDiscoverable)
        let kept = scene.house.store.load().restorations.values.compactMap(\.advertising)
        #expect(kept == [ModeScene.record(.nonDiscoverable, .connectable)], "the end is on disk")
        scene.house.kill()
        scene.launchHouse()
        #expect(mode(scene) == .nonDiscoverable)
    }

    @Test("What ended while the process was dead is not on the air again for a moment")
    func endedMeanwhile() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.limited, .connectable))
        scene.house.kill()
        scene.world.run(forMilliseconds: limit)
        try scene.listen()
        scene.launchHouse()
        #expect(mode(scene) == .nonDiscoverable)
    }

    @Test("In another boot of the machine it has ended, whatever the clock says")
    func anotherBoot() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.limited, .connectable))
        scene.house.kill()
        scene.house.boot = BootID(bits: 2)
        try scene.listen()
        scene.launchHouse()
        #expect(mode(scene) == .nonDiscoverable)
    }

    @Test("Asked for again it begins anew; what stops ends it")
    func again() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.limited, .connectable))
        scene.world.run(forMilliseconds: limit - 5_000)
        try scene.advertise(ModeScene.record(.limited, .connectable))
        try scene.listen()
        scene.world.run(forMilliseconds: limit - 5_000)
        #expect(mode(scene) == .limited)
        let manager = try #require(scene.app).manager
        scene.house.call { $0.stopAdvertising(manager) }
        scene.world.run(forMilliseconds: limit)
        #expect(scene.heard().isEmpty)
        #expect(scene.house.host?.advertising(of: manager) == nil)
    }

    @Test("Each manager's ends by itself")
    func two() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.limited, .connectable))
        scene.world.run(forMilliseconds: limit / 2)
        var other: PeripheralApp?
        scene.house.call { host in
            let app = PeripheralApp(host, restoreIdentifier: "gate")
            other = app
            host.startAdvertising(app.manager, ModeScene.record(.limited, .nonConnectable))
        }
        scene.world.run(forMilliseconds: limit / 2)
        let host = try #require(scene.house.host)
        let managers = (try #require(scene.app).manager, try #require(other).manager)
        #expect(host.advertising(of: managers.0)?.discoverability == .nonDiscoverable)
        #expect(host.advertising(of: managers.1)?.discoverability == .limited)
        scene.world.run(forMilliseconds: limit / 2)
        #expect(host.advertising(of: managers.1)?.discoverability == .nonDiscoverable)
    }

    @Test("A manager that goes for good takes its end along: the loop has nothing to wake for")
    func unregistered() throws {
        let scene = ModeScene()
        var app: PeripheralApp?
        scene.house.launch { app = PeripheralApp($0, restoreIdentifier: nil) }
        let manager = try #require(app).manager
        scene.world.run(forMilliseconds: 500)
        scene.house.call { $0.startAdvertising(manager, ModeScene.record(.limited, .connectable)) }
        scene.world.run(forMilliseconds: 500)
        #expect(scene.house.host?.deadline != nil)
        scene.house.call { $0.unregister(manager) }
        scene.world.run(forMilliseconds: 500)
        #expect(scene.house.host?.deadline == nil)
    }

    @Test("A record without its end, as a damaged file may have one, has ended")
    func withoutEnd() throws {
        let store = MemoryHostStore()
        store.append(
            .advertising(
                RestoreKey(role: .peripheral, identifier: "bell"), ModeScene.record(.limited, .connectable)))
        store.didCommit()
        let world = World()
        let house = world.add("house", seed: 1, store: store)
        var app: PeripheralApp?
        house.launch { app = PeripheralApp($0, restoreIdentifier: "bell") }
        world.run(forMilliseconds: 500)
        let manager = try #require(app).manager
        #expect(house.host?.advertising(of: manager)?.discoverability == .nonDiscoverable)
    }
}
