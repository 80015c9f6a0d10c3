import BluetoothCore
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// A bonded central waits for its peer, and somebody under that peer's address is on the air instead or beside it.
@Suite("A host, and a stranger in its bonded peer's name", .capturesFailures)
struct ContestedHostTests {
    /// The peer is bonded and switched off, and nobody has a link.
    private final class Street {
        let duo: Duo
        let peer: DeviceAddress

        init(
            _ generation: ControllerGeneration = .core54
        ) throws {
            duo = try Duo(.justWorks, hardware: ControllerConfiguration(generation: generation))
            try duo.bond()
            try duo.disconnect()
            peer = try #require(duo[.central].bonds.first?.identity).address
            duo[.peripheral].node.kill()
            duo.world.run(forMilliseconds: 2_000)
        }

        var world: World { duo.world }
        var key: Node { duo[.central].node }
        func app() throws -> CentralApp { try #require(duo[.central].client) }

        func wait() throws {
            let app = try app()
            key.call { $0.connect(app.manager, $0.peer(at: peer), options: 0, askedAtSeconds: 0) }
        }

        func giveUp() throws {
            let app = try app()
            key.call { $0.cancelConnection(app.manager, $0.peer(at: peer)) }
        }

        func encrypt() throws { key.call { $0.encrypt($0.peer(at: peer)) } }

        func stranger() -> RawPeer { RawPeer(world, address: peer) }

        /// The peer comes back; with what its bond says of it, and on the air under its identity address.
        func peerAdvertises() {
            duo[.peripheral].node.launch { host in
                let app = PeripheralApp(host, restoreIdentifier: "server")
                host.startAdvertising(app.manager, AdvertisingRecord(localName: nil, services: [0xFFE0]))
            }
        }

        /// A link to a stranger on which this side asks for encryption, in vain.
        func meetsStranger() throws -> RawPeer {
            let stranger = stranger()
            stranger.refusesKeys = true
            stranger.advertise()
            try wait()
            let app = try app()
            #expect(stranger.run(5_000) { stranger.handle != nil && app.link != nil })
            try encrypt()
            #expect(stranger.run(2_000) { !app.securityErrors.isEmpty })
            return stranger
        }

        /// Whether the peer would be listened for, and be in no list, if it were waited for.
        func isContested() throws -> Bool {
            let before = key.sent.count
            try wait()
            world.run(forMilliseconds: 500)
            let sent = key.sent.dropFirst(before)
            try giveUp()
            world.run(forMilliseconds: 500)
            return sent.contains { $0.isScanEnable } && !sent.contains { $0.isConnection }
        }
    }

