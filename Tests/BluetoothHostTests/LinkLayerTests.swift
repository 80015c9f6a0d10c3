import BluetoothCore
import HCI
import L2CAP
import Testing

@testable import BluetoothHost

private let start = Instant(nanoseconds: 7)
private let first = ConnectionParameters(intervalMin: 12, intervalMax: 24, latency: 0, timeout: 200)
private let second = ConnectionParameters(intervalMin: 160, intervalMax: 320, latency: 3, timeout: 600)
private let third = ConnectionParameters(intervalMin: 6, intervalMax: 6, latency: 0, timeout: 300)
private let made = LELinkParameters(connectionInterval: 24, peripheralLatency: 1, supervisionTimeout: 100)
private let operators: UInt16 = 400
private let lengthened = ConnectionParameters(intervalMin: 24, intervalMax: 24, latency: 1, timeout: operators)
private let version = LinkFacts.Version(core: .v5_4, companyIdentifier: 1, subversion: 2)

private func after(_ milliseconds: UInt64) -> Instant { start.advanced(byMilliseconds: milliseconds) }

/// What is asked of a link below L2CAP, by what is under way, and who hears of it.
@Suite("Core 5.4, Vol 6, Part B, 5.1: the link layer of a link")
struct LinkLayerTests {
    enum State: CaseIterable {
        /// As central: the inquiry has yet to wait, is due, or is under way; a change of the parameters is under way, with and
        /// without another behind it.
        case young, due, inquiring, updating, updatingTwice
        /// As peripheral.
        case idle, askingLinkLayer, askingL2CAP
    }

    enum Input: CaseIterable {
        case preferred, granted, proven, l2capFinished, updateTaken, updateRefused, requestTaken, requestRefused
        case inquiryTaken, inquiryRefused, parametersChanged, parametersRefused, dataLengthChanged, channelSelection
        case phyChanged, featuresRead, versionRead, readingAsked, readingEnded, timer, closed

        var event: LinkLayer.Event {
            switch self {
            case .preferred: .preferred(third)
            case .granted: .granted(third)
            case .proven: .proven(supervisionTimeout: operators)
            case .l2capFinished: .l2capFinished
            case .updateTaken: .updateAnswered(.success)
            case .updateRefused: .updateAnswered(.commandDisallowed)
            case .requestTaken: .requestAnswered(.success)
            case .requestRefused: .requestAnswered(.commandDisallowed)
            case .inquiryTaken: .inquiryAnswered(.features, .success)
            case .inquiryRefused: .inquiryAnswered(.features, .commandDisallowed)
            case .parametersChanged: .parametersChanged(.success, made)
            case .parametersRefused: .parametersChanged(.unsupportedRemoteFeature, made)
            case .dataLengthChanged: .dataLengthChanged(tx: .maximum, rx: .maximum)
            case .channelSelection: .channelSelection(.two)
            case .phyChanged: .phyChanged(.success, tx: .le2M, rx: .le2M)
            case .featuresRead: .featuresRead(.success, [])
            case .versionRead: .versionRead(.success, version)
            case .readingAsked: .readingAsked(.rssi, LinkLayerTests.manager, OperationToken(rawValue: 1))
            case .readingEnded: .readingEnded(.rssi, .success(.rssi(-60)))
            case .timer: .timerFired
            case .closed: .closed(.connectionTimeout)
            }
        }
    }

    fileprivate static let manager = ManagerID(rawValue: 3)
    private static let controller: ControllerFacts = {
        var facts = LinkInquiryTests.controller(
            LinkInquiryTests.commands.union([.readRSSI]), LinkInquiryTests.both)
        facts.features = LinkInquiryTests.both
        return facts
    }()
    private static let now = after(10_000)

    private struct Bench {
        var layer: LinkLayer
        var ended: [(token: UInt64, result: Result<OperationValue, HostError>)] = []

        init(_ role: LinkRole, connectedAt: Instant = start, usesLinkLayer: Bool = true) {
            layer = LinkLayer(
                role, LinkFacts(made), connectedAt: connectedAt, supervisionTimeout: operators,
                usesLinkLayer: usesLinkLayer)
        }

        mutating func handle(
            _ event: LinkLayer.Event, _ controller: ControllerFacts = controller, at now: Instant = now
        ) -> [LinkLayer.Request] {
            var outputs: [LinkLayer.Output] = []
            layer.handle(event, controller: controller, now: now, into: &outputs)
            return outputs.compactMap { output in
                switch output {
                case .ask(let request): return request
                case .readingEnded(_, let token, let result):
                    ended.append((token.rawValue, result))
                    return nil
                }
            }
        }
    }

