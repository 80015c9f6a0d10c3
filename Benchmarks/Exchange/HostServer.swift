import ATT
import BluetoothCore
import BluetoothHost
import GATT
import HCI
import SecurityManager

/// A server on the host's own API, without restore identifier: answers every read, takes every write, and notifies
/// whoever has subscribed as fast as the host takes it.
final class HostServer: PeripheralRoleDelegate {
    private let host: Host
    private var manager = ManagerID(rawValue: 0)
    private var notifying: AttributeHandle?
    private var isSubscribed = false
    /// Hears that somebody has gone.
    var onDisconnection: () -> Void = {}
    /// What this side's thread allocates for each operation of a kind, while a series of it runs.
    // Not in a dictionary: changing a value in one allocates.
    private var reads = AllocationTally(warmUpCount: Workload.warmUpCount)
    private var writes = AllocationTally(warmUpCount: Workload.warmUpCount)
    private var commands = AllocationTally(warmUpCount: Workload.warmUpCount)
    private var notifications = AllocationTally(warmUpCount: Workload.warmUpCount)

    var allocations: [(operation: Workload.Operation, count: Double)] {
        let all: [(Workload.Operation, AllocationTally)] = [
            (.read, reads), (.write, writes), (.command, commands), (.notification, notifications),
        ]
        return all.compactMap { operation, tally in tally.perOperation.map { (operation, $0) } }
    }

    /// `services`: published beside what exchanges are made with.
    init(_ host: Host, name: String = "bench", beside services: [ServiceDefinition] = []) throws {
        self.host = host
        (manager, _) = host.registerPeripheral(restoreIdentifier: nil, delegate: self)
        for service in services { _ = try host.publish(manager, service) }
        let published = try host.publish(manager, Self.definition)
        notifying = published.characteristics.last?.value
        host.setPairingWindow(PairingWindow(method: .numericComparison, credential: "bench"))
        host.startAdvertising(manager, AdvertisingRecord(localName: name, services: [Exchange.service]))
    }

    private static let definition = ServiceDefinition(
        uuid: Exchange.service,
        characteristics: [
            CharacteristicDefinition(
                uuid: Exchange.readable, properties: .read, access: AttributeAccess(read: .open)),
            CharacteristicDefinition(
                uuid: Exchange.writable, properties: [.write, .writeWithoutResponse],
                access: AttributeAccess(writeRequest: .open, writeCommand: .open)),
            CharacteristicDefinition(
                uuid: Exchange.notifying, properties: .notify, access: AttributeAccess(subscribe: .open)),
        ])

    func readRequested(_ request: ServerReadRequest) {
        reads.note()
        host.respond(to: request.id, value: Exchange.value)
    }

    func writesRequested(_ request: ServerWriteRequest) {
        if request.id == nil { commands.note() } else { writes.note() }
        if let id = request.id { host.respond(to: id, value: []) }
    }

    func subscriptionChanged(_ link: LinkInfo, handle: AttributeHandle, notify: Bool, indicate: Bool) {
        isSubscribed = notify
        push()
    }

    func readyToUpdate() { push() }

    private func push() {
        guard isSubscribed, let notifying else { return }
        while host.updateValue(manager, notifying, Exchange.value, to: nil, keepForAbsent: false) {
            notifications.note()
        }
    }

    func centralDisconnected(_ link: LinkInfo, reason: HCIErrorCode) {
        isSubscribed = false
        onDisconnection()
    }
    func hostStateChanged(_ state: HostState) {}
    func mtuChanged(_ link: LinkInfo) {}
    func centralConnected(_ link: LinkInfo) {}
    func securityChanged(_ link: LinkInfo, error: HostError?) {}
    func advertisingStarted(error: HostError?) {}
    func displayPasskey(_ link: LinkInfo, passkey: UInt32) {}
    func passkeyRequested(_ link: LinkInfo) {}
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {
        host.answerPairing(link.link, .numbersAreEqual(true))
    }
    func paired(_ link: LinkInfo, result: Result<BondID, HostError>) {
        if case .success(let bond) = result { host.promoteBond(bond) }
        host.setPairingWindow(PairingWindow(method: .numericComparison, credential: "bench"))
    }
}
