import BluetoothCore
import GATT
import HCI
import SecurityManager

/// One thing that an app is to hear.
///
/// Apps hear at the end of the iteration and before its commit, in the order in which things happened: what they say to it is
/// kept and sent together with what they heard. Where more than ``Host/tellingsMaximum`` wait they hear between two packets. No app is called in the middle of the host's work, so that none finds the
/// host half done. Of one event every peripheral manager hears first, in the order of registration, and then the central
/// managers.
enum Telling {
    case central(ManagerID, CentralNews)
    case peripheral(ManagerID, PeripheralNews)
    /// A request of a client. The host refuses it when no manager is there to answer it.
    case read(ManagerID?, ServerReadRequest)
    case write(ManagerID?, ServerWriteRequest)
    case agent(AgentNews, LinkInfo)
    case channel(HostChannelID, ChannelNews, ChannelOwner?)
    /// Nothing to hear: what a manager does once it has heard everything from before.
    case behind(() -> Void)
    /// Nothing to hear: what depends on how the apps took what they have just heard.
    case settleSecurity(LinkID, HostError?)
}

/// ``CentralRoleDelegate``, as values.
enum CentralNews {
    case state(HostState)
    case discovered(AdvertisementReport)
    case connected(LinkInfo)
    case connectionFailed(PeerIdentifier, HostError)
    case disconnected(PeerIdentifier, HostError?, isReconnecting: Bool)
    case completed(OperationToken, PeerIdentifier, Result<OperationValue, HostError>)
    case writeLapsed(OperationToken, PeerIdentifier)
    case valueUpdated(PeerIdentifier, AttributeHandle, [UInt8], isIndication: Bool)
    case mtuChanged(LinkInfo)
    case servicesInvalidated(PeerIdentifier, ClosedRange<AttributeHandle>)
    case securityChanged(LinkInfo, HostError?)
    case passkeyRequested(PeerIdentifier)
    case displayPasskey(PeerIdentifier, UInt32)
    case numericComparisonRequested(LinkInfo, UInt32)
    case paired(PeerIdentifier, Result<BondID, HostError>)
    case linkChanged(LinkInfo, isUp: Bool)
    case treeChanged(PeerIdentifier)
    case nameRead(PeerIdentifier, String)

    func tell(_ delegate: any CentralRoleDelegate) {
        switch self {
        case .state(let state): delegate.hostStateChanged(state)
        case .discovered(let report): delegate.discovered(report)
        case .connected(let link): delegate.connected(link)
        case .connectionFailed(let peer, let error): delegate.connectionFailed(peer, error: error)
        case .disconnected(let peer, let error, let isReconnecting):
            delegate.disconnected(peer, error: error, isReconnecting: isReconnecting)
        case .completed(let token, let peer, let result): delegate.completed(token, peer: peer, result: result)
        case .writeLapsed(let token, let peer): delegate.writeLapsed(token, peer: peer)
        case .valueUpdated(let peer, let handle, let value, let isIndication):
            delegate.valueUpdated(peer, handle: handle, value: value, isIndication: isIndication)
        case .mtuChanged(let link): delegate.mtuChanged(link)
        case .servicesInvalidated(let peer, let range):
            delegate.servicesInvalidated(peer, first: range.lowerBound, last: range.upperBound)
        case .securityChanged(let link, let error): delegate.securityChanged(link, error: error)
        case .passkeyRequested(let peer): delegate.passkeyRequested(peer)
        case .displayPasskey(let peer, let passkey): delegate.displayPasskey(peer, passkey: passkey)
        case .numericComparisonRequested(let link, let value):
            delegate.numericComparisonRequested(link, value: value)
        case .paired(let peer, let result): delegate.paired(peer, result: result)
        case .linkChanged(let link, let isUp): delegate.linkChanged(link, isUp: isUp)
        case .treeChanged(let peer): delegate.treeChanged(peer)
        case .nameRead(let peer, let name): delegate.nameRead(peer, name)
        }
    }
}

/// ``PeripheralRoleDelegate``, as values; its requests are ``Telling``s of their own.
enum PeripheralNews {
    case state(HostState)
    case centralConnected(LinkInfo)
    case centralDisconnected(LinkInfo, HCIErrorCode)
    case securityChanged(LinkInfo, HostError?)
    case mtuChanged(LinkInfo)
    case subscriptionChanged(LinkInfo, AttributeHandle, ClientCharacteristicConfiguration)
    case readyToUpdate
    case advertisingStarted(HostError?)
    case displayPasskey(LinkInfo, UInt32)
    case passkeyRequested(LinkInfo)
    case numericComparisonRequested(LinkInfo, UInt32)
    case paired(LinkInfo, Result<BondID, HostError>)

    func tell(_ delegate: any PeripheralRoleDelegate) {
        switch self {
        case .state(let state): delegate.hostStateChanged(state)
        case .centralConnected(let link): delegate.centralConnected(link)
        case .centralDisconnected(let link, let reason): delegate.centralDisconnected(link, reason: reason)
        case .securityChanged(let link, let error): delegate.securityChanged(link, error: error)
        case .mtuChanged(let link): delegate.mtuChanged(link)
        case .subscriptionChanged(let link, let handle, let configuration):
            delegate.subscriptionChanged(
                link, handle: handle, notify: configuration.contains(.notification),
                indicate: configuration.contains(.indication))
        case .readyToUpdate: delegate.readyToUpdate()
        case .advertisingStarted(let error): delegate.advertisingStarted(error: error)
        case .displayPasskey(let link, let passkey): delegate.displayPasskey(link, passkey: passkey)
        case .passkeyRequested(let link): delegate.passkeyRequested(link)
        case .numericComparisonRequested(let link, let value):
            delegate.numericComparisonRequested(link, value: value)
        case .paired(let link, let result): delegate.paired(link, result: result)
        }
    }
}

/// ``PairingAgent``, as values.
enum AgentNews {
    case consentRequested(AssociationModel?)
    case numericComparisonRequested(UInt32)
    case displayPasskey(UInt32)
    case passkeyRequested
    case pairingEnded(Result<BondID, HostError>)

    /// Whether the pairing stands still until there is an answer.
    var isQuestion: Bool {
        switch self {
        case .consentRequested, .numericComparisonRequested, .passkeyRequested: true
        case .displayPasskey, .pairingEnded: false
        }
    }

    func tell(_ agent: any PairingAgent, _ link: LinkInfo) {
        switch self {
        case .consentRequested(let model): agent.consentRequested(link, model: model)
        case .numericComparisonRequested(let value): agent.numericComparisonRequested(link, value: value)
        case .displayPasskey(let passkey): agent.displayPasskey(link, passkey: passkey)
        case .passkeyRequested: agent.passkeyRequested(link)
        case .pairingEnded(let result): agent.pairingEnded(link, result: result)
        }
    }
}

/// ``ChannelDelegate``, as values.
enum ChannelNews {
    case opened(ChannelInfo)
    case received([UInt8])
    case hasRoom
    case closed(ChannelEnd)
}
