import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import SecurityManager
import Synchronization

// MARK: What the host says

extension CentralCore: CentralRoleDelegate {
    func discovered(_ report: AdvertisementReport) {
        // Whoever is not told of now counts as unheard.
        guard let scan, !discoveriesBacklog.isFull else { return }
        let merged = discoveries.merge(report)
        guard let told = scan.allowDuplicates ? report : merged else { return }
        let peripheral = peripheral(report.peer, name: report.localName)
        if isApp { peripherals.withLock { $0.known.met(report.peer) } }
        tellDiscovery { [scans] manager, delegate in
            let isRenamed = peripheral.content.withLock { content in
                // What the peripheral itself has said counts for more than what is advertised, which is often cut.
                guard let name = told.localName, name != content.name, !content.isNameRead else { return false }
                defer { content.name = name }
                return content.name != nil
            }
            if isRenamed { peripheral.callbacks?.peripheralDidUpdateName(peripheral) }
            // The app may have stopped the scan, or asked for another one, while this was on its way.
            let isTold = self.peripherals.withLock { peripherals in
                peripherals.told = scans
                return peripherals.isToldOfLatestScan
            }
            guard isTold else { return }
            delegate.centralManager(
                manager, didDiscover: peripheral, advertisementData: told.advertisementData, rssi: Int(told.rssi))
        }
    }

    func connected(_ link: LinkInfo) {
        let peripheral = peripheral(link.peer)
        feed(.connected(peripheral, isBonded: link.bond != nil), peripheral)
        refreshWriteLength(peripheral)
        let connection = connectionNews(of: peripheral)
        tell { manager, delegate in
            peripheral.content.withLock { $0.connection.show(connection) }
            (delegate as? any CBCentralLinkDelegate)?.centralManager(manager, willConnect: peripheral, link: link)
            delegate.centralManager(manager, didConnect: peripheral)
        }
    }

    func connectionFailed(_ peer: PeerIdentifier, error: HostError) {
        let peripheral = peripheral(peer)
        feed(.ended, peripheral)
        let connection = connectionNews(of: peripheral)
        tell { manager, delegate in
            peripheral.content.withLock { $0.connection.show(connection) }
            delegate.centralManager(manager, didFailToConnect: peripheral, error: appleError(error))
        }
    }

    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {
        let peripheral = peripheral(peer)
        feed(isReconnecting ? .lost : .ended, peripheral)
        // What somebody took who did not prove to be the peer went with the link.
        let subscriptions = takeKeptSubscriptions(of: peripheral)
        let connection = connectionNews(of: peripheral)
        let endedAt = handle.secondsSince2001
        tell {
            peripheral.content.withLock { content in
                content.connection.show(connection)
                content.commands = CommandBudget()
                content.tree.showSubscriptions(subscriptions)
            }
        } _: { manager, delegate in
            delegate.centralManager(
                manager, didDisconnectPeripheral: peripheral, timestamp: endedAt, isReconnecting: isReconnecting,
                error: error.map { appleError($0) })
        }
        guard case .queue = delivery else { return }
        // Behind what the app asks for when it hears this.
        delivery.deliver(host) { self.submit { host, id in host.lossHeard(id, peer) } }
    }

    /// Those that the host keeps are those that stand.
    func takeKeptSubscriptions(of peripheral: CBPeripheral) -> Set<AttributeHandle> {
        if let host, let id { feed(.restored(subscriptions: host.subscriptions(id, peripheral.peer)), peripheral) }
        return sessions[peripheral.peer]?.subscriptions ?? []
    }

    /// What the app is to see of the connection, in the order of its callbacks.
    func connectionNews(of peripheral: CBPeripheral) -> ShownConnection.News {
        let state = sessions[peripheral.peer]?.shown ?? .disconnected
        return peripheral.content.withLock { $0.connection.news(state) }
    }

    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {
        ended(token, of: peer, result)
    }

    func writeLapsed(_ token: OperationToken, peer: PeerIdentifier) {
        tell(peripheral(peer), .link(.notWritten(.late)))
    }

    func mtuChanged(_ link: LinkInfo) { refreshWriteLength(peripheral(link.peer)) }

    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {
        let (isServiceChanged, peripheral) = sender(of: handle, at: peer)
        // The host knows it by the tree that it keeps; of what a first change has left it keeps nothing.
        if isServiceChanged {
            host?.serviceChanged(at: peer, value)
            return
        }
        // A notification may be lost; an indication was confirmed, and who sends more of them is not listened to.
        if !tellFlooded(peripheral, .value(.sent(handle, value))), isIndication { endLink(to: peer) }
    }

