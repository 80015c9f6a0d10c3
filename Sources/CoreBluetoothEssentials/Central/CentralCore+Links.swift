import BluetoothCore
import BluetoothHost
import GATT
import Synchronization

// MARK: Who is connected to this host, and what they call themselves

extension CentralCore {
    func linkChanged(_ link: LinkInfo, isUp: Bool) {
        let before = linkedPeers.peer(of: link.link)
        tellEvents(
            isUp ? linkedPeers.up(link.link, link.peer, services(of: link.peer)) : linkedPeers.down(link.link),
            changed: [before ?? link.peer, link.peer])
    }

    func treeChanged(_ peer: PeerIdentifier) {
        forgetTree(of: peer)
        guard linkedPeers.isConnected(peer) else { return }
        tellEvents(linkedPeers.learned(services(of: peer), of: peer), changed: [peer])
    }

    /// A session without a connection has what an earlier link has left, and hears of nothing that the peer says to others.
    private func forgetTree(of peer: PeerIdentifier) {
        guard let session = sessions[peer], !session.isOpen else { return }
        let peripheral = peripheral(peer)
        feed(.treeChanged, peripheral)
        let subscriptions = takeKeptSubscriptions(of: peripheral)
        delivery.deliver(host) { peripheral.content.withLock { $0.tree.showSubscriptions(subscriptions) } }
    }

    func matchConnectionEvents(_ filter: ConnectionEventFilter?) {
        submit { _, _ in self.linkedPeers.filter = filter }
    }

    private func services(of peer: PeerIdentifier) -> Set<BluetoothUUID>? {
        host?.remoteDatabase(peer).map { Set($0.services.lazy.filter(\.isPrimary).map(\.uuid)) }
    }

    private func tellEvents(_ events: [LinkedPeers.Event], changed: [PeerIdentifier]) {
        let known = changed.map { ($0, linkedPeers.services(of: $0)) }
        peripherals.withLock { for (peer, services) in known { $0.connected[peer] = services } }
        for event in events {
            let peripheral = peripheral(event.peer)
            tell { manager, delegate in
                delegate.centralManager(
                    manager, connectionEventDidOccur: event.isConnected ? .peerConnected : .peerDisconnected,
                    for: peripheral)
            }
        }
    }

    func nameRead(_ peer: PeerIdentifier, _ name: String) {
        peripherals.withLock { $0.known.keep(peer, name: name) }
        let peripheral = peripheral(peer)
        delivery.deliver(host) {
            let isRenamed = peripheral.content.withLock { content in
                content.isNameRead = true
                defer { content.name = name }
                return content.name != name
            }
            if isRenamed { peripheral.callbacks?.peripheralDidUpdateName(peripheral) }
        }
    }

    /// The scan is over, and so are connections that were waited for: the app hears of none of that but by the state.
    func endedWithPower() -> @Sendable () -> Void {
        scan = nil
        discoveries = Discoveries()
        let waiting = sessions.values.compactMap(\.wantedPeripheral)
        let connections = waiting.map { peripheral in
            feed(.ended, peripheral)
            return (peripheral, connectionNews(of: peripheral))
        }
        return {
            self.peripherals.withLock { $0.isScanning = false }
            for (peripheral, connection) in connections {
                peripheral.content.withLock { $0.connection.show(connection) }
            }
        }
    }
}
