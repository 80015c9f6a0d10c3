import BluetoothCore
import BluetoothHost
import GATT
import HCI
import SecurityManager

/// A client on the host's own API that pairs on one link after the other, and then comes back as often to read a value
/// under encryption.
final class BondingClient: CentralRoleDelegate {
    private enum Stage { case discovering, pairing, reconnecting }

    private let host: Host
    private let count: Int
    private let done: () -> Void
    private var manager = ManagerID(rawValue: 0)
    private var peer: PeerIdentifier?
    private var readable: AttributeHandle?
    private var stage = Stage.discovering
    private var times: [Double] = []
    private var begun = 0.0

    init(_ host: Host, count: Int, done: @escaping () -> Void) {
        self.host = host
        self.count = count
        self.done = done
        (manager, _) = host.registerCentral(restoreIdentifier: nil, delegate: self)
        host.startScan(manager, ScanRecord(services: [Exchange.service], allowDuplicates: false))
    }

    func discovered(_ report: AdvertisementReport) {
        guard peer == nil else { return }
        peer = report.peer
        host.stopScan(manager)
        connect(report.peer)
    }

    private func connect(_ peer: PeerIdentifier) { host.connect(manager, peer, options: 0, askedAtSeconds: 0) }

    func connected(_ link: LinkInfo) {
        begun = Clock.microseconds
        switch stage {
        case .discovering: _ = host.perform(manager, link.peer, .discoverDatabase)
        case .pairing: host.pair(manager, link.peer, .numericComparison, credential: "bench")
        case .reconnecting: host.encrypt(link.peer)
        }
    }

    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {
        host.answerPairing(link.link, .numbersAreEqual(true))
    }

    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {
        switch result {
        case .failure(let error): fail("pairing: \(error)")
        case .success(let bond): host.promoteBond(bond)
        }
        end(peer)
    }

    func securityChanged(_ link: LinkInfo, error: HostError?) {
        guard stage == .reconnecting, let readable else { return }
        if let error { fail("encryption: \(error)") }
        _ = host.perform(manager, link.peer, .read(readable))
    }

    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {
        switch (stage, result) {
        case (_, .failure(let error)): fail("a procedure: \(error)")
        case (.discovering, .success(.gatt(.database(let database)))):
            readable =
                database.services.flatMap(\.characteristics).first { $0.uuid == Exchange.readable }?.value
            stage = .pairing
            host.cancelConnection(manager, peer)
        case (.reconnecting, .success(.gatt(.value))): end(peer)
        case (_, .success): break
        }
    }

    /// What was timed is over, and so is its link.
    private func end(_ peer: PeerIdentifier) {
        times.append(Clock.microseconds - begun)
        if times.count == count {
            let name = stage == .pairing ? "pairing" : "reconnection"
            let total = times.reduce(0, +)
            print(Figure(name: name, times: times, perSecond: Double(count) / total * 1e6, allocations: 0).line)
            if stage == .reconnecting { return done() }
            times = []
            stage = .reconnecting
        }
        host.cancelConnection(manager, peer)
    }

    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {
        if let error { fail("the link ended: \(error)") }
        connect(peer)
    }

    func connectionFailed(_ peer: PeerIdentifier, error: HostError) { fail("no connection: \(error)") }
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {}
    func hostStateChanged(_ state: HostState) {}
    func mtuChanged(_ link: LinkInfo) {}
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {}
    func passkeyRequested(_ peer: PeerIdentifier) {}
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) {}
}
