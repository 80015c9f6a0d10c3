import BluetoothCore
import GATT
import HCI
import L2CAP

/// Whose channel it is.
struct ChannelOwner {
    let manager: ManagerID
    weak var delegate: (any ChannelDelegate)?
    /// The service that this side asked for; nil for a channel that the peer asked for.
    var asked: SPSM?
    /// Whether it was refused for want of security, and asked for once more.
    var isRetry = false
}

// MARK: What apps ask for

extension HostCore {
    mutating func publishChannel(
        _ manager: ManagerID, encrypted: Bool, authenticated: Bool, minimumKeySize: UInt8, authorized: Bool,
        delegate: any ChannelDelegate
    ) throws(HostError) -> UInt16 {
        guard managers[manager] != nil else { throw .unknownManager }
        let requirement = ChannelRequirement(
            encrypted: encrypted, authenticated: authenticated, minimumKeySize: minimumKeySize, authorized: authorized)
        let service = PublishedChannels.Service(manager: manager, requirement: requirement, delegate: delegate)
        guard let spsm = publishedChannels.publish(service) else { throw .noResources }
        return spsm.rawValue
    }

    @discardableResult
    mutating func unpublishChannel(_ manager: ManagerID, psm: UInt16) -> Bool {
        publishedChannels.unpublish(SPSM(rawValue: psm), manager)
    }

    mutating func openChannel(_ manager: ManagerID, on link: LinkID, psm: UInt16, delegate: any ChannelDelegate)
        throws(HostError) -> HostChannelID
    {
        guard managers[manager] != nil else { throw .unknownManager }
        guard let link = links[link], !link.isDisconnecting else { throw .notConnected }
        guard link.device == nil else { throw .unsupportedByController }
        let spsm = SPSM(rawValue: psm)
        var outputs: [LELogicalLinkOutput] = []
        let number: ChannelNumber
        do {
            number = try link.logical.open(spsm, now: now, into: &outputs)
        } catch {
            switch error {
            case .noResources: throw .noResources
            case .invalidSPSM: throw .invalidPSM
            }
        }
        link.channelOwners[number] = ChannelOwner(manager: manager, delegate: delegate, asked: spsm)
        performChannels(outputs, on: link)
        return HostChannelID(link: link.id, number: number.rawValue)
    }

    mutating func send(_ sdu: [UInt8], on channel: HostChannelID) -> ChannelSendOutcome {
        guard let link = links[channel.link], !link.isDisconnecting else { return .closed }
        do {
            try link.logical.send(sdu, on: ChannelNumber(rawValue: channel.number))
        } catch {
            switch error {
            case .notOpen: return .closed
            case .sduTooLong: return .tooLong
            case .queueFull: return .full
            }
        }
        sendChannelFrames(link)
        return .taken
    }

    mutating func consumed(_ octets: Int, of channel: HostChannelID) {
        guard let link = links[channel.link] else { return }
        withLogicalLink(link) { $0.consume(octets, of: ChannelNumber(rawValue: channel.number), into: &$2) }
    }

    mutating func closeChannel(_ channel: HostChannelID) {
        guard let link = links[channel.link] else { return }
        withLogicalLink(link) { $0.close(ChannelNumber(rawValue: channel.number), now: $1, into: &$2) }
    }

    /// The peer refused it for want of security, and the link is as secure as it is going to be.
    mutating func openAgain(_ number: ChannelNumber, _ owner: ChannelOwner, on link: Link) {
        guard let spsm = owner.asked else { return }
        link.channelOwners[number] = owner
        var outputs: [LELogicalLinkOutput] = []
        do {
            try link.logical.open(spsm, again: number, now: now, into: &outputs)
        } catch {
            return channelEnded(number, .noResources, on: link)
        }
        // On a link that ends it ends with that.
        if !link.isDisconnecting { performChannels(outputs, on: link) }
    }

    /// An app's channel is there no longer, or never was: its one end.
    mutating func channelEnded(_ number: ChannelNumber, _ end: ChannelEnd, on link: Link) {
        let owner = link.channelOwners.removeValue(forKey: number)
        announce(.closed(end), owner, link, number)
    }

    /// Channels that a manager has asked for and that are not open end, for its app at once. A peer that opens one later is told
    /// then.
    mutating func abandonOpenings(of manager: ManagerID, on link: Link) {
        for number in link.client.abandonOpenings(of: manager) { channelEnded(number, .local, on: link) }
        let openings = link.channelOwners.filter {
            $0.value.manager == manager && link.logical.channels[$0.key]?.isOpen == false
        }
        for number in openings.keys.map(\.rawValue).sorted() {
            closeChannel(HostChannelID(link: link.id, number: number))
        }
    }

