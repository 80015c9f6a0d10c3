import BluetoothCore
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Simulation
import TestSupport
import Testing
import VirtualRadio
import WorldSupport

/// What one link can do to the others: nothing.
@Suite(.capturesFailures) struct LinkAttackTests {
    private func isAlive(_ peer: RawPeer) -> Bool { peer.request([0x02, 23, 0]) != nil || peer.handle != nil }

    @Test("Core 5.4, Vol 4, Part E, 5.4.2: PB flag 0b11 ends the link that it came on")
    func completePDU() throws {
        let fortress = try Fortress()
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        let handle = try #require(fortress.lock.handles.last) | 3 << 12
        fortress.lock.inject([
            [2, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 7, 0, 3, 0, 4, 0, 0x0A, 1, 0]
        ])
        #expect(peer.run(1_000) { peer.handle == nil })
        #expect(peer.att.isEmpty)
    }

    @Test("Core 5.4, Vol 4, Part E, 4.1.1: what a link was answered does not leave to the next link at its handle")
    func handleUsedAgain() throws {
        let fortress = try Fortress()
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        let handle = try #require(fortress.lock.handles.last)
        let octets = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        let first = [octets[0], octets[1] | 0x20]
        // ATT_READ_BY_TYPE_REQ of the Device Name.
        let request = [2] + first + [11, 0, 7, 0, 4, 0, 0x08, 1, 0, 0xFF, 0xFF, 0x00, 0x2A]
        func answers(_ packets: [[UInt8]]) -> Int {
            let before = fortress.lock.sent.count
            fortress.lock.inject(packets)
            return fortress.lock.sent[before...].count { $0[0] == 2 && $0[1] == octets[0] && $0[2] & 0x0F == octets[1] }
        }
        #expect(answers([request]) == 1)
        let ended = [4, 0x05, 4, 0] + octets + [0x13]
        // LE Connection Complete, as a peripheral, of a peer at C0:DE:00:00:00:02.
        let made =
            [4, 0x3E, 19, 0x01, 0] + octets + [1, 1, 2, 0, 0, 0, 0xDE, 0xC0] + [24, 0, 0, 0, 72, 0, 0]
        #expect(answers([request, ended, made]) == 0)
        #expect(answers([request]) == 1, "the next link is served")
    }

    @Test(
        "Core 5.4, Vol 4, Part E, 7.8.25: a command that waits when its link ends is not sent at the next link's handle"
    )
    func commandForTheNextLink() throws {
        let fortress = try Fortress()
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        let handle = try #require(fortress.lock.handles.last)
        let octets = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        // LE Long Term Key Request, and the negative reply, of which one at a time is under way.
        let request = [4, 0x3E, 13, 0x05] + octets + [UInt8](repeating: 0, count: 10)
        let reply = [1, 0x1B, 0x20, 2] + octets
        let ended = [4, 0x05, 4, 0] + octets + [0x13]
        let before = fortress.lock.sent.count
        fortress.lock.inject([request, request, ended])
        fortress.world.run(forMilliseconds: 100)
        #expect(fortress.lock.sent[before...].count { $0 == reply } == 1)
    }

    @Test("A PDU longer than its bearer takes ends the link; one that just fits does not")
    func overlong() throws {
        let fortress = try Fortress()
        let peer = fortress.stranger()
        let door = try fortress.lockAddress()
        #expect(peer.connect(to: door))
        peer.send([UInt8](repeating: 0x0A, count: 247), on: RawPeer.attributeProtocol)
        peer.run(1_000)
        #expect(peer.handle != nil)
        peer.send([UInt8](repeating: 0x0A, count: 248), on: RawPeer.attributeProtocol)
        #expect(peer.run(1_000) { peer.handle == nil })
        for channel in [RawPeer.attributeProtocol, RawPeer.securityManager] {
            #expect(peer.connect(to: door))
            peer.send([UInt8](repeating: 0, count: 300), on: channel)
            #expect(peer.run(1_000) { peer.handle == nil }, "\(channel)")
        }
    }

    @Test(
        "Core 5.4, Vol 3, Part A, 4.1: a signal that is too long is rejected; on a channel that is not there nothing counts"
    )
    func overlongElsewhere() throws {
        let fortress = try Fortress()
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.send([UInt8](repeating: 0, count: 300), on: 0x40)
        peer.run(1_000)
        peer.send([0x12, 7, 0x28, 1] + [UInt8](repeating: 0, count: 296), on: RawPeer.signalling)
        #expect(peer.run(1_000) { peer.received[RawPeer.signalling]?.isEmpty == false })
        #expect(peer.received[RawPeer.signalling] == [[1, 7, 4, 0, 1, 0, 23, 0]])
        #expect(isAlive(peer))
    }

