import ATT
import BluetoothCore
import GATT
import SecurityManager
import Testing

@testable import BluetoothHost

/// The server as a value: nothing but it, and what the test says of links, bonds and room.
@Suite struct ServerValueTests {
    static let link = LinkID(rawValue: 1)
    static let other = LinkID(rawValue: 2)
    static let owner = BondID(9)
    /// Two apps that publish.
    static let apps: [Server.Owner] = {
        var ledger = RestorationLedger([:])
        return (0..<2).map { _ in ledger.register(role: .peripheral, identifier: nil).owner }
    }()
    static let definition = ServiceDefinition(
        uuid: 0xFFF0,
        characteristics: [
            CharacteristicDefinition(
                uuid: 0xFFF1, properties: [.read, .write, .notify, .indicate],
                access: AttributeAccess(read: .open, writeRequest: .open, subscribe: .open))
        ])

    /// The value and its surroundings, and what came out, in order.
    struct Bench {
        var server = Server(HostConfiguration(deviceName: "door"), clients: [])
        var published: [PublishedService] = []
        var out: [String] = []

        init(services: Int = 1) throws {
            var outputs: [Server.Output] = []
            for number in 0..<services {
                published.append(
                    try server.publish(definition, of: apps[number], into: &outputs))
            }
        }

        var value: AttributeHandle { published[0].characteristics[0].value }
        /// Behind the service's declaration, and the characteristic's declaration and value.
        var descriptor: AttributeHandle { AttributeHandle(published[0].declaration.rawValue + 3) }

        mutating func happens(_ event: Server.Event) {
            var outputs: [Server.Output] = []
            server.handle(event, into: &outputs)
            take(outputs)
        }

        /// A client that wants to be told, under its bond.
        mutating func subscribe(_ bond: BondID, _ wanted: ClientCharacteristicConfiguration) {
            let record = GATTClientRecord(bond: 0, configurations: [descriptor: wanted])
            happens(.bondRenewed(record, bond))
            out = []
        }

        mutating func take(_ outputs: [Server.Output]) { out += outputs.map { name($0) } }

        private func name(_ output: Server.Output) -> String {
            switch output {
            case .persist: "persist"
            case .servicePublished(_, let record): "published \(record.handle.rawValue)"
            case .serviceRemoved(_, let handle): "removed \(handle.rawValue)"
            case .databaseChanged(let range): "changed \(range.lowerBound.rawValue)-\(range.upperBound.rawValue)"
            case .readRequested(let app, _, let id, _, let offset): "read \(id.rawValue) at \(offset) for \(name(app))"
            case .writesRequested(let app, _, let id, let writes, _):
                "\(id.map { "write \($0.rawValue)" } ?? "command") of \(writes.count) for \(name(app))"
            case .answerRead(_, let id, let result): "answer read \(id.rawValue) \(name(result))"
            case .answerWrite(_, let id, let error): "answer write \(id.rawValue) \(error == nil ? "taken" : "refused")"
            case .subscriptionChanged(let app, _, _, let wanted): "subscribed \(wanted.rawValue) for \(name(app))"
            case .keep(_, let bond, _, _, let isIndication): "keep \(bond.rawValue)\(isIndication ? "i" : "n")"
            case .delivered(_, let sequence): "delivered \(sequence)"
            case .deliver: "deliver"
            case .send(let update):
                (update.isIndication ? "indicate" : "notify") + (update.kept.map { " \($0.sequence)" } ?? "")
            case .readyToUpdate: "ready"
            }
        }

        private func name(_ app: Server.Owner?) -> String {
            app.flatMap { ServerValueTests.apps.firstIndex(of: $0) }.map { "app \($0)" } ?? "nobody"
        }

        private func name(_ result: Result<[UInt8], ATTErrorCode>) -> String {
            switch result {
            case .success(let value): "\(value)"
            case .failure: "refused"
            }
        }

        /// What is kept of the link's updates.
        var session: String {
            guard let session = server.sessions.first(where: { $0.link == link }) else { return "none" }
            let words =
                session.underWay.keys.sorted().map { "\($0)" } + (session.hasWaitingUpdates ? ["waiting"] : [])
                + (session.isInTheWay ? ["in the way"] : [])
            return words.isEmpty ? "idle" : words.joined(separator: " ")
        }
    }

    // MARK: Updates