    /// What a manager offered and opened ends with it.
    mutating func releaseChannels(of manager: ManagerID) {
        publishedChannels.unpublishAll(of: manager)
        for link in links.all {
            for (number, owner) in link.channelOwners where owner.manager == manager {
                closeChannel(HostChannelID(link: link.id, number: number.rawValue))
            }
        }
    }
}

// MARK: What links say

extension HostCore {
    /// Runs `body` on a link's signalling and channels, then everything that they want.
    mutating func withLogicalLink(
        _ link: Link, _ body: (inout LELogicalLink, Instant, inout [LELogicalLinkOutput]) -> Void
    ) {
        var outputs: [LELogicalLinkOutput] = []
        body(&link.logical, now, &outputs)
        performChannels(outputs, on: link)
        sendChannelFrames(link)
    }

    mutating func receivedSignal(_ payload: [UInt8], on link: Link) {
        var outputs: [LELogicalLinkOutput] = []
        link.logical.receive(
            signal: payload, security: link.channelSecurity,
            requirement: { publishedChannels[$0]?.requirement }, takesUpdate: { takes($0, on: link) }, now: now,
            into: &outputs)
        performChannels(outputs, on: link)
        sendChannelFrames(link)
    }

    /// K-frames go to the link's queue in small helpings, so that what the other layers send waits for no more than these.
    mutating func sendChannelFrames(_ link: Link) {
        while !link.isDisconnecting, controller.hasRoomForChannels(link.handle) {
            var outputs: [LELogicalLinkOutput] = []
            guard let frame = link.logical.nextFrame(now: now, into: &outputs) else { return }
            sendPDU(frame.payload, on: frame.channel, link)
            performChannels(outputs, on: link)
        }
    }

    /// Buffers of the controller are free again.
    mutating func sendChannelFrames() {
        for link in links.all where link.logical.hasFrame { sendChannelFrames(link) }
    }

    mutating func closeChannels(_ link: Link, reason: HCIErrorCode) {
        var outputs: [LELogicalLinkOutput] = []
        link.logical.linkLost(into: &outputs)
        performChannels(outputs, on: link, linkLost: reason)
    }

    private mutating func performChannels(
        _ outputs: [LELogicalLinkOutput], on link: Link, linkLost: HCIErrorCode = .unspecifiedError
    ) {
        for output in outputs {
            switch output {
            case .signal(let payload): sendPDU(payload, on: .leSignalling, link)
            case .updateConnection(let parameters): work.append(.linkLayer(link.id, .granted(parameters)))
            case .updateFinished: work.append(.linkLayer(link.id, .l2capFinished))
            case .opened(let number): channelOpened(number, link)
            case .received(let number, let sdu):
                announce(.received(sdu), link.channelOwners[number], link, number)
            case .hasRoom(let number): announce(.hasRoom, link.channelOwners[number], link, number)
            case .closed(let number, .refused(let result)): refusedChannel(number, result, on: link)
            case .closed(let number, let reason):
                channelEnded(number, ChannelEnd(reason, linkLost: linkLost), on: link)
            }
        }
    }

    private mutating func refusedChannel(
        _ number: ChannelNumber, _ result: LECreditBasedConnectionResult, on link: Link
    ) {
        if let owner = link.channelOwners[number] {
            let refused = RefusedRequest.channel(number, owner, result)
            if wantsSecurity(refused, on: link) { return work.append(.refused(refused, link)) }
        }
        channelEnded(number, ChannelEnd(result), on: link)
    }

    private mutating func announce(_ news: ChannelNews, _ owner: ChannelOwner?, _ link: Link, _ number: ChannelNumber) {
        tellings.append(.channel(HostChannelID(link: link.id, number: number.rawValue), news, owner))
    }

    /// A channel that this side asked for has its owner; one that the peer asked for gets the service's.
    private mutating func channelOpened(_ number: ChannelNumber, _ link: Link) {
        guard let channel = link.logical.channels[number] else { return }
        let id = HostChannelID(link: link.id, number: number.rawValue)
        if link.channelOwners[number] == nil, let service = publishedChannels[channel.spsm] {
            link.channelOwners[number] = ChannelOwner(manager: service.manager, delegate: service.delegate)
        }
        let info = ChannelInfo(id: id, psm: channel.spsm.rawValue, link: link.info, sduOctetsMaximum: channel.peerMTU)
        announce(.opened(info), link.channelOwners[number], link, number)
    }
}

extension Link {
    fileprivate var channelSecurity: ChannelSecurity {
        ChannelSecurity(
            encrypted: security.encrypted, authenticated: security.authenticated, keySize: security.keySize,
            hasKey: security.bonded, authorized: isProven)
    }
}
