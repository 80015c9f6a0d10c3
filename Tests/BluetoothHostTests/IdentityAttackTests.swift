import ATT
import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// What an address that is not one's own is worth: nothing that lasts.
@Suite(.capturesFailures) struct IdentityAttackTests {
    private func octets(_ handle: AttributeHandle) -> [UInt8] {
        [UInt8(truncatingIfNeeded: handle.rawValue), UInt8(handle.rawValue >> 8)]
    }

    @Test("A spoofed identity writes CCC and client features: they last as long as its link, and nothing is kept")
    func overlay() throws {
        let fortress = try Fortress()
        let facts = fortress.lock.facts
        let peer = try fortress.impostor()
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration)
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(peer.request([0x12] + octets(ccc) + [1, 0]) == [0x13])
        #expect(peer.request([0x0A] + octets(ccc)) == [0x0B, 1, 0])
        // Client Supported Features, found by its type.
        let features = try #require(peer.request([0x08, 1, 0, 0xFF, 0xFF, 0x29, 0x2B]))
        #expect(features.prefix(2) == [0x09, 3])
        #expect(peer.request([0x12, features[2], features[3], 1]) == [0x13])
        peer.disconnect()
        #expect(fortress.lock.facts == facts)
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(peer.request([0x0A] + octets(ccc)) == [0x0B, 0, 0])
    }

    @Test("A spoofed identity reads what is protected: Insufficient Encryption, a stranger Insufficient Authentication")
    func protectedRead() throws {
        let fortress = try Fortress()
        let secret = octets(fortress.vault.characteristics[0].value)
        let peer = try fortress.impostor()
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(peer.request([0x0A] + secret) == [0x01, 0x0A] + secret + [0x0F])
        let stranger = fortress.stranger()
        #expect(stranger.connect(to: try fortress.lockAddress()))
        #expect(stranger.request([0x0A] + secret) == [0x01, 0x0A] + secret + [0x05])
        #expect(stranger.request([0x0C] + secret + [0, 0]) == [0x01, 0x0C] + secret + [0x05])
        #expect(stranger.request([0x0E] + secret + secret) == [0x01, 0x0E] + secret + [0x05])
    }

    @Test("A spoofed identity that subscribes does not take an update from the owner, who is away")
    func stolenUpdate() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration)
        let owner = try fortress.impostor()
        #expect(owner.connect(to: try fortress.lockAddress()))
        owner.encrypt(fortress.bond.ltk)
        #expect(owner.request([0x12] + octets(ccc) + [1, 0]) == [0x13])
        owner.disconnect()
        // From here on it has the address, and not the key.
        #expect(owner.connect(to: try fortress.lockAddress()))
        fortress.lock.call {
            let isTaken = $0.updateValue(
                app.manager, service.characteristics[2].value, [42], to: nil, keepForAbsent: true)
            #expect(isTaken)
        }
        owner.run(500)
        let kept = fortress.lock.store.load().restorations.values.flatMap(\.queuedUpdates)
        #expect(kept.map(\.value) == [[42]])
    }

    @Test("An update that was accepted for a proven central is kept until its controller has sent it")
    func acceptedAndKilled() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration)
        let owner = try fortress.impostor()
        #expect(owner.connect(to: try fortress.lockAddress()))
        owner.encrypt(fortress.bond.ltk)
        #expect(owner.request([0x12] + octets(ccc) + [1, 0]) == [0x13])
        func kept() -> [[UInt8]] {
            fortress.lock.store.load().restorations.values.flatMap(\.queuedUpdates).map(\.value)
        }
        fortress.lock.call {
            _ = $0.updateValue(app.manager, service.characteristics[2].value, [42], to: nil, keepForAbsent: true)
        }
        #expect(kept() == [[42]])
        owner.run(500)
        #expect(owner.att.filter { $0.first == 0x1B }.count == 1)
        #expect(kept() == [])
    }

    @Test("A central that stays away has the newest updates kept for it; back, it gets them all before it is told more")
    func keptForAbsent() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration)
        let owner = try fortress.impostor()
        func comeBack() throws {
            #expect(owner.connect(to: try fortress.lockAddress()))
            owner.encrypt(fortress.bond.ltk)
        }
        func update(_ value: Int) -> Bool {
            var isTaken = false
            fortress.lock.call {
                isTaken = $0.updateValue(
                    app.manager, service.characteristics[2].value, [UInt8(truncatingIfNeeded: value)], to: nil,
                    keepForAbsent: true)
            }
            return isTaken
        }
        try comeBack()
        #expect(owner.request([0x12] + octets(ccc) + [2, 0]) == [0x13])
        owner.disconnect()
        let most = RestorationLedger.queuedUpdatesOfCentralMaximum
        for value in 0...most { #expect(update(value)) }
        #expect(fortress.lock.store.load().restorations.values.flatMap(\.queuedUpdates).count == most)
        try comeBack()
        // Here again, it has not confirmed anything yet: what waits for it gives way to nothing.
        #expect(owner.run(1_000) { owner.att.last?.first == 0x1D })
        #expect(!update(most + 1))
        var confirmed: [UInt8] = []
        while owner.run(1_000, until: { owner.att.count { $0.first == 0x1D } > confirmed.count }) {
            confirmed.append(try #require(owner.att.last?.last))
            owner.send([0x1E], on: RawPeer.attributeProtocol)
        }
        #expect(confirmed == (1...most).map { UInt8($0) })
        #expect(app.readyCalls >= 1)
        #expect(update(most + 1))
        #expect(owner.run(1_000) { owner.att.last?.last == UInt8(most + 1) })
    }

    @Test("A Long Term Key Request with another Rand or EDIV, or of a peer without a bond, is refused")
    func longTermKeyRequests() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        for (rand, ediv): (UInt8, UInt8) in [(1, 0), (0, 1), (1, 1)] {
            let peer = try fortress.impostor()
            #expect(peer.connect(to: try fortress.lockAddress()))
            peer.encrypt(fortress.bond.ltk, rand: rand, ediv: ediv)
            #expect(!peer.isEncrypted)
            peer.disconnect()
        }
        let stranger = fortress.stranger()
        #expect(stranger.connect(to: try fortress.lockAddress()))
        stranger.encrypt(fortress.bond.ltk)
        #expect(!stranger.isEncrypted)
        #expect(app.secured.allSatisfy { $0.bond == fortress.bond.id })
    }

    @Test("A wrong key under the owner's address proves nothing")
    func wrongKey() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let before = app.secured.count
        let peer = try fortress.impostor()
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.encrypt(Secret([UInt8](repeating: 7, count: 16)))
        peer.run(200)
        #expect(!peer.isEncrypted)
        #expect(app.secured.count == before)
    }

    @Test("A bond whose key another host has is no key here: a key of zeros, which everybody knows, proves nothing")
    func keyOfZeros() throws {
        let fortress = try Fortress()
        var bond = fortress.bond
        bond.ltk = Secret([])
        fortress.lock.kill()
        fortress.lock.store.append(.bond(.upsert(bond)))
        fortress.lock.store.didCommit()
        fortress.scene.launchLock()
        fortress.world.run(forMilliseconds: 500)
        let peer = try fortress.impostor()
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.encrypt(Secret([UInt8](repeating: 0, count: 16)))
        peer.run(200)
        #expect(!peer.isEncrypted)
        #expect(try fortress.app().secured.isEmpty)
    }

    /// A central and its bonded peer, their link, and what is kept of the central's subscriptions.
    private struct Subscriber {
        let scene = HostScenarioTests.Scene()
        let app: CentralApp
        let door: PeerIdentifier
        let value: AttributeHandle
        private let configuration: AttributeHandle

        init() throws {
            scene.start()
            try scene.connect()
            try scene.pairOutOfBand()
            scene.promote()
            app = try #require(scene.central)
            door = try #require(scene.door)
            let characteristic = try #require(scene.published).characteristics[2]
            value = characteristic.value
            configuration = try #require(characteristic.configuration)
        }

        func ask(_ kind: SubscriptionRecord.Kind?) throws -> OperationToken {
            var token: OperationToken?
            scene.key.call {
                token = $0.setNotify(app.manager, door, value: value, ccc: configuration, kind: kind)
            }
            return try #require(token)
        }

        func isTaken(_ token: OperationToken) -> Bool {
            guard case .success? = app.results[token] else { return false }
            return app.answers[token] == 1
        }

        var kept: [AttributeHandle] {
            scene.key.store.load().restorations.values.flatMap(\.subscriptions).map(\.valueHandle)
        }
    }

    @Test(
        "A stranger at a bonded peer's address takes a subscription, or the end of one: nothing of that is kept",
        arguments: [false, true])
    func forgedSubscription(isSubscribed: Bool) throws {
        let subscriber = try Subscriber()
        let scene = subscriber.scene
        let app = subscriber.app
        if isSubscribed {
            let token = try subscriber.ask(.notify)
            #expect(scene.world.run(forMilliseconds: 2_000) { subscriber.isTaken(token) })
        }
        let kept = isSubscribed ? [subscriber.value] : []
        #expect(subscriber.kept == kept)
        scene.dropLink()
        let address = try #require(scene.lock.host?.identity.address.address)
        scene.lock.kill()
        let stranger = RawPeer(scene.world, address: address)
        stranger.advertise()
        scene.key.call { $0.connect(app.manager, subscriber.door, options: 0, askedAtSeconds: 0) }
        #expect(stranger.run(5_000) { app.link != nil && stranger.handle != nil })
        let token = try subscriber.ask(isSubscribed ? nil : .notify)
        #expect(stranger.run(2_000) { stranger.att.contains { $0.first == 0x12 } })
        stranger.send([0x13], on: RawPeer.attributeProtocol)
        #expect(stranger.run(2_000) { subscriber.isTaken(token) })
        #expect(subscriber.kept == kept)
        stranger.disconnect()
        #expect(stranger.run(2_000) { app.link == nil })
        #expect(subscriber.kept == kept)
    }

    @Test("What the peer itself took before it had proved itself is kept as soon as it has")
    func provenSubscription() throws {
        let subscriber = try Subscriber()
        let scene = subscriber.scene
        scene.dropLink()
        try scene.connect()
        let token = try subscriber.ask(.notify)
        #expect(scene.world.run(forMilliseconds: 2_000) { subscriber.isTaken(token) })
        #expect(subscriber.kept == [])
        scene.key.call { $0.encrypt(subscriber.door) }
        #expect(scene.world.run(forMilliseconds: 2_000) { subscriber.kept == [subscriber.value] })
    }

    @Test("A spoofed advertisement writes nothing to the disk")
    func spoofedName() throws {
        let fortress = try Fortress()
        let key = fortress.scene.key
        fortress.scene.launchKey()
        let central = try #require(fortress.scene.central)
        let door = try fortress.lockAddress()
        key.call { $0.startScan(central.manager, ScanRecord(services: [], allowDuplicates: true)) }
        fortress.world.run(forMilliseconds: 200)
        let facts = key.facts
        for number in 0..<50 {
            let name = Array("Evil \(number)".utf8)
            let data = [UInt8(name.count + 1), 0x09] + name
            let address = (0..<6).map { UInt8(truncatingIfNeeded: door.bits >> (8 * UInt64($0))) }
            let event: [UInt8] = [0x02, 1, 0, 1] + address + [UInt8(data.count)] + data + [0xC0]
            key.inject([[0x04, 0x3E, UInt8(event.count)] + event])
        }
        #expect(central.reports.contains { $0.localName == "Evil 49" })
        #expect(key.facts == facts)
    }
}
