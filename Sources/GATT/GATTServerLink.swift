import ATT
import BluetoothCore

/// What the server keeps of one link: who the client is, what it wrote that must not last, whether it knows the tree,
/// the request that waits for the app, and what it prepared to write.
struct GATTServerLink: Sendable {
    /// A resolved address says who the client claims to be; encryption with the bond's key proves it.
    enum Client: Sendable {
        case stranger
        case resolved(bond: UInt64)
        case proven(bond: UInt64)
    }

    /// Core 5.4, Vol 3, Part G, 2.5.2.1 (Robust Caching)
    enum Awareness: Sendable {
        case aware
        case unaware
        /// Told of the change by an error or by the Database Hash: its next request shows that it knows.
        case informed
    }

    enum Reading: Sendable {
        case one(ATTOpcode)
        case multiple(handles: [AttributeHandle], index: Int, answer: MultipleAnswer)
    }

    /// The request that waits for the app.
    enum Pending: Sendable {
        case read(GATTRequestID, AttributeHandle, Reading)
        case write(GATTRequestID, AttributeHandle, ATTOpcode)
    }

    private(set) var client = Client.stranger
    private(set) var awareness = Awareness.aware
    var pending: Pending?
    var prepared = PreparedWrites()
    /// Where the answers lie that are sent without end.
    var pdus = RecycledOctets()
    /// CCC values written on this link that may not last.
    private var overlay: [AttributeHandle: ClientCharacteristicConfiguration] = [:]
    private var overlayFeatures: [UInt8]?
}

// MARK: - Identity

extension GATTServerLink {
    /// A client that only resolves borrows what its bond remembers and changes nothing of it. One that proves itself has
    /// it, in place of what it wrote before; a bond made on this very link keeps what was written on it, for the link.
    ///
    /// True when Service Changed is owed to it.
    mutating func identify(
        bond: UInt64, proven: Bool, server: inout GATTServer, outputs: inout [GATTOutput]
    ) -> Bool {
        let before = activeSubscriptions(server)
        client = proven ? .proven(bond: bond) : .resolved(bond: bond)
        let record = server.records[bond]
        if let known = record?.awareDatabaseHash {
            awareness = known == server.databaseHash ? .aware : .unaware
        }
        guard proven else {
            announceChanges(since: before, server, &outputs)
            return false
        }
        if record != nil {
            overlay = [:]
            overlayFeatures = nil
        }
        if record?.awareDatabaseHash == nil, case .aware = awareness { becomeAware(&server, &outputs) }
        announceChanges(since: before, server, &outputs)
        if case .unaware = awareness { return true }
        return false
    }

    /// The subscriptions that drive traffic on this link, by value handle. On a link that only resolves those are the
    /// ones that anybody may have.
    private func activeSubscriptions(_ server: GATTServer) -> [AttributeHandle: ClientCharacteristicConfiguration] {
        var all = durableRecord(server)?.configurations ?? [:]
        all.merge(overlay) { _, written in written }
        var byValue: [AttributeHandle: ClientCharacteristicConfiguration] = [:]
        for (handle, value) in all where !value.isEmpty {
            guard case .configuration(let valueHandle) = server.database[handle]?.content else { continue }
            if isUnproven, server.database[valueHandle]?.access.subscribe != .open { continue }
            byValue[valueHandle] = value
        }
        return byValue
    }

    private func announceChanges(
        since before: [AttributeHandle: ClientCharacteristicConfiguration], _ server: GATTServer,
        _ outputs: inout [GATTOutput]
    ) {
        let now = activeSubscriptions(server)
        for handle in Set(before.keys).union(now.keys).sorted() where before[handle] != now[handle] {
            outputs.append(.subscriptionChanged(handle, now[handle] ?? []))
        }
    }

    /// What the bond remembers, as far as this link may see it.
    private func durableRecord(_ server: GATTServer) -> GATTClientRecord? {
        switch client {
        case .stranger: nil
        case .resolved(let bond), .proven(let bond): server.records[bond]
        }
    }

    var isUnproven: Bool {
        if case .resolved = client { return true }
        return false
    }
}

// MARK: - Client Characteristic Configuration and Client Supported Features

extension GATTServerLink {
    /// The value of a CCC descriptor as it counts on this link.
    func configuration(at handle: AttributeHandle, _ server: GATTServer) -> ClientCharacteristicConfiguration {
        overlay[handle] ?? durableRecord(server)?.configurations[handle] ?? []
    }

    func supportedFeatures(_ server: GATTServer) -> [UInt8] {
        let features = overlayFeatures ?? durableRecord(server)?.supportedFeatures ?? []
        return features.isEmpty ? [0] : features
    }

    /// Durable before it is answered if the link has proven itself, else for this link only.
    mutating func configure(
        _ handle: AttributeHandle, _ value: ClientCharacteristicConfiguration, _ server: inout GATTServer,
        _ outputs: inout [GATTOutput]
    ) {
        guard case .proven(let bond) = client else {
            overlay[handle] = value
            return
        }
        overlay[handle] = nil
        guard server.records[bond]?.configurations[handle] ?? [] != value else { return }
        server.remember(
            .clientCharacteristicConfiguration(bond: bond, handle: handle, value: value), &outputs)
    }

    mutating func setSupportedFeatures(
        _ features: [UInt8], _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) {
        guard case .proven(let bond) = client else {
            overlayFeatures = features
            return
        }
        overlayFeatures = nil
        server.remember(.clientSupportedFeatures(bond: bond, value: features), &outputs)
    }
}

// MARK: - Robust caching

/// Core 5.4, Vol 3, Part G, 7.2 (Client Supported Features)
package enum ClientSupportedFeature {
    package static let robustCaching: UInt8 = 0x01
    package static let multipleHandleValueNotifications: UInt8 = 0x04
    static let all = robustCaching | multipleHandleValueNotifications
}

extension GATTServerLink {
    /// The client wants to be kept from acting on a tree that it does not know, and does not know this one.
    func isOutOfSync(_ server: GATTServer) -> Bool {
        if case .aware = awareness { return false }
        return (supportedFeatures(server).first ?? 0) & ClientSupportedFeature.robustCaching != 0
    }

    mutating func databaseChanged(_ range: ClosedRange<AttributeHandle>) {
        awareness = .unaware
        prepared.databaseChanged()
        overlay = overlay.filter { !range.contains($0.key) }
    }

    /// Whatever request comes after the client was informed shows that it knows.
    mutating func noteRequest(_ server: inout GATTServer, _ outputs: inout [GATTOutput]) {
        if case .informed = awareness { becomeAware(&server, &outputs) }
    }

    mutating func inform() {
        if case .unaware = awareness { awareness = .informed }
    }

    /// The client confirmed that it was told of the tree with this hash.
    mutating func confirmServiceChanged(
        _ hash: [UInt8], _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) {
        if hash == server.databaseHash { becomeAware(&server, &outputs) }
    }

    private mutating func becomeAware(_ server: inout GATTServer, _ outputs: inout [GATTOutput]) {
        awareness = .aware
        guard case .proven(let bond) = client, server.records[bond]?.awareDatabaseHash != server.databaseHash else {
            return
        }
        server.remember(.changeAware(bond: bond, databaseHash: server.databaseHash), &outputs)
    }
}
