import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import SecurityManager
import Synchronization

// MARK: What stands when an app comes back

extension CentralCore {
    func rebuild(_ record: RestorationRecord, _ host: Host) {
        scan = record.scan
        // A peer without a bond forgot its subscribers with the link.
        let bonded = Set(host.bonds.compactMap(\.identity).map { host.peer(at: $0.address) })
        let subscriptions = Dictionary(
            grouping: record.subscriptions.filter { bonded.contains($0.peer) }, by: \.peer)
        for (peer, kept) in subscriptions {
            feed(.restored(subscriptions: Set(kept.map(\.valueHandle))), peripheral(peer))
        }
        let restored = record.pendingConnections.map { pending in restore(pending.peer, host) }
        let scan = record.scan
        delivery.deliver(self.host) {
            if scan != nil { self.peripherals.withLock { $0.isScanning = true } }
            for (peripheral, connection, tree) in restored { peripheral.show(connection, tree) }
            self.withDelegate { manager, delegate in
                delegate.centralManager(
                    manager, willRestoreState: Self.restorationState(peripherals: restored.map(\.0), scan: scan))
            }
        }
    }

    private typealias Restored = (CBPeripheral, ShownConnection.News, KeptTree?)

    private func restore(_ peer: PeerIdentifier, _ host: Host) -> Restored {
        let peripheral = peripheral(peer)
        let link = host.connection(to: peer)
        if let link {
            feed(.connected(peripheral, isBonded: link.bond != nil), peripheral)
        } else {
            feed(.wanted(peripheral), peripheral)
        }
        return (peripheral, connectionNews(of: peripheral), keptTree(of: peripheral, host))
    }

    func showKeptServices(_ peripheral: CBPeripheral) -> Bool {
        guard let host, handle.executor.isOnLoop, let tree = keptTree(of: peripheral, host) else { return false }
        peripheral.show(tree)
        return true
    }

    /// Takes the tree that is kept of a peer as the one that it has, until the peer says otherwise.
    private func keptTree(of peripheral: CBPeripheral, _ host: Host) -> KeptTree? {
        guard let kept = host.remoteDatabase(peripheral.peer), !kept.services.isEmpty else { return nil }
        feed(.kept(kept), peripheral)
        return KeptTree(database: kept, subscriptions: sessions[peripheral.peer]?.subscriptions ?? [])
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
