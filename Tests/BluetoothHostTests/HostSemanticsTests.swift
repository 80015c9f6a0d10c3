import ATT
import BluetoothCore
import GATT
import HCI
import SecurityManager
import Simulation
import Testing
import WorldSupport

@testable import BluetoothHost

/// Each thing that an app asks ends in exactly one answer.
@Suite(.capturesFailures) struct HostSemanticsTests {
    private func ready() throws -> (HostScenarioTests.Scene, CentralApp, PeerIdentifier) {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        return (scene, try #require(scene.central), try #require(scene.door))
    }

    /// Every kind of operation at once; more than one of each of the queued ones.
    private func askEverything(_ scene: HostScenarioTests.Scene, _ app: CentralApp, _ door: PeerIdentifier)
        -> [OperationToken]
    {
        var tokens: [OperationToken] = []
        let handle = AttributeHandle(3)
        scene.key.call { host in
            for _ in 0..<2 {
                for operation: GATTClientOperation in [
                    .discoverDatabase, .discoverPrimaryServices, .findIncludedServices(ATTHandleRange()),
                    .discoverCharacteristics(ATTHandleRange()),
                    .discoverPrimaryServicesByUUID(0x1800), .discoverDescriptors(ATTHandleRange()), .read(handle),
                    .readByUUID(0x2A00), .readMultiple([handle, handle]), .readMultipleVariable([handle, handle]),
                    .write(handle, [1]), .reliableWrites([.init(handle: handle, value: [1])]),
                    .writeWithoutResponse(handle, [1]), .signedWriteWithoutResponse(handle, [1]),
                ] {
                    tokens.append(host.perform(app.manager, door, operation))
                }
                tokens.append(host.read(app.manager, door, .rssi))
                tokens.append(host.setNotify(app.manager, door, value: handle, ccc: handle, kind: .notify))
                tokens.append(host.setNotify(app.manager, door, value: handle, ccc: handle, kind: nil))
            }
        }
        return tokens
    }

    @Test("Every procedure ends once, on a link that lasts")
    func lasting() throws {
        let (scene, app, door) = try ready()
        let tokens = askEverything(scene, app, door)
        scene.world.run(forMilliseconds: 10_000)
        #expect(app.answers.count == tokens.count)
        #expect(tokens.allSatisfy { app.answers[$0] == 1 })
    }

    @Test("A connection that is asked for while this side ends its link is made anew behind that link's end")
    func askedWhileEnding() throws {
        let (scene, app, door) = try ready()
        let connections = app.connections
        let link = try #require(app.link)
        scene.key.call { host in
            host.drop(link.link)
            host.connect(app.manager, door, options: 0, askedAtSeconds: 0)
        }
        #expect(scene.world.run(forMilliseconds: 10_000) { app.connections == connections + 1 })
        #expect(app.disconnections == 1 && app.link != nil)
        let last = try #require(app.link)
        scene.key.call { host in
            host.drop(last.link)
            host.connect(app.manager, door, options: 0, askedAtSeconds: 0)
            host.cancelConnection(app.manager, door)
        }
        scene.world.run(forMilliseconds: 10_000)
        #expect(app.disconnections == 2 && app.connections == connections + 1, "taken back, and not made")
    }

    @Test("However much a controller says at once, no more waits for apps than its bound, and they hear it in order")
    func manyAtOnce() throws {
        let (scene, app, _) = try ready()
        let handle = try #require(scene.key.handles.last)
        var heard: [Int] = []
        scene.key.call { host in
            for number in 0..<UInt8(2 * Host.tellingsMaximum + 1) {
                let pdu: [UInt8] = [0x1B, 3, 0, number]
                let frame = [UInt8(pdu.count), 0, 4, 0] + pdu
                let packet =
                    [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8) | 0x20, UInt8(frame.count), 0] + frame
                host.received(.aclData, packet.span.bytes)
                heard.append(app.updates.count)
            }
        }
        let bound = Host.tellingsMaximum
        #expect(heard == (1...2 * bound + 1).map { $0 / bound * bound })
        #expect(app.updates.map(\.value) == (0...UInt8(2 * bound)).map { [$0] })
    }

