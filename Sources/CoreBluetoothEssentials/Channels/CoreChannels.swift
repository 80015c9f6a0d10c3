import BluetoothHost
import FoundationEssentials
import Synchronization

// MARK: Channels that a central opens

extension CentralCore {
    func openChannel(_ peripheral: CBPeripheral, _ psm: CBL2CAPPSM) {
        guard let host, let id, let link = host.connection(to: peripheral.peer) else {
            return tellOpened(peripheral, nil, CBError(.notConnected))
        }
        do {
            let channel = try host.openChannel(id, on: link.link, psm: psm, delegate: router(host))
            openings[channel] = peripheral
        } catch {
            tellOpened(peripheral, nil, appleError(error))
        }
    }

    private func router(_ host: Host) -> ChannelRouter {
        if let router, router.host === host { return router }
        let made = ChannelRouter(handle: handle, delivery: delivery, host: host) { [weak self] info, pipe in
            guard let self, let peripheral = openings.removeValue(forKey: info.id) else { return pipe.close() }
            tellOpened(peripheral, CBL2CAPChannel(peer: peripheral, psm: info.psm, pipe: pipe), nil)
        } failed: { [weak self] id, end in
            guard let self, let peripheral = openings.removeValue(forKey: id) else { return }
            tellOpened(peripheral, nil, appleError(end))
        }
        router = made
        return made
    }

    private func tellOpened(_ peripheral: CBPeripheral, _ channel: CBL2CAPChannel?, _ error: (any Error)?) {
        tell(peripheral) { $0.peripheral(peripheral, didOpen: channel, error: error) }
    }
}

// MARK: Channels that centrals open

extension PeripheralCore {
    func publishChannel(_ encrypted: Bool) {
        submit { host, id in
            do throws(HostError) {
                let psm = try host.publishChannel(id, encrypted: encrypted, delegate: self.router(host))
                self.tell { $1.peripheralManager($0, didPublishL2CAPChannel: psm, error: nil) }
            } catch {
                self.tell { $1.peripheralManager($0, didPublishL2CAPChannel: 0, error: appleError(error)) }
            }
        }
    }

    func unpublishChannel(_ psm: CBL2CAPPSM) {
        submit { host, id in
            let error = host.unpublishChannel(id, psm: psm) ? nil : CBError(.invalidParameters)
            self.tell { $1.peripheralManager($0, didUnpublishL2CAPChannel: psm, error: error) }
        }
    }

    private func router(_ host: Host) -> ChannelRouter {
        if let router, router.host === host { return router }
        let made = ChannelRouter(handle: handle, delivery: delivery, host: host) { [weak self] info, pipe in
            guard let self else { return pipe.close() }
            let channel = CBL2CAPChannel(peer: central(info.link), psm: info.psm, pipe: pipe)
            tell { $1.peripheralManager($0, didOpen: channel, error: nil) }
        } failed: { _, _ in
        }
        router = made
        return made
    }
}
