import BluetoothCore
import GATT

// MARK: A peer's tree, as it was discovered

extension HostCore {
    mutating func keepRemoteDatabase(_ peer: PeerIdentifier, _ database: RemoteDatabase) {
        let link = links.client(of: peer)
        if let link, link.isImpostorPossible { return }
        withPeers { directory, facts in
            directory.keep(peer, &facts)
            directory.update(peer, &facts) {
                $0.remoteDatabase = database.encoded
                $0.databaseHash = database.hash
            }
        }
        announceToObservers(.treeChanged(peer))
        if let link { claimFeatures(link, of: database) }
    }

    func remoteDatabase(_ peer: PeerIdentifier) -> RemoteDatabase? {
        guard let encoded = peers[peer]?.remoteDatabase else { return nil }
        return try? RemoteDatabase(exactly: encoded)
    }

    /// A bonded peer has proved itself: is the tree still the one that was kept?
    mutating func checkDatabaseHash(_ link: Link) {
        guard link.isClient, peers[link.peer]?.databaseHash != nil else { return }
        start(.readByUUID(.databaseHash), .readDatabaseHash, makeToken(), on: link)
    }

    mutating func databaseHashRead(_ link: Link, _ hash: [UInt8]) {
        if hash != peers[link.peer]?.databaseHash { treeIsVoid(link) }
    }

    /// Service Changed, of the tree that is kept: whoever wants the peer hears what it means, and it holds also while nobody does.
    func isServiceChanged(_ handle: AttributeHandle, of peer: PeerIdentifier) -> Bool {
        remoteDatabase(peer)?.gattServiceCharacteristic(.serviceChanged)?.value == handle
    }

    /// What makes no sense is ignored: the peer only harms itself.
    ///
    /// Core 5.4, Vol 3, Part G, 7.1 (Service Changed)
    mutating func serviceChanged(_ link: Link, _ value: [UInt8]) {
        var reader = ByteReader(value.span.bytes)
        guard let first = try? reader.readUInt16(), let last = try? reader.readUInt16(), reader.remaining == 0,
            first <= last
        else { return }
        treeIsVoid(link, in: AttributeHandle(first)...AttributeHandle(last))
    }

    mutating func serviceChanged(at peer: PeerIdentifier, _ value: [UInt8]) {
        if let link = links.client(of: peer) { serviceChanged(link, value) }
    }

    /// The peer's tree is not the one that was kept. Only the peer itself can say so of a bonded one.
    mutating func treeIsVoid(_ link: Link, in range: ClosedRange<AttributeHandle> = .first ... .last) {
        guard link.isClient, !link.isImpostorPossible else { return }
        withPeers { directory, facts in
            directory.update(link.peer, &facts) {
                $0.remoteDatabase = nil
                $0.databaseHash = nil
            }
        }
        announceToObservers(.treeChanged(link.peer))
        endSubscriptions(at: link.peer, in: range)
        announce(.servicesInvalidated(link.peer, range), toThoseWanting: link.peer)
    }

    /// Says what this client can take. With robust caching the server keeps us from acting on a tree that has changed
    /// under our handles; it remembers that for a bonded client, and for any other as long as the link lasts.
    ///
    /// Core 5.4, Vol 3, Part G, 7.2 (Client Supported Features); 2.5.2.1 (Robust Caching)
    private mutating func claimFeatures(_ link: Link, of database: RemoteDatabase) {
        guard let characteristic = database.gattServiceCharacteristic(.clientSupportedFeatures),
            characteristic.properties.contains(.write)
        else { return }
        var features = ClientSupportedFeature.multipleHandleValueNotifications
        if database.hash != nil { features |= ClientSupportedFeature.robustCaching }
        start(.write(characteristic.value, [features]), .claimFeatures, makeToken(), on: link)
    }
}
