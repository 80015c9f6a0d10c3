import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import SecurityManager
import Synchronization

// MARK: What the host says

extension CentralCore: CentralRoleDelegate {
    func hostStateChanged(_ state: HostState) {
        guard let state = lastTold.news(state) else { return }
        delivery.deliver(host) {
            let manager = self.shared.withLock { shared in
                shared.state = state
                return shared.manager
            }
            if let manager { manager.delegate?.centralManagerDidUpdateState(manager) }
        }
    }

    func discovered(_ report: AdvertisementReport) {
        // Whoever is not told of now counts as unheard.
        guard let scan, !discoveriesBacklog.isFull else { return }
        let merged = discoveries.merge(report)
        guard let told = scan.allowDuplicates ? report : merged else { return }
        let peripheral = peripheral(report.peer, name: report.localName)
        tellDiscovery { manager, delegate in
            let isRenamed = peripheral.content.withLock { content in
                guard let name = told.localName, name != content.name else { return false }
                defer { content.name = name }
                return content.name != nil
            }
            if isRenamed { peripheral.delegate?.peripheralDidUpdateName(peripheral) }
            // Heard before the app stopped the scan, and on its way to it since.
            guard manager.isScanning else { return }
            delegate.centralManager(
                manager, didDiscover: peripheral, advertisementData: told.advertisementData, rssi: Int(told.rssi))
        }
    }

    func connected(_ link: LinkInfo) {
        let peripheral = peripheral(link.peer)
        standing[link.peer] = peripheral
        noteBond(of: link)
        refreshWriteLength(peripheral)
        tell { manager, delegate in
            peripheral.content.withLock { $0.state = .connected }
            (delegate as? any CBCentralLinkDelegate)?.centralManager(manager, willConnect: peripheral, link: link)
            delegate.centralManager(manager, didConnect: peripheral)
        }
    }

    func connectionFailed(_ peer: PeerIdentifier, error: HostError) {
        let peripheral = peripheral(peer)
        standing[peer] = nil
        tell { manager, delegate in
            peripheral.content.withLock { $0.state = .disconnected }
            delegate.centralManager(manager, didFailToConnect: peripheral, error: appleError(error))
        }
    }

    func disconnected(_ peer: PeerIdentifier, error: HostError?) {
        let peripheral = peripheral(peer)
        standing[peer] = nil
        // A stranger forgets its subscribers with the link, and may come back with another tree. A wish for a connection
        // that is withdrawn ends no link.
        if strangers.remove(peer) != nil {
            subscriptions[peer] = nil
            databases[peer] = nil
            checkedDatabases.remove(peer)
            invalidatedDatabases.remove(peer)
        }
        let keepsSubscriptions = subscriptions[peer] != nil
        tell { manager, delegate in
            let stale = peripheral.content.withLock { content in
                // The app may have asked for another connection since it gave this one up.
                if content.state != .connecting { content.state = .disconnected }
                content.commands = CommandBudget()
                return keepsSubscriptions ? [] : content.tree.notifying
            }
            for characteristic in stale { characteristic.state.withLock { $0.isNotifying = false } }
            delegate.centralManager(
                manager, didDisconnectPeripheral: peripheral, error: error.map { appleError($0) })
        }
    }

    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {
        guard let operation = takeOperation(token) else { return }
        let peripheral = peripheral(peer)
        finish(operation, peripheral, result)
    }

    func writeLapsed(_ token: OperationToken, peer: PeerIdentifier) {
        let peripheral = peripheral(peer)
        tellLink(peripheral) { $0.peripheral(peripheral, didNotWriteBecause: .late) }
    }

    func mtuChanged(_ link: LinkInfo) { refreshWriteLength(peripheral(link.peer)) }

    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {
        if databases[peer]?.characteristic(at: handle)?.uuid == .serviceChanged { return serviceChanged(peer, value) }
        // A notification may be lost; an indication was confirmed, and who sends more of them is not listened to.
        if !tellFlooded(peripheral(peer), .sent(handle, value)), isIndication { endLink(to: peer) }
    }

    private func endLink(to peer: PeerIdentifier) {
        if let host, let link = host.link(of: peer) { host.drop(link.link) }
    }

