import BluetoothCore
import HCI
import L2CAP
import Simulation
import Testing
import WorldSupport

@testable import BluetoothHost

private let start = Instant(nanoseconds: 7)
private let first = ConnectionParameters(intervalMin: 12, intervalMax: 24, latency: 0, timeout: 200)
private let second = ConnectionParameters(intervalMin: 160, intervalMax: 320, latency: 3, timeout: 600)

private func after(_ milliseconds: UInt64) -> Instant { start.advanced(byMilliseconds: milliseconds) }

@Suite("Core 5.4, Vol 3, Part C, 9.3.9: a peripheral's wish for other connection parameters", .capturesFailures)
struct ConnectionParameterTests {
    enum State: CaseIterable { case pausing, idle, askingLinkLayer, askingL2CAP, resting }

    enum Input: CaseIterable {
        case want, commandTaken, commandRefused, updated, notSupported, notWanted, l2capFinished, timer
    }

    /// At `start` plus ten seconds, whatever the state.
    private static func negotiation(in state: State) -> ConnectionParameterNegotiation {
        let connectedAt = state == .pausing ? after(9_000) : start
        var negotiation = ConnectionParameterNegotiation(
            connectedAt: connectedAt, usesLinkLayer: state != .askingL2CAP && state != .resting)
        switch state {
        case .pausing, .idle: break
        case .askingLinkLayer: #expect(negotiation.want(first, now: after(9_000)) == .askLinkLayer(first))
        case .askingL2CAP: #expect(negotiation.want(first, now: after(9_000)) == .askL2CAP(first))
        case .resting:
            #expect(negotiation.want(first, now: after(9_000)) == .askL2CAP(first))
            #expect(negotiation.l2capFinished(now: after(9_500)) == nil)
        }
        return negotiation
    }

    private static let table: [State: [Input: ConnectionParameterNegotiation.Output]] = [
        .idle: [.want: .askLinkLayer(second)],
        .askingLinkLayer: [.commandRefused: .askL2CAP(first), .notSupported: .askL2CAP(first)],
    ]

    @Test("every input in every state of the negotiation", arguments: State.allCases, Input.allCases)
    func stateTimesInput(_ state: State, _ input: Input) {
        var negotiation = Self.negotiation(in: state)
        let now = after(10_000)
        let output: ConnectionParameterNegotiation.Output? =
            switch input {
            case .want: negotiation.want(second, now: now)
            case .commandTaken: negotiation.linkLayerAnswered(.success)
            case .commandRefused: negotiation.linkLayerAnswered(.commandDisallowed)
            case .updated: negotiation.linkLayerCompleted(.success, now: now)
            case .notSupported: negotiation.linkLayerCompleted(.unsupportedRemoteFeature, now: now)
            case .notWanted: negotiation.linkLayerCompleted(.unacceptableConnectionParameters, now: now)
            case .l2capFinished: negotiation.l2capFinished(now: now)
            case .timer: negotiation.timerFired(now: now)
            }
        #expect(output == Self.table[state]?[input])
    }

    @Test("Vol 3, Part C, Appendix A: nothing is asked for in the first five seconds, and then the newest wish")
    func pause() {
        var negotiation = ConnectionParameterNegotiation(connectedAt: start, usesLinkLayer: false)
        #expect(negotiation.deadline == nil)
        #expect(negotiation.want(first, now: start) == nil)
        #expect(negotiation.want(second, now: start) == nil)
        #expect(negotiation.deadline == after(5_000))
        #expect(negotiation.timerFired(now: after(4_999)) == nil)
        #expect(negotiation.timerFired(now: after(5_000)) == .askL2CAP(second))
        #expect(negotiation.timerFired(now: after(90_000)) == nil)
    }

