import BluetoothCore
import HCI
import SecurityManager

// MARK: Advertising, scanning and connecting, as the managers together want them

extension Host {
    /// Compares what is wanted with what the controller does, and sends what brings them closer.
    func reconcile() {
        guard state == .poweredOn else { return }
        advertiser.wanted = wantedAdvertising.map(AdvertisingData.payload)
        advertiser.isHeld = links.count >= configuration.linksMaximum
        scanner.wanted = wantedScan
        initiator.want(links.count >= configuration.linksMaximum ? [] : wantedConnections)
        if let action = advertiser.next() { submit(command(for: action), for: .advertiser) }
        if let action = scanner.next() { submit(command(for: action), for: .scanner) }
        if let action = initiator.next() { submit(command(for: action), for: .initiator) }
        if gapRetryAt == nil, (advertiser.failure ?? scanner.failure ?? initiator.failure) != nil {
            gapRetryAt = now.advanced(byMilliseconds: Self.gapRetryMilliseconds)
        }
    }

    /// What the controller refused is asked again after this long: a lock that no longer advertises, and a connection that
    /// waits for ever, are worth more than a quiet controller.
    static let gapRetryMilliseconds: UInt64 = 5_000

    func retryGAP() {
        gapRetryAt = nil
        advertiser.retry()
        scanner.retry()
        initiator.retry()
    }

    private var wantedAdvertising: AdvertisingRecord? { advertisingOwner.flatMap { ledger.record($0).advertising } }

    /// One controller advertises one thing with legacy commands: the manager that was first goes first.
    private var advertisingOwner: RestorationLedger.Owner? {
        ledger.owners(of: .peripheral).first { ledger.record($0).advertising != nil }
    }

    /// Answers those who asked to advertise, once for each time, when what they asked for is on the air or was refused.
    func announceAdvertising() {
        let error = advertiser.failure.map(HostError.connectionFailed)
        guard error != nil || advertiser.isOnAir else { return }
        let heard = advertisingAwaited.filter { managers[$0.key]?.owner == advertisingOwner }
        for (manager, times) in heard.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            advertisingAwaited[manager] = nil
            for _ in 0..<times { managers[manager]?.peripheral?.advertisingStarted(error: error) }
        }
    }

    private var wantedScan: Scanner.Parameters? {
        let scans = ledger.owners(of: .central).compactMap { ledger.record($0).scan }
        guard !scans.isEmpty else { return nil }
        return Scanner.Parameters(reportsDuplicates: scans.contains { $0.allowDuplicates })
    }

    /// Whoever is to be connected and is not.
    private var wantedConnections: [DeviceAddress] {
        let connected = Set(links.values.lazy.filter { $0.role == .central }.map(\.peer))
        var addresses: [DeviceAddress] = []
        for owner in ledger.owners(of: .central) {
            for pending in ledger.record(owner).pendingConnections where !connected.contains(pending.peer) {
                guard let address = peers[pending.peer]?.address, !addresses.contains(address) else { continue }
                addresses.append(address)
            }
        }
        return addresses
    }

    private func command(for action: Advertiser.Action) -> any HCICommand {
        switch action {
        case .setParameters:
            HCILESetAdvertisingParameters(
                intervalMin: configuration.advertisingInterval, intervalMax: configuration.advertisingInterval,
                advertisingType: .connectableScannableUndirected, ownAddressType: .random,
                peerAddress: LEPeerAddress(kind: .public, bits: 0), channelMap: .all, filterPolicy: .all)
        case .setData(let data): HCILESetAdvertisingData(data: LegacyAdvertisingData(truncating: data))
        case .setScanResponse(let data): HCILESetScanResponseData(data: LegacyAdvertisingData(truncating: data))
        case .enable: HCILESetAdvertisingEnable(enable: true)
        case .disable: HCILESetAdvertisingEnable(enable: false)
        }
    }

    /// Core 5.4, Vol 3, Part C, Appendix A (Timers and Constants: TGAP(scan_fast_interval), TGAP(scan_fast_window))
    private static let scanInterval: UInt16 = 0x0060
    private static let scanWindow: UInt16 = 0x0030

    private func command(for action: Scanner.Action) -> any HCICommand {
        switch action {
        case .setParameters:
            HCILESetScanParameters(
                scanType: .active, interval: Self.scanInterval, window: Self.scanWindow, ownAddressType: .random,
                filterPolicy: .basicUnfiltered)
        case .enable(let filterDuplicates): HCILESetScanEnable(enable: true, filterDuplicates: filterDuplicates)
        case .disable: HCILESetScanEnable(enable: false, filterDuplicates: false)
        }
    }

    private func command(for action: Initiator.Action) -> any HCICommand {
        switch action {
        case .addToAcceptList(let address): HCILEAddDeviceToFilterAcceptList(address: LEPeerAddress(address))
        case .removeFromAcceptList(let address): HCILERemoveDeviceFromFilterAcceptList(address: LEPeerAddress(address))
        case .connect(let address): createConnection(to: LEPeerAddress(address), usesFilterAcceptList: false)
        case .connectByAcceptList:
            createConnection(to: LEPeerAddress(kind: .public, bits: 0), usesFilterAcceptList: true)
        case .cancel: HCILECreateConnectionCancel()
        }
    }

    private func createConnection(to address: LEPeerAddress, usesFilterAcceptList: Bool) -> HCILECreateConnection {
        HCILECreateConnection(
            scanInterval: Self.scanInterval, scanWindow: Self.scanWindow, usesFilterAcceptList: usesFilterAcceptList,
            peerAddress: address, ownAddressType: .random,
            connection: LEConnectionIntervals(
                intervalMin: configuration.connectionInterval, intervalMax: configuration.connectionInterval,
                maxLatency: 0, supervisionTimeout: configuration.supervisionTimeout, minCELength: 0, maxCELength: 0))
    }

    /// The command of a GAP machine was answered.
    func completedGAP(_ purpose: CommandPurpose, _ status: HCIErrorCode) {
        switch purpose {
        case .advertiser:
            advertiser.completed(status)
            announceAdvertising()
        case .scanner: scanner.completed(status)
        case .initiator: initiator.completed(status)
        case .bringUp, .link, .rejectLink, .ignored: break
        }
        reconcile()
    }

    func received(_ report: LEAdvertisingReport) {
        guard let onAir = report.address.address else { return }
        // A bonded peer's private address is the peer's.
        var address = onAir
        if case .bonded(let identity) = bondBook.resolve(onAir) { address = identity.address }
        let peer = peers.identifier(at: address, fresh: random.uint128())
        let data = AdvertisingData(parsing: report.data)
        if let name = data.localName, !data.isNameShortened {
            peers.heard(peer, name: name)
        }
        let seen = AdvertisementReport(
            peer: peer, address: onAir, rssi: report.rssi ?? 127, isConnectable: report.eventType.isConnectable,
            localName: data.localName, services: data.services, manufacturerData: data.manufacturerData)
        for owner in ledger.owners(of: .central) {
            guard let scan = ledger.record(owner).scan,
                scan.services.isEmpty || !Set(scan.services).isDisjoint(with: seen.services)
            else { continue }
            managers.slot(of: owner)?.central?.discovered(seen)
        }
    }
}
