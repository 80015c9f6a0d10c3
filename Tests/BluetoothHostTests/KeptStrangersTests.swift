import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import TestSupport
import Testing
import WorldSupport

/// What an app leaves on disk that connects to whoever it meets.
@Suite("Peers that are kept without a bond", .capturesFailures)
struct KeptStrangersTests {
    private static func address(_ number: Int) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(number))
    }

    private static func host(_ store: MemoryHostStore) -> Host {
        Host(
            configuration: HostConfiguration(deviceName: "central"), boot: BootID(bits: 1), snapshot: store.launch(),
            rows: store.rows, store: store, random: SeededRandom(seed: 1), makeKeyPair: P256KeyPair.generate)
    }

    /// What an app asks for and takes back.
    private func visit(_ host: Host, _ manager: ManagerID, _ number: Int, _ store: MemoryHostStore) -> PeerIdentifier {
        let peer = host.peer(at: Self.address(number))
        host.connect(manager, peer, options: 0, askedAtSeconds: 0)
        host.cancelConnection(manager, peer)
        store.didCommit()
        return peer
    }

    private let maximum = PeerDirectory.keptStrangersMaximum

    @Test("are as many as there may be; one more, and the oldest that nobody waits for is forgotten, on disk too")
    func onePast() {
        let store = MemoryHostStore()
        let host = Self.host(store)
        let app = CentralApp(host, restoreIdentifier: "app")
        let awaited = host.peer(at: Self.address(0))
        host.connect(app.manager, awaited, options: 0, askedAtSeconds: 0)
        let second = visit(host, app.manager, 1, store)
        for number in 2..<maximum { _ = visit(host, app.manager, number, store) }
        #expect(store.load().peers.count == maximum)
        let last = visit(host, app.manager, maximum, store)
        #expect(store.load().peers.count == maximum)
        #expect(store.rows?.peer(awaited) != nil && store.rows?.peer(last) != nil && store.rows?.peer(second) == nil)
    }

    /// A central that is subscribed at a peer, and what is kept of that.
    private func subscribed(isBonded: Bool) throws -> (HostScenarioTests.Scene, CentralApp, PeerIdentifier) {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        if isBonded { try scene.pairOutOfBand() }
        let (app, door) = (try #require(scene.central), try #require(scene.door))
        let characteristic = try #require(scene.published).characteristics[2]
        let configuration = try #require(characteristic.configuration)
        scene.key.call {
            _ = $0.setNotify(app.manager, door, value: characteristic.value, ccc: configuration, kind: .notify)
        }
        #expect(scene.world.run(forMilliseconds: 2_000) { subscriptions(scene) == 1 })
        return (scene, app, door)
    }

    private func subscriptions(_ scene: HostScenarioTests.Scene) -> Int {
        scene.key.store.load().restorations.values.flatMap(\.subscriptions).count
    }

    @Test(
        "have forgotten a life's subscriptions when it was killed: the next one keeps none", arguments: [false, true])
    func killed(isBonded: Bool) throws {
        let (scene, _, _) = try subscribed(isBonded: isBonded)
        scene.key.kill()
        scene.launchKey()
        #expect(scene.central?.record?.subscriptions.count == (isBonded ? 1 : 0))
        #expect(subscriptions(scene) == (isBonded ? 1 : 0))
    }

    @Test("and whose bond was deleted while they were away keep nobody subscribed once the app takes its wish back")
    func bondDeleted() throws {
        let (scene, app, door) = try subscribed(isBonded: true)
        scene.dropLink()
        scene.lock.kill()
        scene.key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
        scene.key.call { host in for bond in host.bonds { host.deleteBond(bond.id) } }
        scene.key.call { $0.cancelConnection(app.manager, door) }
        #expect(subscriptions(scene) == 0)
    }

    @Test("of earlier lives are counted while the loop is idle, and go first; bonded ones never do")
    func earlier() throws {
        let store = MemoryHostStore()
        let bonded = 40
        for number in 0..<maximum + 100 {
            store.append(
                .peer(PeerRecord(identifier: PeerIdentifier(bits: UInt128(number)), address: Self.address(number))))
            guard number < bonded else { continue }
            store.append(
                .bond(
                    .upsert(
                        Bond(
                            id: BondID(Int64(number)), identity: IdentityAddress(Self.address(number)),
                            ltk: Secret([UInt8](repeating: 1, count: 16)), model: .outOfBand, state: .confirmed))))
        }
        store.didCommit()
        let host = Self.host(store)
        let app = CentralApp(host, restoreIdentifier: "app")
        let new = visit(host, app.manager, 1_000_000, store)
        while host.readOn() { store.didCommit() }
        store.didCommit()
        let left = store.load().peers
        #expect(left.count == maximum + bonded)
        #expect(left.contains { $0.identifier == new })
        #expect((0..<bonded).allSatisfy { number in left.contains { $0.identifier.bits == UInt128(number) } })
    }
}
