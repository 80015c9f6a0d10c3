import ATT
import BluetoothCore
import BluetoothHost
import GATT

/// One peer as a central manager knows it: the connection, what is known of the peer's tree, what this side is subscribed to,
/// and what is under way.
///
/// In: what the host says of the peer, and the app's calls on its peripheral. Out: what the host is asked, and what the app
/// hears. ``CentralCore`` owns one for each peer and carries out; it holds nothing else by peer.
struct PeerSession: Sendable {
    enum Connection: Sendable {
        case none
        /// Asked for. The peripheral is not forgotten while a connection, or the wish for one, stands, though the app may hold
        /// no reference.
        case wanted(CBPeripheral)
        /// `isAskedAgain`: the app asked for it while it stood, and has not heard again that it does. If it ends instead,
        /// another is waited for.
        case open(CBPeripheral, isBonded: Bool, isAskedAgain: Bool)

        var peripheral: CBPeripheral? {
            switch self {
            case .none: nil
            case .wanted(let peripheral), .open(let peripheral, _, _): peripheral
            }
        }
    }

    enum Tree: Sendable {
        case unknown
        /// As it was when this process began, or on an earlier link: good for a bonded peer until it says otherwise.
        case kept(RemoteDatabase)
        /// Discovered or checked on the link that stands.
        case checked(RemoteDatabase)
        /// The peer said that it changed: what is left of it. It is discovered as a whole when the app next asks.
        case changed(RemoteDatabase)

        var database: RemoteDatabase? {
            switch self {
            case .unknown: nil
            case .kept(let database), .checked(let database), .changed(let database): database
            }
        }
    }

    /// What an operation was asked for.
    enum Purpose: Sendable {
        case call(PeripheralCall)
        /// A tree is kept of a peer that is not bonded: it is good if the peer still has the Database Hash that it had.
        case databaseHash(of: RemoteDatabase, PeripheralCall.Filter)
        /// The peer is to say when its tree changes. Nobody waits for it.
        case serviceChanged
    }

    enum Event: Sendable {
        case wanted(CBPeripheral)
        /// The app gives up the connection, or the wish; the host will say that it is over.
        case withdrawn
        case connected(CBPeripheral, isBonded: Bool)
        /// Encryption came up, or failed to.
        case secured(isBonded: Bool)
        /// The connection, or a wish for one, is over.
        case ended
        /// The connection is over, and the wish for it stands.
        case lost
        /// What the host keeps: of an earlier life, or of a link that is over.
        case restored(subscriptions: Set<AttributeHandle>)
        case kept(RemoteDatabase)
        case invalidated(ClosedRange<AttributeHandle>)
        /// The host keeps another tree of the peer, or none.
        case treeChanged
        /// `isBonded` says it of the link that an operation would run over, nil that there is none. `kept` is the tree that
        /// the host keeps, if nothing is known here.
        case discover(PeripheralCall.Filter, isBonded: Bool?, kept: RemoteDatabase?)
        case call(PeripheralCall, of: CBPeripheral)
        /// There is no host to ask.
        case notBegun(Purpose)
        case completed(Purpose, Result<OperationValue, HostError>)
    }

    enum Output: Sendable {
        case ask(PeripheralRequest, Purpose)
        case tell(PeripheralNews)
        /// A write without response is no longer waited for.
        case commandEnded
        /// For later processes, under the peer's Database Hash.
        case keep(RemoteDatabase)
    }

    private(set) var connection = Connection.none
    /// Connections that the app gave up, and whose end the host has yet to say.
    private(set) var ending: [Connection] = []
    private(set) var tree = Tree.unknown
    /// Value handles that this side is subscribed to.
    private(set) var subscriptions: Set<AttributeHandle> = []
    /// In the order in which they began, which is mostly that in which they end. As many as GATT's client lets wait.
    private var operations: [(token: OperationToken, purpose: Purpose)] = []
    /// Channels that were asked for and are not open yet.
    var openings: [HostChannelID: CBPeripheral] = [:]

    /// The host gave an operation its token.
    mutating func began(_ purpose: Purpose, _ token: OperationToken) { operations.append((token, purpose)) }

