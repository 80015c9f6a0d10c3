import ATT
import BluetoothCore
import GATT
import SecurityManager

// MARK: What the host's other values have to do with the server

extension HostCore {
    /// One event for the server, and what follows from it for others.
    mutating func tellServer(_ event: Server.Event) { withServer { $0.handle(event, into: &$1) } }

    mutating func withServer<R, E: Error>(
        _ body: (inout Server, inout [Server.Output]) throws(E) -> R
    ) throws(E) -> R {
        var outputs: [Server.Output] = []
        swap(&outputs, &spareServerOutputs)
        let result = try body(&server, &outputs)
        var next = outputs.startIndex
        while next < outputs.endIndex {
            performServer(outputs[next], &outputs)
            next += 1
        }
        outputs.removeAll(keepingCapacity: true)
        swap(&outputs, &spareServerOutputs)
        return result
    }

    /// `outputs`: what becomes of an update may lead to more.
    private mutating func performServer(_ output: Server.Output, _ outputs: inout [Server.Output]) {
        switch output {
        case .persist(let mutation): persist(.gatt(mutation))
        case .servicePublished(let owner, let record): withLedger { $0.publish(owner, record, &$1) }
        case .serviceRemoved(let owner, let declaration): withLedger { $0.unpublish(owner, declaration, &$1) }
        case .databaseChanged(let range): databaseChanged(range)
        case .readRequested(let owner, let link, let id, let handle, let offset):
            askToRead(owner, link, id, handle, offset)
        case .writesRequested(let owner, let link, let id, let writes, let path):
            askToWrite(owner, link, id, writes, path)
        case .answerRead(let link, let id, let result): answerRead(link, id, result)
        case .answerWrite(let link, let id, let error): answerWrite(link, id, error)
        case .subscriptionChanged(let owner, let link, let handle, let configuration):
            guard let manager = managers.manager(of: owner), let link = links[link] else { return }
            announce(.subscriptionChanged(link.info, handle, configuration), to: manager)
        case .keep(let owner, let bond, let handle, let value, let isIndication):
            withLedger {
                _ = $0.queue(owner, bond: bond, handle: handle, isIndication: isIndication, value: value, &$1)
            }
        case .delivered(let owner, let sequence): withLedger { $0.delivered(owner, sequence: sequence, &$1) }
        case .deliver(let link): work.append(.deliverUpdates(link))
        case .send(let update): sendUpdate(update, &outputs)
        case .readyToUpdate: announce(.readyToUpdate)
        }
    }
}

// MARK: The published tree

extension HostCore {
    mutating func publish(_ manager: ManagerID, _ service: ServiceDefinition) throws(HostError) -> PublishedService {
        guard let owner = managers[manager]?.owner else { throw .unknownManager }
        do throws(AttributeDatabaseError) {
            return try withServer { server, outputs throws(AttributeDatabaseError) in
                try server.publish(service, of: owner, into: &outputs)
            }
        } catch {
            throw .publishing(error)
        }
    }

    mutating func unpublish(_ manager: ManagerID, service declaration: AttributeHandle) {
        guard let owner = managers[manager]?.owner else { return }
        withServer { $0.unpublish(declaration, of: owner, into: &$1) }
    }

    mutating func unpublishAll(_ manager: ManagerID) {
        guard let owner = managers[manager]?.owner else { return }
        unpublishAll(of: owner)
    }

    mutating func unpublishAll(of owner: RestorationLedger.Owner) {
        withServer { $0.unpublishAll(of: owner, into: &$1) }
    }

    func isInherited(_ manager: ManagerID, service declaration: AttributeHandle) -> Bool {
        managers[manager].map { server.published.isInherited(declaration, of: $0.owner) } ?? false
    }

    func publishedServices(of manager: ManagerID) -> [PublishedService] {
        managers[manager].map { server.published.services(of: $0.owner) } ?? []
    }

    mutating func restorePublishedServices() {
        for owner in ledger.owners(of: .peripheral) {
            for record in ledger.asked(owner).services.sorted(by: { $0.handle < $1.handle }) {
                if ledger.isAtRest(owner) { server.reserve(record) } else { server.restore(record, of: owner) }
            }
        }
    }

    private mutating func databaseChanged(_ range: ClosedRange<AttributeHandle>) {
        withLedger { $0.forgetUpdates(of: range, &$1) }
        for link in links.all {
            withEndpoint(link) { $0.databaseChanged(range, now: $2, server: $1, outputs: &$3) }
        }
    }
}

// MARK: Requests

