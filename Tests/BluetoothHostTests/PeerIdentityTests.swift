import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// A peer that pairs anew under a private address, and whose identity has a name from before.
@Suite(.capturesFailures)
struct PeerIdentityTests {
    @Test("The app goes on under the new name until the link's end, and finds the peer under the old one from then on")
    func pairedAnew() throws {
        let duo = try Duo(
            PairingRules(.anybody, renewsBonds: true), capability: .displayYesNo, hasPrivatePeripheral: true)
        try duo.bond()
        let central = duo[.central]
        let client = try #require(central.client)
        let known = try #require(client.link?.peer)
        try duo.disconnect()
        duo.lose(bondOf: .central)

        central.node.call { $0.startScan(client.manager, ScanRecord(services: [], allowDuplicates: true)) }
        try #require(duo.world.run(forMilliseconds: 5_000) { client.reports.last?.address.kind == .random })
        let heard = try #require(client.reports.last?.peer)
        #expect(heard != known)
        central.node.call {
            $0.stopScan(client.manager)
            $0.connect(client.manager, heard, options: PendingConnection.reconnectsOption, askedAtSeconds: 0)
        }
        try #require(duo.world.run(forMilliseconds: 5_000) { client.link?.peer == heard })
        expectValue(duo.answer(to: try duo.read(by: .central), of: .central))
        let token = try duo.read(by: .central)
        expectValue(duo.answer(to: token, of: .central))
        #expect(client.answers[token] == 1 && client.link?.peer == heard && central.bonds.count == 1)
        // A kill from here on leaves nothing at an address that nobody has any more.
        let kept = central.node.store.load()
        #expect(kept.restorations.values.allSatisfy { $0.pendingConnections.isEmpty })
        #expect(!kept.peers.contains { $0.identifier == heard })

        let ends = client.disconnections
        let link = try #require(duo[.peripheral].server?.links.first?.link)
        duo[.peripheral].node.call { $0.disconnect(link) }
        try #require(duo.world.run(forMilliseconds: 5_000) { client.disconnections > ends })
        duo.world.run(forMilliseconds: 5_000)
        #expect(client.disconnections == ends + 1 && client.link == nil && client.failures.isEmpty)
        central.node.call { $0.connect(client.manager, heard, options: 0, askedAtSeconds: 0) }
        duo.world.run(forMilliseconds: 1_000)
        #expect(client.failures == [.unknownPeer])
        try duo.connect(for: [.central])
        #expect(client.link?.peer == known)
        expectValue(duo.answer(to: try duo.read(by: .central), of: .central))
    }

    private func expectValue(_ result: Result<OperationValue, HostError>?) {
        guard case .success(.gatt(.value)) = result else {
            Issue.record("\(String(describing: result))")
            return
        }
    }
}
