import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import L2CAP
import SecurityManager

// MARK: Scanning and connecting

extension HostCore {
    mutating func startScan(_ manager: ManagerID, _ scan: ScanRecord) {
        change(scan, of: manager)
        tellGAP(.scanBegun)
    }

    mutating func stopScan(_ manager: ManagerID) { change(nil, of: manager) }

    private mutating func change(_ scan: ScanRecord?, of manager: ManagerID) {
        guard let owner = managers[manager]?.owner else { return }
        withLedger { $0.scan(owner, scan, &$1) }
        wishesChanged()
    }

    mutating func connect(_ manager: ManagerID, _ peer: PeerIdentifier, options: UInt32, askedAtSeconds: Int64) {
        guard let slot = managers[manager] else { return }
        guard peers[peer] != nil else {
            announce(.connectionFailed(peer, .unknownPeer), to: manager)
            return
        }
        keep(peer)
        let pending = PendingConnection(peer: peer, options: options, askedAtSeconds: askedAtSeconds)
        withLedger { $0.connect(slot.owner, pending, &$1) }
        if let link = links.serviceable(peer) {
            link.client.users.insert(slot.owner)
            announce(.connected(link.info), to: manager)
            readName(of: link)
        } else {
            if let ending = links.client(of: peer), ending.client.users.contains(slot.owner) {
                ending.client.askingAnew.insert(slot.owner)
            }
            delays.begin(slot.owner, pending, now: now)
            wishesChanged()
            for link in links.all(of: peer) { serveWaiting(link) }
        }
    }

    mutating func cancelConnection(_ manager: ManagerID, _ peer: PeerIdentifier) {
        guard let slot = managers[manager] else { return }
        cancelPairingByBlueZ(manager, peer)
        withLedger { $0.lossHeard(slot.owner, peer, &$1) }
        guard ledger.asked(slot.owner).pendingConnections.contains(where: { $0.peer == peer }) else { return }
        delays.forget(slot.owner, peer)
        withLedger { $0.connectionEnded(slot.owner, peer, &$1) }
        // First the link, then the word: an app that asks for a connection when it hears this means a new one.
        if let link = links.client(of: peer) {
            if link.client.users.remove(slot.owner) != nil { abandonOperations(of: manager, on: link) }
            endUnwanted(link)
        } else if !hasBond(peer) {
            endSubscriptions(at: peer)
        }
        announce(.disconnected(peer, nil, isReconnecting: false), to: manager)
        wishesChanged()
    }

    /// Nothing more is heard of them behind the end of the connection.
    private mutating func abandonOperations(of manager: ManagerID, on link: Link) {
        for token in link.client.abandon(manager) { finish(manager, token, link.peer, .failure(.abandoned)) }
        abandonOpenings(of: manager, on: link)
        linkLayer(link, .readingsAbandoned(manager))
    }

    /// The manager's app has heard that its connection to this peer is over.
    mutating func lossHeard(_ manager: ManagerID, _ peer: PeerIdentifier) {
        guard let slot = managers[manager] else { return }
        withLedger { $0.lossHeard(slot.owner, peer, &$1) }
    }

    /// A link that no manager wants any more ends; one that the peer made is the peer's.
    mutating func endUnwanted(_ link: Link) {
        guard link.role == .central, wanting(link.peer).isEmpty else { return }
        disconnect(link.id)
    }

    private mutating func keep(_ peer: PeerIdentifier) {
        withPeers { $0.keep(peer, &$1) }
        forgetKeptStrangers()
    }

    /// A name goes that no app waits for or is subscribed under, and no link and no bond has.
    mutating func forgetKeptStrangers() {
        guard peers.keepsTooManyStrangers else { return }
        let wanted = Set(
            ledger.owners(of: .central).map { ledger.asked($0) }.flatMap {
                $0.pendingConnections.map(\.peer) + $0.subscriptions.map(\.peer)
            } + ledger.owners(of: .central).flatMap { ledger.unheardLosses($0) } + links.all.map(\.peer))
        withPeers { $0.forgetKeptStrangers(&$1) { !wanted.contains($0) } }
    }

    func peerRecord(_ peer: PeerIdentifier) -> PeerRecord? { peers[peer] }

