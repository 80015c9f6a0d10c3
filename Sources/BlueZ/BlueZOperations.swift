import ATT
import BluetoothCore
import DBus
import GATT

/// What clients have asked of attributes, and has no answer yet.
struct BlueZOperations: Equatable, Sendable {
    struct Operation: Equatable, Sendable {
        var link: String
        var request: BlueZRequest
        /// A write without response.
        var isCommand = false
        /// It must not leave later.
        var until: Instant?
        /// bluetoothd was asked, and has not answered.
        var isUnderWay = false
        var retries = 0
        /// bluetoothd does one thing at a time with an attribute, also for others: when it is asked again.
        var retryAt: Instant?
        /// A write without response that was said to be on its way.
        var isSaid = false
        /// Of a read: what bluetoothd has told of the value meanwhile. It tells of each value that it reads as of one that has come by itself.
        var heard: [UInt8]?

        func isRead(of handle: AttributeHandle) -> Bool {
            switch request.kind {
            case .read(handle), .readValues(handle): true
            case .read, .readValues, .write, .startNotify, .stopNotify: false
            }
        }
    }

    /// Of one link at once.
    static let perLinkMaximum = 64
    static let retryMilliseconds: UInt64 = 50
    /// As long as a peer may take to answer one request.
    static let retriesMaximum = 600

    private(set) var all: [UInt64: Operation] = [:]

    subscript(token: UInt64) -> Operation? {
        get { all[token] }
        set { all[token] = newValue }
    }

    func hasRoom(on link: String) -> Bool { all.values.count { $0.link == link } < Self.perLinkMaximum }

    func tokens(of link: String) -> [UInt64] { all.filter { $0.value.link == link }.keys.sorted() }

    var deadline: Instant? { all.values.compactMap(\.retryAt).min() }

    /// Those that bluetoothd is to be asked for now; they are under way from now on. An attribute has one at a time, in the order of the
    /// calls, which is that of the tokens: bluetoothd refuses the next one while it is at one. Commands alone follow each other at once.
    mutating func takeDue(_ now: Instant) -> [UInt64] {
        for (token, operation) in all {
            if let due = operation.retryAt, due <= now { all[token]?.retryAt = nil }
        }
        var due: [UInt64] = []
        for token in all.keys.sorted() {
            guard let operation = all[token], !operation.isUnderWay, operation.retryAt == nil,
                !isHeldBack(token, operation)
            else { continue }
            all[token]?.isUnderWay = true
            due.append(token)
        }
        return due
    }

    private func isHeldBack(_ token: UInt64, _ operation: Operation) -> Bool {
        all.contains { earlier, other in
            earlier < token && other.link == operation.link && other.request.path == operation.request.path
                && !(operation.isCommand && other.isCommand && other.isUnderWay)
        }
    }

    /// The read of this value that bluetoothd is at.
    func reading(_ handle: AttributeHandle, on link: String) -> UInt64? {
        all.first { $0.value.link == link && $0.value.isUnderWay && $0.value.isRead(of: handle) }?.key
    }

    /// False where it has been tried for too long.
    mutating func retryLater(_ token: UInt64, _ now: Instant) -> Bool {
        guard var operation = all[token], operation.retries < Self.retriesMaximum else { return false }
        operation.retries += 1
        operation.isUnderWay = false
        operation.retryAt = now.advanced(byMilliseconds: Self.retryMilliseconds)
        all[token] = operation
        return true
    }
}

/// One operation as bluetoothd does it.
struct BlueZRequest: Equatable, Sendable {
    /// What its answer means.
    enum Kind: Equatable, Sendable {
        case read(AttributeHandle)
        /// By type: the answer has handles too.
        case readValues(AttributeHandle)
        case write(AttributeHandle)
        case startNotify(AttributeHandle)
        case stopNotify(AttributeHandle)

        /// The attribute that an error is about.
        var handle: AttributeHandle {
            switch self {
            case .read(let handle), .readValues(let handle), .write(let handle), .startNotify(let handle),
                .stopNotify(let handle):
                handle
            }
        }
    }

    var kind: Kind
    var path: String
    var interface: String
    var member: String
    var body: [DBusValue]
}

extension BlueZRequest {
    enum Plan: Equatable {
        /// bluetoothd has shown it already.
        case known(GATTClientResult)
        case ask(BlueZRequest)
        case refused(GATTClientError)
    }