    private func endLink(to peer: PeerIdentifier) {
        if let host, let link = host.link(of: peer) { host.drop(link.link) }
    }

    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {
        guard first <= last else { return }
        let peripheral = peripheral(peer)
        feed(.invalidated(first...last), peripheral)
        let news = PeripheralNews.tree(.invalidated(first...last))
        guard !tellFlooded(peripheral, news) else { return }
        // Told nevertheless, once for each link: an app that missed it would take another attribute for the one it knew.
        tell(peripheral, news)
        endLink(to: peer)
    }

    func securityChanged(_ link: LinkInfo, error: HostError?) {
        let peripheral = peripheral(link.peer)
        feed(.secured(isBonded: link.bond != nil), peripheral)
        tell(peripheral, .link(.security(link, error)))
    }

    func passkeyRequested(_ peer: PeerIdentifier) { tell(peripheral(peer), .link(.passkeyRequested)) }

    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) {
        tell(peripheral(peer), .link(.displayPasskey(passkey)))
    }

    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {
        tell(peripheral(link.peer), .link(.compareNumericValue(value)))
    }

    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {
        let peripheral = peripheral(peer)
        if case .success = result {
            feed(.secured(isBonded: true), peripheral)
            if let host { keepKnown(peer, host) }
        }
        tell(peripheral, .link(.paired(result)))
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
            host.startScan(id, record)
            self.hear(record, host)
        }
    }

    func stopScan() {
        submit { host, id in
            host.stopScan(id)
            self.hear(nil, host)
        }
    }

    /// What the scan before it has heard in this iteration is not this one's.
    private func hear(_ record: ScanRecord?, _ host: Host) {
        host.behindTellings {
            self.scan = record
            self.discoveries = Discoveries()
            if record != nil { self.scans += 1 }
        }
    }

    func connect(_ peripheral: CBPeripheral, _ options: ConnectionOptions) {
        submit { host, id in
            peripheral.content.withLock { $0.connection.hear() }
            self.feed(.wanted(peripheral), peripheral)
            self.keepKnown(peripheral.peer, host)
            host.connect(
                id, peripheral.peer, options: options.rawValue, askedAtSeconds: self.handle.wallClockSeconds())
        }
    }

    func cancelConnection(_ peripheral: CBPeripheral) {
        submit { host, id in
            peripheral.content.withLock { $0.connection.hear() }
            self.feed(.withdrawn, peripheral)
            host.cancelConnection(id, peripheral.peer)
        }
    }
}

// MARK: Calls of a peripheral

extension CentralCore {
    /// Runs a call on a peripheral on the loop; ignored, as with Apple, unless the adapter is on.
    func submit(_ call: PeripheralCall, for peripheral: CBPeripheral) {
        guard isPoweredOn("operations of a peripheral") else { return }
        // An ignored write takes no room, since nothing would give the room back.
        if case .writeWithoutResponse = call, !peripheral.content.withLock({ $0.commands.take() }) { return }
        if handle.executor.join() != nil { return run(call, peripheral) }
        handle.executor.execute { _ in self.run(call, peripheral) }
    }

    private func run(_ call: PeripheralCall, _ peripheral: CBPeripheral) {
        guard id != nil else { return }
        switch call {
        case .discoverServices(let filter):
            let peer = peripheral.peer
            let kept = sessions[peer]?.tree.database == nil ? host?.remoteDatabase(peer) : nil
            let isBonded = host?.connection(to: peer).map { $0.bond != nil }
            feed(.discover(filter, isBonded: isBonded, kept: kept), peripheral)
        case .openChannel(let psm): openChannel(peripheral, psm)
        default: feed(.call(call, of: peripheral), peripheral)
        }
    }
}

// MARK: Channels

extension CentralCore {
    private func openChannel(_ peripheral: CBPeripheral, _ psm: CBL2CAPPSM) {
        guard let host, let id, let link = host.connection(to: peripheral.peer) else {
            return tell(peripheral, .channel(nil, CBError(.notConnected)))
        }
        do {
            let channel = try host.openChannel(id, on: link.link, psm: psm, delegate: router(host))
            sessions[peripheral.peer, default: PeerSession()].openings[channel] = peripheral
        } catch {
            tell(peripheral, .channel(nil, appleError(error)))
        }
    }

    func takeOpening(_ id: HostChannelID) -> CBPeripheral? {
        for peer in sessions.keys {
            if let peripheral = sessions[peer]?.openings.removeValue(forKey: id) { return peripheral }
        }
        return nil
    }
}
