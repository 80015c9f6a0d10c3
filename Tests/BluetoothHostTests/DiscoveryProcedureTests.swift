import BluetoothCore
import BluetoothHost
import HCI
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

@Suite("Core 5.4, Vol 3, Part C, 9.1.2, 9.2.5 and 9.2.6: observation and discovery", .capturesFailures)
struct DiscoveryProcedureTests {
    /// Which modes each procedure lists.
    static let lists: [DiscoveryProcedure: Set<DiscoverableMode>] = [
        .observation: [.nonDiscoverable, .limited, .general], .limitedDiscovery: [.limited],
        .generalDiscovery: [.limited, .general],
    ]

    @Test(
        "GAP/DISC/LIMP/BV-01-C to BV-04-C, GAP/DISC/GENP/BV-01-C to BV-04-C: whom a procedure finds, name and all",
        arguments: DiscoveryProcedure.allCases, ModeCase.all)
    func found(_ procedure: DiscoveryProcedure, _ row: ModeCase) throws {
        let scene = ModeScene(row.generation)
        try scene.listen(procedure, duplicates: false)
        try scene.advertise(ModeScene.record(row.mode, row.connectability))
        let heard = scene.reports + scene.heard()
        guard Self.lists[procedure]?.contains(row.mode) == true else {
            #expect(heard.isEmpty)
            return
        }
        #expect(heard.contains { $0.services == [PeripheralApp.service] })
        #expect(heard.contains { $0.localName == "Bell" }, "in the scan response, where there is one")
    }

    @Test(
        "GAP/DISC/LIMP/BV-05-C, GAP/DISC/GENP/BV-05-C: a directed advertiser is heard, and found by no procedure",
        arguments: DiscoveryProcedure.allCases)
    func directed(_ procedure: DiscoveryProcedure) throws {
        let scene = ModeScene(.core42)
        try scene.listen(procedure)
        scene.world.run(forMilliseconds: 500)
        let phone = try #require(scene.phone.host?.identity.address.address)
        let peer = RawPeer(scene.world, address: DeviceAddress(kind: .random, bits: 0xC000_0000_0077))
        peer.advertise(to: phone)
        let heard = scene.heard()
        #expect(heard.isEmpty == (procedure != .observation))
        #expect(heard.allSatisfy { $0.isConnectable && $0.data == AdvertisingData() })
    }

    @Test(
        "A scan for a service hears the scan response of who advertises it, and nothing of who does not",
        arguments: ControllerGeneration.allCases)
    func service(generation: ControllerGeneration) throws {
        let scene = ModeScene(generation)
        try scene.listen(services: [PeripheralApp.service], duplicates: false)
        var record = ModeScene.record(.general, .connectable)
        record.services = [0x180A]
        try scene.advertise(record)
        #expect((scene.reports + scene.heard()).isEmpty)
        try scene.listen(services: [PeripheralApp.service], duplicates: false)
        record.services.append(PeripheralApp.service)
        try scene.advertise(record)
        let heard = scene.reports + scene.heard()
        #expect(heard.contains { $0.services.contains(PeripheralApp.service) })
        #expect(heard.contains { $0.localName == "Bell" })
    }

    @Test("A peer that leaves the limited mode is no longer listed, and one that enters it is")
    func changing() throws {
        let scene = ModeScene()
        try scene.listen(.limitedDiscovery)
        try scene.advertise(ModeScene.record(.general, .connectable))
        #expect(scene.heard().isEmpty)
        try scene.advertise(ModeScene.record(.limited, .connectable))
        #expect(!scene.heard().isEmpty)
        scene.world.run(forMilliseconds: DiscoverableMode.limitedMilliseconds)
        #expect(scene.heard().isEmpty)
    }

    @Test("Scans of two managers each list their own, and the scan is active when one of them asks")
    func two() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.general, .connectable))
        try scene.listen(.limitedDiscovery, isPassive: true)
        var other: CentralApp?
        scene.phone.call { host in
            let app = CentralApp(host, restoreIdentifier: "other")
            other = app
            host.startScan(
                app.manager, ScanRecord(services: [], allowDuplicates: false, procedure: .generalDiscovery))
        }
        #expect(scene.heard().isEmpty)
        #expect(other?.reports.contains { $0.localName == "Bell" } == true)
    }

    @Test(
        "GAP/BROB/OBSV/BV-01-C: a passive observer hears what is broadcast and asks nobody for more",
        arguments: ControllerGeneration.allCases)
    func passive(generation: ControllerGeneration) throws {
        let scene = ModeScene(generation)
        var record = ModeScene.record(.nonDiscoverable, .scannable)
        record.manufacturerData = [1, 2, 3]
        try scene.advertise(record)
        try scene.listen(isPassive: true)
        let heard = scene.heard()
        #expect(!heard.isEmpty && heard.allSatisfy { $0.data.flags != nil && $0.localName == nil })
        #expect(heard.allSatisfy { $0.data.manufacturerData == [1, 2, 3] })
    }

    @Test(
        "GAP/BROB/OBSV/BV-02-C: an active one hears what is broadcast and the scan response",
        arguments: ControllerGeneration.allCases)
    func active(generation: ControllerGeneration) throws {
        let scene = ModeScene(generation)
        var record = ModeScene.record(.nonDiscoverable, .scannable)
        record.manufacturerData = [1, 2, 3]
        try scene.advertise(record)
        try scene.listen()
        let heard = scene.heard()
        #expect(heard.contains { $0.data.manufacturerData == [1, 2, 3] && $0.services == [PeripheralApp.service] })
        #expect(heard.contains { $0.data.flags == nil && $0.localName == "Bell" })
    }

    @Test("A kill leaves the procedure and the manner of a scan")
    func restored() throws {
        let scene = ModeScene()
        try scene.advertise(ModeScene.record(.general, .connectable))
        var app: CentralApp?
        scene.phone.call { host in
            let other = CentralApp(host, restoreIdentifier: "scan")
            host.startScan(
                other.manager,
                ScanRecord(services: [], allowDuplicates: true, procedure: .limitedDiscovery, isPassive: true))
        }
        scene.phone.kill()
        scene.phone.launch { app = CentralApp($0, restoreIdentifier: "scan") }
        scene.world.run(forMilliseconds: 2_000)
        #expect(app?.record?.scan?.procedure == .limitedDiscovery && app?.record?.scan?.isPassive == true)
        #expect(app?.reports.isEmpty == true)
        try scene.advertise(ModeScene.record(.limited, .connectable))
        scene.world.run(forMilliseconds: 2_000)
        #expect(app?.reports.isEmpty == false && app?.reports.allSatisfy { $0.localName == nil } == true)
    }

    @Test("Flags that say both modes are the limited one's; others say nothing of it", arguments: UInt8.min...UInt8.max)
    func flags(_ octet: UInt8) {
        let mode = AdvertisingFlags(rawValue: octet).mode
        #expect(mode == (octet & 1 != 0 ? .limited : octet & 2 != 0 ? .general : .nonDiscoverable))
    }
}