    /// What makes no sense is ignored: the peer only harms itself. What somebody says in the name of a bonded peer, without
    /// its key, is ignored too: it would cost the tree that is kept of the peer itself.
    ///
    /// Core 5.4, Vol 3, Part G, 7.1 (Service Changed)
    private func serviceChanged(_ peer: PeerIdentifier, _ value: [UInt8]) {
        if let link = host?.connection(to: peer), link.bond != nil, !link.isProven { return }
        var reader = ByteReader(value.span.bytes)
        guard let first = try? reader.readUInt16(), let last = try? reader.readUInt16(), reader.remaining == 0 else {
            return
        }
        servicesInvalidated(peer, first: AttributeHandle(first), last: AttributeHandle(last))
    }

    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {
        guard first <= last else { return }
        let peripheral = peripheral(peer)
        databases[peer]?.invalidate(first...last)
        invalidatedDatabases.insert(peer)
        checkedDatabases.remove(peer)
        // What is kept is void; an empty tree is none.
        host?.keepRemoteDatabase(peer, RemoteDatabase())
        subscriptions[peer] = subscriptions[peer]?.filter { $0 < first || last < $0 }
        let tell = { @Sendable in
            let gone = peripheral.content.withLock { content in
                let gone = content.tree.invalidate(first...last)
                content.services?.removeAll { gone.contains($0) }
                return gone
            }
            peripheral.delegate?.peripheral(peripheral, didModifyServices: gone)
        }
        guard !delivery.deliver(host, within: peripheral.backlog, tell) else { return }
        // Told nevertheless, once for each link: an app that missed it would take another attribute for the one it knew.
        delivery.deliver(host, tell)
        endLink(to: peer)
    }

    func securityChanged(_ link: LinkInfo, error: HostError?) {
        noteBond(of: link)
        let peripheral = peripheral(link.peer)
        tellLink(peripheral) { $0.peripheral(peripheral, didChangeSecurity: link, error: error) }
    }

    func passkeyRequested(_ peer: PeerIdentifier) {
        let peripheral = peripheral(peer)
        tellLink(peripheral) { $0.peripheralDidRequestPasskey(peripheral) }
    }

    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) {
        let peripheral = peripheral(peer)
        tellLink(peripheral) { $0.peripheral(peripheral, displayPasskey: passkey) }
    }

    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {
        let peripheral = peripheral(link.peer)
        tellLink(peripheral) { $0.peripheral(peripheral, compareNumericValue: value) }
    }

    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {
        if case .success = result {
            strangers.remove(peer)
            shared.withLock { _ = $0.known.insert(peer) }
        }
        let peripheral = peripheral(peer)
        tellLink(peripheral) { $0.peripheral(peripheral, didPair: result) }
    }

    func noteBond(of link: LinkInfo) {
        if link.bond == nil { strangers.insert(link.peer) } else { strangers.remove(link.peer) }
    }

    private func refreshWriteLength(_ peripheral: CBPeripheral) {
        guard let length = host?.maximumWriteLength(peripheral.peer) else { return }
        peripheral.content.withLock { $0.writeLength = length }
    }
}

// MARK: Calls of the manager

extension CentralCore {
    func startScan(_ record: ScanRecord) {
        submit { host, id in
            self.scan = record
            self.discoveries = Discoveries()
            host.startScan(id, record)
        }
    }

    func stopScan() {
        submit { host, id in
            self.scan = nil
            self.discoveries = Discoveries()
            host.stopScan(id)
        }
    }

    func connect(_ peripheral: CBPeripheral, _ options: ConnectionOptions) {
        submit { host, id in
            self.standing[peripheral.peer] = peripheral
            // A disconnection that the app had not heard of when it asked is told before this.
            self.delivery.deliver(host) {
                peripheral.content.withLock { if $0.state == .disconnected { $0.state = .connecting } }
            }
            host.connect(
                id, peripheral.peer, options: options.rawValue, askedAtSeconds: self.handle.wallClockSeconds())
        }
    }

    func cancelConnection(_ peripheral: CBPeripheral) {
        submit { host, id in host.cancelConnection(id, peripheral.peer) }
    }
}
