import ATT
import BluetoothCore
import BluetoothHost
import GATT
import HCI
import SecurityManager

/// A client on the host's own API: finds the server, discovers it, and runs a workload.
final class HostClient: CentralRoleDelegate {
    private let host: Host
    private let done: () -> Void
    private var manager = ManagerID(rawValue: 0)
    private var peer: PeerIdentifier?
    private var workload: Workload?
    private var handles: [BluetoothUUID: AttributeHandle] = [:]
    private var configuration: AttributeHandle?
    private var awaited: OperationToken?
    private var isSubscribed = false
    private let counts: [Workload.Step]

    init(_ host: Host, _ counts: [Workload.Step], done: @escaping () -> Void) {
        self.host = host
        self.counts = counts
        self.done = done
        (manager, _) = host.registerCentral(restoreIdentifier: nil, delegate: self)
        host.startScan(manager, ScanRecord(services: [Exchange.service], allowDuplicates: false))
    }

    func discovered(_ report: AdvertisementReport) {
        guard peer == nil else { return }
        peer = report.peer
        host.stopScan(manager)
        host.connect(manager, report.peer, options: 0, askedAtSeconds: 0)
    }

    func connected(_ link: LinkInfo) { awaited = host.perform(manager, link.peer, .discoverDatabase) }

    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {
        guard token == awaited else { return }
        switch result {
        case .failure(let error): fail("the workload: \(error)")
        case .success(.gatt(.database(let database))):
            for characteristic in database.services.flatMap(\.characteristics) {
                handles[characteristic.uuid] = characteristic.value
                let found = characteristic.descriptors.first { $0.uuid == .clientCharacteristicConfiguration }
                if characteristic.uuid == Exchange.notifying { configuration = found?.handle }
            }
            begin(peer)
        case .success: if !isSubscribed { workload?.answered() }
        }
    }

    private func begin(_ peer: PeerIdentifier) {
        guard let readable = handles[Exchange.readable], let writable = handles[Exchange.writable],
            let notifying = handles[Exchange.notifying], let configuration
        else { fail("the server's tree lacks something") }
        workload = Workload(counts) { [unowned self] operation in
            switch operation {
            case .read: awaited = host.perform(manager, peer, .read(readable))
            case .write: awaited = host.perform(manager, peer, .write(writable, Exchange.value))
            case .command:
                for _ in 0..<Workload.commandsPerRead {
                    _ = host.perform(manager, peer, .writeWithoutResponse(writable, Exchange.value))
                }
                awaited = host.perform(manager, peer, .read(readable))
            case .notification:
                isSubscribed = true
                _ = host.setNotify(manager, peer, value: notifying, ccc: configuration, kind: .notify)
            }
        } finish: { [unowned self] in
            done()
        }
        workload?.start()
    }

    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {
        workload?.answered()
    }

    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {
        fail("the link ended: \(error as Any)")
    }
    func connectionFailed(_ peer: PeerIdentifier, error: HostError) { fail("no connection: \(error)") }
    func hostStateChanged(_ state: HostState) {}
    func mtuChanged(_ link: LinkInfo) {}
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {}
    func securityChanged(_ link: LinkInfo, error: HostError?) {}
    func passkeyRequested(_ peer: PeerIdentifier) {}
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) {}
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {}
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {}
}