    private static func bench(in state: State) -> Bench {
        var bench: Bench
        switch state {
        case .young: bench = Bench(.central, connectedAt: after(9_500))
        case .due: bench = Bench(.central)
        case .inquiring:
            bench = Bench(.central)
            #expect(bench.handle(.timerFired) == [.exchangeMTU, .inquire(.features)])
        case .updating:
            bench = Bench(.central)
            #expect(bench.handle(.granted(first)) == [.update(first)])
        case .updatingTwice:
            bench = Bench(.central)
            #expect(bench.handle(.granted(first)) == [.update(first)])
            #expect(bench.handle(.granted(second)) == [])
        case .idle: bench = Bench(.peripheral)
        case .askingLinkLayer:
            bench = Bench(.peripheral)
            #expect(bench.handle(.preferred(first)) == [.negotiate(.askLinkLayer(first))])
        case .askingL2CAP:
            bench = Bench(.peripheral, usesLinkLayer: false)
            #expect(bench.handle(.preferred(first)) == [.negotiate(.askL2CAP(first))])
        }
        return bench
    }

    /// What is not named here asks for nothing.
    private static let table: [State: [Input: [LinkLayer.Request]]] = [
        .young: [
            .preferred: [.update(third)], .granted: [.update(third)], .proven: [.update(lengthened)],
            .readingAsked: [.read(.rssi)],
        ],
        .due: [
            .preferred: [.update(third)], .granted: [.update(third)], .proven: [.update(lengthened)],
            .readingAsked: [.read(.rssi)], .timer: [.exchangeMTU, .inquire(.features)],
        ],
        .inquiring: [
            .preferred: [.update(third)], .granted: [.update(third)], .proven: [.update(lengthened)],
            .readingAsked: [.read(.rssi)], .inquiryRefused: [.inquire(.version)],
            .featuresRead: [.inquire(.version)],
        ],
        .updating: [.readingAsked: [.read(.rssi)]],
        .updatingTwice: [
            .readingAsked: [.read(.rssi)], .updateRefused: [.update(second)], .parametersChanged: [.update(second)],
            .parametersRefused: [.update(second)],
        ],
        .idle: [.readingAsked: [.read(.rssi)], .preferred: [.negotiate(.askLinkLayer(third))]],
        .askingLinkLayer: [
            .readingAsked: [.read(.rssi)], .requestRefused: [.negotiate(.askL2CAP(first))],
            .parametersRefused: [.negotiate(.askL2CAP(first))],
        ],
        .askingL2CAP: [.readingAsked: [.read(.rssi)]],
    ]

    @Test("Every event in every state", arguments: State.allCases, Input.allCases)
    func stateTimesInput(_ state: State, _ input: Input) {
        var bench = Self.bench(in: state)
        #expect(bench.handle(input.event) == Self.table[state]?[input] ?? [])
        #expect(bench.ended.isEmpty)
    }

    @Test("Of the changes that wait the newest counts, and there is one at a time")
    func newest() {
        var bench = Self.bench(in: .updatingTwice)
        #expect(bench.handle(.granted(third)) == [])
        #expect(bench.handle(.parametersChanged(.success, made)) == [.update(third)])
        #expect(bench.handle(.granted(second)) == [])
        #expect(bench.handle(.updateAnswered(.commandDisallowed)) == [.update(second)])
        #expect(bench.handle(.parametersChanged(.success, made)) == [])
        #expect(bench.handle(.granted(first)) == [.update(first)])
    }

    @Test("A brief link is lengthened once, and not when somebody has said how long it is to be")
    func brief() {
        var bench = Bench(.central)
        #expect(bench.layer.isBrief)
        #expect(bench.handle(.proven(supervisionTimeout: operators)) == [.update(lengthened)])
        #expect(!bench.layer.isBrief)
        #expect(bench.handle(.parametersChanged(.success, made)) == [])
        #expect(bench.handle(.proven(supervisionTimeout: operators)) == [])

        var preferred = Bench(.central)
        #expect(preferred.handle(.preferred(first)) == [.update(first)])
        #expect(!preferred.layer.isBrief)
        #expect(!Bench(.peripheral).layer.isBrief)
    }

    @Test("While the parameters change the inquiry waits anew")
    func postponed() {
        var bench = Self.bench(in: .updating)
        #expect(bench.layer.deadline == after(LinkInquiry.delayMilliseconds))
        #expect(bench.handle(.timerFired) == [])
        #expect(bench.layer.deadline == after(10_000 + LinkInquiry.delayMilliseconds))
        #expect(bench.handle(.parametersChanged(.success, made)) == [])
        let later = after(10_000 + LinkInquiry.delayMilliseconds)
        #expect(bench.handle(.timerFired, at: later) == [.exchangeMTU, .inquire(.features)])
        #expect(bench.layer.deadline == nil)
    }