extension HostCore {
    private mutating func askToRead(
        _ owner: RestorationLedger.Owner?, _ link: LinkID, _ id: GATTRequestID, _ handle: AttributeHandle, _ offset: Int
    ) {
        guard let info = links[link]?.info else { return }
        let request = ServerReadRequest(
            id: ServerRequestID(link: link, number: id.rawValue), link: info, handle: handle, offset: offset)
        tellings.append(.read(owner.flatMap(managers.manager), request))
    }

    private mutating func askToWrite(
        _ owner: RestorationLedger.Owner?, _ link: LinkID, _ id: GATTRequestID?, _ writes: [AttributeWrite],
        _ path: WritePath
    ) {
        guard let info = links[link]?.info else { return }
        let request = ServerWriteRequest(
            id: id.map { ServerRequestID(link: link, number: $0.rawValue) }, link: info, path: path,
            writes: writes.map { .init(handle: $0.handle, offset: $0.offset, value: $0.value) })
        tellings.append(.write(owner.flatMap(managers.manager), request))
    }

    mutating func respond(to request: ServerRequestID, value: [UInt8]) {
        tellServer(.answered(request, .success(value)))
    }

    mutating func refuse(_ request: ServerRequestID, error: ATTErrorCode) {
        tellServer(.answered(request, .failure(error)))
    }

    private mutating func answerRead(_ link: LinkID, _ id: GATTRequestID, _ result: Result<[UInt8], ATTErrorCode>) {
        guard let link = links[link] else { return }
        withEndpoint(link) {
            _ = $0.respond(toRead: id, with: result, security: link.security, server: &$1, outputs: &$3)
        }
    }

    private mutating func answerWrite(_ link: LinkID, _ id: GATTRequestID, _ error: ATTErrorCode?) {
        guard let link = links[link] else { return }
        withEndpoint(link) { endpoint, _, _, outputs in
            _ = endpoint.respond(toWrite: id, with: error, outputs: &outputs)
        }
    }
}

// MARK: Updates

extension HostCore {
    mutating func updateValue(
        _ manager: ManagerID, _ handle: AttributeHandle, _ value: [UInt8], to recipients: [UpdateRecipient]?,
        keepForAbsent: Bool, isBulk: Bool = false
    ) -> Bool {
        guard let owner = managers[manager]?.owner else { return false }
        let keeper = keepForAbsent && recipients?.contains { $0.peer != nil } ?? true ? owner : nil
        if keeper != nil { recallAll() }
        let bonds = keeper == nil ? nil : recipients.map { self.bonds(of: $0, subscribedTo: handle) }
        var clients: [Server.Client] = []
        swap(&clients, &spareClients)
        for link in links.all where recipients?.contains(where: link.isMeant(by:)) ?? true {
            clients.append(client(link, of: handle, keeper: keeper, isBulk: isBulk))
        }
        let isTaken = withServer {
            $0.updateValue(handle, value, keeper: keeper, among: bonds, for: clients, into: &$1)
        }
        clients.removeAll(keepingCapacity: true)
        swap(&clients, &spareClients)
        return isTaken
    }

    /// Those of the bonded subscribers that are meant. One that is here is who its link says; one that is away has the name of its
    /// identity.
    private mutating func bonds(of recipients: [UpdateRecipient], subscribedTo handle: AttributeHandle) -> Set<BondID> {
        var bonds: Set<BondID> = []
        for (bond, _) in server.bondedSubscribers(of: handle) {
            let here = links.all.first { $0.isProven && $0.bond == bond }
            guard let peer = here?.peer ?? peer(of: bond), recipients.contains(.peer(peer)) else { continue }
            bonds.insert(bond)
        }
        return bonds
    }

    private mutating func peer(of bond: BondID) -> PeerIdentifier? {
        bondBook.bond(bond)?.identity.flatMap { peers.identifier(at: $0.address) }
    }

    func indications(of handle: AttributeHandle, on link: LinkID) -> IndicationState {
        guard let endpoint = links[link]?.endpoint,
            endpoint.subscription(to: handle, server: server.gatt).contains(.indication)
        else { return .notConfigured }
        return endpoint.hasAppIndicationUnderWay ? .underWay : .ready
    }

    func isNotified(of handle: AttributeHandle, on link: LinkID) -> Bool {
        links[link]?.endpoint.subscription(to: handle, server: server.gatt).contains(.notification) ?? false
    }

    private func client(
        _ link: Link, of handle: AttributeHandle, keeper: RestorationLedger.Owner?, isBulk: Bool = false
    ) -> Server.Client {
        Server.Client(
            bond: link.isProven ? link.bond : nil,
            wanted: link.endpoint.subscription(to: handle, server: server.gatt),
            room: room(of: link, hasKept: keeper.map { !isQueueFull($0, link) } ?? true, isBulk: isBulk))
    }

