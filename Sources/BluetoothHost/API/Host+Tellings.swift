import ATT
import BluetoothCore
import SecurityManager

// MARK: What apps are to hear

extension Host {
    func announce(_ news: CentralNews, to manager: ManagerID) { tellings.append(.central(manager, news)) }

    func announce(_ news: PeripheralNews, to manager: ManagerID) { tellings.append(.peripheral(manager, news)) }

    /// To every peripheral manager.
    func announce(_ news: PeripheralNews) { managers.forEachPeripheral { announce(news, to: $0) } }

    /// To the central managers that have asked for a peer.
    func announce(_ news: CentralNews, toThoseWanting peer: PeerIdentifier) {
        for owner in ledger.owners(of: .central) where ledger.wants(owner, peer) {
            if let manager = managers.central(of: owner) { announce(news, to: manager) }
        }
    }

    /// To the central managers that are clients over a link.
    func announce(_ news: CentralNews, toClientsOf link: Link) {
        if link.isClient { announce(news, toThoseWanting: link.peer) }
    }

    /// To whoever speaks with the user.
    func announce(_ news: AgentNews, of link: Link) { tellings.append(.agent(news, link.info)) }

    /// Until nothing is left to hear: apps that hear of something may ask for more.
    func tellApps() {
        while !tellings.isEmpty {
            var due: [Telling] = []
            swap(&due, &tellings)
            swap(&tellings, &spareTellings)
            for telling in due { tell(telling) }
            due.removeAll(keepingCapacity: true)
            swap(&due, &spareTellings)
        }
    }

    private func tell(_ telling: Telling) {
        switch telling {
        case .central(let manager, let news): if let delegate = managers[manager]?.central { news.tell(delegate) }
        case .peripheral(let manager, let news):
            if let delegate = managers[manager]?.peripheral { news.tell(delegate) }
        case .read(let manager, let request):
            guard let delegate = manager.flatMap({ managers[$0]?.peripheral }) else {
                return refuse(request.id, error: .unlikelyError)
            }
            delegate.readRequested(request)
        case .write(let manager, let request):
            guard let delegate = manager.flatMap({ managers[$0]?.peripheral }) else {
                if let id = request.id { refuse(id, error: .unlikelyError) }
                return
            }
            delegate.writesRequested(request)
        case .agent(let news, let link):
            if let pairingAgent {
                news.tell(pairingAgent, link)
            } else if news.isQuestion {
                answerPairing(link.link, .refusal)
            }
        case .channel(let channel, let news, let owner): tell(news, of: channel, to: owner?.delegate)
        case .settleSecurity(let link, let error): settleSecurity(link, error)
        }
    }

    /// Nobody is there to take what comes on the channel: it closes.
    private func tell(_ news: ChannelNews, of channel: HostChannelID, to delegate: (any ChannelDelegate)?) {
        switch news {
        case .opened(let info): delegate?.channelOpened(info) ?? closeChannel(channel)
        case .received(let sdu): delegate?.received(sdu, on: channel) ?? closeChannel(channel)
        case .hasRoom: delegate?.channelHasRoom(channel)
        case .closed(let reason): delegate?.channelClosed(channel, reason: reason)
        }
    }
}
