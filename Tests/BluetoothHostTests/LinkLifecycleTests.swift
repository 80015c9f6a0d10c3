import BluetoothCore
import BluetoothHost
import HCI
import Testing

@Suite("Core 5.4, Vol 4, Part E, 7.7.65.1 and 7.7.5: the life of a connection handle")
struct LinkLifecycleTests {
    typealias Input = LinkLifecycle.Input
    typealias Output = LinkLifecycle.Output

    enum Place: CaseIterable { case absent, open, disconnecting, rejected }

    static let now = Instant(nanoseconds: 5_000_000)
    static let due = now.advanced(byMilliseconds: LinkLifecycle.disconnectTimeoutMilliseconds)

    static func link(in place: Place) -> LinkLifecycle {
        var link = LinkLifecycle()
        switch place {
        case .absent: break
        case .open: _ = link.handle(.connected, now: now)
        case .disconnecting:
            _ = link.handle(.connected, now: now)
            _ = link.handle(.disconnect, now: now)
        case .rejected: _ = link.handle(.connectedWithoutSlot, now: now)
        }
        return link
    }

    static func place(of link: LinkLifecycle) -> Place {
        switch link.state {
        case .absent: .absent
        case .open: .open
        case .disconnecting: .disconnecting
        case .rejected: .rejected
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var place: Place
        var input: Input
        var outputs: [Output]
        var next: Place
        var testDescription: String { "\(place), \(input)" }

        init(_ place: Place, _ input: Input, _ outputs: [Output], _ next: Place) {
            (self.place, self.input, self.outputs, self.next) = (place, input, outputs, next)
        }
    }

    /// The deadline's rows are for an instant at which it is due.
    static let table: [Row] = [
        Row(.absent, .connected, [.open], .open),
        Row(.absent, .connectedWithoutSlot, [.disconnect], .rejected),
        Row(.absent, .disconnect, [], .absent),
        Row(.absent, .disconnectNotKnown, [], .absent),
        Row(.absent, .disconnectRefused, [], .absent),
        Row(.absent, .disconnected, [.fault, .controllerFailed], .absent),
        Row(.absent, .notDisconnected, [.fault], .absent),
        Row(.absent, .event, [], .absent),
        Row(.absent, .deadline, [], .absent),

        Row(.open, .connected, [.fault, .close, .open], .open),
        Row(.open, .connectedWithoutSlot, [.fault, .close, .disconnect], .rejected),
        Row(.open, .disconnect, [.disconnect], .disconnecting),
        Row(.open, .disconnectNotKnown, [], .open),
        Row(.open, .disconnectRefused, [], .open),
        Row(.open, .disconnected, [.close], .absent),
        Row(.open, .notDisconnected, [.fault], .open),
        Row(.open, .event, [.deliver], .open),
        Row(.open, .deadline, [], .open),

        Row(.disconnecting, .connected, [.fault, .close, .open], .open),
        Row(.disconnecting, .connectedWithoutSlot, [.fault, .close, .disconnect], .rejected),
        Row(.disconnecting, .disconnect, [], .disconnecting),
        Row(.disconnecting, .disconnectNotKnown, [.close], .absent),
        Row(.disconnecting, .disconnectRefused, [.fault], .disconnecting),
        Row(.disconnecting, .disconnected, [.close], .absent),
        Row(.disconnecting, .notDisconnected, [.fault], .disconnecting),
        Row(.disconnecting, .event, [], .disconnecting),
        Row(.disconnecting, .deadline, [.controllerFailed], .disconnecting),

        Row(.rejected, .connected, [.fault, .open], .open),
        Row(.rejected, .connectedWithoutSlot, [.fault, .disconnect], .rejected),
        Row(.rejected, .disconnect, [], .rejected),
        Row(.rejected, .disconnectNotKnown, [], .absent),
        Row(.rejected, .disconnectRefused, [.fault], .rejected),
        Row(.rejected, .disconnected, [], .absent),
        Row(.rejected, .notDisconnected, [.fault], .rejected),
        Row(.rejected, .event, [], .rejected),
        Row(.rejected, .deadline, [.controllerFailed], .rejected),
    ]

    @Test("Every state, every input", arguments: table)
    func stateInput(row: Row) {
        var link = Self.link(in: row.place)
        #expect(link.handle(row.input, now: row.input == .deadline ? Self.due : Self.now) == row.outputs)
        #expect(Self.place(of: link) == row.next)
    }

    @Test("The table has each pair once")
    func complete() {
        let pairs = Set(Self.table.map { "\($0.place) \($0.input)" })
        #expect(pairs.count == Self.table.count)
        #expect(pairs.count == Place.allCases.count * Input.allCases.count)
    }

    @Test("What was asked to end has until its deadline, and a link that stands has none", arguments: Place.allCases)
    func deadlines(place: Place) {
        var link = Self.link(in: place)
        let isEnding = place == .disconnecting || place == .rejected
        #expect(link.deadline == (isEnding ? Self.due : nil))
        #expect(link.handle(.deadline, now: Self.now) == [], "early")
    }
}

@Suite("Core 5.4, Vol 6, Part B, 5.1: what a central asks a peer's link layer")
struct LinkInquiryTests {
    static let start = Instant(nanoseconds: 0)
    static let commands: Set<SupportedCommands.Position> = [
        .leReadRemoteFeatures, .readRemoteVersionInformation, .leSetDataLength, .leSetPHY,
    ]
    static let both: LEFeatures = [.dataPacketLengthExtension, .le2MPHY]

