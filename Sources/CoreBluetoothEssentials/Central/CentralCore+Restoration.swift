import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import Synchronization

// MARK: What stands when an app comes back

extension CentralCore {
    /// Rebuilds what the app had, and tells it before it hears anything else. The host runs all of it already.
    func restore(_ record: RestorationRecord, _ host: Host) {
        scan = record.scan
        // A peer without a bond forgot its subscribers with the link.
        let known = shared.withLock { $0.known }
        for subscription in record.subscriptions where known.contains(subscription.peer) {
            subscriptions[subscription.peer, default: []].insert(subscription.valueHandle)
        }
        let restored = record.pendingConnections.map { pending in restore(pending.peer, host) }
        let scan = record.scan
        delivery.deliver(self.host) {
            if scan != nil { self.shared.withLock { $0.isScanning = true } }
            for (peripheral, state, tree) in restored { peripheral.show(state, tree) }
            guard let manager = self.shared.withLock({ $0.manager }), let delegate = manager.delegate else { return }
            delegate.centralManager(
                manager, willRestoreState: Self.restorationState(peripherals: restored.map(\.0), scan: scan))
        }
    }

    private typealias Restored = (CBPeripheral, CBPeripheralState, KeptTree?)

    private func restore(_ peer: PeerIdentifier, _ host: Host) -> Restored {
        let peripheral = peripheral(peer)
        standing[peer] = peripheral
        let link = host.connection(to: peer)
        if let link { noteBond(of: link) }
        return (peripheral, link == nil ? .connecting : .connected, adoptKeptDatabase(peer, host))
    }

    /// Takes the tree that is kept of a peer as the one that it has, until the peer says otherwise.
    func adoptKeptDatabase(_ peer: PeerIdentifier, _ host: Host) -> KeptTree? {
        guard let kept = host.remoteDatabase(peer), !kept.services.isEmpty else { return nil }
        databases[peer] = kept
        return KeptTree(database: kept, subscriptions: subscriptions[peer] ?? [])
    }

    /// Apple's dictionary: absent keys say that nothing of the kind stands.
    static func restorationState(peripherals: [CBPeripheral], scan: ScanRecord?) -> [String: Any] {
        var state: [String: Any] = [:]
        if !peripherals.isEmpty { state[CBCentralManagerRestoredStatePeripheralsKey] = peripherals }
        if let scan {
            if !scan.services.isEmpty {
                state[CBCentralManagerRestoredStateScanServicesKey] = scan.services.map { CBUUID($0) }
            }
            state[CBCentralManagerRestoredStateScanOptionsKey] = scan.options
        }
        return state
    }
}

/// A peer's tree as it was kept, and what this side is subscribed to in it.
struct KeptTree: Sendable {
    var database: RemoteDatabase
    var subscriptions: Set<AttributeHandle>
}

extension CBPeripheral {
    /// Shows the app a peripheral as it was kept.
    func show(_ state: CBPeripheralState, _ tree: KeptTree?) {
        content.withLock { $0.state = state }
        if let tree { show(tree) }
    }

    /// The whole tree, discovered down to its descriptors.
    func show(_ kept: KeptTree) {
        content.withLock { content in
            let services = kept.database.services.map { remote in
                (remote, content.tree.service(remote, of: self))
            }
            for (remote, service) in services {
                let characteristics = remote.characteristics.map { found in
                    let characteristic = content.tree.characteristic(
                        found, of: service, isNotifying: kept.subscriptions.contains)
                    characteristic.adopt(found.descriptors)
                    return characteristic
                }
                let included = remote.includedServices.compactMap { include in
                    services.first { $0.0.declaration == include.declaration }?.1
                }
                service.state.withLock {
                    $0.characteristics = characteristics
                    $0.includedServices = included
                }
            }
            content.services = services.filter(\.0.isPrimary).map(\.1)
        }
    }
}