    @Test("An indication that updateValue takes arrives; one that finds the queue full is refused, and room is told of")
    func indicationsInOrder() throws {
        let (scene, app, door) = try ready()
        let door2 = try #require(scene.peripheral)
        let published = try #require(scene.published)
        let characteristic = try #require(published.characteristics.last)
        let configuration = try #require(characteristic.configuration)
        scene.key.call {
            _ = $0.setNotify(app.manager, door, value: characteristic.value, ccc: configuration, kind: .indicate)
        }
        #expect(scene.world.run(forMilliseconds: 5_000) { door2.subscriptions[characteristic.value] == true })
        var next: UInt8 = 0
        for round in 1...3 {
            scene.lock.call { host in
                while next < 200,
                    host.updateValue(door2.manager, characteristic.value, [next], to: nil, keepForAbsent: true)
                {
                    next += 1
                }
            }
            // One on its way and a queue of them.
            if round == 1 { #expect(next == 1 + UInt8(ATTBound.indicationQueueCapacityCount)) }
            #expect(scene.world.run(forMilliseconds: 20_000) { door2.readyCalls >= round })
        }
        let taken = Array(0..<next)
        #expect(scene.world.run(forMilliseconds: 20_000) { app.updates.count == taken.count })
        #expect(app.updates.map(\.value) == taken.map { [$0] })
    }

    @Test("A value that fits a PDU is one Write Request; a longer one is prepared")
    func oneWriteRequest() throws {
        let (scene, _, _) = try ready()
        let handle: UInt8 = 3
        _ = try scene.perform(.write(AttributeHandle(UInt16(handle)), [UInt8](repeating: 7, count: 20)))
        #expect(scene.key.sent.last?.suffix(23) == [0x12, handle, 0] + [UInt8](repeating: 7, count: 20))
        let isPrepared = { (packet: [UInt8]) in packet.count > 9 && packet[0] == 0x02 && packet[7...9] == [4, 0, 0x16] }
        #expect(!scene.key.sent.contains(where: isPrepared))
        _ = try scene.perform(.write(AttributeHandle(UInt16(handle)), [UInt8](repeating: 7, count: 300)))
        #expect(scene.key.sent.contains(where: isPrepared))
    }

    enum Ending: CaseIterable { case cancelled, peerLost, controllerFailed, transportClosed, reopened }

    @Test("Every procedure ends once, whatever ends the link", arguments: Ending.allCases, [0, 1, 40, 200])
    func cutShort(_ ending: Ending, after milliseconds: UInt64) throws {
        let (scene, app, door) = try ready()
        let tokens = askEverything(scene, app, door)
        scene.world.run(forMilliseconds: milliseconds)
        switch ending {
        case .cancelled: scene.key.call { $0.cancelConnection(app.manager, door) }
        case .peerLost: scene.lock.kill()
        case .controllerFailed: scene.key.inject([[4, 0x10, 1, 0]])
        case .transportClosed: scene.key.call { $0.transportClosed() }
        case .reopened: scene.key.call { $0.transportOpened() }
        }
        scene.world.run(forMilliseconds: 10_000)
        #expect(app.answers.count == tokens.count)
        #expect(tokens.allSatisfy { app.answers[$0] == 1 })
        #expect(app.disconnections == 1)
    }

    @Test("A range that ends before it begins is refused, once")
    func impossibleRange() throws {
        let (scene, app, door) = try ready()
        var tokens: [OperationToken] = []
        let range = ATTHandleRange(start: AttributeHandle(9), end: AttributeHandle(8))
        scene.key.call { host in
            tokens = [
                host.perform(app.manager, door, .discoverCharacteristics(range)),
                host.perform(app.manager, door, .discoverDescriptors(range)),
                host.perform(app.manager, door, .findIncludedServices(range)),
            ]
        }
        for token in tokens {
            #expect(app.answers[token] == 1)
            guard case .failure(.gatt(.invalidOperation)) = app.results[token] else {
                Issue.record("\(String(describing: app.results[token]))")
                continue
            }
        }
    }

    @Test("One reading of the signal strength past those that may wait is refused; one command answers the others")
    func signalStrengthsWaiting() throws {
        let (scene, app, door) = try ready()
        var tokens: [OperationToken] = []
        scene.key.call { host in
            tokens = (0...LinkLayer.readingWaitingMaximum).map { _ in host.read(app.manager, door, .rssi) }
        }
        guard case .failure(.noResources) = app.results[try #require(tokens.last)] else {
            Issue.record("\(app.results)")
            return
        }
        #expect(scene.world.run(forMilliseconds: 1_000) { app.results.count == tokens.count })
        for token in tokens.dropLast() {
            guard case .success(.rssi) = app.results[token] else {
                Issue.record("\(String(describing: app.results[token]))")
                continue
            }
        }
        #expect(scene.key.sent.filter { $0.starts(with: [0x01, 0x05, 0x14]) }.count == 1)
    }

    @Test("One cancellation, one disconnected, and none when the link has gone at last")
    func cancelOnce() throws {
        let (scene, app, door) = try ready()
        scene.key.call { $0.cancelConnection(app.manager, door) }
        scene.key.call { $0.cancelConnection(app.manager, door) }
        scene.world.run(forMilliseconds: 3_000)
        #expect(app.disconnections == 1)
        #expect(app.disconnectionErrors == [nil])
    }

    @Test("A link that this side ends for the peer's fault is said to have failed")
    func endedForFault() throws {
        let (scene, app, _) = try ready()
        let handle = try #require(scene.key.handles.last) | 3 << 12
        scene.key.inject([[2, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 5, 0, 1, 0, 4, 0, 1]])
        scene.world.run(forMilliseconds: 1_000) { app.disconnections > 0 }
        #expect(app.disconnectionErrors == [.disconnected(.connectionTerminatedByLocalHost)])
    }

    @Test("Advertising that was asked for once has started once, whoever connects later")
    func advertisingStarted() throws {
        let (scene, _, _) = try ready()
        let app = try #require(scene.peripheral)
        #expect(app.advertisingStarts == [nil])
        scene.dropLink()
        try scene.connect()
        scene.lock.inject([[4, 0x10, 1, 0]])
        scene.world.run(forMilliseconds: 2_000)
        #expect(app.advertisingStarts == [nil])
        let record = AdvertisingRecord(localName: "Gate", services: [PeripheralApp.service])
        scene.lock.call { $0.startAdvertising(app.manager, record) }
        scene.world.run(forMilliseconds: 500)
        scene.lock.call { $0.startAdvertising(app.manager, record) }
        scene.world.run(forMilliseconds: 500)
        #expect(app.advertisingStarts == [nil, nil, nil])
    }

    @Test(
        "A start of advertising that the controller refuses has started when it is on the air, and has not failed before"
    )
    func refusedAdvertising() throws {
        let scene = HostScenarioTests.Scene()
        var refused = 0
        scene.lock.wire.outgoing = { packet in
            // LE Set Advertising Enable and LE Set Extended Advertising Enable, with a value that there is not.
            guard [[1, 0x0A, 0x20], [1, 0x39, 0x20]].contains(Array(packet.prefix(3))), packet.count > 4, packet[4] == 1
            else { return packet }
            refused += 1
            var wrong = packet
            wrong[4] = 0xFF
            return wrong
        }
        scene.launchLock()
        let app = try #require(scene.peripheral)
        scene.world.run(forMilliseconds: 1_000)
        #expect(refused == 1)
        #expect(app.advertisingStarts.isEmpty)
        scene.lock.wire.mend()
        scene.world.run(forMilliseconds: GAP.retryMilliseconds) { !app.advertisingStarts.isEmpty }
        #expect(app.advertisingStarts == [nil])
        scene.launchKey()
        scene.world.run(forMilliseconds: 500) { scene.central?.states.last == .poweredOn }
        try scene.connect()
    }

    @Test("Two centrals want one peer: both are connected, each leaves by itself, and the last takes the link along")
    func twoCentrals() throws {
        let (scene, first, door) = try ready()
        let lock = try #require(scene.peripheral)
        var other: CentralApp?
        scene.key.call { other = CentralApp($0, restoreIdentifier: nil) }
        let second = try #require(other)
        scene.key.call { $0.connect(second.manager, door, options: 0, askedAtSeconds: 0) }
        #expect(second.connections == 1)
        scene.key.call { $0.cancelConnection(first.manager, door) }
        scene.world.run(forMilliseconds: 1_000)
        #expect(first.disconnections == 1)
        #expect(second.disconnections == 0)
        #expect(lock.links.count == 1)
        scene.key.call { $0.unregister(second.manager) }
        #expect(scene.world.run(forMilliseconds: 2_000) { lock.links.isEmpty })
        #expect(second.disconnections == 0)
    }

    @Test(
        "Two managers at one value: the peer is told what both want, and the one that leaves takes nothing from the other"
    )
    func twoSubscribers() throws {
        let (scene, first, door) = try ready()
        let lock = try #require(scene.peripheral)
        var other: CentralApp?
        scene.key.call { other = CentralApp($0, restoreIdentifier: nil) }
        let second = try #require(other)
        scene.key.call { $0.connect(second.manager, door, options: 0, askedAtSeconds: 0) }
        let characteristic = try #require(scene.published?.characteristics.last)
        let configuration = try #require(characteristic.configuration)
        /// All at once, in their order; what the peer was told, and each answered once.
        func ask(_ wishes: (CentralApp, SubscriptionRecord.Kind?)...) -> [UInt8] {
            let before = scene.key.sent.count
            var asked: [(CentralApp, OperationToken)] = []
            scene.key.call { host in
                asked = wishes.map { app, kind in
                    (
                        app,
                        host.setNotify(
                            app.manager, door, value: characteristic.value, ccc: configuration, kind: kind)
                    )
                }
            }
            #expect(scene.world.run(forMilliseconds: 5_000) { asked.allSatisfy { $0.answers[$1] == 1 } })
            let handle = configuration.rawValue
            return scene.key.sent.dropFirst(before).filter {
                $0.count == 14 && $0[7...11] == [4, 0, 0x12, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            }.map { $0[12] }
        }
        var sent: UInt8 = 0
        func isHeard(by app: CentralApp) -> Bool {
            sent += 1
            let value = [sent]
            scene.lock.call {
                _ = $0.updateValue(lock.manager, characteristic.value, value, to: nil, keepForAbsent: false)
            }
            return scene.world.run(forMilliseconds: 2_000) { app.updates.last?.value == value }
        }
        #expect(ask((first, .notify)) == [1])
        #expect(ask((second, .notify)) == [1])
        #expect(ask((first, nil)) == [1])
        #expect(isHeard(by: second))
        #expect(ask((first, .indicate)) == [3])
        #expect(ask((second, nil)) == [2])
        #expect(isHeard(by: first))
        // What is under way counts as done.
        #expect(ask((second, .notify), (first, nil)) == [3, 1])
        #expect(isHeard(by: second))
        #expect(ask((first, .indicate), (second, nil), (first, nil)) == [3, 2, 0])
        #expect(!isHeard(by: second) && lock.subscriptions[characteristic.value] == false)
    }

    @Test("A peripheral manager without a name takes its services and its advertising along")
    func unregisteredPeripheral() throws {
        let (scene, _, _) = try ready()
        var other: PeripheralApp?
        scene.lock.call { other = PeripheralApp($0, restoreIdentifier: nil) }
        let app = try #require(other)
        var service: PublishedService?
        scene.lock.call { service = try? $0.publish(app.manager, ServiceDefinition(uuid: 0xFFD0, characteristics: [])) }
        let declaration = try #require(service).declaration
        guard case .success(.gatt(.services(let before))) = try scene.perform(.discoverPrimaryServices) else {
            Issue.record("no services")
            return
        }
        #expect(before.contains { $0.declaration == declaration })
        scene.lock.call { $0.unregister(app.manager) }
        guard case .success(.gatt(.services(let after))) = try scene.perform(.discoverPrimaryServices) else {
            Issue.record("no services")
            return
        }
        #expect(!after.contains { $0.declaration == declaration })
    }
}