    @Test("An app that never asks for encryption contests nobody: neither its own end of a link nor the peer's does")
    func neverEncrypts() throws {
        for isEndedHere in [true, false] {
            let street = try Street()
            let app = try street.app()
            let stranger = street.stranger()
            for _ in 0..<3 {
                stranger.advertise()
                try street.wait()
                #expect(stranger.run(5_000) { stranger.handle != nil && app.link != nil })
                if isEndedHere { try street.giveUp() } else { stranger.disconnect() }
                #expect(stranger.run(2_000) { stranger.handle == nil && app.link == nil })
            }
            if !isEndedHere { #expect(app.disconnections == 4) }
            #expect(try !street.isContested())
        }
    }

    @Test("Attack: whoever leaves before this side can ask contests the peer, where an app asks on every link")
    func leavesAtOnce() throws {
        let street = try Street()
        let app = try street.app()
        let first = try street.meetsStranger()
        try street.giveUp()
        #expect(first.run(2_000) { first.handle == nil && app.link == nil })
        #expect(try street.isContested(), "it was asked")
        street.world.run(forMilliseconds: ContestedPeers.lifeMilliseconds)
        #expect(try !street.isContested())
        first.advertise()
        try street.wait()
        #expect(first.run(5_000) { first.handle != nil && app.link != nil })
        first.disconnect()
        #expect(first.run(2_000) { app.link == nil })
        #expect(try street.isContested())
    }

    @Test(
        "A link that was made briefly has the operator's supervision timeout once its peer has proven itself, asked for once",
        arguments: [ControllerGeneration.core54, .core40], [false, true])
    func lengthened(_ generation: ControllerGeneration, _ hasAsked: Bool) throws {
        let street = try Street(generation)
        let app = try street.app()
        let stranger = try street.meetsStranger()
        try street.giveUp()
        #expect(stranger.run(2_000) { stranger.handle == nil })
        let before = street.key.sent.count
        street.peerAdvertises()
        try street.wait()
        #expect(street.world.run(forMilliseconds: 5_000) { app.link != nil })
        let configured = street.key.configuration.supervisionTimeout
        #expect(try #require(app.link?.facts.parameters.supervisionTimeout) < configured)
        street.world.run(forMilliseconds: 100)
        #expect(!street.key.sent.dropFirst(before).contains { $0.isConnectionUpdate }, "nobody has proved anything")
        if hasAsked {
            // In clear the peer, or who speaks for it, asks for 15 ms and a timeout of 400 ms, which anybody may have.
            let handle = try #require(street.key.handles.last)
            street.key.inject([
                [2, UInt8(truncatingIfNeeded: handle), 0x20 | UInt8(handle >> 8), 16, 0, 12, 0, 5, 0]
                    + [0x12, 7, 8, 0, 12, 0, 12, 0, 0, 0, 40, 0]
            ])
            street.world.run(forMilliseconds: 500)
        }
        try street.encrypt()
        let link = try #require(app.link?.link)
        #expect(
            street.world.run(forMilliseconds: 3_000) {
                street.key.host?.link(link)?.facts.parameters.supervisionTimeout == configured
            })
        street.world.run(forMilliseconds: 5_000)
        let updates = street.key.sent.dropFirst(before).filter { $0.isConnectionUpdate }
        #expect(updates.count == (hasAsked ? 2 : 1))
        #expect(street.key.host?.link(link)?.facts.features != nil, "the inquiry goes on behind it")
    }

    @Test("A link that was not made briefly is left as it is")
    func notBrief() throws {
        let street = try Street()
        let app = try street.app()
        street.peerAdvertises()
        try street.wait()
        #expect(street.world.run(forMilliseconds: 5_000) { app.link != nil })
        let before = street.key.sent.count
        try street.encrypt()
        #expect(street.world.run(forMilliseconds: 2_000) { app.link?.isProven == true || app.secured.last == true })
        street.world.run(forMilliseconds: 5_000)
        #expect(!street.key.sent.dropFirst(before).contains { $0.isConnectionUpdate })
    }

    @Test(
        "Attack: who has proved nothing gets no longer supervision timeout, for then its silence would hold the link so long",
        arguments: [false, true])
    func longSilence(_ isContested: Bool) throws {
        let street = try Street()
        let app = try street.app()
        var stranger = street.stranger()
        if isContested {
            stranger = try street.meetsStranger()
            try street.giveUp()
            #expect(stranger.run(2_000) { stranger.handle == nil })
        }
        stranger.advertise()
        try street.wait()
        #expect(stranger.run(5_000) { stranger.handle != nil && app.link != nil })
        let before = street.key.sent.count
        let link = try #require(app.link?.link)
        let own = try #require(app.link?.facts.parameters.supervisionTimeout)
        // L2CAP_CONNECTION_PARAMETER_UPDATE_REQ: 30 ms, and a supervision timeout of 32 s, or a little more than there is.
        for timeout in [3_200, isContested ? own + 1 : 601] {
            stranger.send(
                [0x12, 7, 8, 0, 24, 0, 24, 0, 0, 0, UInt8(truncatingIfNeeded: timeout), UInt8(timeout >> 8)],
                on: RawPeer.signalling)
            stranger.run(500)
        }
        #expect(stranger.received[RawPeer.signalling] == [[0x13, 7, 2, 0, 1, 0], [0x13, 7, 2, 0, 1, 0]])
        #expect(!street.key.sent.dropFirst(before).contains { $0.isConnectionUpdate })
        #expect(street.key.host?.link(link)?.facts.parameters.supervisionTimeout == own)
        // What makes no silence longer is the peer's to choose.
        stranger.send([0x12, 8, 8, 0, 12, 0, 12, 0, 0, 0, 50, 0], on: RawPeer.signalling)
        stranger.run(500)
        #expect(stranger.received[RawPeer.signalling]?.last == [0x13, 8, 2, 0, 0, 0])
    }

