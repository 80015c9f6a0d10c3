import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import HCI
import LockProtocol
import SecurityManager

// MARK: Publishing and advertising

extension LockDaemon: CBPeripheralManagerLinkDelegate {
    package func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        let advertisement = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
        tell(.restored(services: services.count, isAdvertising: advertisement != nil))
        for service in services {
            if let tree = LockServiceTree(restored: service) { serve(tree) } else { outdated.append(service) }
        }
        advertisedName = advertisement?[CBAdvertisementDataLocalNameKey] as? String
    }

    package func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        tell(.radio(peripheral.state))
        guard peripheral.state == .poweredOn else { return }
        for service in outdated { peripheral.remove(service) }
        outdated = []
        switch service {
        case .none, .publishing:
            let fresh = LockServiceTree()
            service = .publishing(fresh)
            peripheral.add(fresh.service)
        case .published: advertise(peripheral)
        }
    }

    package func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        guard case .publishing(let fresh) = self.service, fresh.service === service else { return }
        if let error { return surroundings.fail(error) }
        serve(fresh)
        advertise(peripheral)
    }

    /// Running already after a relaunch, unless it is to say something else now.
    private func advertise(_ peripheral: CBPeripheralManager) {
        if peripheral.isAdvertising, advertisedName == configuration.name { return tell(.advertising) }
        if peripheral.isAdvertising { peripheral.stopAdvertising() }
        advertisedName = configuration.name
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: configuration.name,
            CBAdvertisementDataServiceUUIDsKey: [CBUUID(LockUUID.lockService)],
        ])
    }

    package func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        tell(error.map { .advertisingFailed(String(describing: $0)) } ?? .advertising)
    }

    package func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        sendWaiting()
        goOnWithRecordAccesses()
    }
}

// MARK: Links

extension LockDaemon {
    package func peripheralManager(
        _ peripheral: CBPeripheralManager, centralDidConnect central: CBCentral, link: LinkInfo
    ) {
        let lockLink = LockLink(link)
        tell(.connected(link.link, link.peer, link.bond))
        var subscriptions: Set<LockSubscription> = []
        for subscription in LockSubscription.allCases {
            let subscribed = tree?.characteristic(subscription).subscribedCentrals ?? []
            if subscribed.contains(central) { subscriptions.insert(subscription) }
        }
        // A bond that has not proved itself once is good for nothing in clear.
        let bond = link.bond.flatMap { host.bond($0) }.flatMap {
            $0.state == .confirmed && !deleteIfOrphaned($0.id) ? $0 : nil
        }
        feed(.connected(lockLink, bond.map { makeClaim($0) }, subscriptions: subscriptions))
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, centralDidDisconnect central: CBCentral, link: LinkInfo,
        reason: HCIErrorCode
    ) {
        let lockLink = LockLink(link)
        feedEnrolment(.disconnected(lockLink))
        dropWaiting(for: lockLink)
        recordAccesses[lockLink] = nil
        tell(.disconnected(link.link, link.peer))
        feed(.disconnected(lockLink))
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didChangeSecurity link: LinkInfo, error: HostError?
    ) {
        guard error == nil, link.isProven, let id = link.bond, let bond = host.bond(id) else { return }
        tell(.proven(link.link, link.peer, id))
        feed(.encrypted(LockLink(link), makeClaim(bond)))
    }

    func makeClaim(_ bond: Bond) -> LinkClaim {
        recall(UInt64(bitPattern: bond.id.rawValue))
        // A bond without this key hears no receipts, which nobody can open then.
        let csrk =
            bond.localCSRK ?? Secret(UInt128(surroundings.random()) << 64 | UInt128(surroundings.random()))
        return LinkClaim(
            bond: UInt64(bitPattern: bond.id.rawValue), receiptKey: ReceiptKey(lockCSRK: csrk),
            programKey: programKey(of: bond))
    }

    /// As long as a program's key is not confirmed, or cannot be read, it is nobody's: the bond's own key is not enough then either.
    private func programKey(of bond: Bond) -> ProgramKey? {
        switch BondProgramKey(secret: bond.applicationSecret) {
        case .none: nil
        case .confirmed(let key): key
        case .awaited, .agreed, .unreadable: ProgramKey(SystemRandom.secret(ProgramKey.octets))
        }
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        subscriptionChanged(central, characteristic, isOn: true)
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        subscriptionChanged(central, characteristic, isOn: false)
    }

    private func subscriptionChanged(_ central: CBCentral, _ characteristic: CBCharacteristic, isOn: Bool) {
        guard let link = central.link, let subscription = tree?.subscription(characteristic) else { return }
        feed(.subscription(LockLink(link), subscription, isOn: isOn))
    }
}

// MARK: Requests

extension LockDaemon {
    package func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        guard let tree, let link = request.central.link else {
            return peripheral.respond(to: request, withResult: .unlikelyError)
        }
        // Every value here fits one answer.
        guard request.offset == 0 else { return peripheral.respond(to: request, withResult: .invalidOffset) }
        if request.characteristic === tree.challenge {
            challengeRead = request
            feed(.challengeRead(LockLink(link)))
            if challengeRead != nil { peripheral.respond(to: request, withResult: .unlikelyError) }
            challengeRead = nil
        } else if request.characteristic === tree.lockState {
            guard machine.isEntitled(LockLink(link)) else {
                return peripheral.respond(to: request, withResult: .insufficientAuthorization)
            }
            let state = LockState(bolt: machine.state.bolt, door: machine.state.door, result: .done, answered: 0)
            request.value = Data(state.encoded)
            peripheral.respond(to: request, withResult: .success)
        } else if request.characteristic === tree.alarm {
            guard machine.mayReadAlarms(LockLink(link)) else {
                return peripheral.respond(to: request, withResult: .insufficientAuthorization)
            }
            request.value = Data(machine.alarms.value.encoded)
            peripheral.respond(to: request, withResult: .success)
        } else {
            peripheral.respond(to: request, withResult: .readNotPermitted)
        }
    }

    package func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        guard let tree, requests.count == 1, let link = first.central.link, let value = first.value else {
            return peripheral.respond(to: first, withResult: .requestNotSupported)
        }
        guard first.offset == 0 else { return peripheral.respond(to: first, withResult: .invalidOffset) }
        if first.characteristic === tree.command {
            command(peripheral, first, link, Array(value))
        } else if first.characteristic === tree.controlPoint {
            controlPoint(peripheral, first, link, Array(value))
        } else if first.characteristic === tree.recordAccess {
            recordAccess(peripheral, first, link, Array(value))
        } else {
            peripheral.respond(to: first, withResult: .writeNotPermitted)
        }
    }

    private func command(
        _ peripheral: CBPeripheralManager, _ request: CBATTRequest, _ link: LinkInfo, _ octets: [UInt8]
    ) {
        guard let path = request.writePath, link.bond.flatMap({ host.bond($0) })?.state == .confirmed else {
            return peripheral.respond(to: request, withResult: .insufficientAuthorization)
        }
        peripheral.respond(to: request, withResult: .success)
        switch path {
        case .signed(let counter): feed(.command(LockLink(link), .signed(counter: counter), octets))
        case .request, .command: feed(.command(LockLink(link), .encrypted, octets))
        }
    }
}

extension LockLink {
    init(_ link: LinkInfo) { self.init(rawValue: link.link.rawValue) }

    var id: LinkID { LinkID(rawValue: rawValue) }
}