    mutating func peer(at address: DeviceAddress) -> PeerIdentifier {
        peers.identifier(at: address, fresh: random.uint128())
    }

    func info(of peer: PeerIdentifier) -> LinkInfo? {
        (links.client(of: peer) ?? links.all.first { $0.peer == peer })?.info
    }

    func connection(to peer: PeerIdentifier) -> LinkInfo? {
        (links.client(of: peer) ?? links.serviceable(peer))?.info
    }

    mutating func clientLinkClosed(_ link: Link, _ reason: HCIErrorCode) {
        endConnections(over: link, reason)
        if link.isSuperseded { forgetSuperseded(link.peer) }
        // The peer may have made another one while this one was ending.
        if state == .poweredOn { for other in links.all(of: link.peer) { serveWaiting(other) } }
        guard link.bond == nil, links.client(of: link.peer) == nil else { return }
        // Without a bond the peer forgot the subscription with the link.
        endSubscriptions(at: link.peer)
    }

    private mutating func endConnections(over link: Link, _ reason: HCIErrorCode) {
        // What was asked for is the next life's, and nobody hears of an end that this life made.
        guard !isLeaving else { return }
        let error: HostError? = link.isEndedByApp ? nil : .disconnected(reason)
        // A connection that was asked for since the link was given up is another one, and waits for its own link. While
        // nobody is registered to hear of the loss, and while the controller starts over, which ends no peer's presence,
        // what was asked for stands too, and is made anew: an app then hears that this side reconnects, and `connected` again.
        for owner in wanting(link.peer) where link.client.users.contains(owner) {
            guard let manager = managers.manager(of: owner) else { continue }
            let outlasts =
                state == .poweredOn
                ? ledger.reconnects(owner, link.peer) : !managers.options(of: owner).contains(.endsWithPower)
            let stands = outlasts && !link.isSuperseded
            let isAskedAnew = !link.isSuperseded && link.client.askingAnew.contains(owner)
            if !stands, !isAskedAnew {
                let isKept = managers.options(of: owner).contains(.hearsBehindCommit)
                withLedger {
                    if isKept { $0.connectionLost(owner, link.peer) } else { $0.connectionEnded(owner, link.peer, &$1) }
                }
            }
            announce(.disconnected(link.peer, error, isReconnecting: stands), to: manager)
        }
    }
}

// MARK: Procedures

extension HostCore {
    func maximumWriteLength(_ peer: PeerIdentifier) -> Int {
        (links.client(of: peer)?.endpoint.mtu ?? Self.defaultMTU) - Self.valueHeaderOctets
    }

    mutating func perform(
        _ manager: ManagerID, _ peer: PeerIdentifier, _ operation: GATTClientOperation, until: Instant?
    ) -> OperationToken {
        let token = makeToken()
        guard let link = links.client(of: peer), !link.isDisconnecting else {
            finish(manager, token, peer, .failure(.notConnected))
            return token
        }
        let origin: OperationOrigin
        if case .signedWriteWithoutResponse = operation {
            guard !link.security.encrypted, link.bond != nil else {
                finish(manager, token, peer, .failure(.cannotSign))
                return token
            }
            origin = .signedWrite(manager, token)
        } else {
            origin = .procedure(manager, token)
        }
        if let until {
            sendUntil = until
            sendPurpose = .datedWrite(manager, token, peer)
        }
        start(operation, origin, token, on: link)
        (sendPurpose, sendUntil) = (nil, nil)
        return token
    }

    mutating func start(
        _ operation: GATTClientOperation, _ origin: OperationOrigin, _ token: OperationToken, on link: Link
    ) {
        start(SecuredOperation(operation: operation, origin: origin, token: token), on: link)
    }

    mutating func start(_ asked: SecuredOperation, on link: Link) {
        let exchange = asked.mtuExchange(defaultMTU: Self.defaultMTU)
        let owesExchange = exchange != .notYet && link.layer.owesMTUExchange && link.layer.takeMTUExchange()
        if owesExchange, exchange == .before { exchangeMTU(link) }
        beginOperation(asked, on: link)
        if owesExchange, exchange == .behind { exchangeMTU(link) }
    }