    static func plan(_ operation: GATTClientOperation, _ tree: BlueZTree) -> Plan {
        switch operation {
        case .discoverDatabase: .known(.database(tree.database))
        case .discoverPrimaryServices: .known(.services(primaries(tree)))
        case .discoverPrimaryServicesByUUID(let uuid): .known(.services(primaries(tree).filter { $0.uuid == uuid }))
        case .findIncludedServices(let range):
            .known(
                .includedServices(
                    tree.database.services.flatMap(\.includedServices)
                        .filter { range.closed?.contains($0.handle) == true }))
        case .discoverCharacteristics(let range, let uuid):
            .known(
                .characteristics(
                    characteristics(tree).filter { characteristic in
                        range.closed?.contains(characteristic.declaration) == true
                            && uuid.map { $0 == characteristic.uuid } ?? true
                    }))
        case .discoverDescriptors(let range):
            .known(
                .descriptors(
                    characteristics(tree).flatMap(\.descriptors).filter { range.closed?.contains($0.handle) == true }))
        case .read(let handle, let offset): read(handle, offset, tree) { .read($0) }
        case .readByUUID(let uuid, let range):
            characteristics(tree).first { $0.uuid == uuid && range.closed?.contains($0.value) == true }
                .map { read($0.value, 0, tree) { .readValues($0) } }
                ?? .refused(.refused(.attributeNotFound, handle: range.start))
        case .write(let handle, let value): write(handle, value, ["type": .string("request")], tree)
        case .writeLong(let handle, let offset, let value):
            write(
                handle, value, ["type": .string("request"), "offset": .uint16(UInt16(clamping: offset))], tree)
        case .writeWithoutResponse(let handle, let value): write(handle, value, ["type": .string("command")], tree)
        case .configure(let descriptor, let configuration): configure(descriptor, !configuration.isEmpty, tree)
        // bluetoothd has no way to ask for these, and signs nothing on an encrypted link.
        case .exchangeMTU, .readMultiple, .readMultipleVariable, .reliableWrites, .signedWriteWithoutResponse:
            .refused(.invalidOperation)
        }
    }

    private static func primaries(_ tree: BlueZTree) -> [RemoteService] {
        tree.database.services.filter(\.isPrimary).map { service in
            var bare = service
            bare.characteristics = []
            return bare
        }
    }

    private static func characteristics(_ tree: BlueZTree) -> [RemoteCharacteristic] {
        tree.database.services.flatMap(\.characteristics)
    }

    private static func object(_ handle: AttributeHandle, _ tree: BlueZTree) -> (path: String, interface: String)? {
        tree.characteristic(ofValue: handle).map { ($0, BlueZName.gattCharacteristic) }
            ?? tree.descriptor(handle).map { ($0, BlueZName.gattDescriptor) }
    }

    private static func read(
        _ handle: AttributeHandle, _ offset: Int, _ tree: BlueZTree, _ kind: (AttributeHandle) -> Kind
    ) -> Plan {
        guard let (path, interface) = object(handle, tree) else {
            return .refused(.refused(.invalidHandle, handle: handle))
        }
        let options: [String: DBusValue] = offset > 0 ? ["offset": .uint16(UInt16(clamping: offset))] : [:]
        return .ask(
            BlueZRequest(
                kind: kind(handle), path: path, interface: interface, member: "ReadValue", body: [.properties(options)])
        )
    }

    private static func write(
        _ handle: AttributeHandle, _ value: [UInt8], _ options: [String: DBusValue], _ tree: BlueZTree
    ) -> Plan {
        guard let (path, interface) = object(handle, tree) else {
            return .refused(.refused(.invalidHandle, handle: handle))
        }
        return .ask(
            BlueZRequest(
                kind: .write(handle), path: path, interface: interface, member: "WriteValue",
                body: [.octets(value), .properties(options)]))
    }

    /// bluetoothd writes the descriptor itself, and again on each later link.
    private static func configure(_ descriptor: AttributeHandle, _ isOn: Bool, _ tree: BlueZTree) -> Plan {
        guard let (path, value) = tree.owner(ofDescriptor: descriptor) else {
            return .refused(.refused(.invalidHandle, handle: descriptor))
        }
        return .ask(
            BlueZRequest(
                kind: isOn ? .startNotify(value) : .stopNotify(value), path: path,
                interface: BlueZName.gattCharacteristic, member: isOn ? "StartNotify" : "StopNotify", body: []))
    }
}
