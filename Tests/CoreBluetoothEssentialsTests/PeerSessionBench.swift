import ATT
import BluetoothCore
import BluetoothHost
import GATT

@testable import CoreBluetoothEssentials

enum ConnectionInput: CaseIterable { case wanted, withdrawn, stranger, bonded, secured, paired, ended, lost }

enum TreeInput: CaseIterable {
    case kept, discovered, discoveryFailed, sameHash, otherHash, invalidated, endedBonded, endedStranger
}

/// One session, and a peer with two services, one of them GATT's own.
struct PeerSessionBench {
    static let database = RemoteDatabase(
        hash: [7],
        services: [
            RemoteService(
                uuid: .gattService, declaration: AttributeHandle(1), end: AttributeHandle(4),
                characteristics: [
                    RemoteCharacteristic(
                        uuid: .serviceChanged, properties: .indicate, declaration: AttributeHandle(2),
                        value: AttributeHandle(3), end: AttributeHandle(4),
                        descriptors: [
                            RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: AttributeHandle(4))
                        ])
                ]),
            RemoteService(
                uuid: 0xAA00, declaration: AttributeHandle(5), end: AttributeHandle(9),
                includedServices: [
                    RemoteIncludedService(
                        handle: AttributeHandle(6), uuid: 0x180F, declaration: AttributeHandle(0x20),
                        end: AttributeHandle(0x22))
                ],
                characteristics: [
                    RemoteCharacteristic(
                        uuid: 0xAA01, properties: .notify, declaration: AttributeHandle(6),
                        value: AttributeHandle(7), end: AttributeHandle(9),
                        descriptors: [
                            RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: AttributeHandle(8)),
                            RemoteDescriptor(uuid: 0x2901, handle: AttributeHandle(9)),
                        ])
                ]),
        ])

    var session = PeerSession()
    var outputs: [PeerSession.Output] = []
    let peripheral: CBPeripheral
    let service: CBService
    let characteristic: CBCharacteristic
    let configuration: CBDescriptor
    let description: CBDescriptor

    init() {
        peripheral = .ofNoHost()
        let range = AttributeHandle(5)...AttributeHandle(9)
        service = CBService(
            uuid: CBUUID(0xAA00), isPrimary: true, state: CBService.State(peripheral: peripheral, range: range))
        characteristic = CBCharacteristic(
            uuid: CBUUID(0xAA01),
            state: CBCharacteristic.State(
                service: service, properties: .notify,
                handles: CBCharacteristic.Handles(
                    declaration: AttributeHandle(6), value: AttributeHandle(7), end: AttributeHandle(9))))
        configuration = CBDescriptor(
            uuid: CBUUID(.clientCharacteristicConfiguration),
            state: CBDescriptor.State(characteristic: characteristic, handle: AttributeHandle(8)))
        description = CBDescriptor(
            uuid: CBUUID(0x2901),
            state: CBDescriptor.State(characteristic: characteristic, handle: AttributeHandle(9)))
    }

    mutating func feed(_ event: PeerSession.Event) { session.handle(event, into: &outputs) }

    mutating func enter(_ input: ConnectionInput) {
        switch input {
        case .wanted: feed(.wanted(peripheral))
        case .withdrawn: feed(.withdrawn)
        case .stranger: feed(.connected(peripheral, isBonded: false))
        case .bonded: feed(.connected(peripheral, isBonded: true))
        case .secured: feed(.secured(isBonded: false))
        case .paired: feed(.secured(isBonded: true))
        case .ended: feed(.ended)
        case .lost: feed(.lost)
        }
    }

    mutating func enter(_ input: TreeInput) {
        let discovery = PeerSession.Purpose.call(.discoverServices(nil))
        let check = PeerSession.Purpose.databaseHash(of: Self.database, nil)
        func hash(_ octets: [UInt8]) -> OperationValue {
            .gatt(.values([RemoteValue(handle: AttributeHandle(4), value: octets)]))
        }
        switch input {
        case .kept: feed(.kept(Self.database))
        case .discovered: feed(.completed(discovery, .success(.gatt(.database(Self.database)))))
        case .discoveryFailed: feed(.completed(discovery, .failure(.notConnected)))
        case .sameHash: feed(.completed(check, .success(hash([7]))))
        case .otherHash: feed(.completed(check, .success(hash([8]))))
        case .invalidated: feed(.invalidated(AttributeHandle(5)...AttributeHandle(9)))
        case .endedBonded, .endedStranger:
            feed(.connected(peripheral, isBonded: input == .endedBonded))
            feed(.ended)
        }
    }

    func call(_ title: String) -> PeripheralCall? {
        let until = Instant(nanoseconds: 5_000_000)
        return switch title {
        case "read": .read(characteristic)
        case "readDescriptor": .readDescriptor(configuration)
        case "write": .write(characteristic, [9])
        case "writeDescriptor": .writeDescriptor(description, [9])
        case "writeConfiguration": .writeDescriptor(configuration, [9])
        case "writeWithoutResponse": .writeWithoutResponse(characteristic, [9])
        case "signedWrite": .signedWrite(characteristic, [9])
        case "datedWrite": .datedWrite(characteristic, [9], isSigned: false, until: until)
        case "datedSignedWrite": .datedWrite(characteristic, [9], isSigned: true, until: until)
        case "subscribe": .setNotify(characteristic, true)
        case "unsubscribe": .setNotify(characteristic, false)
        case "readRSSI": .readRSSI
        case "includedServices": .discoverIncludedServices(service, nil)
        case "characteristics": .discoverCharacteristics(service, nil)
        case "descriptors": .discoverDescriptors(characteristic)
        default: nil
        }
    }

    static func value(for title: String) -> OperationValue {
        switch title {
        case "read", "readDescriptor": .gatt(.value([1, 2]))
        case "signedWrite", "datedSignedWrite": .signed(counter: 4)
        case "readRSSI": .rssi(-40)
        default: .gatt(.done)
        }
    }

    // MARK: In words

    var connection: String {
        let text = Self.text(session.connection)
        return session.ending.isEmpty
            ? text : "\(text), ending: \(session.ending.map(Self.text).joined(separator: ", "))"
    }

    private static func text(_ connection: PeerSession.Connection) -> String {
        switch connection {
        case .none: "none"
        case .wanted: "wanted"
        case .open(_, let isBonded, let isAskedAgain):
            (isBonded ? "bonded" : "stranger") + (isAskedAgain ? ", asked again" : "")
        }
    }

    var tree: String {
        switch session.tree {
        case .unknown: "unknown"
        case .kept: "kept"
        case .checked: "checked"
        case .changed: "changed"
        }
    }

    var said: String { outputs.map(Self.text).joined(separator: ", ") }

    private static func text(_ output: PeerSession.Output) -> String {
        switch output {
        case .ask(let request, _): text(request)
        case .tell(.tree(let news)): text(news)
        case .tell(.value(let news)): text(news)
        case .tell(.link(.signed(_, let counter, let error))):
            "signed with \(counter.map(String.init) ?? "nothing")\(text(error))"
        case .tell(.link(.notWritten)): "not written"
        case .tell(let news): "\(news)"
        case .commandEnded: "command ended"
        case .keep(let database): "keep \(database.services.count)"
        }
    }

    private static func text(_ request: PeripheralRequest) -> String {
        switch request {
        case .perform(let operation, let until):
            text(operation) + (until.map { " until \($0.nanoseconds / 1_000_000)" } ?? "")
        case .setNotify(let value, let configuration, let kind):
            (kind == nil ? "unsubscribe" : "setNotify") + " \(value) \(configuration)"
        case .read(let reading): "\(reading)"
        }
    }

    private static func text(_ operation: GATTClientOperation) -> String {
        switch operation {
        case .discoverDatabase: "discoverDatabase"
        case .readByUUID(let uuid, _): "readByUUID \(uuid)"
        case .read(let handle, 0): "read \(handle)"
        case .write(let handle, let value): "write \(handle) \(value)"
        case .writeWithoutResponse(let handle, let value): "command \(handle) \(value)"
        case .signedWriteWithoutResponse(let handle, let value): "signed \(handle) \(value)"
        default: "\(operation)"
        }
    }

    private static func text(_ news: PeripheralNews.TreeNews) -> String {
        func count<Attribute>(_ found: Result<[Attribute], any Error>, _ what: String) -> String {
            if case .success(let found) = found { "\(what) \(found.count)" } else { "no \(what)" }
        }
        return switch news {
        case .services(let found, _): count(found, "services")
        case .includedServices(_, let found, _): count(found, "included")
        case .characteristics(_, let found, _, _): count(found, "characteristics")
        case .descriptors(_, let found): count(found, "descriptors")
        case .invalidated: "invalidated"
        }
    }

    private static func text(_ news: PeripheralNews.ValueNews) -> String {
        func text(_ octets: [UInt8]?) -> String { octets.map { "\($0)" } ?? "nothing" }
        return switch news {
        case .read(_, let octets, let error): "read \(text(octets))\(Self.text(error))"
        case .readDescriptor(_, let octets, let error): "descriptor \(text(octets))\(Self.text(error))"
        case .wrote(_, let error): "wrote\(Self.text(error))"
        case .wroteDescriptor(_, let error): "wrote descriptor\(Self.text(error))"
        case .ready: "ready"
        case .notifying(_, let isEnabled, let error): "notifying \(isEnabled)\(Self.text(error))"
        case .sent(let handle, _): "sent \(handle)"
        case .rssi(let rssi, let error): "rssi \(rssi)\(Self.text(error))"
        }
    }

    private static func text(_ error: (any Error)?) -> String {
        guard let error else { return "" }
        return switch (error as? CBError)?.code {
        case .invalidHandle: " invalidHandle"
        case .notConnected: " notConnected"
        default: " \(error)"
        }
    }
}
