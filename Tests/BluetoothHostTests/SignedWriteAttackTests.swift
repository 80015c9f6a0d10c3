import ATT
import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// What whoever has recorded the owner's Signed Write Command, and takes the owner's address, makes of it: nothing.
@Suite(.capturesFailures) struct SignedWriteAttackTests {
    /// Sends a PDU on a new link under the owner's address; says why the link ended, if it did at once.
    @discardableResult
    private func send(_ pdu: [UInt8], by peer: RawPeer, _ fortress: Fortress) throws -> UInt8? {
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.send(pdu, on: RawPeer.attributeProtocol)
        peer.run(100) { peer.handle == nil }
        let reason = peer.reason
        peer.disconnect()
        return reason
    }

    @Test("A genuine command of the owner is taken: the attacks below fail for their own reasons")
    func genuine() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        try send(fortress.signed(counter: 1, value: [9]), by: fortress.impostor(), fortress)
        #expect(app.writes.last?.path == .signed(counter: 1))
        #expect(fortress.lock.lastCounter == 1)
    }

    @Test("Replay of a recorded command on another link does nothing")
    func replayOnAnotherLink() throws {
        let fortress = try Fortress()
        let facts = fortress.lock.facts
        try send(fortress.recorded, by: fortress.impostor(), fortress)
        #expect(try fortress.app().writes.count == 1)
        #expect(fortress.lock.facts == facts)
    }

    @Test("Replay of a command on its own link does nothing")
    func replayOnTheSameLink() throws {
        let fortress = try Fortress()
        let peer = try fortress.impostor()
        let app = try fortress.app()
        let command = try fortress.signed(counter: 1, value: [9])
        #expect(peer.connect(to: try fortress.lockAddress()))
        for _ in 0..<3 { peer.send(command, on: RawPeer.attributeProtocol) }
        peer.run(200)
        #expect(app.writes.count == 2)
    }

    @Test("Counter equal to the last, and below it, with a right MAC: ignored")
    func counterNotGreater() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        try send(fortress.signed(counter: 7, value: [9]), by: fortress.impostor(), fortress)
        let facts = fortress.lock.facts
        for counter: UInt32 in [7, 6, 0] {
            try send(fortress.signed(counter: counter, value: [8]), by: fortress.impostor(), fortress)
        }
        #expect(app.writes.count == 2)
        #expect(fortress.lock.facts == facts)
        #expect(fortress.lock.lastCounter == 7)
    }

    @Test("Every single flipped bit: nothing delivered, nothing kept, and a wrong MAC ends the link")
    func bitFlips() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let facts = fortress.lock.facts
        let peer = try fortress.impostor()
        // A fresh command, so that no flip is refused for its counter alone.
        let genuine = try fortress.signed(counter: 1, value: [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(genuine.count == 23)
        for bit in 0..<genuine.count * 8 {
            var forged = genuine
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            let reason = try send(forged, by: peer, fortress)
            if bit >= 3 * 8 { #expect(reason == 0x05, "bit \(bit)") }
            #expect(app.writes.count == 1, "bit \(bit)")
        }
        #expect(fortress.lock.facts == facts)
        // The owner is not locked out.
        try send(genuine, by: peer, fortress)
        #expect(app.writes.count == 2)
    }

    @Test("Every prefix and an extended command: nothing delivered, nothing kept")
    func cutAndPadded() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let facts = fortress.lock.facts
        let peer = try fortress.impostor()
        let genuine = try fortress.signed(counter: 1, value: [1, 2, 3, 4])
        for length in 1..<genuine.count { try send(Array(genuine.prefix(length)), by: peer, fortress) }
        try send(genuine + [0], by: peer, fortress)
        #expect(app.writes.count == 1)
        #expect(fortress.lock.facts == facts)
    }

    @Test("A signed write on an encrypted link is ignored, though every octet is right")
    func signedOnEncrypted() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let peer = try fortress.impostor()
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.encrypt(fortress.bond.ltk)
        #expect(peer.isEncrypted)
        peer.run(100)
        #expect(app.secured.last?.isProven == true)
        peer.send(try fortress.signed(counter: 1, value: [9]), on: RawPeer.attributeProtocol)
        peer.run(200)
        #expect(app.writes.count == 1)
        #expect(fortress.lock.lastCounter == 0)
    }

    @Test("The owner's command from a stranger's address is nobody's")
    func wrongAddress() throws {
        let fortress = try Fortress()
        let facts = fortress.lock.facts
        try send(fortress.signed(counter: 1, value: [9]), by: fortress.stranger(), fortress)
        #expect(try fortress.app().writes.count == 1)
        #expect(fortress.lock.facts == facts)
    }

    @Test(
        "A bond that this side has deleted: the command is ignored, the link stands, and nobody asks for another bond")
    func deletedBond() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let command = try fortress.signed(counter: 1, value: [9])
        fortress.lock.call { $0.deleteBond(fortress.bond.id) }
        let facts = fortress.lock.facts
        let peer = try fortress.impostor()
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.send(command, on: RawPeer.attributeProtocol)
        peer.run(500)
        #expect(app.writes.count == 1 && fortress.lock.facts == facts)
        #expect(peer.handle != nil && peer.smp.isEmpty)
    }

    @Test(
        "LE security mode 2, level 2: the key of a pairing without protection signs nothing there, and elsewhere it does"
    )
    func unauthenticatedKey() throws {
        let duo = try Duo()
        try duo.bond()
        let definition = ServiceDefinition(
            uuid: 0xFFD0,
            characteristics: [false, true].map {
                CharacteristicDefinition(
                    uuid: 0xFFD1, properties: .authenticatedSignedWrites,
                    access: AttributeAccess(signedWrite: true, signatureNeedsAuthentication: $0))
            })
        #expect(try ServiceDefinition(exactly: definition.encoded) == definition, "as it is kept")
        let server = try #require(duo[.peripheral].server)
        var service: PublishedService?
        duo[.peripheral].node.call { service = try? $0.publish(server.manager, definition) }
        let published = try #require(service)
        try duo.reconnect()
        // Confirmed by a link that it encrypts; the next one is not encrypted.
        _ = duo.answer(to: try duo.read(by: .central), of: .central)
        try duo.reconnect(for: [.central])
        let client = try #require(duo[.central].client)
        let peer = try #require(client.link?.peer)
        for (index, isTaken) in [(1, false), (0, true)] {
            let before = server.writes.count
            duo[.central].node.call {
                _ = $0.perform(
                    client.manager, peer, .signedWriteWithoutResponse(published.characteristics[index].value, [7]))
            }
            duo.world.run(forMilliseconds: 1_000)
            #expect(server.writes.count == before + (isTaken ? 1 : 0))
            #expect(client.link != nil)
        }
        #expect(duo[.central].node.signedWrites.count == 2)
    }

    @Test("The command characteristic on an unencrypted link: a plain write is refused, a plain command ignored")
    func plainWrites() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let facts = fortress.lock.facts
        let handle = try fortress.writable().rawValue
        let low = UInt8(truncatingIfNeeded: handle)
        let high = UInt8(handle >> 8)
        for (peer, code) in [(try fortress.impostor(), UInt8(0x0F)), (fortress.stranger(), 0x05)] {
            #expect(peer.connect(to: try fortress.lockAddress()))
            #expect(peer.request([0x12, low, high, 1, 2]) == [0x01, 0x12, low, high, code])
            #expect(peer.request([0x16, low, high, 0, 0, 1, 2]) == [0x01, 0x16, low, high, code])
            peer.send([0x52, low, high, 1, 2], on: RawPeer.attributeProtocol)
            peer.run(200)
            peer.disconnect()
        }
        #expect(app.writes.count == 1)
        #expect(fortress.lock.facts == facts)
    }
}
