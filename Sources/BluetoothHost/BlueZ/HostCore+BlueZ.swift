import BlueZ
import BluetoothCore
import DBus
import GATT
import HCI
import SecurityManager

// MARK: On an adapter that bluetoothd keeps

extension HostCore {
    mutating func heard(_ event: DBusEvent) { tellBlueZ(.bus(event)) }

    mutating func tellBlueZ(_ event: BlueZCentral.Event) { work.append(.blueZ(event)) }

    /// One event for the machine, and what follows from it for others.
    mutating func blueZHappened(_ event: BlueZCentral.Event) {
        var outputs: [BlueZCentral.Output] = []
        blueZ?.machine.handle(event, now: now, into: &outputs)
        for output in outputs { perform(output) }
    }

    private mutating func perform(_ output: BlueZCentral.Output) {
        switch output {
        case .act(let act, let until): acts.append(act, until: until)
        case .state(let state): blueZChanged(state)
        case .connected(let info): linkOpened(info)
        case .disconnected(let path):
            guard let link = blueZLink(path) else { return }
            blueZ?.links[path] = nil
            happened(.disconnected, at: link.handle, reason: .connectionTimeout)
            wishesChanged()
        case .treeChanged(let path): if let link = blueZLink(path) { treeIsVoid(link) }
        case .updated(let path, let handle, let value):
            if let link = blueZLink(path) { valueUpdated(link, handle, value, isIndication: false) }
        case .completed(let token, let result):
            if let link = links.all.first(where: { $0.client.isUnderWay(OperationToken(rawValue: token)) }) {
                clientCompleted(link, token, result)
            }
        case .lapsed(let token):
            let token = OperationToken(rawValue: token)
            if let (manager, peer) = blueZ?.lapsed(token) { announce(.writeLapsed(token, peer), to: manager) }
        case .seen(let sighting): seen(sighting)
        case .identified(let old, let identity): identified(old, identity)
        case .provideCode(_, let adapter):
            if let data = blueZ?.pairing?.data { acts.append(code: data, adapter: adapter) }
        case .paired(let address, let failure): pairedByBlueZ(address, failure)
        }
    }

    private func blueZLink(_ path: String) -> Link? { blueZ?.links[path].flatMap { links[$0] } }

    /// As a controller that goes: apps hear first that the adapter is away.
    private mutating func blueZChanged(_ new: BlueZState) {
        let wasOn = state == .poweredOn
        setState(HostState(new))
        if wasOn {
            for link in links.all { closed(link, reason: .hardwareFailure) }
            blueZ?.links = [:]
            endWithPower()
        }
        wishesChanged()
    }

    // MARK: What is wanted

    mutating func settleBlueZ() {
        guard blueZ?.isUnsettled == true else { return }
        blueZ?.isUnsettled = false
        tellBlueZ(.wished(blueZWishes))
    }

    private var blueZWishes: BlueZWishes {
        var wishes = BlueZWishes()
        guard !isLeaving else { return wishes }
        for owner in ledger.running(.central) {
            let asked = ledger.asked(owner)
            if asked.scan != nil { wishes.isScanning = true }
            for pending in asked.pendingConnections where !delays.isDelayed(owner, pending.peer) {
                guard let address = peers[pending.peer]?.address else { continue }
                if isBonded(address) { wishes.connections.insert(address) } else { wishes.strangers.insert(address) }
            }
            for subscription in asked.subscriptions {
                // Without a bond the peer forgets them with the link, and an app asks for them anew.
                guard let address = peers[subscription.peer]?.address, isBonded(address) else { continue }
                wishes.notifications[address, default: []].insert(subscription.valueHandle)
            }
        }
        return wishes
    }

    // MARK: What is heard

    /// bluetoothd says of no device whether it can be connected with, and finds out when it is asked to.
    private mutating func seen(_ sighting: BlueZSighting) {
        let peer = peers.identifier(at: sighting.address, fresh: random.uint128())
        if let name = sighting.name { peers.heard(peer, name: name) }
        let data = AdvertisingData(sighting)
        report(
            AdvertisementReport(
                peer: peer, address: sighting.address, rssi: sighting.rssi, isConnectable: true, mode: data.mode,
                data: data),
            services: data.services)
    }

    /// The peer's name moves to its identity address, as with a bond of this side's.
    private mutating func identified(_ old: DeviceAddress, _ identity: IdentityAddress) {
        guard let peer = peers.identifier(at: old) else { return }
        let name = name(peer, withIdentity: identity)
        let links = links.all.filter { $0.device != nil && $0.peer == peer }
        for link in links {
            link.address = identity.address
            if name != peer { supersede(link, at: identity) }
        }
        if name != peer, links.isEmpty {
            announce(.connectionFailed(peer, .unknownPeer), toThoseWanting: peer)
            forgetSuperseded(peer)
        }
        wishesChanged()
    }

