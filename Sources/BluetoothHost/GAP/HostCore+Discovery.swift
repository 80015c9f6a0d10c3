import BluetoothCore
import HCI
import SecurityManager

// MARK: What is heard on the air

extension HostCore {
    mutating func receivedReport(_ event: HCILEAdvertisingReport) {
        for report in event.reports { if let whole = HeardAdvertisement(report) { heard(whole) } }
    }

    mutating func receivedReport(_ event: HCILEExtendedAdvertisingReport) {
        for report in event.reports { if let whole = gap.assemble(report) { heard(whole) } }
    }

    private mutating func heard(_ advertisement: HeardAdvertisement) {
        let onAir = advertisement.address
        // A bonded peer's private address is the peer's.
        var address = onAir
        if case .bonded(let identity) = bondBook.resolve(onAir) { address = identity.address }
        if advertisement.isConnectable { tellGAP(.heard(peer: address, onAir: onAir)) }
        report(advertisement, of: address)
    }

    private mutating func report(_ advertisement: HeardAdvertisement, of address: DeviceAddress) {
        let peer = peers.identifier(at: address, fresh: random.uint128())
        let data = AdvertisingData(parsing: advertisement.data)
        if let name = data.localName, !data.isNameShortened {
            peers.heard(peer, name: name)
        }
        let announced = announcement(of: peer, advertisement, data)
        let seen = AdvertisementReport(
            peer: peer, address: advertisement.address, rssi: advertisement.rssi ?? 127,
            isConnectable: announced.isConnectable, mode: announced.mode, data: data)
        report(seen, services: advertisement.isScanResponse ? announced.services + data.services : data.services)
    }

    /// To everybody who looks for one with these services, or for anybody.
    mutating func report(_ seen: AdvertisementReport, services: [BluetoothUUID]) {
        for owner in ledger.owners(of: .central) {
            guard let scan = ledger.asked(owner).scan, scan.procedure.lists(seen.mode),
                scan.services.isEmpty || !Set(scan.services).isDisjoint(with: services)
            else { continue }
            if let manager = managers.manager(of: owner) { announce(.discovered(seen), to: manager) }
        }
    }

    /// What the advertiser says of itself. A scan response does not: it belongs to what was heard before.
    ///
    /// Core Specification Supplement, Part A, 1.3.1: flags are in the advertising data
    private mutating func announcement(
        of peer: PeerIdentifier, _ advertisement: HeardAdvertisement, _ data: AdvertisingData
    ) -> PeerDirectory.Announcement {
        if advertisement.isScanResponse, let announced = peers.announcement(of: peer) { return announced }
        let announced = PeerDirectory.Announcement(
            mode: advertisement.isScanResponse ? .nonDiscoverable : data.mode,
            isConnectable: advertisement.isConnectable, services: advertisement.isScanResponse ? [] : data.services)
        if !advertisement.isScanResponse { peers.announced(peer, announced) }
        return announced
    }
}