    @Test("Fragments that continue nothing, or start inside a PDU, end the link")
    func fragments() throws {
        let fortress = try Fortress()
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.fragment([1, 2, 3], flags: 1)
        #expect(peer.run(1_000) { peer.handle == nil })
        #expect(peer.connect(to: try fortress.lockAddress()))
        peer.fragment([9, 0, 4, 0, 1], flags: 0)
        peer.fragment([3, 0, 4, 0, 0x0A, 1, 0], flags: 0)
        #expect(peer.run(1_000) { peer.handle == nil })
    }

    @Test("Garbage on every channel writes nothing and harms nobody else")
    func garbage() throws {
        let seed = SeededGenerator.runSeed
        var random = SeededGenerator(seed: seed)
        let fortress = try Fortress()
        let facts = fortress.lock.facts
        let bystander = fortress.stranger(1)
        let peer = try fortress.impostor()
        #expect(bystander.connect(to: try fortress.lockAddress()))
        for _ in 0..<400 {
            if peer.handle == nil { #expect(peer.connect(to: try fortress.lockAddress()), "seed \(seed)") }
            let channels: [UInt16] = [4, 4, 4, 5, 6, 6, 0, 1, 0x40]
            let channel = channels[Int(random.next() % UInt64(channels.count))]
            let length = Int(random.next() % 40)
            peer.send((0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }, on: channel)
            peer.run(10)
        }
        #expect(bystander.request([0x0A, 3, 0])?.first == 0x0B, "seed \(seed)")
        #expect(try fortress.app().writes.count == 1, "seed \(seed)")
        #expect(fortress.lock.facts == facts, "seed \(seed)")
    }

    @Test(
        "Strangers take every slot but one; the owner's address takes that, and then advertising rests until one is free"
    )
    func slotExhaustion() throws {
        let fortress = try Fortress(linksMaximum: 3)
        let door = try fortress.lockAddress()
        let strangers = (1...4).map { fortress.stranger($0) }
        #expect(strangers[0].connect(to: door))
        #expect(strangers[1].connect(to: door))
        _ = strangers[2].connect(to: door)
        strangers[2].run(500) { strangers[2].handle == nil }
        #expect(strangers[2].reason == HCIErrorCode.remoteDeviceTerminatedLowResources.rawValue)
        let owner = try fortress.impostor()
        #expect(owner.connect(to: door))
        #expect(owner.request([0x0A, 3, 0])?.first == 0x0B)
        #expect(try fortress.app().links.count == 3)
        #expect(!strangers[3].connect(to: door), "nobody advertises")
        owner.disconnect()
        #expect(owner.connect(to: door))
    }

    @Test("A stranger who is sent away keeps the owner out no longer than its link lasts")
    func sentAway() throws {
        let fortress = try Fortress(linksMaximum: 3, hardware: ControllerConfiguration(maximumLinks: 3))
        let door = try fortress.lockAddress()
        let strangers = (1...3).map { fortress.stranger($0) }
        #expect(strangers[0].connect(to: door))
        #expect(strangers[1].connect(to: door))
        _ = strangers[2].connect(to: door)
        #expect(strangers[2].run(500) { strangers[2].handle == nil })
        let owner = try fortress.impostor()
        #expect(owner.connect(to: door), "within two seconds: the host's own retry takes five")
    }

    @Test("A slot is kept for the owner in a controller that has fewer of them than the host")
    func smallController() throws {
        let fortress = try Fortress(hardware: ControllerConfiguration(maximumLinks: 3))
        let door = try fortress.lockAddress()
        let strangers = (1...3).map { fortress.stranger($0) }
        for stranger in strangers { #expect(stranger.connect(to: door)) }
        #expect(strangers[2].run(2_000) { strangers[2].handle == nil }, "the last one is in the slot that is kept")
        #expect(strangers[2].reason == HCIErrorCode.remoteDeviceTerminatedLowResources.rawValue)
        #expect(strangers[0].handle != nil && strangers[1].handle != nil)
        // From now on it is known: nobody has to be turned out to make room.
        _ = strangers[2].connect(to: door)
        #expect(strangers[2].run(500) { strangers[2].handle == nil })
        let owner = try fortress.impostor()
        #expect(owner.connect(to: door))
        // Who took the kept slot, and proves nothing, has it for so long as where the host's own slots are taken.
        owner.run(Host.unprovenInLastSlotMilliseconds - 1_000)
        #expect(owner.handle != nil)
        #expect(owner.run(2_000) { owner.handle == nil })
        #expect(strangers[0].handle != nil && strangers[1].handle != nil)
    }

    @Test("A wish for other parameters on a link that is ending wakes nobody")
    func wishOnEndingLink() throws {
        let fortress = try Fortress()
        fortress.lock.wire.withholds = { $0.count > 1 && $0[1] == 0x05 }
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        let link = try #require(try fortress.app().links.last)
        fortress.lock.call {
            $0.preferConnection(PreferredConnection(interval: 80...160, latency: 4, timeout: 600), on: link.link)
        }
        peer.send([UInt8](repeating: 0x0A, count: 300), on: RawPeer.attributeProtocol)
        // The world reports whatever is due and stays so.
        peer.run(20_000)
        #expect(try fortress.app().links.count == 1, "the controller has not said that it has ended")
    }

    @Test("An owner's address holds the last slot for thirty seconds, and for ever only with the owner's key")
    func lastSlot() throws {
        for hasKey in [false, true] {
            let fortress = try Fortress(linksMaximum: 2)
            let door = try fortress.lockAddress()
            let impostor = try fortress.impostor()
            #expect(impostor.connect(to: door))
            if hasKey { impostor.encrypt(fortress.bond.ltk) }
            // With a slot free it harms nobody.
            impostor.run(2 * Host.unprovenInLastSlotMilliseconds)
            #expect(impostor.handle != nil)
            impostor.disconnect()
            let stranger = fortress.stranger(1)
            #expect(stranger.connect(to: door))
            #expect(impostor.connect(to: door))
            let began = fortress.world.now
            if hasKey { impostor.encrypt(fortress.bond.ltk) }
            let spent = fortress.world.now.milliseconds(since: began)
            impostor.run(Host.unprovenInLastSlotMilliseconds - spent - 100)
            #expect(impostor.handle != nil)
            impostor.run(1_000)
            #expect((impostor.handle != nil) == hasKey)
            #expect(fortress.stranger(2).connect(to: door) == !hasKey, "somebody is let in, if only to be sent away")
            #expect(stranger.handle != nil)
        }
    }

    @Test("A hundred links that come and go leave nothing behind")
    func linkFlood() throws {
        let fortress = try Fortress()
        let facts = fortress.lock.facts
        for number in 0..<100 {
            let peer = fortress.stranger(UInt64(number % 12))
            #expect(peer.connect(to: try fortress.lockAddress()))
            peer.disconnect()
        }
        fortress.world.run(forMilliseconds: 3_000)
        #expect(try fortress.app().links.isEmpty)
        #expect(fortress.lock.facts == facts)
    }

    @Test("A peer that never reads is dropped at the bound of its queue; the others' answers pass it all the while")
    func neverReads() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        app.value = [UInt8](repeating: 7, count: 200)
        let door = try fortress.lockAddress()
        let reader = fortress.stranger(1)
        let deaf = fortress.stranger(2)
        #expect(reader.connect(to: door))
        #expect(deaf.connect(to: door))
        let handle = try #require(fortress.lock.handles.last)
        // Its controller's buffers never come back.
        fortress.lock.wire.withholds = {
            $0.count == 8 && $0[1] == 0x13 && UInt16($0[4]) | UInt16($0[5]) << 8 == handle
        }
        let value = try #require(fortress.scene.published).characteristics[0].value.rawValue
        let read: [UInt8] = [0x0A, UInt8(truncatingIfNeeded: value), UInt8(value >> 8)]
        deaf.send([0x02, 247, 0], on: RawPeer.attributeProtocol)
        var asked = 0
        while deaf.handle != nil, asked < 1_000 {
            deaf.send(read, on: RawPeer.attributeProtocol)
            deaf.run(40)
            asked += 1
            if asked % 50 == 0 { #expect(reader.request(read)?.first == 0x0B) }
        }
        #expect(deaf.handle == nil)
        #expect(asked < ACLSendQueue.maximumQueuedOctetsPerLink / 200 + 20)
        #expect(reader.request(read)?.first == 0x0B)
    }

    /// A stranger, alone with the lock, that asks and takes nothing: it holds what buffers it can get.
    private func hoarder(_ fortress: Fortress) throws -> RawPeer {
        let app = try fortress.app()
        app.value = [UInt8](repeating: 7, count: 200)
        let deaf = fortress.stranger(2)
        #expect(deaf.connect(to: try fortress.lockAddress()))
        let handle = try #require(fortress.lock.handles.last)
        fortress.lock.wire.withholds = {
            $0.count == 8 && $0[1] == 0x13 && UInt16($0[4]) | UInt16($0[5]) << 8 == handle
        }
        let value = try #require(fortress.scene.published).characteristics[0].value.rawValue
        deaf.send([0x02, 247, 0], on: RawPeer.attributeProtocol)
        for _ in 0..<60 {
            deaf.send([0x0A, UInt8(truncatingIfNeeded: value), UInt8(value >> 8)], on: RawPeer.attributeProtocol)
            deaf.run(40)
        }
        return deaf
    }

    @Test("A stranger that was there first and takes nothing leaves the owner's link what it needs")
    func hoardedBuffers() throws {
        let fortress = try Fortress()
        let deaf = try hoarder(fortress)
        let scene = fortress.scene
        scene.launchKey()
        #expect(scene.world.run(forMilliseconds: 2_000) { scene.central?.states.last == .poweredOn })
        try scene.connect()
        let door = try #require(scene.door)
        let peripheral = try #require(scene.peripheral)
        scene.key.call { $0.encrypt(door) }
        #expect(scene.world.run(forMilliseconds: 2_000) { peripheral.secured.last?.isProven == true })
        #expect(deaf.handle != nil)
        let value = try #require(scene.published).characteristics[0].value
        guard case .success(.gatt(.value(let read))) = try scene.perform(.read(value)) else {
            Issue.record("the owner got no answer")
            return
        }
        #expect(read == peripheral.value)
    }

    @Test("A peer that answers at the link layer and takes nothing loses its link after thirty seconds, and no earlier")
    func standstill() throws {
        let fortress = try Fortress()
        let deaf = try hoarder(fortress)
        let app = try fortress.app()
        deaf.run(ACLSendQueue.standstillMaximumMilliseconds - 60 * 40 - 100)
        #expect(deaf.handle != nil)
        #expect(deaf.run(1_000) { deaf.handle == nil })
        #expect(app.links.isEmpty)
        // Nothing of it is left behind, and nothing wakes the lock for it any more.
        let reader = fortress.stranger(1)
        #expect(reader.connect(to: try fortress.lockAddress()))
        reader.run(2 * ACLSendQueue.standstillMaximumMilliseconds)
        #expect(reader.request([0x0A, 3, 0]) != nil)
    }

    @Test("An app that waits for room hears of it when the link in its way has gone")
    func roomAfterLoss() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration).rawValue
        #expect(peer.request([0x12, UInt8(truncatingIfNeeded: ccc), UInt8(ccc >> 8), 1, 0]) == [0x13])
        fortress.lock.wire.withholds = { $0.count > 1 && $0[1] == 0x13 }
        var isFull = false
        for _ in 0..<2_000 where !isFull {
            fortress.lock.call {
                isFull = !$0.updateValue(
                    app.manager, service.characteristics[2].value, [UInt8](repeating: 1, count: 20), to: nil,
                    keepForAbsent: false)
            }
        }
        #expect(isFull)
        peer.disconnect()
        #expect(app.readyCalls == 1)
    }