    // MARK: Links

    /// bluetoothd calls a link ready when it is as secure as its bond makes it: who has another key than the bond's gets no link that is
    /// ready. A bond whose keys are here says nothing of such a link, since bluetoothd does not know it.
    private mutating func linkOpened(_ info: BlueZLinkInfo) {
        let identity = IdentityAddress(info.address)
        let bond = info.isPaired ? identity.flatMap(bondBook.bondKeptElsewhere) : nil
        let peer = peers.identifier(at: info.address, fresh: random.uint128())
        guard let handle = links.freeHandle else { return noteFault() }
        let id = links.makeID()
        var lifecycle = LinkLifecycle()
        _ = lifecycle.handle(.connected, now: now)
        let link = Link(
            id: id, handle: handle, role: .central, connectedAt: now, ownAddress: info.address,
            address: info.address, peer: peer, identity: bond == nil ? nil : identity, bond: bond?.id,
            mtu: configuration.mtu, pairing: makePairingMachine(.central, own: info.address, peer: info.address),
            lifecycle: lifecycle,
            layer: LinkLayer(
                .central, LinkFacts(), connectedAt: now, supervisionTimeout: configuration.supervisionTimeout,
                usesLinkLayer: false))
        link.device = info.path
        link.endpoint.agreed(mtu: info.mtu)
        links.add(link)
        blueZ?.links[info.path] = id
        tell(.connected(id, isCentral: true, onAir: info.address, link.bond))
        let waiting = waiting(for: link)
        guard !waiting.isEmpty else { return disconnect(link, reason: .remoteUserTerminatedConnection) }
        link.client.users = Set(waiting)
        tellConnected(link)
        if let bond {
            proved(link, bond)
        } else {
            announceToObservers(.linkChanged(link.info, isUp: true))
        }
    }

    /// What there is to ask of a link layer that is the kernel's: how strong the link is, and nothing else.
    mutating func askBlueZ(_ request: LinkLayer.Request, of link: Link) {
        // Nothing else passes what its adapter is known to support.
        guard case .read(.rssi) = request, let adapter = blueZ?.machine.adapterNumber else { return }
        acts.append(strengthOf: link.address, adapter: adapter)
    }

    /// nil: the kernel does not say.
    mutating func strengthRead(of address: DeviceAddress, _ rssi: Int8?) {
        guard let link = links.all.first(where: { $0.device != nil && $0.address == address }) else { return }
        linkLayer(link, .readingEnded(.rssi, rssi.map { .success(.rssi($0)) } ?? .failure(.unsupportedByController)))
    }

    /// An operation of a client's at a peer of bluetoothd's.
    mutating func hand(_ asked: SecuredOperation, to device: String, on link: Link) {
        if case .readName = asked.origin { return work.append(.nameOfBlueZ(link.id, asked.token)) }
        let until = sendUntil
        if let until, case .procedure(let manager, let token) = asked.origin {
            blueZ?.date(token, manager, link.peer, until: until, now)
        }
        tellBlueZ(.operation(asked.token.rawValue, link: device, asked.operation, until: until))
    }

    /// bluetoothd keeps GAP's service for itself, and says the name.
    mutating func nameOfBlueZ(_ link: Link, _ token: OperationToken) {
        let name = link.device.flatMap { blueZ?.machine.name(ofLink: $0) }
        let values = name.map { [RemoteValue(handle: .first, value: Array($0.utf8))] } ?? []
        clientCompleted(link, token.rawValue, .success(.values(values)))
    }
}

extension HostState {
    fileprivate init(_ state: BlueZState) {
        switch state {
        case .unknown: self = .unknown
        case .away: self = .resetting
        case .absent, .noAdapter: self = .unsupported
        case .off: self = .poweredOff
        case .on: self = .poweredOn
        }
    }
}

extension AdvertisingData {
    fileprivate init(_ sighting: BlueZSighting) {
        self.init()
        flags = sighting.flags.map { AdvertisingFlags(rawValue: $0) }
        services = sighting.services
        serviceData = sighting.serviceData.sorted { $0.key.bits < $1.key.bits }
            .map { AdvertisedServiceData(service: $0.key, octets: $0.value) }
        localName = sighting.name
        txPowerLevel = sighting.txPower
        appearance = sighting.appearance
        manufacturerData = sighting.manufacturerData
    }
}