    enum LinkState: CaseIterable {
        /// Never here.
        case nobody
        /// Here, in the bond's name, and not proved.
        case unproven
        case proven
        case noRoom
        /// The first update out of the ledger's queue is on its way.
        case underWay
        /// The same, and the ledger's queue is full.
        case queueFull
        /// The first update found no room, which there is now.
        case waiting
        /// The first is on its way, and more found no room.
        case underWayAndWaiting
        /// An app was refused, and there is room now.
        case inTheWay
        /// The link went while the first was on its way.
        case gone
    }

    enum Input: Hashable {
        case kept, direct
        case began
        case offered(UInt64), offeredIndication, offeredUnwanted, offeredOfOther
        case tried(GATTSendOutcome)
        case sent, confirmed, lost, confirmedUnkept
        case room, noOctets, noIndications, noKept
        case closed
    }

    /// What comes out, and behind the arrow what is kept of the link then; without arrow, what was. An input that a state has no
    /// line for changes nothing there, and nothing comes out.
    static let table: [Input: [LinkState: String]] = {
        let keep = "keep 8i, keep 9n"
        return [
            .kept: [
                .nobody: keep, .unproven: "\(keep), notify", .proven: "\(keep), deliver",
                .noRoom: "refused > in the way",
                .underWay: "\(keep), deliver", .queueFull: "refused > 1 in the way", .waiting: "\(keep), deliver",
                .underWayAndWaiting: "\(keep), deliver", .inTheWay: "\(keep), deliver", .gone: keep,
            ],
            .direct: [
                .unproven: "notify", .proven: "notify", .noRoom: "refused > in the way", .underWay: "notify",
                .queueFull: "notify", .waiting: "notify", .underWayAndWaiting: "notify", .inTheWay: "notify",
            ],
            .began: [.waiting: " > idle", .underWayAndWaiting: " > 1"],
            .offered(1): [
                .proven: "notify 1 > 1", .noRoom: " > waiting", .waiting: "notify 1 > 1 waiting",
                .inTheWay: "notify 1 > 1 in the way",
            ],
            .offered(2): [
                .proven: "notify 2 > 2", .noRoom: " > waiting", .underWay: "notify 2 > 1 2",
                .queueFull: "notify 2 > 1 2", .waiting: "notify 2 > 2 waiting",
                .underWayAndWaiting: "notify 2 > 1 2 waiting", .inTheWay: "notify 2 > 2 in the way",
            ],
            .offeredIndication: [
                .proven: "indicate 1 > 1", .noRoom: " > waiting", .waiting: "indicate 1 > 1 waiting",
                .inTheWay: "indicate 1 > 1 in the way",
            ],
            .offeredUnwanted: [
                .proven: "delivered 1", .noRoom: " > waiting", .waiting: "delivered 1", .inTheWay: "delivered 1",
            ],
            .offeredOfOther: [:],
            .tried(.sent): [:],
            .tried(.queued): [:],
            .tried(.queueFull): [
                .underWay: " > waiting", .queueFull: " > waiting", .underWayAndWaiting: " > waiting",
            ],
            .tried(.notSubscribed): [
                .underWay: "delivered 1 > idle", .queueFull: "delivered 1 > idle",
                .underWayAndWaiting: "delivered 1 > waiting",
            ],
            .tried(.invalidCharacteristic): [
                .underWay: "delivered 1 > idle", .queueFull: "delivered 1 > idle",
                .underWayAndWaiting: "delivered 1 > waiting",
            ],
            .tried(.insufficientSecurity): [
                .underWay: " > idle", .queueFull: " > idle", .underWayAndWaiting: " > waiting",
            ],
            .tried(.changeUnaware): [
                .underWay: " > idle", .queueFull: " > idle", .underWayAndWaiting: " > waiting",
            ],
            .tried(.bearerClosed): [
                .underWay: " > idle", .queueFull: " > idle", .underWayAndWaiting: " > waiting",
            ],
            .sent: [
                .nobody: "delivered 1", .unproven: "delivered 1", .proven: "delivered 1", .noRoom: "delivered 1",
                .underWay: "delivered 1 > idle", .queueFull: "delivered 1 > idle", .waiting: "delivered 1",
                .underWayAndWaiting: "delivered 1 > waiting", .inTheWay: "delivered 1", .gone: "delivered 1",
            ],
            .confirmed: [
                .underWay: "delivered 1 > idle", .queueFull: "delivered 1 > idle",
                .underWayAndWaiting: "delivered 1, deliver > waiting",
            ],
            .lost: [.underWay: " > idle", .queueFull: " > idle", .underWayAndWaiting: " > waiting"],
            .confirmedUnkept: [:],
            .room: [.inTheWay: "ready > idle"],
            .noOctets: [:],
            .noIndications: [:],
            // Nothing of what is kept is on its way: there is nothing that one more could displace.
            .noKept: [.inTheWay: "ready > idle"],
            .closed: [
                .unproven: " > none", .proven: " > none", .noRoom: " > none", .underWay: " > none",
                .queueFull: " > none", .waiting: " > none", .underWayAndWaiting: " > none", .inTheWay: "ready > none",
            ],
        ]
    }()

