import BluetoothCore
import GATT
import HCI
import L2CAP
import SecurityManager

extension LinkRole {
    /// nil for what no controller says.
    fileprivate init?(_ role: LERole) {
        switch role {
        case .central: self = .central
        case .peripheral: self = .peripheral
        default: return nil
        }
    }
}

// MARK: Links come and go

extension HostCore {
    mutating func connectionComplete(
        _ status: HCIErrorCode, _ handle: ConnectionHandle, _ role: LERole, _ peerAddress: DeviceAddress?,
        _ facts: LinkFacts
    ) {
        // Directed advertising, which ends with 0x3C, is nothing that this host does. The other parameters of a failure mean
        // nothing, the role among them.
        guard status == .success else { return tellGAP(.linkFailed(status)) }
        guard let role = LinkRole(role) else { return noteFault() }
        let own = gap.ownAddress(of: role)
        tellGAP(.linkMade(role))
        // A link that the handle still stands for here is not there any more: it takes no slot.
        let isReplaced = links.link(at: handle) != nil
        if let address = peerAddress, hasSlot(for: address, role, isReplaced: isReplaced) {
            let lifecycle = happened(.connected, at: handle)
            linkOpened(handle, role, address, own: own, lifecycle, facts)
        } else {
            tell(.rejected(onAir: peerAddress))
            happened(.connectedWithoutSlot, at: handle, reason: .remoteDeviceTerminatedLowResources)
        }
    }

    private mutating func linkOpened(
        _ handle: ConnectionHandle, _ role: LinkRole, _ address: DeviceAddress, own: DeviceAddress,
        _ lifecycle: LinkLifecycle, _ facts: LinkFacts
    ) {
        var identity: IdentityAddress?
        if case .bonded(let known) = bondBook.resolve(address) { identity = known }
        let peer = peers.identifier(at: identity?.address ?? address, fresh: random.uint128())
        let bond = identity.flatMap { bondBook.confirmedBond(with: $0) ?? bondBook.bondForEncryption(with: $0) }
        let id = links.makeID()
        let link = Link(
            id: id, handle: handle, role: role, connectedAt: now, ownAddress: own, address: address, peer: peer,
            identity: identity, bond: bond?.id, mtu: configuration.mtu,
            pairing: makePairingMachine(role, own: own, peer: address), lifecycle: lifecycle,
            layer: LinkLayer(
                role, facts, connectedAt: now, supervisionTimeout: configuration.supervisionTimeout,
                usesLinkLayer: controller.facts.features.contains(.connectionParametersRequestProcedure)))
        links.add(link)
        controller.acl?.addLink(handle)
        tellServer(.opened(id))
        if let bond {
            controller.acl?.setStanding(.named, of: handle)
            identify(link, bond.id, proven: false)
        }
        tell(.connected(id, isCentral: role == .central, onAir: address, link.bond))
        if !link.isImpostorPossible { announceToObservers(.linkChanged(link.info, isUp: true)) }
        switch role {
        case .central:
            // Taken back, or come by itself, while this link was on its way.
            let waiting = waiting(for: link)
            guard !waiting.isEmpty else { return disconnect(link, reason: .remoteUserTerminatedConnection) }
            link.client.users = Set(waiting)
            // A stranger's tree is discovered first, which goes faster in large PDUs. Who knows a bonded peer's has one value
            // to read or write, and does not wait.
            if link.identity == nil, link.layer.takeMTUExchange() { exchangeMTU(link) }
            tellConnected(link)
            if configuration.encryptsBondedLinks, link.bond != nil { encrypt(peer) }
        case .peripheral:
            preferConfiguredConnection(link)
            announce(.centralConnected(link.info))
            serveWaiting(link)
        }
    }

    /// Which of our addresses a link was made with is known only now: what pairing computes from it begins with it.
    func connected(_ link: Link, at own: DeviceAddress) {
        guard link.ownAddress != own, !link.pairing.isPairing else { return }
        link.ownAddress = own
        link.pairing = makePairingMachine(link.role, own: own, peer: link.address)
    }

    /// Resolved from its address, a client's durable subscriptions count for what they allow; proven, they are its own.
    mutating func identify(_ link: Link, _ bond: BondID, proven: Bool) {
        recall(bond)
        withEndpoint(link) {
            $0.identify(
                bond: UInt64(bitPattern: bond.rawValue), proven: proven, now: $2, server: &$1, outputs: &$3)
        }
    }