    /// What a completed operation was asked for; it is over.
    mutating func take(_ token: OperationToken) -> Purpose? {
        operations.firstIndex { $0.token == token }.map { operations.remove(at: $0).purpose }
    }

    /// Nobody is told of anything any more, but of channels that are being opened.
    mutating func silence() {
        connection = .none
        ending = []
        operations = []
    }

    /// Whether a session for nobody would be the same.
    var isEmpty: Bool {
        guard case .none = connection, case .unknown = tree else { return false }
        return ending.isEmpty && subscriptions.isEmpty && operations.isEmpty && openings.isEmpty
    }

    /// Whether a connection stands, or is waited for.
    var isWanted: Bool {
        if case .none = connection { false } else { true }
    }

    /// Whether a connection stands.
    var isOpen: Bool {
        if case .open = connection { true } else { false }
    }

    /// What the app sees of it, once it has heard of all that has happened up to now.
    var shown: CBPeripheralState {
        switch connection {
        case .none: ending.isEmpty ? .disconnected : .disconnecting
        case .wanted: .connecting
        case .open: .connected
        }
    }

    /// Whether a value comes from the characteristic by which the peer says that its tree changed.
    func isServiceChanged(_ handle: AttributeHandle) -> Bool {
        tree.database?.characteristicType(at: handle) == .serviceChanged
    }

    /// The object that a connection, or the wish for one, keeps.
    var peripheral: CBPeripheral? { connection.peripheral }

    /// The object that a connection which does not stand yet keeps.
    var wantedPeripheral: CBPeripheral? {
        if case .wanted(let peripheral) = connection { peripheral } else { nil }
    }

    mutating func handle(_ event: Event, into outputs: inout [Output]) {
        switch event {
        case .wanted(let peripheral): want(peripheral)
        case .withdrawn:
            guard isWanted else { return }
            ending.append(connection)
            connection = .none
        case .connected(let peripheral, let isBonded):
            spokenOf = .open(peripheral, isBonded: isBonded, isAskedAgain: false)
        case .secured(let isBonded): secured(isBonded: isBonded)
        case .ended: end(isWanted: false)
        case .lost: end(isWanted: true)
        case .restored(let subscriptions): self.subscriptions = subscriptions
        case .kept(let database): keep(database)
        case .invalidated(let range): invalidate(range, &outputs)
        // On a link that stands the session knows the tree by what it hears there.
        case .treeChanged: if !isOpen { tree = .unknown }
        case .discover(let filter, let isBonded, let kept): discover(filter, isBonded, kept, &outputs)
        case .call(let call, let peripheral): begin(call, peripheral, &outputs)
        case .notBegun(let purpose): finish(purpose, .failure(.notConnected), &outputs)
        case .completed(let purpose, let result): finish(purpose, result, &outputs)
        }
    }
}

// MARK: The connection

extension PeerSession {
    /// The one that the host speaks of: ends come in the order in which connections were given up.
    private var spokenOf: Connection {
        get { ending.first ?? connection }
        set { if ending.isEmpty { connection = newValue } else { ending[0] = newValue } }
    }

    private mutating func want(_ peripheral: CBPeripheral) {
        switch connection {
        case .none, .wanted: connection = .wanted(peripheral)
        case .open(let peripheral, let isBonded, _):
            connection = .open(peripheral, isBonded: isBonded, isAskedAgain: true)
        }
    }

    private mutating func secured(isBonded: Bool) {
        guard case .open(let peripheral, _, let isAskedAgain) = spokenOf else { return }
        spokenOf = .open(peripheral, isBonded: isBonded, isAskedAgain: isAskedAgain)
    }

    private mutating func end(isWanted: Bool) {
        let over = spokenOf
        if let first = ending.first {
            // Given up by an app that had not heard of the loss: the wish that stood is what it gives up, and ends by itself.
            if isWanted, let peripheral = first.peripheral {
                ending[0] = .wanted(peripheral)
            } else {
                ending.removeFirst()
            }
        } else {
            switch over {
            case .open(let peripheral, _, let isAskedAgain) where isWanted || isAskedAgain:
                connection = .wanted(peripheral)
            case .wanted where isWanted: break
            case .none, .wanted, .open: connection = .none
            }
        }
        // A wish for a connection that is withdrawn ends no link.
        guard case .open(_, let isBonded, _) = over else { return }
        if isBonded {
            if case .checked(let database) = tree { tree = .kept(database) }
        } else {
            // A stranger forgets its subscribers with the link, and may come back with another tree.
            tree = .unknown
            subscriptions = []
        }
    }
}

