import ATT
import BluetoothCore
import BluetoothHost
import GATT
import HCI
import SecurityManager

/// A peripheral app that answers everything and writes down what it hears.
final class PeripheralApp: PeripheralRoleDelegate {
    static let service: BluetoothUUID = 0xFFF0
    static let readable: BluetoothUUID = 0xFFF1
    static let writable: BluetoothUUID = 0xFFF2
    static let notifying: BluetoothUUID = 0xFFF3

    let host: Host
    private(set) var manager = ManagerID(rawValue: 0)
    private(set) var record: RestorationRecord?
    private(set) var states: [HostState] = []
    private(set) var links: [LinkInfo] = []
    private(set) var disconnections: [HCIErrorCode] = []
    private(set) var writes: [ServerWriteRequest] = []
    private(set) var subscriptions: [AttributeHandle: Bool] = [:]
    private(set) var secured: [LinkInfo] = []
    private(set) var securityErrors: [HostError] = []
    private(set) var paired: [Result<BondID, HostError>] = []
    private(set) var passkey: UInt32?
    private(set) var passkeyWanted = false
    private(set) var numericValue: UInt32?
    private(set) var advertisingStarts: [HostError?] = []
    private(set) var readyCalls = 0
    var value: [UInt8] = [1, 2, 3]

    init(_ host: Host, restoreIdentifier: String?) {
        self.host = host
        (manager, record) = host.registerPeripheral(restoreIdentifier: restoreIdentifier, delegate: self)
    }

    static let definition = ServiceDefinition(
        uuid: service,
        characteristics: [
            CharacteristicDefinition(uuid: readable, properties: .read, access: AttributeAccess(read: .open)),
            CharacteristicDefinition(
                uuid: writable, properties: [.write, .writeWithoutResponse, .authenticatedSignedWrites],
                access: AttributeAccess(
                    writeRequest: .encryptedAuthenticated, writeCommand: .encryptedAuthenticated, signedWrite: true)),
            CharacteristicDefinition(
                uuid: notifying, properties: [.notify, .indicate], access: AttributeAccess(subscribe: .open)),
        ])

    func hostStateChanged(_ state: HostState) { states.append(state) }
    func centralConnected(_ link: LinkInfo) { links.append(link) }
    func centralDisconnected(_ link: LinkInfo, reason: HCIErrorCode) {
        links.removeAll { $0.link == link.link }
        disconnections.append(reason)
    }
    func securityChanged(_ link: LinkInfo, error: HostError?) {
        if let error { securityErrors.append(error) } else { secured.append(link) }
    }
    func mtuChanged(_ link: LinkInfo) {}
    func readRequested(_ request: ServerReadRequest) {
        host.respond(to: request.id, value: Array(value.dropFirst(request.offset)))
    }
    func writesRequested(_ request: ServerWriteRequest) {
        writes.append(request)
        if let id = request.id { host.respond(to: id, value: []) }
    }
    func subscriptionChanged(_ link: LinkInfo, handle: AttributeHandle, notify: Bool, indicate: Bool) {
        subscriptions[handle] = notify || indicate
    }
    func readyToUpdate() { readyCalls += 1 }
    func advertisingStarted(error: HostError?) { advertisingStarts.append(error) }
    func displayPasskey(_ link: LinkInfo, passkey: UInt32) { self.passkey = passkey }
    func passkeyRequested(_ link: LinkInfo) { passkeyWanted = true }
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) { numericValue = value }
    func paired(_ link: LinkInfo, result: Result<BondID, HostError>) { paired.append(result) }
}

/// A central app that writes down what it hears.
final class CentralApp: CentralRoleDelegate {
    let host: Host
    private(set) var manager = ManagerID(rawValue: 0)
    private(set) var record: RestorationRecord?
    private(set) var states: [HostState] = []
    private(set) var reports: [AdvertisementReport] = []
    private(set) var link: LinkInfo?
    private(set) var connections = 0
    private(set) var disconnections = 0
    private(set) var disconnectionErrors: [HostError?] = []
    private(set) var failures: [HostError] = []
    /// How many operations had their answer when each connection was over.
    private(set) var answeredAtEnds: [Int] = []
    /// How often each operation was answered.
    private(set) var answers: [OperationToken: Int] = [:]
    private(set) var results: [OperationToken: Result<OperationValue, HostError>] = [:]
    private(set) var lapsed: [OperationToken] = []
    private(set) var updates: [(handle: AttributeHandle, value: [UInt8])] = []
    private(set) var secured: [Bool] = []
    private(set) var securityErrors: [HostError] = []
    private(set) var paired: [Result<BondID, HostError>] = []
    private(set) var passkeyWanted = false
    private(set) var invalidations = 0
    private(set) var passkey: UInt32?
    private(set) var numericValue: UInt32?
    /// What it does as soon as it hears that a link did not become secure, or that a pairing failed.
    var onInsecurity: (PeerIdentifier) -> Void = { _ in }

    init(_ host: Host, restoreIdentifier: String?) {
        self.host = host
        (manager, record) = host.registerCentral(restoreIdentifier: restoreIdentifier, delegate: self)
    }

    func hostStateChanged(_ state: HostState) { states.append(state) }
    func writeLapsed(_ token: OperationToken, peer: PeerIdentifier) { lapsed.append(token) }
    func discovered(_ report: AdvertisementReport) { reports.append(report) }
    func connected(_ link: LinkInfo) {
        self.link = link
        connections += 1
    }
    func mtuChanged(_ link: LinkInfo) {}
    func connectionFailed(_ peer: PeerIdentifier, error: HostError) { failures.append(error) }
    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {
        link = nil
        disconnections += 1
        disconnectionErrors.append(error)
        answeredAtEnds.append(answers.count)
    }
    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {
        results[token] = result
        answers[token, default: 0] += 1
    }
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {
        updates.append((handle, value))
    }
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {
        invalidations += 1
    }
    func securityChanged(_ link: LinkInfo, error: HostError?) {
        secured.append(error == nil)
        guard let error else { return }
        securityErrors.append(error)
        onInsecurity(link.peer)
    }
    func passkeyRequested(_ peer: PeerIdentifier) { passkeyWanted = true }
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) { self.passkey = passkey }
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) { numericValue = value }
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {
        paired.append(result)
        if case .failure = result { onInsecurity(peer) }
    }
}
