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

extension Host {
    func link(at handle: ConnectionHandle) -> Link? { linksByHandle[handle].flatMap { links[$0] } }

    func connectionComplete(
        _ status: HCIErrorCode, _ handle: ConnectionHandle, _ role: LERole, _ peerAddress: LEPeerAddress
    ) {
        guard let role = LinkRole(role) else { return }
        switch role {
        case .central: initiator.connectionComplete()
        case .peripheral: if status == .success { advertiser.connectionMade() }
        }
        // 0x02 ends a cancelled attempt, 0x3C directed advertising: nobody waits for either.
        guard status == .success, let address = peerAddress.address else { return reconcile() }
        if let stale = link(at: handle) { closed(stale, reason: .unspecifiedError) }
        guard links.count < configuration.linksMaximum else {
            submit(HCIDisconnect(handle: handle, reason: .remoteDeviceTerminatedLowResources), for: .ignored)
            return reconcile()
        }
        opened(handle, role, address)
        reconcile()
    }

    private func opened(_ handle: ConnectionHandle, _ role: LinkRole, _ address: DeviceAddress) {
        var identity: IdentityAddress?
        if case .bonded(let known) = bondBook.resolve(address) { identity = known }
        let peer = peers.identifier(at: identity?.address ?? address, fresh: random.uint128())
        let id = LinkID(rawValue: nextLinkNumber)
        nextLinkNumber += 1
        let link = Link(
            id: id, handle: handle, role: role, address: address, peer: peer, mtu: configuration.mtu,
            pairing: makePairingMachine(role, own: self.identity.address.address, peer: address))
        links[id] = link
        linksByHandle[handle] = id
        controller.acl?.addLink(handle)
        link.identity = identity
        if let identity,
            let bond = bondBook.confirmedBond(with: identity) ?? bondBook.bondForEncryption(with: identity)
        {
            link.bond = bond.id
            link.security.bonded = true
            identify(link, bond.id, proven: false)
        }
        switch role {
        case .central:
            for delegate in centralDelegates(of: peer) { delegate.connected(link.info) }
        case .peripheral:
            armPairing(link)
            for delegate in managers.peripherals { delegate.centralConnected(link.info) }
        }
    }

    /// Resolved from its address, a client's durable subscriptions count for what they allow; proven, they are its own.
    func identify(_ link: Link, _ bond: BondID, proven: Bool) {
        withEndpoint(link) {
            $0.identify(
                bond: UInt64(bitPattern: bond.rawValue), proven: proven, now: now, server: &server, outputs: &$1)
        }
    }

    /// Ends everything that lived on a link. The peer may be gone, or we may: whoever waits hears of it exactly once.
    func closed(_ link: Link, reason: HCIErrorCode) {
        links[link.id] = nil
        linksByHandle[link.handle] = nil
        var sends: [ACLSendOutput] = []
        controller.acl?.removeLink(link.handle, into: &sends)
        perform(sends)
        pairing(link, .disconnected)
        withEndpoint(link) { $0.disconnected(outputs: &$1) }
        switch link.role {
        case .central: centralLinkClosed(link, reason)
        case .peripheral:
            for delegate in managers.peripherals { delegate.centralDisconnected(link.info, reason: reason) }
        }
    }

    func disconnect(_ link: Link, reason: HCIErrorCode) {
        guard !link.isDisconnecting else { return }
        link.isDisconnecting = true
        submit(HCIDisconnect(handle: link.handle, reason: reason), for: .link(link.id, .disconnect))
    }

    /// Ends a link from this side.
    package func disconnect(_ link: LinkID) {
        guard let link = links[link] else { return }
        disconnect(link, reason: .remoteUserTerminatedConnection)
    }

    func refused(_ link: Link, _ command: LinkCommand, _ status: HCIErrorCode) {
        switch command {
        // Already gone, or going: its Disconnection Complete tells.
        case .disconnect, .longTermKeyReply: break
        case .enableEncryption: encryptionChanged(link, status, isOn: false)
        }
    }

    /// Those central managers that asked for this peer.
    func centralDelegates(of peer: PeerIdentifier) -> [any CentralRoleDelegate] {
        ledger.owners(of: .central).compactMap { owner in
            guard ledger.record(owner).pendingConnections.contains(where: { $0.peer == peer }) else { return nil }
            return managers.slot(of: owner)?.central
        }
    }

    func timerFired(_ link: Link) {
        withEndpoint(link) { $0.timerFired(now: now, outputs: &$1) }
        pairing(link, .timerFired)
        withSignalling(link) { $0.timerFired(now: now, into: &$1) }
    }
}

// MARK: Data

extension Host {
    func received(_ header: ACLDataHeader, _ data: RawSpan) {
        guard let link = link(at: header.handle), !link.isDisconnecting else { return }
        let fragment: Fragment
        switch header.boundary {
        case .first, .firstNonFlushable: fragment = .start
        case .continuing: fragment = .continuation
        // Core 5.4, Vol 4, Part E, 5.4.2: no complete PDUs on LE-U.
        case .complete: return disconnect(link, reason: .remoteUserTerminatedConnection)
        }
        do {
            guard let frame = try link.recombiner.receive(fragment, data) else { return }
            received(frame, on: link)
        } catch {
            disconnect(link, reason: .remoteUserTerminatedConnection)
        }
    }

    private func received(_ frame: BasicFrame, on link: Link) {
        switch frame.channel {
        case .attributeProtocol: receivedATT(frame.payload, on: link)
        case .securityManagerProtocol: pairing(link, .received(frame.payload))
        case .leSignalling: withSignalling(link) { $0.receive(frame.payload, into: &$1) }
        // Core 5.4, Vol 3, Part A, 2.1: what arrives on a channel that is not there is discarded.
        default: break
        }
    }

    func send(_ payload: [UInt8], on channel: ChannelIdentifier, _ link: Link) {
        let purpose = sendPurpose
        sendPurpose = nil
        guard controller.send(payload, on: channel, link.handle, for: purpose) else {
            return disconnect(link, reason: .remoteDeviceTerminatedLowResources)
        }
        flushACL()
    }

    private func withSignalling(
        _ link: Link, _ body: (inout LESignallingChannel, inout [LESignallingOutput]) -> Void
    ) {
        var outputs: [LESignallingOutput] = []
        body(&link.signalling, &outputs)
        for output in outputs {
            switch output {
            case .send(let payload): send(payload, on: .leSignalling, link)
            case .updateConnection(let parameters):
                submit(HCILEConnectionUpdate(handle: link.handle, connection: .init(parameters)), for: .ignored)
            case .updateFinished: break
            }
        }
    }
}