// MARK: The tree

extension PeerSession {
    /// Takes the tree that the host keeps as the one that the peer has, until the peer says otherwise.
    private mutating func keep(_ database: RemoteDatabase) {
        switch tree {
        case .unknown, .kept: tree = .kept(database)
        case .checked: tree = .checked(database)
        case .changed: tree = .changed(database)
        }
    }

    private mutating func invalidate(_ range: ClosedRange<AttributeHandle>, _ outputs: inout [Output]) {
        var left = tree.database ?? RemoteDatabase()
        left.invalidate(range)
        tree = .changed(left)
        subscriptions = subscriptions.filter { !range.contains($0) }
        // What is kept is void; an empty tree is none.
        outputs.append(.keep(RemoteDatabase()))
    }

    /// Service Changed, or the Database Hash that the host reads once a bonded peer has proved itself, says when a kept tree
    /// is void; a stranger's may have changed with every connection.
    private mutating func discover(
        _ filter: PeripheralCall.Filter, _ isBonded: Bool?, _ kept: RemoteDatabase?, _ outputs: inout [Output]
    ) {
        guard let isBonded else { return finish(.discoverServices(filter), .failure(.notConnected), &outputs) }
        switch tree {
        case .checked(let database) where !database.services.isEmpty: show(database, filter, &outputs)
        case .checked, .changed: begin(.discoverServices(filter), nil, &outputs)
        case .unknown, .kept:
            guard let known = tree.database ?? kept, !known.services.isEmpty else {
                return begin(.discoverServices(filter), nil, &outputs)
            }
            if isBonded {
                tree = .kept(known)
                show(known, filter, &outputs)
            } else if known.hash != nil {
                outputs.append(.ask(.perform(.readByUUID(.databaseHash)), .databaseHash(of: known, filter)))
            } else {
                begin(.discoverServices(filter), nil, &outputs)
            }
        }
    }

    /// The peer has this tree now. It is asked to tell of changes: a server without a bond forgot with the last link that
    /// it was.
    private mutating func adopt(
        _ database: RemoteDatabase, _ filter: PeripheralCall.Filter, _ outputs: inout [Output]
    ) {
        tree = .checked(database)
        outputs.append(.keep(database))
        show(database, filter, &outputs)
        // Core 5.4, Vol 3, Part G, 7.1 (Service Changed)
        guard let changed = database.gattServiceCharacteristic(.serviceChanged),
            let configuration = changed.configuration
        else { return }
        outputs.append(
            .ask(.setNotify(value: changed.value, configuration: configuration, .indicate), .serviceChanged))
    }

    private func show(_ database: RemoteDatabase, _ filter: PeripheralCall.Filter, _ outputs: inout [Output]) {
        outputs.append(.tell(.tree(.services(.success(database.services), filter))))
    }
}

// MARK: Calls

extension PeerSession {
    /// The whole tree is discovered at once and kept: what is inside a service is known when the service is.
    private mutating func begin(_ call: PeripheralCall, _ peripheral: CBPeripheral?, _ outputs: inout [Output]) {
        let database = tree.database
        switch call {
        case .discoverIncludedServices(let service, let filter):
            let known = service.peripheral === peripheral ? database?.known(service) : nil
            let included = known?.includedServices.filter { filter?.contains($0.uuid) ?? true }.map { include in
                database?.service(at: include.declaration)
                    ?? RemoteService(
                        uuid: include.uuid, isPrimary: false, declaration: include.declaration, end: include.end)
            }
            outputs.append(.tell(.tree(.includedServices(service, found(included), filter))))
        case .discoverCharacteristics(let service, let filter):
            let known = service.peripheral === peripheral ? database?.known(service) : nil
            let found = found(known?.characteristics.filter { filter?.contains($0.uuid) ?? true })
            outputs.append(.tell(.tree(.characteristics(service, found, filter, subscribed: subscriptions))))
        case .discoverDescriptors(let characteristic):
            let found = found(database?.known(characteristic)?.descriptors)
            outputs.append(.tell(.tree(.descriptors(characteristic, found))))
        case .discoverServices, .read, .readDescriptor, .write, .writeWithoutResponse, .signedWrite, .datedWrite,
            .writeDescriptor, .setNotify, .readRSSI, .openChannel:
            if let request = call.request(in: database) {
                outputs.append(.ask(request, .call(call)))
            } else {
                end(call, nil, nothingThere, &outputs)
            }
        }
    }

