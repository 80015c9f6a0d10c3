import BluetoothCore
import HCI
import SecurityManager

// MARK: What is heard on the air

extension Host {
    func received(_ event: HCILEAdvertisingReport) {
        for report in event.reports { HeardAdvertisement(report).map(heard) }
    }

    func received(_ event: HCILEExtendedAdvertisingReport) {
        for report in event.reports { assembler.receive(report).map(heard) }
    }

    private func heard(_ advertisement: HeardAdvertisement) {
        let onAir = advertisement.address
        // A bonded peer's private address is the peer's.
        var address = onAir
        if case .bonded(let identity) = bondBook.resolve(onAir) { address = identity.address }
        if advertisement.isConnectable, initiator.needsScan {
            initiator.heard(address, at: onAir, now: now)
            reconcile()
        }
        report(advertisement, of: address)
    }

    private func report(_ advertisement: HeardAdvertisement, of address: DeviceAddress) {
        let peer = peers.identifier(at: address, fresh: random.uint128())
        let data = AdvertisingData(parsing: advertisement.data)
        if let name = data.localName, !data.isNameShortened {
            peers.heard(peer, name: name)
        }
        let seen = AdvertisementReport(
            peer: peer, address: advertisement.address, rssi: advertisement.rssi ?? 127,
            isConnectable: advertisement.isConnectable, localName: data.localName, services: data.services,
            manufacturerData: data.manufacturerData)
        for owner in ledger.owners(of: .central) {
            guard let scan = ledger.record(owner).scan,
                scan.services.isEmpty || !Set(scan.services).isDisjoint(with: seen.services)
            else { continue }
            managers.slot(of: owner)?.central?.discovered(seen)
        }
    }
}
