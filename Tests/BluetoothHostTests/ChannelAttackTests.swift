import BluetoothCore
import BluetoothHost
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// A stranger on the air opens, floods, violates and abandons channels.
@Suite("Attacks on credit-based channels", .capturesFailures)
struct ChannelAttackTests {
    /// A lock that takes channels from anybody, and a stranger that is connected to it.
    private final class Siege {
        let fortress: Fortress
        let server: ChannelApp
        let peer: RawPeer
        let psm: UInt16

        init(encrypted: Bool = false) throws {
            fortress = try Fortress()
            server = ChannelApp(try #require(fortress.lock.host))
            let manager = try fortress.app().manager
            var published: UInt16?
            fortress.lock.call { [server] in
                published = try? $0.publishChannel(manager, encrypted: encrypted, delegate: server)
            }
            psm = try #require(published)
            peer = fortress.stranger()
            #expect(peer.connect(to: try fortress.lockAddress()))
        }

        var signals: [[UInt8]] { peer.received[RawPeer.signalling] ?? [] }

        func request(_ cid: UInt8, identifier: UInt8 = 7, credits: UInt8 = 5) {
            peer.send(
                [0x14, identifier, 10, 0, UInt8(psm), 0, cid, 0, 0, 2, 100, 0, credits, 0], on: RawPeer.signalling)
            peer.run(100)
        }

        /// Opens a channel from 0x50; ours is 0x40.
        func open() throws {
            request(0x50)
            #expect(signals.last?.first == 0x15 && signals.last?.suffix(2) == [0, 0])
            #expect(server.opened.count == 1)
        }

        var isAlive: Bool { peer.request([0x0A, 3, 0])?.first == 0x0B }
        var hasEnded: Bool { signals.last.map { $0.first == 6 && $0.suffix(4) == [0x50, 0, 0x40, 0] } ?? false }
    }

    @Test(
        "Core 5.4, Vol 3, Part A, 3.4.3, 10.1: each violation ends the channel, once, and nothing else",
        arguments: [
            [[1, 0, 1, 2]], [[0x01, 0x08]], [[]], [[7]], [[250, 0] + [UInt8](repeating: 1, count: 248)],
            [[3, 0, 1], [2, 3, 4]], [[UInt8](repeating: 0, count: 300)],
        ])
    func violations(_ frames: [[UInt8]]) throws {
        let siege = try Siege()
        try siege.open()
        for frame in frames {
            siege.peer.send(frame, on: 0x40)
            siege.peer.run(500)
        }
        #expect(siege.hasEnded)
        #expect(siege.server.closed.values.map(\.self) == [[.violation]])
        #expect(siege.isAlive)
        siege.request(0x51, identifier: 8)
        #expect(siege.server.opened.count == 2)
    }

    @Test("7.2.2: a signal and a K-frame mean the same however they are cut")
    func fragments() throws {
        let siege = try Siege()
        func send(_ octets: [UInt8], cuts: [Int]) {
            for (begin, end) in zip([0] + cuts, cuts + [octets.count]) {
                siege.peer.fragment(Array(octets[begin..<end]), flags: begin == 0 ? 0 : 1)
                siege.peer.run(50)
            }
        }
        let request = [14, 0, 5, 0, 0x14, 7, 10, 0, UInt8(siege.psm), 0, 0x50, 0, 0, 2, 100, 0, 5, 0]
        send(request, cuts: Array(1..<request.count))
        #expect(siege.signals.last?.suffix(2) == [0, 0] && siege.server.opened.count == 1)
        let id = try #require(siege.server.opened.last?.id)
        let frame: [UInt8] = [5, 0, 0x40, 0, 3, 0, 1, 2, 3]
        for cut in 1..<frame.count { send(frame, cuts: [cut]) }
        send(frame, cuts: Array(1..<frame.count))
        #expect(siege.server.received[id] == Array(repeating: [1, 2, 3], count: frame.count))
    }

    @Test("10.1: too many credits, and a frame too many, end the channel")
    func credits() throws {
        var siege = try Siege()
        try siege.open()
        siege.peer.send([0x16, 9, 4, 0, 0x50, 0, 0xFF, 0xFF], on: RawPeer.signalling)
        siege.peer.run(500)
        #expect(siege.hasEnded)
        #expect(siege.server.closed.values.map(\.self) == [[.violation]])
        siege = try Siege()
        siege.server.reads = false
        try siege.open()
        let frame = [245, 0] + [UInt8](repeating: 1, count: 245)
        var sent = 0
        while sent < 100, !siege.hasEnded {
            siege.peer.send(frame, on: 0x40)
            siege.peer.run(300)
            sent += 1
        }
        // As many as the window has room for, and one.
        #expect(siege.hasEnded && sent > 60 && sent < 70)
        #expect(siege.server.octets.count <= 16_384)
        #expect(siege.isAlive)
    }

