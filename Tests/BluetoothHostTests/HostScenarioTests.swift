import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// Two hosts and an air: what an app sees from the first advertisement to a signed write after a kill.
@Suite(.capturesFailures) struct HostScenarioTests {
    /// A world with a peripheral that advertises its service and a central that is powered on.
    final class Scene {
        let world = World()
        let lock: Node
        let key: Node
        var peripheral: PeripheralApp?
        var central: CentralApp?
        var published: PublishedService?

        init(hardware: ControllerConfiguration = ControllerConfiguration()) {
            lock = world.add("lock", seed: 11, hardware: hardware)
            key = world.add("key", seed: 22, hardware: hardware)
        }

        func launchLock() {
            lock.launch { host in
                let app = PeripheralApp(host, restoreIdentifier: "door")
                peripheral = app
                published = try? host.publish(app.manager, PeripheralApp.definition)
                host.startAdvertising(
                    app.manager, AdvertisingRecord(localName: "Door", services: [PeripheralApp.service]))
            }
        }

        func launchKey() {
            key.launch { central = CentralApp($0, restoreIdentifier: "pocket") }
        }

        func start() {
            launchLock()
            launchKey()
            world.run(forMilliseconds: 500) { central?.states.last == .poweredOn }
        }

        /// The peer's name at the key.
        var door: PeerIdentifier? {
            guard let address = lock.host?.identity.address.address else { return nil }
            var name: PeerIdentifier?
            key.call { name = $0.peer(at: address) }
            return name
        }

        func connect() throws {
            let app = try #require(central)
            let door = try #require(door)
            key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
            #expect(world.run(forMilliseconds: 3_000) { app.link != nil && peripheral?.links.isEmpty == false })
        }

        func perform(_ operation: GATTClientOperation) throws -> Result<OperationValue, HostError> {
            let app = try #require(central)
            let door = try #require(door)
            var token: OperationToken?
            key.call { token = $0.perform(app.manager, door, operation) }
            return try result(of: token)
        }

        func read(_ reading: LinkReading) throws -> Result<OperationValue, HostError> {
            let app = try #require(central)
            let door = try #require(door)
            var token: OperationToken?
            key.call { token = $0.read(app.manager, door, reading) }
            return try result(of: token)
        }

        private func result(of token: OperationToken?) throws -> Result<OperationValue, HostError> {
            let app = try #require(central)
            let asked = try #require(token)
            world.run(forMilliseconds: 5_000) { app.results[asked] != nil }
            return try #require(app.results[asked])
        }

        func pairOutOfBand() throws {
            let app = try #require(central)
            let door = try #require(door)
            let address = try #require(lock.host?.identity.address.address)
            let keyPair = P256KeyPair.generate()
            let random = Secret(Array(1...16))
            lock.call {
                $0.setPairingWindow(
                    PairingWindow(
                        method: .outOfBand(keyPair: keyPair, random: random), credential: "alice"))
            }
            let data = OutOfBandOffer(random: random).data(address: address, publicKey: keyPair.publicKey)
            key.call { $0.pair(app.manager, door, .outOfBand(data), credential: "door") }
            world.run(forMilliseconds: 5_000) { !app.paired.isEmpty && peripheral?.paired.isEmpty == false }
        }

        /// Both sides have seen the bond work over an encrypted reconnection.
        func promote() {
            for node in [lock, key] {
                node.call { host in for bond in host.bonds { host.promoteBond(bond.id) } }
            }
        }

        func dropLink() {
            guard let link = central?.link, let central else { return }
            key.call { $0.cancelConnection(central.manager, link.peer) }
            world.run(forMilliseconds: 2_000) { peripheral?.links.isEmpty == true }
        }
    }

    @Test("A central finds an advertiser by its service, and hears its name and signal strength")
    func discovery() throws {
        let scene = Scene()
        scene.start()
        let central = try #require(scene.central)
        scene.key.call {
            $0.startScan(central.manager, ScanRecord(services: [PeripheralApp.service], allowDuplicates: false))
        }
        #expect(scene.world.run(forMilliseconds: 2_000) { !central.reports.isEmpty })
        let report = try #require(central.reports.first)
        #expect(report.services == [PeripheralApp.service])
        #expect(report.isConnectable)
        #expect(report.rssi < 0)
        #expect(report.address == scene.lock.host?.identity.address.address)
    }