    @Test(
        "A controller that does not scan while it connects: a contested peer is connected to by the lists",
        arguments: [ControllerGeneration.core54, .core40])
    func noScanBesideConnecting(_ generation: ControllerGeneration) throws {
        let street = try Street(generation)
        let app = try street.app()
        let controller = SingleMinded(street.key)
        // Somebody else is waited for all the time.
        let other = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0042)
        street.key.call { $0.connect(app.manager, $0.peer(at: other), options: 0, askedAtSeconds: 0) }
        let stranger = try street.meetsStranger()
        try street.giveUp()
        #expect(stranger.run(2_000) { stranger.handle == nil })
        street.peerAdvertises()
        let connections = app.connections
        let before = street.key.sent.count
        try street.wait()
        let isConnected = street.world.run(forMilliseconds: 10_000) { app.connections > connections }
        #expect(isConnected)
        #expect(controller.refusals > 0)
        #expect(street.key.sent.count - before < 100, "and the controller is not asked without end")
    }

    @Test("Attack: a link that has fallen silent keeps its peer from nobody, from when this side ends it")
    func endsInSilence() throws {
        let street = try Street()
        let app = try street.app()
        // Disconnection Complete.
        var held: [[UInt8]] = []
        let stranger = try street.meetsStranger()
        street.key.wire.withholds = { packet in
            guard packet.count > 1, packet[1] == 0x05 else { return false }
            held.append(packet)
            return true
        }
        let before = street.key.sent.count
        try street.giveUp()
        #expect(stranger.run(2_000) { !held.isEmpty })
        try street.wait()
        street.world.run(forMilliseconds: 500)
        #expect(app.link == nil || !held.isEmpty)
        #expect(street.key.sent.dropFirst(before).contains { $0.isScanEnable }, "it is listened for at another address")
    }
}

/// A controller that refuses to scan while it connects, and to connect while it scans: it is sent what it would refuse
/// with parameters that the virtual one refuses.
private final class SingleMinded {
    private(set) var refusals = 0
    private var isConnecting = false
    private var isScanning = false
    private var refused: [[UInt8]] = []

    init(_ node: Node) {
        node.wire.outgoing = { [self] packet in
            guard packet.count > 3, packet[0] == 1 else { return packet }
            let isRefused = (packet.isScanEnable && isConnecting) || (packet.isConnection && isScanning)
            guard isRefused else {
                if packet.isConnection { isConnecting = true }
                if packet.isScanEnable { isScanning = true }
                if packet.isScanDisable { isScanning = false }
                return packet
            }
            refusals += 1
            refused.append(Array(packet[1...2]))
            // LE Create Connection with an interval that there is not; a scan that is neither on nor off.
            var wrong = packet
            for index in 4..<wrong.count { wrong[index] = 0xFF }
            return wrong
        }
        node.wire.rewrites = { [self] packet in
            guard packet.count > 6, packet[0] == 4 else { return packet }
            var answer = packet
            switch packet[1] {
            case 0x0E where refused.contains(Array(packet[4...5])) && packet[6] != 0:
                answer[6] = HCIErrorCode.commandDisallowed.rawValue
            case 0x0F where refused.contains(Array(packet[5...6])) && packet[3] != 0:
                answer[3] = HCIErrorCode.commandDisallowed.rawValue
            case 0x3E where [0x01, 0x0A].contains(packet[3]): isConnecting = false
            default: break
            }
            return answer
        }
    }
}

extension [UInt8] {
    /// LE Set Scan Enable and LE Set Extended Scan Enable.
    private var isScan: Bool { starts(with: [1, 0x0C, 0x20]) || starts(with: [1, 0x42, 0x20]) }
    fileprivate var isScanEnable: Bool { isScan && count > 4 && self[4] == 1 }
    fileprivate var isScanDisable: Bool { isScan && count > 4 && self[4] == 0 }
    /// LE Create Connection, of either family.
    fileprivate var isConnection: Bool { starts(with: [1, 0x0D, 0x20]) || starts(with: [1, 0x43, 0x20]) }
    /// LE Connection Update
    fileprivate var isConnectionUpdate: Bool { starts(with: [1, 0x13, 0x20]) }
}
