import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import L2CAP

/// What this side's managers want of the server at one link's other end.
///
/// - In: operations as they begin and end, and what is refused for want of security.
/// - Out: who has an answer, and what else follows from it (``Conclusion``).
/// - Owner: the link. Operations end with it, whatever they wait for.
struct ClientSession {
    /// Operations and channels of one link that may wait for security.
    static let awaitingSecurityMaximum = 64

    /// What the end of an operation leads to.
    struct Conclusion: Equatable {
        enum Consequence: Equatable {
            case none
            /// To be kept, and live again after a relaunch.
            case subscriptionChanged(ManagerID, SubscriptionChange)
            /// What the peer says that its tree is, if it says anything.
            case databaseHash([UInt8]?)
            /// The tree is not the one that this side knows.
            case treeVoid
            /// What the peer calls itself.
            case name([UInt8])
        }

        /// Who hears of the result; nobody of the host's own operations.
        var manager: ManagerID?
        var token: OperationToken
        var consequence = Consequence.none
    }

    /// The managers whose connection this link is, whichever side made it. Who takes it back leaves, and hears no more of
    /// the link. Nobody's, as long as it is the peer's and may be an impostor's.
    var users: Set<RestorationLedger.Owner> = []
    /// Those of them that have asked for a connection since this side began to end the link.
    var askingAnew: Set<RestorationLedger.Owner> = []
    /// In the order in which they began, which is mostly that in which they end. As many as GATT's client lets wait.
    private var underWay: [SecuredOperation] = []
    /// Refused for want of security: they run again when the link is as secure as it is going to be.
    private var awaitingSecurity: [RefusedRequest] = []

    /// What somebody took who has not proved to be the bonded peer of that name: who changed what, the first first, and no more than the
    /// last change of each value.
    private var unprovenChanges: [(owner: RestorationLedger.Owner, change: SubscriptionChange)] = []

    private var isNameAsked = false

    /// Whether the peer has not been asked for its name on this link; it is from now on.
    mutating func takeNameReading() -> Bool {
        defer { isNameAsked = true }
        return !isNameAsked
    }

    var isAwaitingSecurity: Bool { !awaitingSecurity.isEmpty }
    var hasRoomToAwaitSecurity: Bool { awaitingSecurity.count < Self.awaitingSecurityMaximum }

    mutating func begin(_ operation: SecuredOperation) { underWay.append(operation) }

    func isUnderWay(_ token: OperationToken) -> Bool { underWay.contains { $0.token == token } }

    /// nil for what has ended already.
    mutating func take(_ token: OperationToken) -> SecuredOperation? {
        underWay.firstIndex { $0.token == token }.map { underWay.remove(at: $0) }
    }

    /// Whatever has not ended: the link has.
    mutating func takeAll() -> [SecuredOperation] {
        defer { underWay = [] }
        return underWay
    }

    /// A manager gives the connection up: what it has asked for is over for it. Says what it is to hear of.
    mutating func abandon(_ manager: ManagerID) -> [OperationToken] {
        var tokens: [OperationToken] = []
        for index in underWay.indices where underWay[index].asker == manager && !underWay[index].isAbandoned {
            underWay[index].isAbandoned = true
            tokens.append(underWay[index].token)
        }
        awaitingSecurity.removeAll { waiting in
            guard case .operation(let operation, _) = waiting, operation.asker == manager else { return false }
            tokens.append(operation.token)
            return true
        }
        return tokens
    }

    /// The same for channels: those that wait for security.
    mutating func abandonOpenings(of manager: ManagerID) -> [ChannelNumber] {
        var numbers: [ChannelNumber] = []
        awaitingSecurity.removeAll { waiting in
            guard case .channel(let number, let owner, _) = waiting, owner.manager == manager else { return false }
            numbers.append(number)
            return true
        }
        return numbers
    }

    mutating func awaitSecurity(_ refused: RefusedRequest) { awaitingSecurity.append(refused) }

    mutating func hold(_ change: SubscriptionChange, of owner: RestorationLedger.Owner) {
        unprovenChanges.removeAll { $0.owner == owner && $0.change.value == change.value }
        unprovenChanges.append((owner, change))
    }

