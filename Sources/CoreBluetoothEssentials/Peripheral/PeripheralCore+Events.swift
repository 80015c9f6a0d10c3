import ATT
import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import HCI
import SecurityManager
import Synchronization

// MARK: What the host says

extension PeripheralCore: PeripheralRoleDelegate {
    func centralConnected(_ link: LinkInfo) {
        let central = central(link)
        standing[link.peer] = central
        tellBeginning(of: link, central)
    }

    func centralDisconnected(_ link: LinkInfo, reason: HCIErrorCode) {
        let central = central(link.peer)
        // Its next link may be there before the end of this one is known.
        central.state.withLock { if $0.link?.link == link.link { $0.link = nil } }
        // A bonded central stays subscribed while it is away; what another one was told of ends with its link.
        var isStillSubscribed = false
        for handle in subscribed.keys.sorted() where subscribed[handle]?.contains(central) == true {
            if host?.subscribers(of: handle).contains(where: { $0.peer == link.peer }) == true {
                isStillSubscribed = true
            } else {
                setSubscribed(central, to: handle, false)
            }
        }
        if !isStillSubscribed { standing[link.peer] = nil }
        tellEnd(of: link, central, reason: reason)
    }

    func securityChanged(_ link: LinkInfo, error: HostError?) {
        let central = central(link)
        tellLink(of: central) { $1.peripheralManager($0, central: central, didChangeSecurity: link, error: error) }
    }

    /// The central's object says how much it takes.
    func mtuChanged(_ link: LinkInfo) { _ = central(link) }

    func readRequested(_ request: ServerReadRequest) {
        guard let characteristic = characteristics[request.handle] else {
            host?.refuse(request.id, error: .unlikelyError)
            return
        }
        let asked = CBATTRequest(
            central: central(request.link), characteristic: characteristic, offset: request.offset, value: nil,
            path: nil, answer: CBATTRequest.Answer(request.id))
        ask(.read(asked))
    }

    func writesRequested(_ request: ServerWriteRequest) {
        let answer = CBATTRequest.Answer(request.id)
        let central = central(request.link)
        let asked = request.writes.compactMap { write in
            characteristics[write.handle].map {
                CBATTRequest(
                    central: central, characteristic: $0, offset: write.offset, value: Data(write.value),
                    path: request.path, answer: answer)
            }
        }
        guard asked.count == request.writes.count, !asked.isEmpty else {
            if let id = request.id { host?.refuse(id, error: .unlikelyError) }
            return
        }
        ask(.write(asked))
    }

    /// What a delegate answers. A value and no closure, so that asking on the loop allocates nothing more.
    private enum Question: Sendable {
        case read(CBATTRequest)
        case write([CBATTRequest])

        var first: CBATTRequest? {
            switch self {
            case .read(let request): request
            case .write(let requests): requests.first
            }
        }
    }

    /// Commands, which nobody refuses, are dropped when the app has too much to hear of as it is.
    private func ask(_ question: Question) {
        if case .inline = delivery { return put(question) }
        guard let first = question.first else { return }
        let isAsked = delivery.deliver(host, within: first.central.backlog) { self.put(question) }
        if !isAsked { respond(to: first, .insufficientResources) }
    }

    /// Asks the delegate, and refuses when there is none: a peer does not wait for nobody.
    private func put(_ question: Question) {
        guard let (manager, delegate) = audience else {
            if let first = question.first { respond(to: first, .unlikelyError) }
            return
        }
        switch question {
        case .read(let request): delegate.peripheralManager(manager, didReceiveRead: request)
        case .write(let requests): delegate.peripheralManager(manager, didReceiveWrite: requests)
        }
    }

    func subscriptionChanged(_ link: LinkInfo, handle: AttributeHandle, notify: Bool, indicate: Bool) {
        guard characteristics[handle] != nil else { return }
        // Who subscribes and unsubscribes faster than the app can hear of it is not served any further.
        let central = central(link)
        guard !central.backlog.isFull else {
            host?.drop(link.link)
            return
        }
        standing[link.peer] = central
        setSubscribed(central, to: handle, notify || indicate)
    }

