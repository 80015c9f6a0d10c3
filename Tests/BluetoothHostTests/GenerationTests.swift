import BluetoothCore
import BluetoothHost
import HCI
import Simulation
import Testing
import VirtualRadio
import WorldSupport

extension Node {
    /// The opcodes of the commands that left.
    var opcodes: [UInt16] {
        sent.filter { $0.count > 2 && $0[0] == 1 }.map { UInt16($0[1]) | UInt16($0[2]) << 8 }
    }
}

/// One host with whatever controller there is.
@Suite("Core 5.4, Vol 4, Part E, 3.1.1: old controllers and new ones", .capturesFailures)
struct GenerationTests {
    @Test(
        "Discovery, connection, pairing and a restart with commands of one family only",
        arguments: ControllerGeneration.allCases)
    func families(generation: ControllerGeneration) throws {
        let scene = HostScenarioTests.Scene(hardware: ControllerConfiguration(generation: generation))
        scene.start()
        let app = try #require(scene.central)
        scene.key.call {
            $0.startScan(app.manager, ScanRecord(services: [PeripheralApp.service], allowDuplicates: false))
        }
        #expect(scene.world.run(forMilliseconds: 2_000) { !app.reports.isEmpty })
        scene.key.call { $0.stopScan(app.manager) }
        try scene.connect()
        try scene.pairOutOfBand()
        #expect(scene.lock.host?.bonds.count == 1)
        scene.dropLink()
        scene.key.kill()
        scene.launchKey()
        try scene.connect()
        let opcodes = Set(scene.lock.opcodes + scene.key.opcodes)
        #expect(
            opcodes.isDisjoint(
                with: generation == .core54 ? GAPCommandsTests.legacyOnly : GAPCommandsTests.extendedOnly))
        #expect(
            !opcodes.isDisjoint(
                with: generation == .core54 ? GAPCommandsTests.extendedOnly : GAPCommandsTests.legacyOnly))
    }

    /// Managers of one host that advertise, each a service of its own.
    private func advertisers(_ hardware: ControllerConfiguration, count: Int) throws -> (
        World, [PeripheralApp], CentralApp
    ) {
        let world = World()
        let house = world.add("house", seed: 1, hardware: hardware)
        let phone = world.add("phone", seed: 2)
        var apps: [PeripheralApp] = []
        house.launch { host in
            for number in 0..<count {
                let app = PeripheralApp(host, restoreIdentifier: "\(number)")
                apps.append(app)
                host.startAdvertising(
                    app.manager, AdvertisingRecord(localName: nil, services: [BluetoothUUID(UInt16(0xFF00 + number))]))
            }
        }
        var central: CentralApp?
        phone.launch { central = CentralApp($0, restoreIdentifier: nil) }
        let app = try #require(central)
        world.run(forMilliseconds: 500) { app.states.last == .poweredOn }
        phone.call { $0.startScan(app.manager, ScanRecord(services: [], allowDuplicates: true)) }
        world.run(forMilliseconds: 3_000)
        return (world, apps, app)
    }

    @Test("Two managers advertise at once where the controller has two sets")
    func twoManagers() throws {
        let (_, apps, phone) = try advertisers(ControllerConfiguration(), count: 2)
        #expect(Set(phone.reports.flatMap(\.services)) == [0xFF00, 0xFF01])
        #expect(apps.map(\.advertisingStarts.count) == [1, 1])
    }

    @Test("With one set the first manager has it, and the second when the first has stopped")
    func oneSet() throws {
        let (world, apps, phone) = try advertisers(ControllerConfiguration(generation: .core42), count: 2)
        #expect(Set(phone.reports.flatMap(\.services)) == [0xFF00])
        #expect(apps.map(\.advertisingStarts.count) == [1, 0])
        world.nodes[0].call { $0.stopAdvertising(apps[0].manager) }
        world.run(forMilliseconds: 1_000)
        #expect(apps[1].advertisingStarts.count == 1)
        #expect(Set(phone.reports.flatMap(\.services)) == [0xFF00, 0xFF01])
    }

    @Test("One manager more than the controller has sets waits for one of them")
    func onePastTheSets() throws {
        let (_, apps, phone) = try advertisers(ControllerConfiguration(advertisingSetCount: 3), count: 4)
        #expect(Set(phone.reports.flatMap(\.services)).count == 3)
        #expect(apps.map(\.advertisingStarts.count) == [1, 1, 1, 0])
    }

    @Test("A long advertisement is heard in full by new scanners, and as far as it goes by old ones")
    func longAdvertisement() throws {
        let world = World()
        let house = world.add("house", seed: 1)
        let services = (0..<3).map { BluetoothUUID(bits: 0xFD51_0000_D1DB_463D_86FD_15EF_B821_60A8 + UInt128($0)) }
        house.launch { host in
            let app = PeripheralApp(host, restoreIdentifier: "door")
            host.startAdvertising(
                app.manager, AdvertisingRecord(localName: "A door with a long name", services: services))
        }
        for (seed, generation) in [(UInt64(2), ControllerGeneration.core54), (3, .core40)] {
            let phone = world.add("phone", seed: seed, hardware: ControllerConfiguration(generation: generation))
            var central: CentralApp?
            phone.launch { central = CentralApp($0, restoreIdentifier: nil) }
            let app = try #require(central)
            world.run(forMilliseconds: 500) { app.states.last == .poweredOn }
            phone.call { $0.startScan(app.manager, ScanRecord(services: [], allowDuplicates: true)) }
            world.run(forMilliseconds: 3_000)
            let most = app.reports.map(\.services.count).max()
            #expect(most == (generation == .core54 ? 3 : 1))
        }
    }
}