    /// Ends everything that lived on a link. The peer may be gone, or we may: whoever waits hears of it exactly once.
    mutating func closed(_ link: Link, reason: HCIErrorCode) {
        links.remove(link)
        link.lifecycle = LinkLifecycle()
        tell(.disconnected(link.id, reason))
        var sends: [ACLSendOutput] = []
        acts.dropPackets(of: link.handle)
        withdrawCommands(of: link.id)
        controller.acl?.removeLink(link.handle, into: &sends)
        performSends(sends)
        secure(link, .linkClosed)
        pairing(link, .disconnected)
        runAwaitingSecurity(link)
        withEndpoint(link) { $0.disconnected(outputs: &$3) }
        // What bluetoothd was asked for has no bearer here, and its own end would find no link.
        for asked in link.client.takeAll() { ended(asked, .failure(.bearerClosed), on: link) }
        closeChannels(link, reason: reason)
        linkLayer(link, .closed(reason))
        noteContest(over: link)
        switch link.role {
        case .central: clientLinkClosed(link, reason)
        case .peripheral:
            announce(.centralDisconnected(link.info, reason))
            if link.isClient { clientLinkClosed(link, reason) }
        }
        announceToObservers(.linkChanged(link.info, isUp: false))
        tellServer(.closed(link.id))
        // What was refused for want of a slot in the controller may go now.
        tellGAP(.roomMade)
    }

    mutating func disconnect(_ link: Link, reason: HCIErrorCode) { work.append(.disconnect(link.id, reason)) }

    mutating func endNow(_ link: Link, reason: HCIErrorCode) {
        link.contest.handle(.endedHere)
        happened(.disconnect, at: link.handle, reason: reason)
        // Its end may take as long as its other end is silent: the peer itself is looked for at once.
        if links[link.id] != nil { noteContest(over: link) }
    }

    mutating func leaveAir() {
        isLeaving = true
        wishesChanged()
        for link in links.all where !link.isDisconnecting { disconnect(link, reason: .remoteUserTerminatedConnection) }
    }

    func info(of link: LinkID) -> LinkInfo? { links[link]?.info }

    mutating func drop(_ link: LinkID) {
        guard let link = links[link], !link.isDisconnecting else { return }
        disconnect(link, reason: .remoteDeviceTerminatedLowResources)
    }

    mutating func disconnect(_ link: LinkID) {
        guard let link = links[link], !link.isDisconnecting else { return }
        link.isEndedByApp = true
        disconnect(link, reason: .remoteUserTerminatedConnection)
    }

    /// Whoever has asked for a connection to this peer, and not taken it back.
    func wanting(_ peer: PeerIdentifier) -> [RestorationLedger.Owner] {
        ledger.owners(of: .central).filter { ledger.wants($0, peer) }
    }

    mutating func timerFired(_ link: Link) {
        withEndpoint(link) { $0.timerFired(now: $2, outputs: &$3) }
        pairing(link, .timerFired)
        secure(link, .timerFired)
        withLogicalLink(link) { $0.timerFired(now: $1, into: &$2) }
        linkLayer(link, .timerFired)
    }
}

// MARK: Data

extension HostCore {
    mutating func receivedData(_ header: ACLDataHeader, _ data: RawSpan) {
        guard let link = links.link(at: header.handle), !link.isDisconnecting else { return }
        let fragment: Fragment
        switch header.boundary {
        case .first, .firstNonFlushable: fragment = .start
        case .continuing: fragment = .continuation
        // Core 5.4, Vol 4, Part E, 5.4.2: no complete PDUs on LE-U.
        case .complete: return disconnect(link, reason: .remoteUserTerminatedConnection)
        }
        do {
            switch try link.recombiner.receive(fragment, data) {
            case .whole(let frame): receivedFrame(frame, on: link)
            case .oversized(let channel, _, let head): receivedOversized(channel, head, on: link)
            case nil: return
            }
        } catch {
            disconnect(link, reason: .remoteUserTerminatedConnection)
        }
    }

    private mutating func receivedFrame(_ frame: BasicFrame, on link: Link) {
        switch frame.channel {
        case .attributeProtocol where frame.payload.count > configuration.mtu:
            receivedOversized(frame.channel, frame.payload, on: link)
        case .attributeProtocol: receivedATT(frame.payload, on: link)
        case .securityManagerProtocol: receivedSMP(frame.payload, on: link)
        case .leSignalling: receivedSignal(frame.payload, on: link)
        default: withLogicalLink(link) { $0.receive(frame: frame.payload, on: frame.channel, now: $1, into: &$2) }
        }
    }

    /// Longer than what any channel of this link takes. It ends a bearer that keeps to its MTU, and its own channel.
    private mutating func receivedOversized(_ channel: ChannelIdentifier, _ head: [UInt8], on link: Link) {
        switch channel {
        case .attributeProtocol, .securityManagerProtocol: disconnect(link, reason: .remoteUserTerminatedConnection)
        case .leSignalling: receivedSignal(head, on: link)
        default: withLogicalLink(link) { $0.receivedOversizedFrame(on: channel, now: $1, into: &$2) }
        }
    }

    mutating func sendPDU(_ payload: [UInt8], on channel: ChannelIdentifier, _ link: Link) {
        let (purpose, until) = (sendPurpose, sendUntil)
        (sendPurpose, sendUntil) = (nil, nil)
        guard controller.send(payload, on: channel, link.handle, for: purpose, until: until) else {
            return disconnect(link, reason: .remoteDeviceTerminatedLowResources)
        }
        flushACL()
    }
}
