import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

// MARK: Central managers

extension Host {
    package func startScan(_ manager: ManagerID, _ scan: ScanRecord) { ask { $0.startScan(manager, scan) } }

    package func stopScan(_ manager: ManagerID) { ask { $0.stopScan(manager) } }

    /// Connects whenever the peer comes near, however long that takes; kept until it is cancelled or the link that came of
    /// it has ended.
    package func connect(_ manager: ManagerID, _ peer: PeerIdentifier, options: UInt32, askedAtSeconds: Int64) {
        ask { $0.connect(manager, peer, options: options, askedAtSeconds: askedAtSeconds) }
    }

    /// Takes back a pending connection, or gives up a standing one: the link ends when no other manager wants it.
    package func cancelConnection(_ manager: ManagerID, _ peer: PeerIdentifier) {
        ask { $0.cancelConnection(manager, peer) }
    }

    /// Every peer that is kept: an app has asked to connect to it, or it is bonded.
    package func keptPeers() -> [PeerName] { core.peers.keptNames() }

    /// The manager's app has heard `disconnected`: see ``ManagerOptions/hearsBehindCommit``.
    package func lossHeard(_ manager: ManagerID, _ peer: PeerIdentifier) { ask { $0.lossHeard(manager, peer) } }

    package func peerRecord(_ peer: PeerIdentifier) -> PeerRecord? { core.peerRecord(peer) }

    /// The name of whoever is at `address`, made when there is none yet.
    package func peer(at address: DeviceAddress) -> PeerIdentifier { ask { $0.peer(at: address) } }

    /// A peer's link: where there are several, the one that apps are its clients over.
    package func link(of peer: PeerIdentifier) -> LinkInfo? { core.info(of: peer) }

    /// Asks a connected peer for its GAP Device Name, once on each link; of a bonded one, once it has proved itself.
    /// ``CentralRoleDelegate/nameRead(_:_:)`` says it, before the result of whatever is asked of the peer behind this.
    package func readName(of peer: PeerIdentifier) { ask { $0.readName(of: peer) } }

    /// The bonded peer itself has said, over encryption, that it did not take what was signed, and which counter it took last, where it
    /// says that: counters up to there are not used again. nil: nobody knows how far this side is behind.
    package func advanceSignCounter(of peer: PeerIdentifier, beyond counter: UInt32?) {
        ask { $0.advanceSignCounter(peer, beyond: counter) }
    }

    /// The link that is an app's connection to a peer, or would be if it asked.
    package func connection(to peer: PeerIdentifier) -> LinkInfo? { core.connection(to: peer) }

    /// Octets of value that one write without response carries.
    package func maximumWriteLength(_ peer: PeerIdentifier) -> Int { core.maximumWriteLength(peer) }

    /// Asks a connected peer; `completed` comes exactly once with the token. A signed write takes the bond's CSRK and its
    /// next counter, and goes only on a link that is not encrypted.
    ///
    /// A write without response, signed or not, may have a time, `until`: it is looked at again when the packet leaves, after
    /// the commit and whatever it waited for. ``CentralRoleDelegate/writeLapsed(_:peer:)`` says that it came too late.
    package func perform(
        _ manager: ManagerID, _ peer: PeerIdentifier, _ operation: GATTClientOperation, until: Instant? = nil
    ) -> OperationToken {
        ask { $0.perform(manager, peer, operation, until: until) }
    }

    /// Writes a CCC; what the peer took is kept, and is live again after a relaunch. nil unsubscribes.
    package func setNotify(
        _ manager: ManagerID, _ peer: PeerIdentifier, value: AttributeHandle, ccc: AttributeHandle,
        kind: SubscriptionRecord.Kind?
    ) -> OperationToken {
        ask { $0.setNotify(manager, peer, value: value, ccc: ccc, kind: kind) }
    }

    /// Value handles that a manager is subscribed to at a bonded peer, as they are kept. What somebody took in its name who has not proved
    /// to be that peer is none of them.
    package func subscriptions(_ manager: ManagerID, _ peer: PeerIdentifier) -> Set<AttributeHandle> {
        core.subscriptions(manager, peer)
    }

    /// How long a central under a bonded peer's address has to prove that it is that peer, once it was asked to. While its
    /// link stands, the controller may connect to nobody else of that name.
    package static let proofMilliseconds: UInt64 = 30_000

    /// Keeps what was discovered, under the peer's Database Hash; while the hash matches nothing is discovered again. Of a
    /// bonded peer only what it said itself is kept: whoever took its address cannot put another tree in its place.
    package func keepRemoteDatabase(_ peer: PeerIdentifier, _ database: RemoteDatabase) {
        ask { $0.keepRemoteDatabase(peer, database) }
    }

    /// A peer has indicated Service Changed. The word of a bonded peer counts once the peer has proved itself. The kept tree is void
    /// then, and all subscriptions in the range end. ``CentralRoleDelegate/servicesInvalidated(_:first:last:)`` says so.
    package func serviceChanged(at peer: PeerIdentifier, _ value: [UInt8]) {
        ask { $0.serviceChanged(at: peer, value) }
    }

    package func remoteDatabase(_ peer: PeerIdentifier) -> RemoteDatabase? { core.remoteDatabase(peer) }
}
