import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import SecurityManager
import Simulation
import TestSupport
import Testing
import WorldSupport

/// What an app leaves on disk that connects to whoever it meets.
@Suite("Peers that are kept without a bond")
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
