import ATT
import BluetoothCore
import GATT
import SecurityManager

/// This side's GATT server as one value: the published tree and whose each service is, what is remembered of its clients, the
/// requests that wait for an app, and the updates that are on their way.
///
/// - In: what apps publish, answer and update; what clients read, write and confirm; what became of each update; what room
///   links have; what waits in the ledger for a bonded client.
/// - Out: what apps are asked and told, answers and updates for a link's bearer, and facts (``Output``).
///
/// It knows a link by its name. Whatever else it has to know of one comes with the event. The link's `GATTEndpoint`, which
/// speaks ATT for both halves of GATT, is the link's own, and is handed ``gatt`` with each PDU. ``HostCore`` owns the server, and
/// carries out what it says.
///
/// Core 5.4, Vol 3, Part G, 2.2 (GATT roles) and 4 (GATT feature requirements)
struct Server {
    typealias Owner = RestorationLedger.Owner

    enum Event {
        /// A link is there, or has gone.
        case opened(LinkID)
        case closed(LinkID)

        /// A client reads a value that an app has.
        case read(LinkID, GATTRequestID, AttributeHandle, offset: Int)
        /// A client writes values that an app has; without an identifier where it gets no answer.
        case write(LinkID, GATTRequestID?, [AttributeWrite], WritePath)
        /// An app answers a request.
        case answered(ServerRequestID, Result<[UInt8], ATTErrorCode>)
        /// A client wants to be told other things of a characteristic than before.
        case subscriptionChanged(LinkID, AttributeHandle, ClientCharacteristicConfiguration)

        /// What waits for a client that has proved itself is gone through, oldest first: each is then ``offered``, as long as
        /// ``hasWaitingUpdates(for:)`` says no.
        case deliveryBegan(LinkID)
        /// One update that waits, and the client as it is now.
        case offered(QueuedUpdate, Owner, to: Client)
        /// What became of an offered update at the client's bearer.
        case tried(LinkID, sequence: UInt64, GATTSendOutcome)
        /// The controller has sent an offered update. The client has it, if its link has gone since or not.
        case sent(LinkID, Owner, sequence: UInt64)
        /// An indication with this token was confirmed, or lost with its bearer.
        case indicationEnded(LinkID, token: UInt64, confirmed: Bool)
        /// What room the links that are in an app's way have now.
        case roomChanged([Room])

        /// A client's bond was renewed on a link that the old one encrypts: what is remembered of it is the new one's too.
        case bondRenewed(GATTClientRecord, BondID)
        case bondDeleted(BondID)
    }

    enum Output {
        case persist(GATTMutation)
        case servicePublished(Owner, PublishedServiceRecord)
        case serviceRemoved(Owner, AttributeHandle)
        /// For the endpoint of every link.
        case databaseChanged(ClosedRange<AttributeHandle>)

        /// For an app to answer; nobody's where nobody answers for the handle.
        case readRequested(Owner?, LinkID, GATTRequestID, AttributeHandle, offset: Int)
        case writesRequested(Owner?, LinkID, GATTRequestID?, [AttributeWrite], WritePath)
        /// For the client.
        case answerRead(LinkID, GATTRequestID, Result<[UInt8], ATTErrorCode>)
        case answerWrite(LinkID, GATTRequestID, ATTErrorCode?)
        case subscriptionChanged(Owner, LinkID, AttributeHandle, ClientCharacteristicConfiguration)

        /// To be kept for a bonded client until it has it.
        case keep(Owner, BondID, AttributeHandle, [UInt8], isIndication: Bool)
        /// The client has what was kept, or does not want it any more.
        case delivered(Owner, sequence: UInt64)
        /// What is kept for this link's bond goes out: ``Event/deliveryBegan(_:)``, and so on.
        case deliver(LinkID)
        case send(Update)
        /// Apps that were refused an update may try again.
        case readyToUpdate
    }

    /// What endpoints work with. What is remembered of bonded clients is asked of the server by the functions below.
    var gatt: GATTServer
    var published = PublishedServices()
    /// In the order in which links were made. There are few: none is worth a hash.
    var sessions: [ServerSession] = []

    init(_ configuration: HostConfiguration, clients: [GATTClientRecord]) {
        gatt = GATTServer(
            configuration: GATTServerConfiguration(
                deviceName: configuration.deviceName, appearance: configuration.appearance),
            records: clients)
    }

    mutating func handle(_ event: Event, into outputs: inout [Output]) {
        switch event {
        case .opened(let link): sessions.append(ServerSession(link: link))
        case .closed(let link): closed(link, into: &outputs)
        case .read(let link, let id, let handle, let offset):
            guard let place = place(of: link) else { return }
            sessions[place].request = .read(id)
            outputs.append(.readRequested(published.owner(of: handle), link, id, handle, offset: offset))
        case .write(let link, let id, let writes, let path):
            guard let place = place(of: link) else { return }
            if let id { sessions[place].request = .write(id) }
            outputs.append(.writesRequested(owner(of: writes), link, id, writes, path))
        case .answered(let request, let result): answered(request, result, into: &outputs)
        case .subscriptionChanged(let link, let handle, let configuration):
            guard let owner = published.owner(of: handle) else { return }
            outputs.append(.subscriptionChanged(owner, link, handle, configuration))
        case .deliveryBegan(let link): if let place = place(of: link) { sessions[place].hasWaitingUpdates = false }
        case .offered(let update, let owner, let client): offered(update, owner, client, into: &outputs)
        case .tried(let link, let sequence, let outcome): tried(link, sequence, outcome, into: &outputs)
        case .sent(let link, let owner, let sequence):
            if let place = place(of: link) { sessions[place].underWay[sequence] = nil }
            outputs.append(.delivered(owner, sequence: sequence))
        case .indicationEnded(let link, let token, let confirmed):
            indicationEnded(link, token, confirmed, into: &outputs)
        case .roomChanged(let rooms): roomChanged(rooms, into: &outputs)
        case .bondRenewed(let record, let bond):
            for mutation in gatt.inherit(record, by: bond.client) { outputs.append(.persist(mutation)) }
        case .bondDeleted(let bond): gatt.forget(bond: bond.client)
        }
    }