    @Test("A stranger that takes nothing off its link keeps nobody from updates, nor the app from hearing of room")
    func deafBystander() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        app.value = [UInt8](repeating: 7, count: 200)
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration).rawValue
        let subscriber = fortress.stranger(1)
        #expect(subscriber.connect(to: try fortress.lockAddress()))
        #expect(subscriber.request([0x12, UInt8(truncatingIfNeeded: ccc), UInt8(ccc >> 8), 1, 0]) == [0x13])
        let deaf = fortress.stranger(2)
        #expect(deaf.connect(to: try fortress.lockAddress()))
        let handle = try #require(fortress.lock.handles.last)
        fortress.lock.wire.withholds = {
            $0.count == 8 && $0[1] == 0x13 && UInt16($0[4]) | UInt16($0[5]) << 8 == handle
        }
        let value = service.characteristics[0].value.rawValue
        deaf.send([0x02, 247, 0], on: RawPeer.attributeProtocol)
        for _ in 0..<60 {
            deaf.send([0x0A, UInt8(truncatingIfNeeded: value), UInt8(value >> 8)], on: RawPeer.attributeProtocol)
            deaf.run(40)
        }
        var taken = 0
        fortress.lock.call { host in
            while taken < 2_000,
                host.updateValue(
                    app.manager, service.characteristics[2].value, [UInt8](repeating: 1, count: 20), to: nil,
                    keepForAbsent: false)
            {
                taken += 1
            }
        }
        #expect((1..<2_000).contains(taken), "what the subscriber has room for")
        #expect(subscriber.run(60_000) { subscriber.att.count { $0.first == 0x1B } == taken })
        #expect(app.readyCalls == 1)
        #expect(deaf.handle != nil)
    }

    @Test("A stranger in the way of its own updates keeps no app from hearing that others have room")
    func deafSubscriber() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration).rawValue
        let configure: [UInt8] = [0x12, UInt8(truncatingIfNeeded: ccc), UInt8(ccc >> 8), 1, 0]
        let (subscriber, deaf) = (fortress.stranger(1), fortress.stranger(2))
        for peer in [subscriber, deaf] {
            #expect(peer.connect(to: try fortress.lockAddress()))
            #expect(peer.request(configure) == [0x13])
        }
        let handle = try #require(fortress.lock.handles.last)
        let links = app.links.map(\.link)
        #expect(links.count == 2)
        fortress.lock.wire.withholds = {
            $0.count == 8 && $0[1] == 0x13 && UInt16($0[4]) | UInt16($0[5]) << 8 == handle
        }
        /// How many go to one link before it is full.
        func fill(_ link: LinkID) -> Int {
            var taken = 0
            fortress.lock.call { host in
                while taken < 2_000,
                    host.updateValue(
                        app.manager, service.characteristics[2].value, [UInt8](repeating: 1, count: 20),
                        to: [.link(link)],
                        keepForAbsent: false)
                {
                    taken += 1
                }
            }
            return taken
        }
        let kept = fill(links[1])
        let taken = fill(links[0])
        #expect((1..<2_000).contains(kept) && (1..<2_000).contains(taken))
        #expect(subscriber.run(60_000) { subscriber.att.count { $0.first == 0x1B } == taken })
        #expect(app.readyCalls == 1)
        // The other one's room is told of too, once it comes.
        deaf.disconnect()
        #expect(app.readyCalls == 2)
    }

    @Test("Core 5.4, Vol 3, Part F, 3.3.3: an indication that is never confirmed closes the bearer, and so the link")
    func unconfirmed() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        let service = try #require(fortress.scene.published)
        let ccc = try #require(service.characteristics[2].configuration).rawValue
        #expect(peer.request([0x12, UInt8(truncatingIfNeeded: ccc), UInt8(ccc >> 8), 2, 0]) == [0x13])
        for value: UInt8 in 0..<100 {
            fortress.lock.call {
                _ = $0.updateValue(
                    app.manager, service.characteristics[2].value, [value], to: nil, keepForAbsent: false)
            }
        }
        peer.run(29_000)
        #expect(peer.handle != nil)
        #expect(peer.att.filter { $0.first == 0x1D }.count == 1)
        #expect(peer.run(2_000) { peer.handle == nil })
        #expect(app.links.isEmpty)
    }

    @Test("A peripheral that asks for new connection parameters without end costs one command at a time")
    func parameterFlood() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let central = try #require(scene.central)
        let handle = try #require(scene.key.handles.last) | 2 << 12
        let before = scene.key.sent.count
        let header: [UInt8] = [2, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 16, 0, 12, 0, 5, 0]
        var flood: [[UInt8]] = []
        for number in 0..<200 {
            let request: [UInt8] = [0x12, UInt8(number + 1), 8, 0, 24, 0, UInt8(24 + number), 0, 0, 0, 200, 0]
            flood.append(header + request)
        }
        scene.key.inject(flood)
        scene.world.run(forMilliseconds: 1_000)
        let updates = scene.key.sent.dropFirst(before).filter { $0.starts(with: [0x01, 0x13, 0x20]) }
        #expect((1...2).contains(updates.count))
        #expect(central.link != nil)
        #expect(central.states.last == .poweredOn)
    }

    @Test("A flood of advertisements is bounded: strangers are forgotten, and nothing is written")
    func advertisingFlood() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        let central = try #require(scene.central)
        scene.key.call { $0.startScan(central.manager, ScanRecord(services: [], allowDuplicates: true)) }
        let facts = scene.key.facts
        for number in 0..<5_000 {
            let address: [UInt8] = [
                UInt8(truncatingIfNeeded: number), UInt8(number >> 8), 0, 0, 0, 0xC1,
            ]
            let header: [UInt8] = [0x04, 0x3E, 15, 0x02, 1, 0, 1]
            let report: [UInt8] = [3, 2, 0x01, 0x06, 0xC0]
            scene.key.inject([header + address + report])
        }
        #expect(central.reports.count >= 5_000)
        #expect(scene.key.facts == facts)
        let first = try #require(central.reports.first { $0.address.bits & 0xFFFF_FFFF_FFFF == 0xC100_0000_0000 })
        var record: PeerRecord?
        scene.key.call { record = $0.peerRecord(first.peer) }
        #expect(record == nil)
    }
}