    @Test("A stranger that asks for channels without end gets as many as one link may have")
    func flood() throws {
        let siege = try Siege()
        for index in 0..<40 as Range<UInt8> { siege.request(0x40 + index, identifier: index + 1) }
        #expect(siege.server.opened.count == 8)
        #expect(siege.signals.count == 40)
        #expect(siege.signals.suffix(32).allSatisfy { $0.suffix(2) == [4, 0] })
        siege.peer.disconnect()
        siege.fortress.world.run(forMilliseconds: 2_000)
        #expect(siege.server.closed.count == 8 && siege.server.closed.values.allSatisfy { $0.count == 1 })
    }

    @Test("A stranger that opens and closes without end leaves nothing behind")
    func churn() throws {
        let siege = try Siege()
        for round in 0..<150 {
            siege.request(0x50, identifier: UInt8(round % 255) + 1)
            let cid = UInt8(0x40 + round % 64)
            siege.peer.send([6, UInt8(round % 255) + 1, 4, 0, cid, 0, 0x50, 0], on: RawPeer.signalling)
            siege.peer.run(100)
        }
        #expect(siege.server.opened.count == 150)
        #expect(siege.server.closed.count == 150 && siege.server.closed.values.allSatisfy { $0 == [.peer] })
        #expect(siege.isAlive)
    }

    @Test("A channel to a service that demands encryption is refused to a stranger, and nothing of it reaches the app")
    func unencrypted() throws {
        let siege = try Siege(encrypted: true)
        siege.request(0x50)
        #expect(siege.signals.last == [0x15, 7, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0])
        siege.peer.send([1, 0, 1], on: 0x40)
        siege.peer.run(500)
        #expect(siege.server.opened.isEmpty && siege.server.received.isEmpty && siege.isAlive)
    }

    @Test("A stranger that gives no credit and answers no disconnection is let go of after half a minute each")
    func silence() throws {
        let siege = try Siege()
        siege.request(0x50, credits: 0)
        let id = try #require(siege.server.opened.last?.id)
        siege.fortress.lock.call { host in
            #expect(host.send([1, 2, 3], on: id) == .taken)
            host.closeChannel(id)
        }
        #expect(siege.server.closed[id] == [.local])
        siege.peer.run(29_000)
        #expect(siege.signals.count == 1)
        siege.peer.run(2_000)
        #expect(siege.hasEnded)
        // The end that the stranger has not let go of is taken until then.
        siege.request(0x50, identifier: 9)
        #expect(siege.signals.last?.suffix(2) == [0x0A, 0])
        siege.peer.run(31_000)
        siege.request(0x50, identifier: 10)
        #expect(siege.signals.last?.suffix(2) == [0, 0])
    }

    @Test("What a stranger says about channels that are not there is answered by the rules, and harms nobody")
    func nonsense() throws {
        let siege = try Siege()
        let signals: [[UInt8]] = [
            [6, 1, 4, 0, 0x40, 0, 0x50, 0], [7, 2, 4, 0, 0x40, 0, 0x50, 0], [0x16, 3, 4, 0, 0x50, 0, 1, 0],
            [0x15, 4, 10, 0, 0x50, 0, 0, 2, 100, 0, 1, 0, 0, 0],
            [0x17, 5, 8, 0, UInt8(siege.psm), 0, 0, 2, 0, 2, 1, 0],
            [0x19, 6, 6, 0, 0, 2, 100, 0, 0x50, 0], [0x14, 7, 2, 0, 0x80, 0],
        ]
        for signal in signals {
            siege.peer.send(signal, on: RawPeer.signalling)
            siege.peer.run(200)
        }
        #expect(
            siege.signals == [
                [1, 1, 6, 0, 2, 0, 0x40, 0, 0x50, 0], [1, 5, 2, 0, 0, 0], [1, 6, 2, 0, 0, 0], [1, 7, 2, 0, 0, 0],
            ])
        #expect(siege.isAlive && siege.server.opened.isEmpty)
    }
}
