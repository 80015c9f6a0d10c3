import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Simulation
import TestSupport
import Testing
import WorldSupport

/// A user at the door waits for a link, its encryption, and one value: nothing else goes before these.
@Suite("Core 5.4, Vol 3, Part G, 4.3.1: when a bonded peer's MTU is exchanged", .capturesFailures)
struct BondedReturnTests {
    /// Two that are bonded, on a link that was made a moment ago, and the packets that the central had sent until then.
    private func returned() throws -> (duo: Duo, before: (packets: Int, attributes: Int)) {
        let duo = try Duo()
        try duo.bond()
        try duo.disconnect()
        let central = duo[.central].node
        let before = (central.sent.count, central.attributeOpcodes.count)
        try duo.connect(for: [])
        return (duo, before)
    }

    @Test(
        "From the connection to the first value: encryption and the read; then the MTU; the link layer after a second")
    func read() throws {
        let (duo, before) = try returned()
        let central = duo[.central].node
        let client = try #require(duo[.central].client)
        let link = try #require(client.link)
        central.call { $0.encrypt(link.peer) }
        #expect(duo.world.run(forMilliseconds: 900) { central.host?.link(link.link)?.security.encrypted == true })
        let token = try duo.read(by: .central)
        #expect(duo.world.run(forMilliseconds: 900) { client.results[token] != nil })
        guard case .success = client.results[token] else { throw Missing() }
        #expect(central.attributeOpcodes.dropFirst(before.attributes).first == 0x0A)
        let asked = central.sent.dropFirst(before.packets).filter { $0.first == 1 }
        let connection: [[UInt8]] = [[1, 0x0D, 0x20], [1, 0x11, 0x20]]
        let commands = asked.map { Array($0.prefix(3)) }.filter { !connection.contains($0) }
        #expect(commands.contains([1, 0x19, 0x20]), "LE Enable Encryption")
        let linkLayer: [[UInt8]] = [[1, 0x16, 0x20], [1, 0x1D, 0x04], [1, 0x22, 0x20], [1, 0x32, 0x20]]
        #expect(commands.allSatisfy { !linkLayer.contains($0) })
        duo.world.run(forMilliseconds: 100)
        #expect(central.attributeOpcodes.dropFirst(before.attributes).elementsEqual([0x0A, 0x02]))
        duo.world.run(forMilliseconds: 2_000)
        let later = central.sent.map { Array($0.prefix(3)) }
        #expect(later.dropFirst(before.packets).contains([1, 0x16, 0x20]))
    }

    @Test("What goes better in large PDUs goes behind the exchange")
    func write() throws {
        let (duo, before) = try returned()
        let central = duo[.central].node
        let client = try #require(duo[.central].client)
        let peer = try #require(client.link?.peer)
        let handle = try #require(duo[.peripheral].service?.characteristics.first?.value)
        central.call { _ = $0.perform(client.manager, peer, .write(handle, Array(repeating: 7, count: 21))) }
        duo.world.run(forMilliseconds: 500)
        #expect(central.attributeOpcodes.dropFirst(before.attributes).prefix(2).elementsEqual([0x02, 0x12]))
        #expect(client.link.map { central.host?.link($0.link)?.mtu } == 247)
    }

    @Test("An app that asks for nothing has large PDUs after a second")
    func idle() throws {
        let (duo, before) = try returned()
        let central = duo[.central].node
        duo.world.run(forMilliseconds: 800)
        #expect(central.attributeOpcodes.count == before.attributes)
        duo.world.run(forMilliseconds: 400)
        #expect(central.attributeOpcodes.dropFirst(before.attributes).elementsEqual([0x02]))
    }

    @Test("What is owed to a link leaves before GAP looks through what is wanted of the air")
    func gapComesBehind() throws {
        let host = Host(alone: "key")
        let app = CentralApp(host, restoreIdentifier: nil)
        let coordinator = MemoryTransactionCoordinator()
        func round() throws {
            host.endIteration()
            try coordinator.commit(host.participants)
            host.releaseActs(clock: { Instant(nanoseconds: 0) }) { if case .call(let call) = $0 { call() } }
        }
        host.beginIteration(now: Instant(nanoseconds: 0))
        while host.hasWork { try round() }
        var left = 0
        host.startScan(app.manager, ScanRecord(services: [], allowDuplicates: false))
        host.afterCommit { left += 1 }
        try round()
        #expect(left == 1)
        #expect(host.hasWork, "GAP's turn is the next round")
        try round()
        #expect(!host.hasWork)
    }

    @Test("Words for people come behind everything that somebody waits for, in their own order")
    func reportsComeLast() throws {
        let host = Host(alone: "lock")
        var said: [String] = []
        host.beginIteration(now: Instant(nanoseconds: 0))
        host.afterActs { said.append("granted") }
        host.afterCommit { said.append("bolt") }
        host.afterActs { said.append("unlocking") }
        host.transportOpened()
        host.endIteration()
        try MemoryTransactionCoordinator().commit(host.participants)
        host.releaseActs(clock: { Instant(nanoseconds: 0) }) { act in
            switch act {
            case .packet: said.append("packet")
            case .call(let call): call()
            case .bus, .code, .strength: said.append("bus")
            case .controllerFailed: said.append("failed")
            }
        }
        #expect(said == ["bolt", "packet", "granted", "unlocking"])
    }

    private struct Missing: Error {}
}
