import ATT
import BluetoothCore
import GATT
import HCI
import SecurityManager

// MARK: The published tree

extension HostCore {
    mutating func publish(_ manager: ManagerID, _ service: ServiceDefinition) throws(HostError) -> PublishedService {
        guard let owner = managers[manager]?.owner else { throw .unknownManager }
        if let standing = standingService(service, of: owner) { return standing }
        let published: PublishedService
        do {
            published = try server.publish(service)
        } catch {
            throw .publishing(error)
        }
        let record = PublishedServiceRecord(handle: published.declaration, encoded: service.encoded)
        withLedger { $0.publish(owner, record, &$1) }
        publishedServices[published.declaration] = (owner, published)
        databaseChanged(published.declaration...published.end)
        return published
    }

    mutating func unpublish(_ manager: ManagerID, service declaration: AttributeHandle) {
        guard let owner = managers[manager]?.owner, let entry = publishedServices[declaration], entry.owner == owner
        else { return }
        unpublish(entry.service, owner)
    }

    mutating func unpublishAll(_ manager: ManagerID) {
        guard let owner = managers[manager]?.owner else { return }
        for entry in publishedServices.values where entry.owner == owner { unpublish(entry.service, owner) }
    }

    func publishedServices(of manager: ManagerID) -> [PublishedService] {
        guard let owner = managers[manager]?.owner else { return [] }
        return publishedServices.values.filter { $0.owner == owner }.map(\.service)
            .sorted { $0.declaration < $1.declaration }
    }

    mutating func unpublish(_ service: PublishedService, _ owner: RestorationLedger.Owner) {
        publishedServices[service.declaration] = nil
        if let mutation = server.remove(serviceAt: service.declaration) { persist(.gatt(mutation)) }
        withLedger { $0.unpublish(owner, service.declaration, &$1) }
        databaseChanged(service.declaration...service.end)
    }

    /// A restored service that the app publishes again, as Apple's apps do after a relaunch, is the one that stands.
    private func standingService(_ service: ServiceDefinition, of owner: RestorationLedger.Owner) -> PublishedService? {
        publishedServices.values.first { $0.owner == owner && $0.service.definition == service }?.service
    }

    mutating func restorePublishedServices() {
        for owner in ledger.owners(of: .peripheral) {
            for record in ledger.record(owner).services.sorted(by: { $0.handle < $1.handle }) {
                guard let definition = try? ServiceDefinition(exactly: record.encoded),
                    let published = try? server.publish(definition, at: record.handle)
                else { continue }
                publishedServices[published.declaration] = (owner, published)
            }
        }
    }

    private mutating func databaseChanged(_ range: ClosedRange<AttributeHandle>) {
        for link in links.all {
            withEndpoint(link) { $0.databaseChanged(range, now: $2, server: $1, outputs: &$3) }
        }
    }

    /// Whose service a handle lies in, if somebody answers for it.
    func publisher(of handle: AttributeHandle) -> ManagerID? {
        guard let entry = publishedServices.values.first(where: { $0.service.contains(handle) }) else { return nil }
        return managers.manager(of: entry.owner)
    }
}

extension GATTSendOutcome {
    /// Sent, or in the link's own queue of indications.
    fileprivate var isOnItsWay: Bool { self == .sent || self == .queued }
    /// Nobody waits for it any more.
    fileprivate var isUnwanted: Bool { self == .notSubscribed || self == .invalidCharacteristic }
}

extension PublishedService {
    fileprivate func contains(_ handle: AttributeHandle) -> Bool { declaration <= handle && handle <= end }
}

// MARK: Updates

extension HostCore {
    mutating func updateValue(
        _ manager: ManagerID, _ handle: AttributeHandle, _ value: [UInt8], to recipients: [LinkID]?, keepForAbsent: Bool
    ) -> Bool {
        guard let owner = managers[manager]?.owner else { return false }
        func isChosen(_ link: Link) -> Bool { recipients?.contains(link.id) ?? true }
        let isKept = keepForAbsent && recipients == nil
        var isRefused = false
        for link in links.all where isChosen(link) && !hasRoom(for: handle, of: isKept ? owner : nil, on: link) {
            controller.linksInTheWay.insert(link.id)
            isRefused = true
        }
        guard !isRefused else { return false }
        // Kept first, also for those who are here: only a completion or a confirmation says that they have it. A link
        // that merely resolves to a bond is not that bond's owner, and takes nothing from it.
        let kept = isKept ? keep(owner, handle, value) : []
        for link in links.all where isChosen(link) {
            if link.isProven, let bond = link.bond, kept.contains(bond) {
                deliverQueuedUpdates(to: link)
            } else {
                _ = update(link, handle, value, token: makeToken().rawValue)
            }
        }
        return true
    }

    /// Whether a link takes an update now, which one whose client does not want it always does: nobody is kept from the
    /// news by somebody whom it does not concern. `owner` where it goes by way of what is kept.
    private func hasRoom(
        for handle: AttributeHandle, of owner: RestorationLedger.Owner?, on link: Link
    ) -> Bool {
        let wanted = link.endpoint.subscription(to: handle, server: server)
        guard !wanted.isEmpty else { return true }
        guard controller.hasRoom(for: link.handle) else { return false }
        if wanted == .indication, link.endpoint.isIndicationQueueFull { return false }
        return owner.map { !isCatchingUp(link, $0) } ?? true
    }