    private func room(octets: Bool = true, indications: Bool = true, kept: Bool = true) -> Server.Room {
        Server.Room(link: Self.link, hasOctets: octets, hasIndications: indications, hasKept: kept)
    }

    private func client(
        _ state: LinkState, wanted: ClientCharacteristicConfiguration = .notification
    ) -> Server.Client {
        Server.Client(
            bond: state == .unproven ? nil : Self.owner, wanted: wanted,
            room: room(octets: state != .noRoom, kept: state != .queueFull))
    }

    private func waiting(_ sequence: UInt64, _ bond: BondID = ServerValueTests.owner, in bench: Bench) -> QueuedUpdate {
        QueuedUpdate(sequence: sequence, bond: bond, valueHandle: bench.value, isIndication: false, value: [7])
    }

    private func bench(_ state: LinkState) throws -> Bench {
        var bench = try Bench()
        bench.subscribe(Self.owner, .notification)
        bench.subscribe(BondID(8), .indication)
        bench.subscribe(BondID(7), [])
        if state != .nobody { bench.happens(.opened(Self.link)) }
        switch state {
        case .nobody, .unproven, .proven, .noRoom: break
        case .underWay, .queueFull, .gone: apply(.offered(1), .proven, to: &bench)
        case .waiting: apply(.offered(1), .noRoom, to: &bench)
        case .underWayAndWaiting:
            apply(.offered(1), .proven, to: &bench)
            apply(.offered(2), .noRoom, to: &bench)
        case .inTheWay: apply(.direct, .noRoom, to: &bench)
        }
        if state == .gone { bench.happens(.closed(Self.link)) }
        bench.out = []
        return bench
    }

    private func update(keeper: Server.Owner?, _ client: Server.Client?, to bench: inout Bench) {
        var outputs: [Server.Output] = []
        let clients = [client].compactMap { $0 }
        let isTaken = bench.server.updateValue(bench.value, [7], keeper: keeper, for: clients, into: &outputs)
        bench.take(outputs)
        if !isTaken { bench.out.append("refused") }
    }

    private func apply(_ input: Input, _ state: LinkState, to bench: inout Bench) {
        // As the host says it, who knows of no link that has gone.
        let present = state == .nobody || state == .gone ? nil : client(state)
        func offer(_ update: QueuedUpdate, wanted: ClientCharacteristicConfiguration) {
            bench.happens(.offered(update, Self.apps[0], to: client(state, wanted: wanted)))
        }
        switch input {
        case .kept: update(keeper: Self.apps[0], present, to: &bench)
        case .direct: update(keeper: nil, present, to: &bench)
        case .began: bench.happens(.deliveryBegan(Self.link))
        case .offered(let sequence): offer(waiting(sequence, in: bench), wanted: .notification)
        case .offeredIndication: offer(waiting(1, in: bench), wanted: .indication)
        case .offeredUnwanted: offer(waiting(1, in: bench), wanted: [])
        case .offeredOfOther: offer(waiting(1, BondID(8), in: bench), wanted: .notification)
        case .tried(let outcome): bench.happens(.tried(Self.link, sequence: 1, outcome))
        case .sent: bench.happens(.sent(Self.link, Self.apps[0], sequence: 1))
        case .confirmed: bench.happens(.indicationEnded(Self.link, token: 1, confirmed: true))
        case .lost: bench.happens(.indicationEnded(Self.link, token: 1, confirmed: false))
        case .confirmedUnkept: bench.happens(.indicationEnded(Self.link, token: 0, confirmed: true))
        case .room: bench.happens(.roomChanged([room()]))
        case .noOctets: bench.happens(.roomChanged([room(octets: false)]))
        case .noIndications: bench.happens(.roomChanged([room(indications: false)]))
        case .noKept: bench.happens(.roomChanged([room(kept: false)]))
        case .closed: bench.happens(.closed(Self.link))
        }
    }