    private func found<Attribute>(_ attributes: [Attribute]?) -> Result<[Attribute], any Error> {
        attributes.map { .success($0) } ?? .failure(nothingThere)
    }

    /// Why an attribute is not in the tree. A stranger's tree goes with its link, and the app may not have heard of the end yet.
    private var nothingThere: any Error {
        if case .open = connection { CBError(.invalidHandle) } else { CBError(.notConnected) }
    }

    private mutating func finish(
        _ purpose: Purpose, _ result: Result<OperationValue, HostError>, _ outputs: inout [Output]
    ) {
        switch purpose {
        case .call(let call): finish(call, result, &outputs)
        case .databaseHash(let kept, let filter):
            switch result {
            case .success(.gatt(.values(let hashes))) where hashes.first?.value == kept.hash:
                adopt(kept, filter, &outputs)
            // Asked anew, it would end behind the connection.
            case .failure(let error) where error.isEndOfLink:
                end(.discoverServices(filter), nil, appleError(error), &outputs)
            case .success, .failure: begin(.discoverServices(filter), nil, &outputs)
            }
        case .serviceChanged: break
        }
    }

    private mutating func finish(
        _ call: PeripheralCall, _ result: Result<OperationValue, HostError>, _ outputs: inout [Output]
    ) {
        switch result {
        case .success(let value): end(call, value, nil, &outputs)
        case .failure(let error): end(call, nil, appleError(error), &outputs)
        }
    }

    /// A call's one end.
    private mutating func end(
        _ call: PeripheralCall, _ value: OperationValue?, _ error: (any Error)?, _ outputs: inout [Output]
    ) {
        var octets: [UInt8]?
        if case .gatt(.value(let read)) = value { octets = read }
        switch call {
        case .discoverServices(let filter):
            if case .gatt(.database(let database)) = value { return adopt(database, filter, &outputs) }
            outputs.append(.tell(.tree(.services(.failure(error ?? CBError(.unknown)), filter))))
        case .read(let characteristic): outputs.append(.tell(.value(.read(characteristic, octets, error))))
        case .readDescriptor(let descriptor):
            outputs.append(.tell(.value(.readDescriptor(descriptor, octets, error))))
        case .write(let characteristic, _): outputs.append(.tell(.value(.wrote(characteristic, error))))
        case .writeDescriptor(let descriptor, _):
            outputs.append(.tell(.value(.wroteDescriptor(descriptor, error))))
        case .writeWithoutResponse: outputs.append(.commandEnded)
        case .signedWrite(let characteristic, _):
            var counter: UInt32?
            if case .signed(let used) = value { counter = used }
            outputs.append(.tell(.link(.signed(characteristic, counter: counter, error))))
        case .datedWrite:
            // Else it is on its way, and may still come too late.
            if error != nil { outputs.append(.tell(.link(.notWritten(.refused)))) }
        case .setNotify(let characteristic, let isEnabled):
            if error == nil, let handle = characteristic.handles?.value {
                if isEnabled { subscriptions.insert(handle) } else { subscriptions.remove(handle) }
            }
            outputs.append(.tell(.value(.notifying(characteristic, isEnabled, error))))
        case .readRSSI:
            var rssi = Self.unavailableRSSI
            if case .rssi(let read) = value { rssi = Int(read) }
            outputs.append(.tell(.value(.rssi(rssi, error))))
        case .openChannel: outputs.append(.tell(.channel(nil, error)))
        // Answered from what is known.
        case .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors: break
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.5.4 (Read RSSI command)
    private static var unavailableRSSI: Int { 127 }
}