    @Test("Vol 3, Part C, Appendix A: thirty seconds lie between an answer and the next request, by either way")
    func rest() {
        for usesLinkLayer in [false, true] {
            var negotiation = ConnectionParameterNegotiation(connectedAt: start, usesLinkLayer: usesLinkLayer)
            #expect(negotiation.want(first, now: after(6_000)) != nil)
            #expect(negotiation.want(second, now: after(7_000)) == nil)
            if usesLinkLayer {
                #expect(negotiation.linkLayerCompleted(.success, now: after(8_000)) == nil)
            } else {
                #expect(negotiation.l2capFinished(now: after(8_000)) == nil)
            }
            #expect(negotiation.deadline == after(38_000))
            #expect(negotiation.timerFired(now: after(37_999)) == nil)
            #expect(
                negotiation.timerFired(now: after(38_000))
                    == (usesLinkLayer ? .askLinkLayer(second) : .askL2CAP(second)))
        }
    }

    @Test("A link layer that cannot is not asked again; one that is silent is waited for no longer than it may be")
    func linkLayer() {
        var negotiation = ConnectionParameterNegotiation(connectedAt: start, usesLinkLayer: true)
        #expect(negotiation.want(first, now: after(6_000)) == .askLinkLayer(first))
        #expect(negotiation.linkLayerAnswered(.success) == nil)
        #expect(negotiation.linkLayerCompleted(.unsupportedRemoteFeature, now: after(6_100)) == .askL2CAP(first))
        #expect(negotiation.l2capFinished(now: after(6_200)) == nil)
        #expect(negotiation.want(second, now: after(40_000)) == .askL2CAP(second))

        negotiation = ConnectionParameterNegotiation(connectedAt: start, usesLinkLayer: true)
        #expect(negotiation.want(first, now: after(6_000)) == .askLinkLayer(first))
        #expect(negotiation.deadline == after(47_000))
        #expect(negotiation.timerFired(now: after(47_000)) == nil)
        #expect(negotiation.want(second, now: after(77_000)) == .askLinkLayer(second))
    }

    // MARK: Between two hosts

    private static let preferred = PreferredConnection(interval: 160...320, latency: 3, timeout: 600)

    @Test("A lock asks by L2CAP, and its central's controller changes the link")
    func asksByL2CAP() throws {
        let scene = HostScenarioTests.Scene()
        scene.lock.configuration.preferredConnection = Self.preferred
        scene.lock.wire.rewrites = Node.withoutParametersRequest
        scene.start()
        try scene.connect()
        let before = scene.key.sent.count
        scene.world.run(forMilliseconds: 4_000)
        #expect(scene.lock.parameterRequests == 0)
        scene.world.run(forMilliseconds: 2_000)
        #expect(scene.lock.parameterRequests == 1)
        let updates = scene.key.sent.dropFirst(before).filter(Node.isConnectionUpdate)
        #expect(updates.count == 1 && updates.first?[6...13] == [160, 0, 64, 1, 3, 0, 88, 2])
        let link = try #require(scene.peripheral?.links.first?.link)
        let facts = try #require(scene.lock.host?.core.links[link]).info.facts
        #expect((160...320).contains(facts.parameters.connectionInterval), "its controller told this host")
        #expect(facts.parameters.peripheralLatency == 3 && facts.parameters.supervisionTimeout == 600)
        for _ in 0..<50 { scene.lock.call { $0.preferConnection(Self.preferred, on: link) } }
        scene.world.run(forMilliseconds: 28_000)
        #expect(scene.lock.parameterRequests == 1)
        scene.world.run(forMilliseconds: 3_000)
        #expect(scene.lock.parameterRequests == 2)
    }

    @Test("Controllers that can are asked by the link layer, the central's host says yes, and L2CAP has nothing to do")
    func asksByLinkLayer() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let link = try #require(scene.peripheral?.links.first?.link)
        scene.world.run(forMilliseconds: 6_000)
        scene.lock.call { #expect($0.preferConnection(Self.preferred, on: link)) }
        scene.world.run(forMilliseconds: 3_000)
        #expect(scene.lock.sent.filter(Node.isConnectionUpdate).count == 1)
        #expect(scene.key.sent.filter { $0.starts(with: [1, 0x20, 0x20]) }.count == 1)
        #expect(scene.lock.parameterRequests == 0)
    }

    @Test("A controller that refuses what it said it can is followed by L2CAP")
    func fallsBack() throws {
        let scene = HostScenarioTests.Scene()
        // The answer to LE Connection Update is Command Disallowed.
        scene.lock.wire.rewrites = { packet in
            guard packet.starts(with: [4, 0x0F]), packet[5...6] == [0x13, 0x20] else { return packet }
            var packet = packet
            packet[3] = 0x0C
            return packet
        }
        scene.start()
        try scene.connect()
        let link = try #require(scene.peripheral?.links.first?.link)
        scene.world.run(forMilliseconds: 6_000)
        let before = scene.lock.sent.count
        scene.lock.call { #expect($0.preferConnection(Self.preferred, on: link)) }
        scene.world.run(forMilliseconds: 1_000)
        let sent = Array(scene.lock.sent.dropFirst(before))
        let command = try #require(sent.firstIndex(where: Node.isConnectionUpdate))
        let request = try #require(sent.firstIndex(where: Node.isParameterRequest))
        #expect(command < request)
        #expect(scene.lock.parameterRequests == 1)
    }

    @Test(
        "9.3.9: a central changes the parameters of its link by itself, and the link lasts under them",
        arguments: [true, false])
    func centralChanges(_ asksByLinkLayer: Bool) throws {
        let scene = HostScenarioTests.Scene()
        if !asksByLinkLayer {
            for node in [scene.lock, scene.key] { node.wire.rewrites = Node.withoutParametersRequest }
        }
        scene.start()
        try scene.connect()
        let link = try #require(scene.central?.link?.link)
        let before = scene.key.sent.count
        // While one change is under way the newest wish waits, and no other.
        let wishes = [PreferredConnection(interval: 80...80, latency: 1, timeout: 300), Self.quick, Self.preferred]
        for wish in wishes { scene.key.call { #expect($0.preferConnection(wish, on: link)) } }
        scene.world.run(forMilliseconds: 10_000)
        let updates = scene.key.sent.dropFirst(before).filter(Node.isConnectionUpdate).map { Array($0[6...13]) }
        #expect(updates == [[80, 0, 80, 0, 1, 0, 44, 1], [160, 0, 64, 1, 3, 0, 88, 2]])
        let door = try #require(scene.door)
        let lock = try #require(scene.peripheral?.links.first?.peer)
        for info in [scene.key.host?.link(of: door), scene.lock.host?.link(of: lock)] {
            let facts = try #require(info).facts
            #expect((160...320).contains(facts.parameters.connectionInterval))
            #expect(facts.parameters.peripheralLatency == 3 && facts.parameters.supervisionTimeout == 600)
        }
        #expect(scene.central?.disconnections == 0)
    }

    private static let quick = PreferredConnection(interval: 6...12, latency: 0, timeout: 100)

    @Test(
        "5.1.7: what a central's link layer asks a peripheral for is taken if it is in range, and refused if it is not")
    func peripheralIsAsked() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let handle = try #require(scene.lock.handles.last)
        let octets = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        // LE Remote Connection Parameter Request: the virtual central's controller never asks, it tells.
        func asked(_ parameters: [UInt8]) -> [[UInt8]] {
            let before = scene.lock.sent.count
            scene.lock.inject([[4, 0x3E, 11, 0x06] + octets + parameters])
            return scene.lock.sent.dropFirst(before).filter {
                $0.count > 2 && $0[2] == 0x20 && [0x20, 0x21].contains($0[1])
            }
        }
        let wanted: [UInt8] = [160, 0, 64, 1, 3, 0, 88, 2]
        #expect(asked(wanted) == [[1, 0x20, 0x20, 14] + octets + wanted + [0, 0, 0, 0]])
        // A timeout that the link would not outlive: Unacceptable Connection Parameters.
        #expect(asked([160, 0, 64, 1, 3, 0, 10, 0]) == [[1, 0x21, 0x20, 3] + octets + [0x3B]])
        // Done by the link layers, it is what the apps see.
        scene.lock.inject([[4, 0x3E, 10, 0x03, 0] + octets + [200, 0, 3, 0, 88, 2]])
        let name = try #require(scene.peripheral?.links.first?.peer)
        #expect(scene.lock.host?.link(of: name)?.facts.parameters.connectionInterval == 200)
    }

    @Test("What is out of range, or on no link, is not asked for, in either role")
    func notAsked() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let link = try #require(scene.peripheral?.links.first?.link)
        let central = try #require(scene.central?.link?.link)
        let invalid = PreferredConnection(interval: 160...320, latency: 500, timeout: 600)
        scene.lock.call { #expect(!$0.preferConnection(invalid, on: link)) }
        scene.lock.call { #expect(!$0.preferConnection(Self.preferred, on: LinkID(rawValue: 99))) }
        scene.key.call { #expect(!$0.preferConnection(invalid, on: central)) }
    }
}

extension Node {
    static func isConnectionUpdate(_ packet: [UInt8]) -> Bool { packet.starts(with: [1, 0x13, 0x20]) }

    /// The answer to LE Read Local Supported Features, without the Connection Parameters Request procedure.
    static func withoutParametersRequest(_ packet: [UInt8]) -> [UInt8] {
        guard packet.starts(with: [4, 0x0E]), packet[4...5] == [0x03, 0x20] else { return packet }
        var packet = packet
        packet[7] &= ~2
        return packet
    }

    static func isParameterRequest(_ packet: [UInt8]) -> Bool {
        packet.count > 9 && packet[0] == 2 && packet[7] == 5 && packet[8] == 0 && packet[9] == 0x12
    }

    var parameterRequests: Int { sent.filter(Self.isParameterRequest).count }
}