    @Test("Updates: every input in every state of a link", arguments: LinkState.allCases, Array(table.keys))
    func updates(_ state: LinkState, _ input: Input) throws {
        var bench = try bench(state)
        let before = bench.session
        apply(input, state, to: &bench)
        let expected = (Self.table[input]?[state] ?? "").split(separator: " > ", omittingEmptySubsequences: false)
        #expect(bench.out.joined(separator: ", ") == expected[0])
        #expect(bench.session == (expected.count > 1 ? String(expected[1]) : before))
    }

    @Test("Of several links one without room is enough to refuse, and an app hears of room once for all of them")
    func several() throws {
        var bench = try Bench()
        bench.happens(.opened(Self.link))
        bench.happens(.opened(Self.other))
        func client(
            _ link: LinkID, _ wanted: ClientCharacteristicConfiguration = .notification, octets: Bool = true,
            indications: Bool = true
        ) -> Server.Client {
            let room = Server.Room(link: link, hasOctets: octets, hasIndications: indications, hasKept: true)
            return Server.Client(bond: nil, wanted: wanted, room: room)
        }
        func update(_ clients: [Server.Client]) -> Bool {
            var outputs: [Server.Output] = []
            let isTaken = bench.server.updateValue(bench.value, [7], keeper: nil, for: clients, into: &outputs)
            bench.take(outputs)
            return isTaken
        }
        bench.out = []
        #expect(!update([client(Self.link), client(Self.other, octets: false)]))
        #expect(!update([client(Self.link, .indication, indications: false), client(Self.other)]))
        #expect(bench.out == [], "nobody is sent what somebody has no room for")
        #expect(bench.server.isInTheWay(Self.link) && bench.server.isInTheWay(Self.other))

        #expect(update([client(Self.link, [], octets: false), client(Self.other)]))
        #expect(update([client(Self.link, [.notification, .indication], indications: false)]))
        #expect(bench.out == ["notify", "notify"], "one that does not want it, or can be notified, is in nobody's way")

        bench.out = []
        bench.happens(.roomChanged([client(Self.link).room, client(Self.other).room]))
        #expect(bench.out == ["ready"])
        #expect(!bench.server.isAnybodyInTheWay)
    }

    @Test("A link that catches up with a full queue stays in the way until the queue has room")
    func catchingUp() throws {
        var bench = try bench(.underWay)
        apply(.kept, .queueFull, to: &bench)
        apply(.noKept, .queueFull, to: &bench)
        #expect(bench.out == ["refused"])
        apply(.sent, .queueFull, to: &bench)
        apply(.noKept, .queueFull, to: &bench)
        #expect(bench.out == ["refused", "delivered 1", "ready"], "nothing of it is on its way any more")
    }

    @Test("What two links of one bond have on their way is each its own")
    func twoLinks() throws {
        var bench = try bench(.underWay)
        bench.happens(.opened(Self.other))
        let room = Server.Room(link: Self.other, hasOctets: true, hasIndications: true, hasKept: true)
        let client = Server.Client(bond: Self.owner, wanted: .indication, room: room)
        bench.happens(.offered(waiting(1, in: bench), Self.apps[0], to: client))
        bench.happens(.indicationEnded(Self.link, token: 1, confirmed: false))
        #expect(bench.out == ["indicate 1"])
        #expect(bench.session == "idle")
        bench.happens(.indicationEnded(Self.other, token: 1, confirmed: true))
        #expect(bench.out == ["indicate 1", "delivered 1"])
    }

    // MARK: Requests

    enum RequestState: CaseIterable { case nobody, idle, reading, writing, answered, gone }
    enum RequestInput: CaseIterable {
        case read, write, command, taken, refused, otherNumber, otherLink, closed
    }

    /// What comes out; an input that a state has no line for brings out nothing.
    static let requests: [RequestInput: [RequestState: String]] = [
        .read: [
            .idle: "read 6 at 3 for app 0", .reading: "read 6 at 3 for app 0", .writing: "read 6 at 3 for app 0",
            .answered: "read 6 at 3 for app 0",
        ],
        .write: [
            .idle: "write 6 of 1 for app 0", .reading: "write 6 of 1 for app 0", .writing: "write 6 of 1 for app 0",
            .answered: "write 6 of 1 for app 0",
        ],
        .command: [
            .idle: "command of 1 for app 0", .reading: "command of 1 for app 0", .writing: "command of 1 for app 0",
            .answered: "command of 1 for app 0",
        ],
        .taken: [.reading: "answer read 5 [7]", .writing: "answer write 5 taken"],
        .refused: [.reading: "answer read 5 refused", .writing: "answer write 5 refused"],
        .otherNumber: [:],
        .otherLink: [:],
        .closed: [:],
    ]