    @Test("Connect, discover everything, read, subscribe and be notified")
    func procedures() throws {
        let scene = Scene()
        scene.start()
        try scene.connect()
        guard case .success(.gatt(.database(let tree))) = try scene.perform(.discoverDatabase) else {
            Issue.record("no tree")
            return
        }
        let service = try #require(tree.services.first { $0.uuid == PeripheralApp.service })
        #expect(
            service.characteristics.map(\.uuid) == [
                PeripheralApp.readable, PeripheralApp.writable, PeripheralApp.notifying,
            ])
        guard case .success(.gatt(.value(let value))) = try scene.perform(.read(service.characteristics[0].value))
        else {
            Issue.record("no value")
            return
        }
        #expect(value == [1, 2, 3])

        let notifying = service.characteristics[2]
        let ccc = try #require(notifying.descriptors.first)
        let central = try #require(scene.central)
        let door = try #require(scene.door)
        scene.key.call {
            _ = $0.setNotify(
                central.manager, door, value: notifying.value, ccc: ccc.handle, kind: .notify)
        }
        let peripheral = try #require(scene.peripheral)
        #expect(scene.world.run(forMilliseconds: 2_000) { peripheral.subscriptions[notifying.value] == true })
        scene.lock.call {
            let isSent = $0.updateValue(peripheral.manager, notifying.value, [7, 8], to: nil, keepForAbsent: false)
            #expect(isSent)
        }
        #expect(scene.world.run(forMilliseconds: 2_000) { !central.updates.isEmpty })
        #expect(central.updates.first?.value == [7, 8])
    }

    @Test("Core 5.4, Vol 3, Part H, 2.3.5.6.4: pairing out of band proves the link on both sides")
    func pairing() throws {
        let scene = Scene()
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        let central = try #require(scene.central)
        let peripheral = try #require(scene.peripheral)
        guard case .success = central.paired.first, case .success = peripheral.paired.first else {
            Issue.record("\(central.paired) \(peripheral.paired)")
            return
        }
        #expect(central.secured.last == true)
        #expect(peripheral.secured.last?.isProven == true)
        #expect(peripheral.secured.last?.security.authenticated == true)
    }

    @Test("Without a window a stranger does not pair")
    func noWindow() throws {
        let scene = Scene()
        scene.start()
        try scene.connect()
        let central = try #require(scene.central)
        let door = try #require(scene.door)
        scene.key.call { $0.pair(central.manager, door, .passkeyEntry, credential: "door") }
        #expect(scene.world.run(forMilliseconds: 2_000) { !central.paired.isEmpty })
        guard case .failure(.pairing(.refusedByPeer(.pairingNotSupported))) = central.paired.first else {
            Issue.record("\(central.paired)")
            return
        }
        #expect(scene.lock.store.load().bonds.isEmpty)
    }

    @Test("A signed write is verified, and its counter kept, across kills of both sides")
    func signedWriteAfterKills() throws {
        let scene = Scene()
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        scene.promote()
        let published = try #require(scene.published)
        let writable = published.characteristics[1].value
        for round in 0..<3 {
            scene.lock.kill()
            scene.key.kill()
            scene.start()
            // The pending connection is made anew by the stack: the app asks for nothing.
            let central = try #require(scene.central)
            let peripheral = try #require(scene.peripheral)
            #expect(central.record?.pendingConnections.count == 1)
            #expect(scene.world.run(forMilliseconds: 8_000) { central.link != nil && !peripheral.links.isEmpty })
            #expect(scene.published?.declaration == published.declaration)
            guard
                case .success(.signed(let counter)) = try scene.perform(
                    .signedWriteWithoutResponse(writable, [9, UInt8(round)]))
            else {
                Issue.record("not signed")
                return
            }
            #expect(counter == UInt32(round) * 64)
            #expect(scene.world.run(forMilliseconds: 2_000) { !peripheral.writes.isEmpty })
            #expect(peripheral.writes.first?.path == .signed(counter: counter))
            #expect(scene.lock.store.load().bonds.first?.lastRemoteSignCounter == counter)
        }
    }

    @Test("Bonded peers encrypt with the key that both kept")
    func encryptionAfterKill() throws {
        let scene = Scene()
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        scene.key.kill()
        scene.launchKey()
        let central = try #require(scene.central)
        let peripheral = try #require(scene.peripheral)
        #expect(scene.world.run(forMilliseconds: 8_000) { central.link != nil })
        let before = peripheral.secured.count
        let door = try #require(scene.door)
        scene.key.call { $0.encrypt(door) }
        #expect(scene.world.run(forMilliseconds: 2_000) { peripheral.secured.count > before })
        #expect(peripheral.secured.last?.isProven == true)
    }
}
