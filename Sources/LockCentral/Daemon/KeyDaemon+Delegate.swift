import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager

// MARK: The manager

extension KeyDaemon: CBCentralLinkDelegate {
    package func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        let isScanning = dict[CBCentralManagerRestoredStateScanOptionsKey] != nil
        tell(.restored(peripherals: restored.count, isScanning: isScanning))
        for peripheral in restored { keep(peripheral) }
    }

    package func centralManagerDidUpdateState(_ central: CBCentralManager) {
        tell(.radio(central.state, reason: host.radioAbsence))
        feed(.radio(isOn: central.state == .poweredOn))
        guard central.state == .poweredOn else { return }
        feedEnrolment(.poweredOn(register))
        connectWanted()
        let isWatching = configuration.unlocksWhenNear || configuration.locksWhenLeaving
        let scans = isWatching && host.hearsAdvertisements
        if scans, !central.isScanning {
            central.scanForPeripherals(
                withServices: [CBUUID(LockUUID.lockService)],
                options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        } else if !scans, central.isScanning {
            central.stopScan()
        }
    }

    package func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        feed(.rssi(peripheral.peer, Int8(clamping: RSSI)))
    }

    package func centralManager(
        _ central: CBCentralManager, willConnect peripheral: CBPeripheral, link: LinkInfo
    ) {
        keep(peripheral)
        tell(.connected(peripheral.peer, link.bond))
    }

    package func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        let peer = peripheral.peer
        // It was given up before it could be told.
        guard sessions[peer]?.isReleased() == false, feedEnrolment(.connected(peer)) else { return }
        // What the connection was asked for is over, or went with the process that wanted it.
        guard machine.wantsLink(peer) else { return disconnect(peer) }
        sessions[peer]?.lookAtKept()
        feed(.connected(peer, signedPath(central.link(of: peripheral), sessions[peer]?.handles)))
    }

    /// nil unless everything is there that a signed command and its receipt need.
    private func signedPath(_ link: LinkInfo?, _ handles: LockHandles?) -> SignedPath? {
        guard let bond = link?.bond.flatMap({ host.bond($0) }), bond.state == .confirmed,
            bond.applicationSecret == nil, bond.localCSRK != nil, let csrk = bond.remoteCSRK,
            let receipt = handles?.receipt.valueHandle
        else { return nil }
        return SignedPath(receiptKey: ReceiptKey(lockCSRK: csrk), receiptHandle: receipt)
    }

    package func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        tell(.disconnected(peripheral.peer, reason: error.map { String(describing: $0) }))
        if passesOnEnd(of: peripheral.peer, error) { feed(.disconnected(peripheral.peer)) }
    }

    package func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        let peer = peripheral.peer
        sessions[peer]?.linkEnded()
        offers[peer] = nil
        tell(.disconnected(peer, reason: error.map { String(describing: $0) }))
        if passesOnEnd(of: peer, error) { feed(.disconnected(peer)) }
    }
}

// MARK: One lock

extension KeyDaemon: CBPeripheralLinkDelegate {
    package func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?) {
        let peer = peripheral.peer
        if error != nil {
            if feedEnrolment(.encryptionFailed(peer)) { feed(.encryptionFailed(peer)) }
            return
        }
        guard link.isProven, let bond = link.bond else { return }
        tell(.proven(peer, bond))
        let isConfirmed = host.bond(bond)?.state == .confirmed
        guard feedEnrolment(.encrypted(peer, isConfirmed: isConfirmed, register)) else { return }
        feed(.proven(peer))
        prepare(peripheral)
    }

    package func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: Int, error: (any Error)?) {
        // What could not be read is as good as unknown.
        let rssi = error == nil ? Int8(clamping: RSSI) : ProximityMachine.unavailable
        feed(.linkRSSI(peripheral.peer, rssi))
    }

    package func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>) {
        let peer = peripheral.peer
        switch result {
        case .success(let bond): feedEnrolment(.paired(peer, bond))
        case .failure(.blueZ(let failure)): feedEnrolment(.pairingFailed(peer, reason: "\(failure)", register))
        case .failure(let error):
            feedEnrolment(.pairingFailed(peer, reason: String(describing: error), register))
        }
    }

    package func peripheral(_ peripheral: CBPeripheral, didNotWriteBecause reason: UnwrittenReason) {
        feed(.notWritten(peripheral.peer, isLate: reason == .late))
    }

    /// Makes sure that the tree is known and that the key is subscribed to all that it listens to.
    func prepare(_ peripheral: CBPeripheral) {
        let peer = peripheral.peer
        take(sessions[peer]?.prepare(everything: enrolment.isConfirming(peer)) ?? .wait, of: peripheral)
    }

    private func take(_ step: LockSession.Step, of peripheral: CBPeripheral) {
        switch step {
        case .wait: break
        case .discover: peripheral.discoverServices([CBUUID(LockUUID.lockService)])
        case .subscribe(let missing):
            for characteristic in missing { peripheral.setNotifyValue(true, for: characteristic) }
        case .ready: prepared(peripheral.peer)
        case .failed: unprepared(peripheral)
        }
    }

    private func prepared(_ peer: PeerIdentifier) {
        let programKey = programKey(on: peer)
        guard mayProve(by: programKey) else { return nobodyIsThere(peer) }
        guard feedEnrolment(.prepared(peer, isTreeKnown: sessions[peer]?.handles != nil, programKey)) else { return }
        switch programKey {
        case .confirmed(let key): feed(.encrypted(peer, key))
        case .none: feed(.encrypted(peer))
        // Others share the bond, or shared it. Without the program's key there is nobody here to command.
        case .awaited, .agreed, .unreadable: feed(.encryptionFailed(peer))
        }
    }

    private func unprepared(_ peripheral: CBPeripheral) {
        // That the link has ended says nothing of the lock, and is told by itself.
        if manager?.link(of: peripheral) != nil { nobodyIsThere(peripheral.peer) }
    }

    /// Nobody who could be the lock.
    private func nobodyIsThere(_ peer: PeerIdentifier) {
        if feedEnrolment(.unprepared(peer, register)) { feed(.encryptionFailed(peer)) }
    }

    package func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        let service = peripheral.services?.first { $0.uuid.bluetoothUUID == LockUUID.lockService }
        guard error == nil, let service else { return unprepared(peripheral) }
        peripheral.discoverCharacteristics(nil, for: service)
    }

    package func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        sessions[peripheral.peer]?.look()
        guard error == nil, sessions[peripheral.peer]?.handles != nil else { return unprepared(peripheral) }
        prepare(peripheral)
    }

    package func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        let step = sessions[peripheral.peer]?.subscribed(to: characteristic, isTaken: error == nil)
        take(step ?? .wait, of: peripheral)
    }

    package func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        guard invalidatedServices.contains(where: { $0.uuid.bluetoothUUID == LockUUID.lockService }) else { return }
        sessions[peripheral.peer]?.forgetTree()
        if manager?.link(of: peripheral)?.isProven == true { prepare(peripheral) }
    }

    package func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        let peer = peripheral.peer
        guard error == nil, let known = sessions[peer]?.handles, let value = characteristic.value else { return }
        let octets = Array(value)
        if characteristic === known.challenge {
            feed(.challenge(peer, octets))
        } else if characteristic === known.receipt {
            feed(.receipt(peer, octets))
        } else if characteristic === known.lockState {
            feed(.lockState(peer, octets))
        } else if characteristic === known.controlPoint {
            if feedEnrolment(.answered(peer, octets, proof(peripheral), register)) {
                feed(.controlPoint(peer, octets))
            }
        }
    }
}