    @Test("Requests: every input in every state of a link", arguments: RequestState.allCases, RequestInput.allCases)
    func requests(_ state: RequestState, _ input: RequestInput) throws {
        var bench = try Bench()
        let id = GATTRequestID(5)
        let write = AttributeWrite(handle: bench.value, value: [7])
        let request = ServerRequestID(link: Self.link, number: 5)
        if state != .nobody { bench.happens(.opened(Self.link)) }
        switch state {
        case .nobody, .idle: break
        case .reading, .answered, .gone: bench.happens(.read(Self.link, id, bench.value, offset: 0))
        case .writing: bench.happens(.write(Self.link, id, [write], .request))
        }
        if state == .answered { bench.happens(.answered(request, .success([]))) }
        if state == .gone { bench.happens(.closed(Self.link)) }
        bench.happens(.opened(Self.other))
        bench.out = []
        switch input {
        case .read: bench.happens(.read(Self.link, GATTRequestID(6), bench.value, offset: 3))
        case .write: bench.happens(.write(Self.link, GATTRequestID(6), [write], .request))
        case .command: bench.happens(.write(Self.link, nil, [write], .command))
        case .taken: bench.happens(.answered(request, .success([7])))
        case .refused: bench.happens(.answered(request, .failure(.unlikelyError)))
        case .otherNumber: bench.happens(.answered(ServerRequestID(link: Self.link, number: 4), .success([])))
        case .otherLink: bench.happens(.answered(ServerRequestID(link: Self.other, number: 5), .success([])))
        case .closed: bench.happens(.closed(Self.link))
        }
        #expect(bench.out.joined(separator: ", ") == Self.requests[input]?[state] ?? "")
        bench.out = []
        bench.happens(.answered(request, .success([9])))
        let isOpen = (state == .reading || state == .writing) && [.command, .otherNumber, .otherLink].contains(input)
        #expect(bench.out.isEmpty == !isOpen, "each is answered once, in its link's time, and not under another's name")
    }

    // MARK: The tree

