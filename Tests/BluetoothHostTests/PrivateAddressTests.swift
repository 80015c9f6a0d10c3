import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Centrals that come under resolvable private addresses.
@Suite(.capturesFailures) struct PrivateAddressTests {
    private func privateAddress(of bond: Bond, random: UInt32) throws -> DeviceAddress {
        Toolbox.resolvablePrivateAddress(irk: AES128(key: try #require(bond.peerIRK)), random: random)
    }

    @Test("Core 5.4, Vol 3, Part C, 10.8.2.3: a resolvable private address is its bond's: signed writes, encryption")
    func resolved() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        for (round, random): (UInt32, UInt32) in [(1, 0x11_2233), (2, 0x3F_FFFF), (3, 0x2A_5A5A)] {
            let peer = RawPeer(fortress.world, address: try privateAddress(of: fortress.bond, random: random))
            #expect(peer.connect(to: try fortress.lockAddress()))
            let link = try #require(app.links.last)
            #expect(link.bond == fortress.bond.id)
            #expect(!link.isProven)
            #expect(link.peer == fortress.ownerName)
            peer.send(try fortress.signed(counter: round, value: [9]), on: RawPeer.attributeProtocol)
            peer.run(200)
            #expect(app.writes.last?.path == .signed(counter: round))
            peer.encrypt(fortress.bond.ltk)
            peer.run(200)
            #expect(peer.isEncrypted)
            #expect(app.secured.last?.isProven == true)
            peer.disconnect()
        }
    }

    @Test("An address that two identities' keys make is a stranger's: no bond, no signed write, no key")
    func ambiguous() throws {
        let fortress = try Fortress()
        fortress.lock.kill()
        var twin = fortress.bond
        twin.id = BondID(4711)
        twin.identity = IdentityAddress(DeviceAddress(kind: .random, bits: 0xC0DE_0000_0077))
        fortress.lock.store.append(.bond(.upsert(twin)))
        fortress.lock.store.didCommit()
        fortress.scene.launchLock()
        fortress.world.run(forMilliseconds: 500)
        let app = try fortress.app()
        let facts = fortress.lock.facts
        let address = try privateAddress(of: fortress.bond, random: 0x11_2233)
        let peer = RawPeer(fortress.world, address: address)
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(app.links.last?.bond == nil)
        peer.send(try fortress.signed(counter: 1, value: [9]), on: RawPeer.attributeProtocol)
        peer.run(200)
        #expect(app.writes.isEmpty)
        peer.encrypt(fortress.bond.ltk)
        #expect(!peer.isEncrypted)
        #expect(fortress.lock.facts == facts)
        // By its identity address it is still who it is.
        let owner = try fortress.impostor()
        #expect(owner.connect(to: try fortress.lockAddress()))
        #expect(app.links.last?.bond == fortress.bond.id)
    }

    @Test("A private address that no key makes is a stranger's")
    func unknown() throws {
        let fortress = try Fortress()
        let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: Secret(Array(1...16))), random: 5)
        let peer = RawPeer(fortress.world, address: address)
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(try fortress.app().links.last?.bond == nil)
    }
}