    /// The peer has proved itself: it was the peer that took them.
    mutating func takeUnprovenChanges() -> [(owner: RestorationLedger.Owner, change: SubscriptionChange)] {
        defer { unprovenChanges = [] }
        return unprovenChanges
    }

    /// The last that a manager has asked for at a value on this link, and that is not kept yet; the peer takes them in their order.
    func lastChange(
        of value: AttributeHandle, by manager: ManagerID?, _ owner: RestorationLedger.Owner
    ) -> SubscriptionChange? {
        underWay.last { $0.asker == manager && $0.subscriptionChange?.value == value }?.subscriptionChange
            ?? unprovenChanges.last { $0.owner == owner && $0.change.value == value }?.change
    }

    /// Each is asked once more, and no oftener.
    mutating func takeAwaitingSecurity() -> [RefusedRequest] {
        defer { awaitingSecurity = [] }
        return awaitingSecurity.map(\.retried)
    }
}

extension SecuredOperation {
    /// The manager that hears of its end; nil for the host's own.
    var asker: ManagerID? {
        switch origin {
        case .procedure(let manager, _), .signedWrite(let manager, _), .changeSubscription(let manager, _, _): manager
        case .exchangeMTU, .readDatabaseHash, .claimFeatures, .readName: nil
        }
    }

    fileprivate var subscriptionChange: SubscriptionChange? {
        if case .changeSubscription(_, _, let change) = origin { change } else { nil }
    }

    func conclusion(_ result: Result<GATTClientResult, GATTClientError>) -> ClientSession.Conclusion {
        var conclusion = ClientSession.Conclusion(token: token)
        switch (origin, result) {
        case (.procedure(let manager, let token), _), (.signedWrite(let manager, let token), _),
            (.changeSubscription(let manager, let token, _), .failure):
            conclusion.manager = manager
            conclusion.token = token
        case (.changeSubscription(let manager, let token, let change), .success):
            conclusion = .init(manager: manager, token: token, consequence: .subscriptionChanged(manager, change))
        case (.readDatabaseHash, .success(.values(let values))):
            conclusion.consequence = .databaseHash(values.first?.value)
        // What was agreed is said when it is; a peer that refuses keeps the default.
        case (.readName, .success(.values(let values))):
            if let name = values.first?.value { conclusion.consequence = .name(name) }
        case (.exchangeMTU, _), (.readDatabaseHash, _), (.claimFeatures, _), (.readName, _): break
        }
        if case .failure(.refused(.databaseOutOfSync, _)) = result { conclusion.consequence = .treeVoid }
        if isAbandoned { conclusion.manager = nil }
        return conclusion
    }

    /// When the MTU is exchanged that a link owes before or with its first operation.
    enum MTUExchange { case before, behind, notYet }

    /// Before an operation that needs larger PDUs, or behind one that does not: its user does not wait for an exchange then. A
    /// command that is signed needs no second packet at all.
    func mtuExchange(defaultMTU: Int) -> MTUExchange {
        guard operation.fits(mtu: defaultMTU) else { return .before }
        if case .signedWriteWithoutResponse = operation { return .notYet }
        return .behind
    }
}

extension GATTClientOperation {
    /// Whether it goes in PDUs of this size as it goes in larger ones. A value that is read may be longer than it is expected
    /// to be; it is read on then.
    fileprivate func fits(mtu: Int) -> Bool {
        switch self {
        case .read, .configure, .exchangeMTU: true
        case .write(_, let value), .writeWithoutResponse(_, let value):
            value.count <= mtu - HostCore.valueHeaderOctets
        case .signedWriteWithoutResponse(_, let value):
            value.count
                <= mtu - HostCore.valueHeaderOctets - DataSigning.signCounterOctets - DataSigning.signatureOctets
        case .discoverDatabase, .discoverPrimaryServices, .discoverPrimaryServicesByUUID, .findIncludedServices,
            .discoverCharacteristics, .discoverDescriptors, .readByUUID, .readMultiple, .readMultipleVariable,
            .writeLong, .reliableWrites:
            false
        }
    }
}