    @Test("A request goes to the app whose service the handle lies in; a write across two apps is nobody's")
    func publishers() throws {
        var bench = try Bench(services: 2)
        bench.happens(.opened(Self.link))
        bench.out = []
        let (first, second) = (bench.published[0], bench.published[1])
        let handles = [first.declaration, first.end, second.declaration, second.end]
        for handle in handles + [AttributeHandle(1), AttributeHandle(second.end.rawValue + 1)] {
            bench.happens(.read(Self.link, GATTRequestID(1), handle, offset: 0))
        }
        let asked = ["app 0", "app 0", "app 1", "app 1", "nobody", "nobody"].map { "read 1 at 0 for \($0)" }
        #expect(bench.out == asked)
        bench.out = []
        let writes = handles.map { AttributeWrite(handle: $0, value: [7]) }
        for written in [[0, 1], [2, 3], [0, 2], [3, 1], []] {
            bench.happens(.write(Self.link, nil, written.map { writes[$0] }, .command))
        }
        #expect(
            bench.out == [
                "command of 2 for app 0", "command of 2 for app 1", "command of 2 for nobody",
                "command of 2 for nobody",
                "command of 0 for nobody",
            ])
        bench.out = []
        bench.happens(.subscriptionChanged(Self.link, second.end, .notification))
        bench.happens(.subscriptionChanged(Self.link, AttributeHandle(1), .notification))
        #expect(bench.out == ["subscribed 1 for app 1"])
    }

    @Test("Of two equal services of one life both stand; one that stands from before is not published again, but once")
    func equal() throws {
        var bench = try Bench(services: 1)
        var outputs: [Server.Output] = []
        bench.server.published.inherit(Self.apps[0])
        #expect(try bench.server.publish(Self.definition, of: Self.apps[0], into: &outputs) == bench.published[0])
        #expect(outputs.isEmpty)
        let second = try bench.server.publish(Self.definition, of: Self.apps[0], into: &outputs)
        #expect(second.declaration > bench.published[0].end)
        #expect(bench.server.published.services(of: Self.apps[0]) == [bench.published[0], second])
        // Both come again, each in its place.
        outputs = []
        bench.server.published.inherit(Self.apps[0])
        #expect(try bench.server.publish(Self.definition, of: Self.apps[0], into: &outputs) == bench.published[0])
        #expect(try bench.server.publish(Self.definition, of: Self.apps[0], into: &outputs) == second)
        #expect(outputs.isEmpty)
    }

    @Test("A service that stands is not published again; only its owner takes it back, the last of several first")
    func tree() throws {
        var bench = try Bench(services: 2)
        var outputs: [Server.Output] = []
        bench.server.published.inherit(Self.apps[0])
        let again = try bench.server.publish(Self.definition, of: Self.apps[0], into: &outputs)
        #expect(again == bench.published[0])
        bench.server.unpublish(bench.value, of: Self.apps[0], into: &outputs)
        bench.server.unpublish(again.declaration, of: Self.apps[1], into: &outputs)
        #expect(outputs.isEmpty)

        var more = Self.definition
        more.uuid = 0xFFF5
        let last = try bench.server.publish(more, of: Self.apps[0], into: &outputs)
        let (start, end) = (last.declaration.rawValue, last.end.rawValue)
        bench.take(outputs)
        #expect(bench.out == ["published \(start)", "changed \(start)-\(end)"])
        #expect(bench.server.published.services(of: Self.apps[0]) == [again, last])

        bench.out = []
        outputs = []
        bench.server.unpublishAll(of: Self.apps[0], into: &outputs)
        bench.take(outputs)
        let (first, firstEnd) = (again.declaration.rawValue, again.end.rawValue)
        #expect(
            bench.out == [
                "persist", "removed \(start)", "changed \(start)-\(end)", "persist", "removed \(first)",
                "changed \(first)-\(firstEnd)",
            ])
        #expect(bench.server.published.services(of: Self.apps[0]).isEmpty)
        #expect(bench.server.published.services(of: Self.apps[1]) == [bench.published[1]])
    }

    @Test(
        "A restored service has the handles that it had, whichever came first, and tells nobody; a damaged one is none")
    func restored() throws {
        var bench = try Bench(services: 0)
        for handle: UInt16 in [0x40, 0x20] {
            bench.server.restore(
                PublishedServiceRecord(handle: AttributeHandle(handle), encoded: Self.definition.encoded),
                of: Self.apps[0])
        }
        bench.server.restore(PublishedServiceRecord(handle: AttributeHandle(0x60), encoded: [1]), of: Self.apps[0])
        bench.server.restore(
            PublishedServiceRecord(handle: AttributeHandle(0x21), encoded: Self.definition.encoded), of: Self.apps[1])
        let services = bench.server.published.services(of: Self.apps[0])
        #expect(services.map(\.declaration.rawValue) == [0x20, 0x40])
        #expect(bench.server.published.services(of: Self.apps[1]).isEmpty, "these handles are taken")
        #expect(bench.server.published.owner(of: AttributeHandle(0x22)) == Self.apps[0])
        #expect(bench.server.published.owner(of: AttributeHandle(0x30)) == nil)
        #expect(bench.server.published.configuration(ofValueAt: AttributeHandle(0x22)) == AttributeHandle(0x23))
        #expect(bench.server.published.configuration(ofValueAt: AttributeHandle(0x23)) == nil)
    }

    // MARK: Bonded clients

    @Test(
        "A renewed bond has its client's subscriptions, and a deleted one has none; each is told of in the bonds' order"
    )
    func bonds() throws {
        var bench = try Bench()
        bench.subscribe(BondID(5), .indication)
        bench.subscribe(BondID(-3), .notification)
        bench.subscribe(BondID(4), [])
        let record = try #require(bench.server.record(of: BondID(5)))
        bench.happens(.bondRenewed(record, BondID(2)))
        #expect(bench.out == ["persist"])
        bench.happens(.bondDeleted(BondID(5)))
        let subscribers = bench.server.bondedSubscribers(of: bench.value)
        #expect(subscribers.map(\.bond) == [BondID(2), BondID(-3)])
        #expect(subscribers.map(\.wanted) == [.indication, .notification])
        #expect(bench.server.record(of: BondID(5)) == nil)
        #expect(bench.server.bondedSubscribers(of: bench.published[0].declaration).isEmpty)
    }
}