    func place(of link: LinkID) -> Int? { sessions.firstIndex { $0.link == link } }

    private mutating func closed(_ link: LinkID, into outputs: inout [Output]) {
        guard let place = place(of: link) else { return }
        if sessions.remove(at: place).isInTheWay { outputs.append(.readyToUpdate) }
    }
}

// MARK: Requests

extension Server {
    /// A write of several values is one app's to accept as a whole, or nobody's.
    private func owner(of writes: [AttributeWrite]) -> Owner? {
        guard let first = writes.first, let owner = published.owner(of: first.handle) else { return nil }
        return writes.dropFirst().allSatisfy { published.owner(of: $0.handle) == owner } ? owner : nil
    }

    /// Each request is answered once, and not after its link.
    private mutating func answered(
        _ request: ServerRequestID, _ result: Result<[UInt8], ATTErrorCode>, into outputs: inout [Output]
    ) {
        guard let place = place(of: request.link), let open = sessions[place].request,
            open.id.rawValue == request.number
        else { return }
        sessions[place].request = nil
        switch open {
        case .read(let id): outputs.append(.answerRead(request.link, id, result))
        case .write(let id):
            var error: ATTErrorCode?
            if case .failure(let code) = result { error = code }
            outputs.append(.answerWrite(request.link, id, error))
        }
    }
}

// MARK: The published tree

extension Server {
    /// A restored service that the app publishes again, as Apple's apps do after a relaunch, is the one that stands. With another
    /// definition under the same UUID it is the app's next version of that service: no earlier life's stays beside it.
    mutating func publish(
        _ definition: ServiceDefinition, of owner: Owner, into outputs: inout [Output]
    ) throws(AttributeDatabaseError) -> PublishedService {
        if let standing = published.claim(definition, of: owner) { return standing }
        let outdated = published.inherited(definition.uuid, of: owner)
        let service = try publishAnew(definition, of: owner, into: &outputs)
        for service in outdated.reversed() { unpublish(service.declaration, of: owner, into: &outputs) }
        return service
    }

    mutating func publishAnew(
        _ definition: ServiceDefinition, of owner: Owner, into outputs: inout [Output]
    ) throws(AttributeDatabaseError) -> PublishedService {
        let service = try gatt.publish(definition)
        published.insert(service, of: owner)
        let record = PublishedServiceRecord(handle: service.declaration, encoded: definition.encoded)
        outputs.append(.servicePublished(owner, record))
        outputs.append(.databaseChanged(service.declaration...service.end))
        return service
    }

    /// What an earlier run published comes back with the handles that it had. Nobody is told: nothing has changed.
    mutating func restore(_ record: PublishedServiceRecord, of owner: Owner) {
        guard let definition = try? ServiceDefinition(exactly: record.encoded),
            let service = try? gatt.publish(definition, at: record.handle)
        else { return }
        published.insert(service, of: owner)
    }

    mutating func unpublish(_ declaration: AttributeHandle, of owner: Owner, into outputs: inout [Output]) {
        withdraw(declaration, of: owner, isKept: false, into: &outputs)
    }

    /// Out of the tree, and out of the owner's record where it is not `isKept`.
    mutating func withdraw(
        _ declaration: AttributeHandle, of owner: Owner, isKept: Bool, into outputs: inout [Output]
    ) {
        guard let service = published.remove(at: declaration, of: owner) else { return }
        if let mutation = gatt.remove(serviceAt: declaration) { outputs.append(.persist(mutation)) }
        if !isKept { outputs.append(.serviceRemoved(owner, declaration)) }
        outputs.append(.databaseChanged(declaration...service.end))
    }

    /// The last first: a service includes what was published before it.
    mutating func unpublishAll(of owner: Owner, into outputs: inout [Output]) {
        for service in published.services(of: owner).reversed() {
            unpublish(service.declaration, of: owner, into: &outputs)
        }
    }
}

// MARK: Bonded clients

extension BondID {
    /// The name that GATT knows a bonded client by.
    fileprivate var client: UInt64 { UInt64(bitPattern: rawValue) }
}

extension Server {
    /// What is remembered of a bonded client.
    func record(of bond: BondID) -> GATTClientRecord? { gatt.records[bond.client] }

    func isSubscribed(_ bond: BondID, to handle: AttributeHandle) -> Bool {
        guard let descriptor = published.configuration(ofValueAt: handle) else { return false }
        return record(of: bond)?.configurations[descriptor]?.isEmpty == false
    }

    /// The bonded clients that want to be told of a characteristic, here or away, in the order of their bonds.
    func bondedSubscribers(of handle: AttributeHandle) -> [(bond: BondID, wanted: ClientCharacteristicConfiguration)] {
        guard let descriptor = published.configuration(ofValueAt: handle) else { return [] }
        return gatt.configured(at: descriptor).map { (BondID(Int64(bitPattern: $0.bond)), $0.wanted) }
    }
}