    private func room(of link: Link, hasKept: Bool, isBulk: Bool = false) -> Server.Room {
        let hasOctets = controller.hasRoom(for: link.handle) && (!isBulk || controller.hasRoomForBulk(link.handle))
        return Server.Room(
            link: link.id, hasOctets: hasOctets,
            hasIndications: !link.endpoint.isIndicationQueueFull, hasKept: hasKept)
    }

    private func isQueueFull(_ owner: RestorationLedger.Owner, _ link: Link) -> Bool {
        guard link.isProven, let bond = link.bond else { return false }
        return ledger.isQueueFull(owner, bond)
    }

    private mutating func sendUpdate(_ update: Server.Update, _ outputs: inout [Server.Output]) {
        guard let link = links[update.link] else { return }
        guard let kept = update.kept else {
            _ = hand(update, to: link)
            return
        }
        if !update.isIndication { sendPurpose = .queuedUpdate(kept.owner, sequence: kept.sequence, link.id) }
        let outcome = hand(update, to: link)
        sendPurpose = nil
        server.handle(.tried(link.id, sequence: kept.sequence, outcome), into: &outputs)
    }

    private mutating func hand(_ update: Server.Update, to link: Link) -> GATTSendOutcome {
        withEndpoint(link) { endpoint, gatt, now, outputs in
            update.isIndication
                ? endpoint.indicate(
                    update.handle, update.value, token: update.token, now: now, security: link.security, server: gatt,
                    outputs: &outputs)
                : endpoint.notify(
                    update.handle, update.value, security: link.security, server: gatt, outputs: &outputs)
        }
    }

    /// What waits for a bonded central that has proved itself goes out, oldest first and no more than the link has room for:
    /// what one update takes of it the next does not find.
    mutating func deliverQueuedUpdates(to link: Link) {
        guard link.isProven, let bond = link.bond else { return }
        tellServer(.deliveryBegan(link.id))
        for owner in ledger.owners(of: .peripheral) {
            for waiting in ledger.waiting(owner, bond) {
                tellServer(.offered(waiting, owner, to: client(link, of: waiting.valueHandle, keeper: nil)))
                if server.hasWaitingUpdates(for: link.id) { return }
            }
        }
    }

    /// Tells apps that were refused an update when a link that was in their way has room again.
    mutating func announceRoom() {
        guard server.isAnybodyInTheWay else { return }
        let owners = ledger.owners(of: .peripheral)
        var rooms: [Server.Room] = []
        swap(&rooms, &spareRooms)
        for link in links.all where server.isInTheWay(link.id) {
            rooms.append(room(of: link, hasKept: !owners.contains { isQueueFull($0, link) }))
        }
        tellServer(.roomChanged(rooms))
        rooms.removeAll(keepingCapacity: true)
        swap(&rooms, &spareRooms)
    }

    mutating func subscribers(of handle: AttributeHandle) -> [Subscriber] {
        var present: Set<BondID> = []
        var subscribers: [Subscriber] = []
        for link in links.all where !link.endpoint.subscription(to: handle, server: server.gatt).isEmpty {
            if let bond = link.bond { present.insert(bond) }
            subscribers.append(
                Subscriber(
                    peer: link.peer, bond: link.bond, link: link.info,
                    maximumUpdateLength: link.endpoint.mtu - Self.valueHeaderOctets))
        }
        guard configuration.listsAbsentSubscribers else { return subscribers }
        recallAll()
        for (bond, _) in server.bondedSubscribers(of: handle) where !present.contains(bond) {
            guard let peer = peer(of: bond) else { continue }
            subscribers.append(
                Subscriber(
                    peer: peer, bond: bond, link: nil, maximumUpdateLength: Self.defaultMTU - Self.valueHeaderOctets))
        }
        return subscribers
    }

    /// Opcode and handle, before the value of a command or a notification.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.5.3 (ATT_WRITE_CMD), 3.4.7.1 (ATT_HANDLE_VALUE_NTF)
    static let valueHeaderOctets = 3
    /// Core 5.4, Vol 3, Part G, 5.2.1 (ATT_MTU)
    static let defaultMTU = 23
}

extension UpdateRecipient {
    fileprivate var peer: PeerIdentifier? { if case .peer(let peer) = self { peer } else { nil } }
}

extension Link {
    fileprivate func isMeant(by recipient: UpdateRecipient) -> Bool {
        switch recipient {
        case .link(let link): link == id
        case .peer(let peer): peer == self.peer
        }
    }
}