    /// Core 5.4, Vol 3, Part G, 4.3.1 (Exchange MTU)
    mutating func exchangeMTU(_ link: Link) {
        guard configuration.mtu > Self.defaultMTU, !link.isDisconnecting else { return }
        beginOperation(SecuredOperation(operation: .exchangeMTU, origin: .exchangeMTU, token: makeToken()), on: link)
    }

    private mutating func beginOperation(_ asked: SecuredOperation, on link: Link) {
        link.client.begin(asked)
        if let device = link.device { return hand(asked, to: device, on: link) }
        withEndpoint(link) { $0.perform(asked.operation, token: asked.token.rawValue, now: $2, outputs: &$3) }
    }

    mutating func clientCompleted(_ link: Link, _ token: UInt64, _ result: Result<GATTClientResult, GATTClientError>) {
        guard let asked = link.client.take(OperationToken(rawValue: token)) else { return }
        if case .failure(let error) = result, !asked.isAbandoned {
            let refused = RefusedRequest.operation(asked, error)
            if wantsSecurity(refused, on: link) { return work.append(.refused(refused, link)) }
        }
        ended(asked, result, on: link)
    }

    mutating func ended(
        _ asked: SecuredOperation, _ result: Result<GATTClientResult, GATTClientError>, on link: Link
    ) {
        let conclusion = asked.conclusion(result)
        if let manager = conclusion.manager {
            finish(manager, conclusion.token, link.peer, result.mapError(HostError.gatt).map(OperationValue.gatt))
        }
        switch conclusion.consequence {
        case .none: break
        case .subscriptionChanged(let manager, let change):
            if let owner = managers[manager]?.owner { subscriptionChanged(owner, change, on: link) }
        case .databaseHash(let hash): if let hash { databaseHashRead(link, hash) }
        case .treeVoid: treeIsVoid(link)
        case .name(let octets): nameRead(link, octets)
        }
    }

    /// The counter is on disk before the write leaves: a crash skips some and never uses one twice.
    mutating func sign(_ link: Link, _ token: UInt64, _ message: [UInt8]) {
        guard let asked = link.client.take(OperationToken(rawValue: token)), !asked.isAbandoned,
            case .signedWrite(let manager, let operation) = asked.origin
        else { return }
        guard let bond = link.bond, !link.security.encrypted,
            case .signed(let pdu, let reservation) = bondBook.sign(message, with: bond)
        else { return finish(manager, operation, link.peer, .failure(.cannotSign)) }
        if let reservation { persist(reservation) }
        sendPDU(pdu, on: .attributeProtocol, link)
        finish(manager, operation, link.peer, .success(.signed(counter: Self.signCounter(of: pdu))))
    }

    mutating func takeSignCounter(_ bond: BondID) -> UInt32? {
        guard let (counter, reservation) = bondBook.takeSignCounter(bond) else { return nil }
        if let reservation { persist(reservation) }
        return counter
    }

    mutating func advanceSignCounter(_ peer: PeerIdentifier, beyond counter: UInt32?) {
        guard let link = links.client(of: peer), link.security.encrypted, !link.isImpostorPossible,
            let bond = link.bond, let reservation = bondBook.advanceSignCounter(bond, beyond: counter)
        else { return }
        persist(reservation)
    }

    /// Core 5.4, Vol 3, Part F, 3.4.5.4 (ATT_SIGNED_WRITE_CMD): the four octets before the MAC.
    private static func signCounter(of pdu: [UInt8]) -> UInt32 {
        pdu.dropLast(DataSigning.signatureOctets).suffix(DataSigning.signCounterOctets)
            .reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func valueUpdated(_ link: Link, _ handle: AttributeHandle, _ value: [UInt8], isIndication: Bool) {
        guard link.isClient else { return }
        if isIndication, isServiceChanged(handle, of: link.peer) { return serviceChanged(link, value) }
        announce(.valueUpdated(link.peer, handle, value, isIndication: isIndication), toThoseWanting: link.peer)
    }
}

extension HostCore {
    /// An operation's one answer. Apps hear it at the iteration's end, when they know its token.
    mutating func finish(
        _ manager: ManagerID, _ token: OperationToken, _ peer: PeerIdentifier,
        _ result: Result<OperationValue, HostError>
    ) {
        announce(.completed(token, peer, result), to: manager)
    }
}