    static func controller(_ commands: Set<SupportedCommands.Position>, _ features: LEFeatures) -> ControllerFacts {
        var facts = ControllerFacts()
        facts.supportedCommands = SupportedCommands(commands)
        facts.features = features
        return facts
    }

    /// Every step that is asked for, when the peer answers each as it can.
    private func steps(
        _ controller: ControllerFacts, peer: LEFeatures?, _ link: LinkFacts = LinkFacts()
    ) -> [LinkInquiry.Step] {
        var (link, steps) = (link, [LinkInquiry.Step]())
        var inquiry = LinkInquiry(now: Self.start)
        var next = inquiry.begin(controller, link)
        while let step = next {
            steps.append(step)
            if step == .features { link.features = peer }
            next = inquiry.ended(step, controller, link)
        }
        return steps
    }

    @Test("Everything, one after the other, in its order")
    func whole() {
        #expect(steps(Self.controller(Self.commands, Self.both), peer: Self.both) == LinkInquiry.Step.allCases)
    }

    @Test("Nothing is asked of a controller that lacks the command", arguments: Array(commands))
    func lacking(command: SupportedCommands.Position) {
        let commands = Self.commands.subtracting([command])
        let steps = steps(Self.controller(commands, Self.both), peer: Self.both)
        switch command {
        case .leReadRemoteFeatures: #expect(steps == [.version], "without the peer's features neither of the others")
        case .readRemoteVersionInformation: #expect(steps == [.features, .dataLength, .phy])
        case .leSetDataLength: #expect(steps == [.features, .version, .phy])
        default: #expect(steps == [.features, .version, .dataLength])
        }
    }

    @Test("2M is taken when both have it, and a longer PDU likewise")
    func features() {
        let all = Self.controller(Self.commands, Self.both)
        #expect(steps(all, peer: []) == [.features, .version])
        #expect(steps(all, peer: nil) == [.features, .version], "the peer did not tell")
        #expect(steps(all, peer: .le2MPHY) == [.features, .version, .phy])
        #expect(steps(Self.controller(Self.commands, []), peer: Self.both) == [.features, .version])
    }

    @Test("What the link has already is not asked for")
    func already() {
        var link = LinkFacts()
        (link.txPHY, link.rxPHY) = (.le2M, .le2M)
        link.txDataLength = .maximum
        link.version = LinkFacts.Version(core: .v5_4, companyIdentifier: 1, subversion: 1)
        link.features = Self.both
        #expect(steps(Self.controller(Self.commands, Self.both), peer: Self.both, link) == [])
    }

    @Test("It begins once, and only the end of the step that is under way moves it on")
    func once() {
        let controller = Self.controller(Self.commands, Self.both)
        var inquiry = LinkInquiry(now: Self.start)
        let later = Self.start.advanced(byMilliseconds: LinkInquiry.delayMilliseconds)
        #expect(inquiry.deadline == later)
        #expect(!inquiry.isDue(Self.start))
        #expect(inquiry.isDue(later))
        for step in LinkInquiry.Step.allCases { #expect(inquiry.ended(step, controller, LinkFacts()) == nil) }
        #expect(inquiry.begin(controller, LinkFacts()) == .features)
        #expect(inquiry.deadline == nil)
        #expect(inquiry.begin(controller, LinkFacts()) == nil)
        for step in LinkInquiry.Step.allCases where step != .features {
            #expect(inquiry.ended(step, controller, LinkFacts()) == nil)
        }
        #expect(inquiry.ended(.features, controller, LinkFacts()) == .version)
    }
}