    private func setSubscribed(_ central: CBCentral, to handle: AttributeHandle, _ isSubscribed: Bool) {
        guard let characteristic = characteristics[handle] else { return }
        var centrals = subscribed[handle] ?? []
        // Changing from notifications to indications is no news to an app, nor is a bonded central that comes back.
        guard centrals.contains(central) != isSubscribed else { return }
        if isSubscribed { centrals.append(central) } else { centrals.removeAll { $0 === central } }
        subscribed[handle] = centrals
        let show: @Sendable () -> Void = { [centrals] in
            characteristic.state.withLock { $0.subscribedCentrals = centrals }
        }
        if isSubscribed {
            tellFlooded(by: central, after: show) {
                $1.peripheralManager($0, central: central, didSubscribeTo: characteristic)
            }
        } else {
            // Always told: it follows one that counted, and an app that missed it would count a central that is gone.
            tell(after: show) { $1.peripheralManager($0, central: central, didUnsubscribeFrom: characteristic) }
        }
    }

    func readyToUpdate() { sendWaiting() }

    func advertisingStarted(error: HostError?) {
        // The host says it too when it starts again by itself.
        guard let stopsBefore = startingAdvertising else { return }
        startingAdvertising = nil
        tell {
            // The app may have stopped it before it could hear of this.
            self.shared.withLock { if $0.stopsOfAdvertising == stopsBefore { $0.isAdvertising = error == nil } }
        } _: {
            $1.peripheralManagerDidStartAdvertising($0, error: error.map { appleError($0) })
        }
    }

    func displayPasskey(_ link: LinkInfo, passkey: UInt32) {
        let central = central(link)
        tellLink(of: central) { $1.peripheralManager($0, displayPasskey: passkey, to: central, link: link) }
    }

    func passkeyRequested(_ link: LinkInfo) {
        let central = central(link)
        tellLink(of: central) { $1.peripheralManager($0, passkeyRequestedFor: central, link: link) }
    }

    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {
        let central = central(link)
        tellLink(of: central) { $1.peripheralManager($0, compareNumericValue: value, with: central, link: link) }
    }

    func paired(_ link: LinkInfo, result: Result<BondID, HostError>) {
        let central = central(link)
        tellLink(of: central) { $1.peripheralManager($0, central: central, didPair: result, link: link) }
    }
}

// MARK: What stands when an app comes back

extension PeripheralCore {
    /// Rebuilds what the app had, and tells it before it hears anything else. The host runs all of it already.
    func rebuild(_ record: RestorationRecord, _ host: Host, _ id: ManagerID) {
        var restored: [CBMutableService] = []
        for published in host.publishedServices(of: id) {
            let service = CBMutableService(restoring: published)
            adopt(service, published, host)
            restored.append(service)
        }
        for (service, published) in zip(restored, host.publishedServices(of: id)) {
            let included = published.definition.includedServices.compactMap { services[$0] }
            if !included.isEmpty { service.includedServices = included }
        }
        let advertising = record.advertising
        delivery.deliver(self.host) { [restored] in
            if advertising != nil { self.shared.withLock { $0.isAdvertising = true } }
            self.withDelegate { manager, delegate in
                delegate.peripheralManager(
                    manager, willRestoreState: Self.restorationState(services: restored, advertising: advertising))
            }
        }
    }

    /// Apple's dictionary: absent keys say that nothing of the kind stands.
    static func restorationState(services: [CBMutableService], advertising: AdvertisingRecord?) -> [String: Any] {
        var state: [String: Any] = [:]
        if !services.isEmpty { state[CBPeripheralManagerRestoredStateServicesKey] = services }
        if let advertising {
            state[CBPeripheralManagerRestoredStateAdvertisementDataKey] = advertising.advertisementData
        }
        return state
    }
}