    @Test("The MTU is exchanged once, and by a central")
    func exchange() {
        var bench = Bench(.central)
        let (once, twice) = (bench.layer.takeMTUExchange(), bench.layer.takeMTUExchange())
        #expect(once && !twice)
        #expect(bench.handle(.timerFired) == [.inquire(.features)])
        var peripheral = Bench(.peripheral)
        let never = peripheral.layer.takeMTUExchange()
        #expect(!never)
    }

    @Test("What the controller says becomes known; what failed changes nothing")
    func facts() {
        var bench = Bench(.central)
        let other = LELinkParameters(connectionInterval: 40, peripheralLatency: 0, supervisionTimeout: 300)
        for event in [
            LinkLayer.Event.parametersChanged(.connectionTimeout, other),
            .phyChanged(.connectionTimeout, tx: .le2M, rx: .le2M), .featuresRead(.connectionTimeout, .le2MPHY),
            .versionRead(.connectionTimeout, version), .readingEnded(.channelMap, .failure(.noResources)),
        ] {
            #expect(bench.handle(event) == [])
        }
        #expect(bench.layer.facts == LinkFacts(made))

        var expected = LinkFacts(other)
        (expected.txPHY, expected.rxPHY) = (.le2M, .leCoded)
        (expected.txDataLength, expected.rxDataLength) = (.maximum, .minimum)
        (expected.features, expected.version, expected.channelSelection) = (.le2MPHY, version, .two)
        for event in [
            LinkLayer.Event.parametersChanged(.success, other), .phyChanged(.success, tx: .le2M, rx: .leCoded),
            .dataLengthChanged(tx: .maximum, rx: .minimum), .featuresRead(.success, .le2MPHY),
            .versionRead(.success, version), .channelSelection(.two),
        ] {
            #expect(bench.handle(event) == [])
        }
        #expect(bench.layer.facts == expected)
    }

    @Test("One command answers all who asked for a reading; there is room for so many, and the end answers the rest")
    func readings() {
        func ask(_ token: Int, _ reading: LinkReading = .rssi) -> LinkLayer.Event {
            .readingAsked(reading, Self.manager, OperationToken(rawValue: UInt64(token)))
        }
        var bench = Bench(.peripheral)
        let maximum = LinkLayer.readingWaitingMaximum
        for token in 0..<maximum { #expect(bench.handle(ask(token)) == (token == 0 ? [.read(.rssi)] : [])) }
        #expect(bench.ended.isEmpty)
        #expect(bench.handle(ask(maximum)) == [])
        guard bench.ended.map(\.token) == [UInt64(maximum)], case .failure(.noResources) = bench.ended[0].result else {
            Issue.record("\(bench.ended)")
            return
        }
        bench.ended = []
        #expect(bench.handle(.readingEnded(.rssi, .success(.rssi(-70)))) == [])
        #expect(bench.ended.map(\.token) == Array(0..<UInt64(maximum)))
        bench.ended = []
        #expect(bench.handle(ask(7)) == [.read(.rssi)], "the next command")
        #expect(bench.handle(ask(8)) == [])
        #expect(bench.handle(.closed(.connectionTimeout)) == [])
        #expect(bench.ended.map(\.token) == [7, 8])
        for end in bench.ended {
            guard case .failure(.disconnected(.connectionTimeout)) = end.result else {
                Issue.record("\(end)")
                continue
            }
        }
    }

    @Test("A reading that the controller cannot make is refused at once")
    func unsupported() {
        var bench = Bench(.central)
        #expect(bench.handle(.readingAsked(.channelMap, Self.manager, OperationToken(rawValue: 5))) == [])
        guard bench.ended.map(\.token) == [5], case .failure(.unsupportedByController) = bench.ended[0].result else {
            Issue.record("\(bench.ended)")
            return
        }
    }

    @Test("A link waits for its inquiry or its negotiation, and for nothing else")
    func deadlines() {
        #expect(Bench(.central).layer.deadline == after(LinkInquiry.delayMilliseconds))
        #expect(Self.bench(in: .inquiring).layer.deadline == nil)
        #expect(Bench(.peripheral).layer.deadline == nil)
        var pausing = Bench(.peripheral, connectedAt: Self.now)
        #expect(pausing.handle(.preferred(first)) == [])
        let pause = ConnectionParameterNegotiation.pauseMilliseconds
        #expect(pausing.layer.deadline == Self.now.advanced(byMilliseconds: pause))
    }
}
