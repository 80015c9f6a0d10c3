import BluetoothCore
import HCI

// MARK: What is learned of a link below L2CAP

extension HostCore {
    mutating func learned(_ event: HCILEConnectionUpdateComplete) {
        guard let link = openLink(at: event.handle) else { return }
        if event.status == .success { link.facts.parameters = event.parameters }
        connectionUpdateEnded(link)
        negotiate(link) { $0.linkLayerCompleted(event.status, now: $1) }
    }

    func learned(_ event: HCILEDataLengthChange) {
        guard let link = openLink(at: event.handle) else { return }
        link.facts.txDataLength = DataLength(octets: event.maxTxOctets, microseconds: event.maxTxTime)
        link.facts.rxDataLength = DataLength(octets: event.maxRxOctets, microseconds: event.maxRxTime)
    }

    func learned(_ event: HCILEChannelSelectionAlgorithm) {
        openLink(at: event.handle)?.facts.channelSelection = event.algorithm
    }

    mutating func learned(_ event: HCILEPHYUpdateComplete) {
        guard let link = openLink(at: event.handle) else { return }
        if event.status == .success {
            link.facts.txPHY = event.txPHY
            link.facts.rxPHY = event.rxPHY
        }
        inquiryEnded(link, .phy)
    }

    mutating func learned(_ event: HCILEReadRemoteFeaturesComplete) {
        guard let link = openLink(at: event.handle) else { return }
        if event.status == .success { link.facts.features = event.features }
        inquiryEnded(link, .features)
    }

    mutating func learned(_ event: HCIReadRemoteVersionInformationComplete) {
        guard let link = openLink(at: event.handle) else { return }
        if event.status == .success {
            link.facts.version = LinkFacts.Version(
                core: event.version, companyIdentifier: event.companyIdentifier, subversion: event.subversion)
        }
        inquiryEnded(link, .version)
    }
}

// MARK: What is asked of the peer's link layer

extension HostCore {
    /// The link has done what it was made for, as far as that can be told.
    mutating func inquire(_ link: Link) {
        // One procedure of the link layer at a time.
        if link.isUpdatingConnection {
            link.inquiry?.postpone(now: now)
            return
        }
        if link.inquiry?.takeMTUExchange() == true { exchangeMTU(link) }
        if let step = link.inquiry?.begin(controller.facts, link.facts) { ask(step, of: link) }
    }

    mutating func inquiryAnswered(_ link: Link, _ step: LinkInquiry.Step, _ status: HCIErrorCode) {
        // Of the data length there is an event only if it changes.
        if status != .success || step == .dataLength { inquiryEnded(link, step) }
    }

    private mutating func inquiryEnded(_ link: Link, _ step: LinkInquiry.Step) {
        guard let next = link.inquiry?.ended(step, controller.facts, link.facts) else { return }
        ask(next, of: link)
    }

    private mutating func ask(_ step: LinkInquiry.Step, of link: Link) {
        guard !link.isDisconnecting else { return }
        let command: any HCICommand =
            switch step {
            case .features: HCILEReadRemoteFeatures(handle: link.handle)
            case .version: HCIReadRemoteVersionInformation(handle: link.handle)
            case .dataLength:
                HCILESetDataLength(
                    handle: link.handle, txOctets: controller.facts.maximumDataLength.octets,
                    txTime: controller.facts.maximumDataLength.microseconds)
            case .phy: HCILESetPHY(handle: link.handle, indifference: [], tx: .le2M, rx: .le2M, options: 0)
            }
        submit(command, for: .link(link.id, .inquiry(step)))
    }
}

// MARK: What apps ask the controller

extension LinkReading {
    fileprivate var command: SupportedCommands.Position {
        switch self {
        case .rssi: .readRSSI
        case .channelMap: .leReadChannelMap
        }
    }
}

extension HostCore {
    /// How many may wait for one reading of one link.
    static let readingWaitingMaximum = 64

    mutating func read(_ manager: ManagerID, _ peer: PeerIdentifier, _ reading: LinkReading) -> OperationToken {
        let token = makeToken()
        guard let link = links.client(of: peer), !link.isDisconnecting else {
            finish(manager, token, peer, .failure(.notConnected))
            return token
        }
        ask(reading, of: link, manager, token)
        return token
    }

    private mutating func ask(_ reading: LinkReading, of link: Link, _ manager: ManagerID, _ token: OperationToken) {
        let waiting = link.readingsWaiting[reading, default: []].count
        guard controller.facts.supports(reading.command) else {
            return finish(manager, token, link.peer, .failure(.unsupportedByController))
        }
        guard waiting < Self.readingWaitingMaximum else {
            return finish(manager, token, link.peer, .failure(.noResources))
        }
        link.readingsWaiting[reading, default: []].append((manager, token))
        guard waiting == 0 else { return }
        let command: any HCICommand =
            switch reading {
            case .rssi: HCIReadRSSI(handle: link.handle)
            case .channelMap: HCILEReadChannelMap(handle: link.handle)
            }
        submit(command, for: .link(link.id, .reading(reading)))
    }

    mutating func read(_ reading: LinkReading, _ completion: HCICommandCompletion, _ link: Link) {
        let result: Result<OperationValue, HostError>
        do throws(HCICommandFailure) {
            switch reading {
            case .rssi: result = .success(.rssi(try completion.returnParameters(of: HCIReadRSSI.self).rssi))
            case .channelMap:
                let map = try completion.returnParameters(of: HCILEReadChannelMap.self).channelMap
                link.facts.channelMap = map
                result = .success(.channelMap(map))
            }
        } catch {
            result = .failure(.disconnected(completion.status ?? .unspecifiedError))
        }
        finish(reading, of: link, result)
    }

    mutating func finish(_ reading: LinkReading, of link: Link, _ result: Result<OperationValue, HostError>) {
        let waiting = link.readingsWaiting.removeValue(forKey: reading) ?? []
        for (manager, token) in waiting { finish(manager, token, link.peer, result) }
    }
}