    /// Whether a link that had no room for an update has some for any.
    func hasRoomForUpdates(_ link: Link) -> Bool {
        controller.hasRoom(for: link.handle) && !link.endpoint.isIndicationQueueFull
            && !ledger.owners(of: .peripheral).contains { isCatchingUp(link, $0) }
    }

    /// What waited for this central goes out one by one, and is as much as may wait: nothing of it gives way to what is new.
    private func isCatchingUp(_ link: Link, _ owner: RestorationLedger.Owner) -> Bool {
        guard link.hasWaitingUpdates || !link.updatesUnderWay.isEmpty, let bond = link.bond else { return false }
        return ledger.isQueueFull(owner, bond)
    }

    /// As the client wants it on this link; `token` comes back when an indication has ended.
    private mutating func update(_ link: Link, _ handle: AttributeHandle, _ value: [UInt8], token: UInt64)
        -> GATTSendOutcome
    {
        let wanted = link.endpoint.subscription(to: handle, server: server)
        return withEndpoint(link) { endpoint, server, now, outputs in
            if wanted.contains(.notification) {
                return endpoint.notify(handle, value, security: link.security, server: server, outputs: &outputs)
            }
            guard wanted.contains(.indication) else { return .notSubscribed }
            return endpoint.indicate(
                handle, value, token: token, now: now, security: link.security, server: server, outputs: &outputs)
        }
    }

    /// Queues a value for every bonded subscriber; says for whom.
    private mutating func keep(_ owner: RestorationLedger.Owner, _ handle: AttributeHandle, _ value: [UInt8]) -> Set<
        BondID
    > {
        guard let configuration = configurationHandle(of: handle) else { return [] }
        var kept: Set<BondID> = []
        for (number, record) in server.records.sorted(by: { $0.key < $1.key }) {
            let bond = BondID(Int64(bitPattern: number))
            guard let wanted = record.configurations[configuration], !wanted.isEmpty else { continue }
            _ = withLedger {
                $0.queue(
                    owner, bond: bond, handle: handle, isIndication: !wanted.contains(.notification), value: value,
                    &$1)
            }
            kept.insert(bond)
        }
        return kept
    }

    /// What waits for a bonded central that has proved itself goes out, oldest first and no more than the link has room
    /// for. An update leaves the queue when the controller has sent it, or when the peer has confirmed it.
    mutating func deliverQueuedUpdates(to link: Link) {
        guard link.isProven, let bond = link.bond else { return }
        link.hasWaitingUpdates = false
        for owner in ledger.owners(of: .peripheral) {
            for waiting in ledger.record(owner).queuedUpdates
            where waiting.bond == bond && !link.updatesUnderWay.contains(waiting.sequence) {
                guard controller.hasRoom(for: link.handle), deliver(waiting, of: owner, to: link) else {
                    link.hasWaitingUpdates = true
                    return
                }
            }
        }
    }

    /// False when there is no room on the link now.
    private mutating func deliver(_ waiting: QueuedUpdate, of owner: RestorationLedger.Owner, to link: Link) -> Bool {
        let token = makeToken().rawValue
        link.updatesUnderWay.insert(waiting.sequence)
        if waiting.isIndication {
            link.queuedIndications[token] = (owner, waiting.sequence)
        } else {
            sendPurpose = .queuedUpdate(owner, sequence: waiting.sequence, link.id)
        }
        let outcome = update(link, waiting.valueHandle, waiting.value, token: token)
        sendPurpose = nil
        guard !outcome.isOnItsWay else { return true }
        link.queuedIndications[token] = nil
        link.updatesUnderWay.remove(waiting.sequence)
        // Anything but these means later: the next time that this central proves itself.
        if outcome.isUnwanted { withLedger { $0.delivered(owner, sequence: waiting.sequence, &$1) } }
        return outcome != .queueFull
    }

    mutating func indicationEnded(_ link: Link, _ token: UInt64, _ confirmed: Bool) {
        defer { announceRoom() }
        guard let (owner, sequence) = link.queuedIndications.removeValue(forKey: token) else { return }
        link.updatesUnderWay.remove(sequence)
        guard confirmed else { return }
        withLedger { $0.delivered(owner, sequence: sequence, &$1) }
        if link.hasWaitingUpdates { work.append(.deliverUpdates(link.id)) }
    }

    private func configurationHandle(of value: AttributeHandle) -> AttributeHandle? {
        for entry in publishedServices.values {
            for characteristic in entry.service.characteristics where characteristic.value == value {
                return characteristic.configuration
            }
        }
        return nil
    }

    func subscribers(of handle: AttributeHandle) -> [Subscriber] {
        var present: Set<BondID> = []
        var subscribers: [Subscriber] = []
        for link in links.all where !link.endpoint.subscription(to: handle, server: server).isEmpty {
            if let bond = link.bond { present.insert(bond) }
            subscribers.append(
                Subscriber(
                    peer: link.peer, bond: link.bond, link: link.info,
                    maximumUpdateLength: link.endpoint.mtu - Self.valueHeaderOctets))
        }
        guard let configuration = configurationHandle(of: handle) else { return subscribers }
        for (number, record) in server.records.sorted(by: { $0.key < $1.key }) {
            let bond = BondID(Int64(bitPattern: number))
            guard record.configurations[configuration]?.isEmpty == false, !present.contains(bond),
                let address = bondBook.bond(bond)?.identity?.address, let peer = peers.identifier(at: address)
            else { continue }
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
