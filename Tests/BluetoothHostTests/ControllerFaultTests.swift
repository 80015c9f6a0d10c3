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

/// A controller that fails, is silent, or says what it should not.
@Suite(.capturesFailures) struct ControllerFaultTests {
    private static let hardwareError: [UInt8] = [4, 0x10, 1, 0]

    private func connected() throws -> HostScenarioTests.Scene {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        return scene
    }

    /// Left alone, the lock would believe that it advertises, and the key that it initiates.
    @Test(
        "A link whose Connection Complete was lost ends: its side starts over, and they meet again",
        arguments: [false, true])
    func lostConnectionComplete(isCentral: Bool) throws {
        let scene = try connected()
        let app = try #require(scene.central)
        let door = try #require(scene.door)
        scene.dropLink()
        let node = isCentral ? scene.key : scene.lock
        let connections = app.connections
        var lost = 0
        node.wire.withholds = { packet in
            guard packet.count > 3, packet[1] == 0x3E, [0x01, 0x0A].contains(packet[3]) else { return false }
            lost += 1
            return true
        }
        scene.key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
        scene.world.run(forMilliseconds: 1_000)
        #expect(lost == 1)
        node.wire.withholds = { _ in false }
        scene.world.cut(scene.key, scene.lock)
        scene.world.run(forMilliseconds: 10_000)
        scene.world.join(scene.key, scene.lock)
        if !isCentral { scene.key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) } }
        #expect(scene.world.run(forMilliseconds: 20_000) { app.connections == connections + (isCentral ? 1 : 2) })
        guard case .unknownLink? = node.failures.last else {
            Issue.record("\(node.failures)")
            return
        }
    }

    /// Left alone, the key would wait for ever for the end of an attempt that is over, and begin no other.
    @Test(
        "A cancelled attempt whose end is lost, or comes cut short: the controller starts over, and the next attempt connects",
        arguments: [false, true])
    func lostEndOfCancelled(isCutShort: Bool) throws {
        let scene = try connected()
        let app = try #require(scene.central)
        let door = try #require(scene.door)
        scene.dropLink()
        scene.world.cut(scene.key, scene.lock)
        let connections = app.connections
        scene.key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
        scene.world.run(forMilliseconds: 1_000)
        var hit = 0
        func isEnd(_ packet: [UInt8]) -> Bool {
            packet.count > 3 && packet[1] == 0x3E && [0x01, 0x0A].contains(packet[3])
        }
        if isCutShort {
            scene.key.wire.rewrites = { packet in
                guard isEnd(packet) else { return packet }
                hit += 1
                return Array(packet.prefix(6))
            }
        } else {
            scene.key.wire.withholds = { packet in
                if isEnd(packet) { hit += 1 }
                return isEnd(packet)
            }
        }
        scene.key.call { $0.cancelConnection(app.manager, door) }
        scene.world.run(forMilliseconds: 1_000)
        #expect(hit == 1)
        scene.key.wire.mend()
        scene.world.join(scene.key, scene.lock)
        scene.key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
        #expect(scene.world.run(forMilliseconds: 20_000) { app.connections == connections + 1 })
        #expect(scene.key.failures.last == .unresponsive(HCILECreateConnectionCancel.opcode))
    }

    enum Fault: CaseIterable { case hardwareError, silence, reopened }

    @Test(
        "The central's controller starts over: what ran runs again, the connection among it", arguments: Fault.allCases)
    func centralStartsOver(_ fault: Fault) throws {
        let scene = try connected()
        let app = try #require(scene.central)
        let door = try #require(scene.door)
        scene.key.call { $0.startScan(app.manager, ScanRecord(services: [], allowDuplicates: true)) }
        scene.world.run(forMilliseconds: 500)
        let states = app.states.count
        let connections = app.connections
        switch fault {
        case .hardwareError: scene.key.inject([Self.hardwareError])
        case .silence:
            scene.key.wire.withholds = { $0.count > 1 && ($0[1] == 0x0E || $0[1] == 0x0F) }
            scene.key.call { _ = $0.read(app.manager, door, .rssi) }
            scene.world.run(forMilliseconds: CommandQueue.answerTimeoutMilliseconds + 10)
            scene.key.wire.withholds = { _ in false }
        case .reopened:
            scene.key.call { $0.transportClosed() }
            #expect(app.states.last == .resetting)
            scene.key.call { $0.transportOpened() }
        }
        #expect(app.states.dropFirst(states).first == .resetting)
        let reports = app.reports.count
        #expect(
            scene.world.run(forMilliseconds: 20_000) {
                app.connections == connections + 1 && app.reports.count > reports
            })
        #expect(app.disconnections == 1)
        #expect(app.disconnectionErrors == [.disconnected(.hardwareFailure)])
        #expect(Array(app.states.dropFirst(states)) == [.resetting, .poweredOn])
        #expect(scene.key.store.load().restorations.values.flatMap(\.pendingConnections).map(\.peer) == [door])
    }

    @Test("The peripheral's controller starts over: it is found and connected to again", arguments: Fault.allCases)
    func peripheralStartsOver(_ fault: Fault) throws {
        let scene = try connected()
        let app = try #require(scene.peripheral)
        switch fault {
        case .hardwareError: scene.lock.inject([Self.hardwareError])
        case .silence:
            scene.lock.wire.withholds = { $0.count > 1 && ($0[1] == 0x0E || $0[1] == 0x0F) }
            scene.lock.call { $0.stopAdvertising(app.manager) }
            scene.world.run(forMilliseconds: CommandQueue.answerTimeoutMilliseconds + 10)
            scene.lock.wire.withholds = { _ in false }
            scene.lock.call {
                $0.startAdvertising(
                    app.manager, AdvertisingRecord(localName: "Door", services: [PeripheralApp.service]))
            }
        case .reopened:
            scene.lock.call { $0.transportClosed() }
            scene.lock.call { $0.transportOpened() }
        }
        #expect(app.links.isEmpty)
        let central = try #require(scene.central)
        scene.world.run(forMilliseconds: 5_000) { central.link == nil }
        try scene.connect()
        #expect(app.states.suffix(2) == [.resetting, .poweredOn])
    }

    @Test("An answer to no command is counted, and changes nothing")
    func unexpectedAnswer() throws {
        let scene = try connected()
        let app = try #require(scene.central)
        let faults = try #require(scene.key.host).faults
        scene.key.inject([[4, 0x0E, 4, 1, 0x05, 0x14, 0], [4, 0x0F, 4, 0, 1, 0x0D, 0x20]])
        scene.world.run(forMilliseconds: 3_000)
        #expect(scene.key.host?.faults == faults + 2)
        #expect(app.states.last == .poweredOn)
        #expect(app.link != nil)
    }

    @Test("An answer without a status is an error, not a bring-up that waits for ever")
    func emptyAnswer() throws {
        let host = Host(alone: "lock")
        let app = CentralApp(host, restoreIdentifier: nil)
        host.beginIteration(now: Instant(nanoseconds: 0))
        host.transportOpened()
        let event: [UInt8] = [0x0E, 3, 1, 0x03, 0x0C]
        host.received(.event, event.span.bytes)
        host.endIteration()
        #expect(app.states == [.resetting, .unsupported])
    }

    /// What comes of a controller's answer to one command of its bring-up, on the wire.
    enum UnusableAnswer: CaseIterable {
        /// LE Read Buffer Size: Hardware Failure.
        case refused
        /// Read Local Supported Features, cut short.
        case cutShort
        /// LE Read Buffer Size: buffers of 26 octets.
        case impossible

        private var answered: [UInt8] { self == .cutShort ? [0x03, 0x10] : [0x02, 0x20] }

        func damages(_ packet: [UInt8]) -> Bool {
            packet.starts(with: [4, 0x0E]) && packet.dropFirst(4).starts(with: answered)
        }

        func damaged(_ packet: [UInt8]) -> [UInt8] {
            guard damages(packet) else { return packet }
            return switch self {
            case .refused: [4, 0x0E, 4, 1, 0x02, 0x20, 0x03]
            case .cutShort: [4, 0x0E, 5, 1, 0x03, 0x10, 0, 1]
            case .impossible: Array(packet.prefix(7)) + [26, 0] + packet.dropFirst(9)
            }
        }
    }

    @Test(
        "An answer of a bring-up that is of no use is asked for again: reset, reset later, and opened anew",
        arguments: UnusableAnswer.allCases, [1, ControllerRecovery.resetsMaximum + 1])
    func bringUpFails(_ answer: UnusableAnswer, times: Int) throws {
        let scene = HostScenarioTests.Scene()
        var left = times
        scene.key.wire.rewrites = { packet in
            guard left > 0, answer.damages(packet) else { return packet }
            left -= 1
            return answer.damaged(packet)
        }
        scene.launchKey()
        let app = try #require(scene.central)
        scene.world.run(forMilliseconds: 10_000) { app.states.last == .poweredOn }
        #expect(app.states == [.resetting, .unsupported, .poweredOn])
        #expect(left == 0 && scene.key.remedies.contains(.reopen) == (times > 1))
        let isTold = scene.key.failures.allSatisfy { if case .bringUpFailed = $0 { true } else { false } }
        #expect(isTold && scene.key.failures.count == times)
    }

    @Test("A controller without LE is unsupported for apps, without a break, and no oftener asked than one that fails")
    func neverComesUp() throws {
        let scene = HostScenarioTests.Scene()
        scene.key.wire.rewrites = { UnusableAnswer.refused.damaged($0) }
        scene.launchKey()
        let app = try #require(scene.central)
        scene.world.run(forMilliseconds: 20_000)
        #expect(app.states == [.resetting, .unsupported])
        let resets = scene.key.sent.count { $0 == [1, 3, 0x0C, 0] }
        // Five within 1.75 s; how soon the transport is opened again is its owner's choice.
        #expect(resets > 20 && resets < 70)
    }

    @Test("A refused command is asked again, so that a lock does not stay silent")
    func refusedAdvertising() throws {
        let scene = try connected()
        let app = try #require(scene.central)
        let door = try #require(scene.door)
        // The command that turns advertising on again after the link is answered: Command Disallowed.
        var refusals = 1
        scene.lock.wire.withholds = { packet in
            guard refusals > 0, packet.starts(with: [4, 0x0E, 4, 1, 0x0A, 0x20]) else { return false }
            refusals -= 1
            return true
        }
        scene.key.call { $0.cancelConnection(app.manager, door) }
        scene.world.run(forMilliseconds: 200)
        if refusals == 0 { scene.lock.inject([[4, 0x0E, 4, 1, 0x0A, 0x20, 0x0C]]) }
        scene.key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
        #expect(scene.world.run(forMilliseconds: 10_000) { app.link != nil })
    }

    @Test("Encryption that nobody here gave a key for ends the link")
    func keylessEncryption() throws {
        let scene = try connected()
        let app = try #require(scene.peripheral)
        let handle = try #require(scene.lock.handles.last)
        scene.lock.inject([[4, 0x08, 4, 0, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 1]])
        #expect(app.secured.isEmpty)
        #expect(scene.world.run(forMilliseconds: 1_000) { app.links.isEmpty })
    }

    @Test("Mutated events of every kind: no trap, nothing written, and a controller that starts over is whole again")
    func mutatedEvents() throws {
        let seed = SeededGenerator.runSeed
        var random = SeededGenerator(seed: seed)
        let scene = try connected()
        let handle = try #require(scene.lock.handles.last)
        let (low, high) = (UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8))
        let events: [[UInt8]] = [
            [4, 0x05, 4, 0, low, high, 0x13], [4, 0x08, 4, 0, low, high, 1], [4, 0x30, 3, 0, low, high],
            [4, 0x0C, 8, 0, low, high, 9, 1, 0, 1, 0], [4, 0x0E, 4, 1, 0x0A, 0x20, 0], [4, 0x0F, 4, 0, 1, 0x06, 0x04],
            [4, 0x10, 1, 0], [4, 0x13, 5, 1, low, high, 1, 0], [4, 0x1A, 1, 1],
            [4, 0x3E, 19, 1, 0, 0x33, 0, 1, 1, 1, 2, 3, 4, 5, 0xC6, 24, 0, 0, 0, 200, 0, 0],
            [4, 0x3E, 15, 2, 1, 0, 1, 1, 2, 3, 4, 5, 0xC6, 3, 2, 1, 6, 0xC0],
            [4, 0x3E, 10, 3, 0, low, high, 24, 0, 0, 0, 200, 0],
            [4, 0x3E, 12, 4, 0, low, high, 1, 0, 0, 0, 0, 0, 0, 0],
            [4, 0x3E, 13, 5, low, high, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [4, 0x3E, 11, 6, low, high, 24, 0, 40, 0, 0, 0, 200, 0],
            [4, 0x3E, 11, 7, low, high, 27, 0, 72, 1, 27, 0, 72, 1],
            [2, low, high | 0x20, 7, 0, 3, 0, 4, 0, 0x0A, 3, 0], [2, low, high | 0x10, 2, 0, 1, 2],
        ]
        for _ in 0..<4_000 {
            var event = events[Int(random.next() % UInt64(events.count))]
            for _ in 0..<Int(random.next() % 4) {
                let index = Int(random.next() % UInt64(event.count))
                event[index] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.next() % 8 == 0 { event = Array(event.prefix(Int(random.next() % UInt64(event.count)) + 1)) }
            scene.lock.inject([event])
            if random.next() % 16 == 0 { scene.world.run(forMilliseconds: 20) }
        }
        let store = scene.lock.store.load()
        #expect(store.bonds.isEmpty, "seed \(seed)")
        #expect(store.gattClients.isEmpty, "seed \(seed)")
        scene.lock.call { $0.transportOpened() }
        scene.world.run(forMilliseconds: 3_000)
        let app = try #require(scene.peripheral)
        #expect(app.states.last == .poweredOn, "seed \(seed)")
        #expect(app.links.count <= 1, "seed \(seed)")
    }
}
