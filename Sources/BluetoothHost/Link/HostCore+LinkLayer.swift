import BluetoothCore
import HCI
import L2CAP

// MARK: What happens to a link below L2CAP

extension HostCore {
    /// One event of a link's link layer, and what follows from it.
    mutating func linkLayer(_ link: Link, _ event: LinkLayer.Event) {
        var outputs: [LinkLayer.Output] = []
        swap(&outputs, &spareLinkLayerOutputs)
        let facts = link.device == nil ? controller.facts : blueZ?.adapterFacts ?? ControllerFacts()
        link.layer.handle(event, controller: facts, now: now, into: &outputs)
        for output in outputs {
            switch output {
            case .ask(let request): if !link.isDisconnecting { ask(request, of: link) }
            case .readingEnded(let manager, let token, let result): finish(manager, token, link.peer, result)
            }
        }
        outputs.removeAll(keepingCapacity: true)
        swap(&outputs, &spareLinkLayerOutputs)
    }

    private mutating func ask(_ request: LinkLayer.Request, of link: Link) {
        guard link.device == nil else { return askBlueZ(request, of: link) }
        switch request {
        case .update(let parameters):
            submit(
                HCILEConnectionUpdate(handle: link.handle, connection: .init(parameters)),
                for: .link(link.id, .connectionUpdate))
        case .negotiate(.askLinkLayer(let parameters)):
            submit(
                HCILEConnectionUpdate(handle: link.handle, connection: .init(parameters)),
                for: .link(link.id, .connectionParametersRequest))
        case .negotiate(.askL2CAP(let parameters)):
            withLogicalLink(link) { logical, now, outputs in
                // Nothing waits, and what is asked for was checked: it cannot be refused here.
                try? logical.requestUpdate(parameters, now: now, into: &outputs)
            }
        case .exchangeMTU: exchangeMTU(link)
        case .inquire(let step): submit(command(for: step, link.handle), for: .link(link.id, .inquiry(step)))
        case .read(.rssi): submit(HCIReadRSSI(handle: link.handle), for: .link(link.id, .reading(.rssi)))
        case .read(.channelMap):
            submit(HCILEReadChannelMap(handle: link.handle), for: .link(link.id, .reading(.channelMap)))
        }
    }

    private func command(for step: LinkInquiry.Step, _ handle: ConnectionHandle) -> any HCICommand {
        switch step {
        case .features: HCILEReadRemoteFeatures(handle: handle)
        case .version: HCIReadRemoteVersionInformation(handle: handle)
        case .dataLength:
            HCILESetDataLength(
                handle: handle, txOctets: controller.facts.maximumDataLength.octets,
                txTime: controller.facts.maximumDataLength.microseconds)
        case .phy: HCILESetPHY(handle: handle, indifference: [], tx: .le2M, rx: .le2M, options: 0)
        }
    }
}

// MARK: What the controller tells

extension HostCore {
    /// Events of a handle whose link is not there, or is ending, say nothing.
    mutating func learned(_ event: LinkLayer.Event, at handle: ConnectionHandle) {
        if let link = openLink(at: handle) { linkLayer(link, event) }
    }
}

extension LinkLayer.Event {
    init(_ event: HCILEConnectionUpdateComplete) { self = .parametersChanged(event.status, event.parameters) }

    init(_ event: HCILEDataLengthChange) {
        self = .dataLengthChanged(
            tx: DataLength(octets: event.maxTxOctets, microseconds: event.maxTxTime),
            rx: DataLength(octets: event.maxRxOctets, microseconds: event.maxRxTime))
    }

    init(_ event: HCILEPHYUpdateComplete) { self = .phyChanged(event.status, tx: event.txPHY, rx: event.rxPHY) }

    init(_ event: HCILEReadRemoteFeaturesComplete) { self = .featuresRead(event.status, event.features) }

    init(_ event: HCIReadRemoteVersionInformationComplete) {
        self = .versionRead(
            event.status,
            LinkFacts.Version(
                core: event.version, companyIdentifier: event.companyIdentifier, subversion: event.subversion))
    }
}

extension HCICommandCompletion {
    func value(of reading: LinkReading) -> Result<OperationValue, HostError> {
        do throws(HCICommandFailure) {
            switch reading {
            case .rssi: return .success(.rssi(try returnParameters(of: HCIReadRSSI.self).rssi))
            case .channelMap:
                return .success(.channelMap(try returnParameters(of: HCILEReadChannelMap.self).channelMap))
            }
        } catch {
            return .failure(.disconnected(status ?? .unspecifiedError))
        }
    }
}

// MARK: What apps ask the controller

extension HostCore {
    mutating func read(_ manager: ManagerID, _ peer: PeerIdentifier, _ reading: LinkReading) -> OperationToken {
        let token = makeToken()
        if let link = links.client(of: peer), !link.isDisconnecting {
            linkLayer(link, .readingAsked(reading, manager, token))
        } else {
            finish(manager, token, peer, .failure(.notConnected))
        }
        return token
    }
}
