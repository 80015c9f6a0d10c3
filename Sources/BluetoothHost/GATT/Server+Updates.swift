import BluetoothCore
import GATT
import SecurityManager

/// Updates of values: a notification or an indication, as each client wants it. What is to be kept for bonded clients is kept
/// in the restoration ledger first, also for those who are here. It goes out of there one by one: only the controller's completion of
/// a notification, or the client's confirmation of an indication, says that the client has it.
extension Server {
    /// The room that a link has for updates at this moment.
    struct Room {
        let link: LinkID
        /// Its queue at the controller.
        let hasOctets: Bool
        /// The bearer's queue of indications.
        let hasIndications: Bool
        /// The ledger's queue for the bond that the link has proved: full, it lets go of its oldest for one more.
        let hasKept: Bool
    }

    /// A link that an update may be for.
    struct Client {
        /// The bond that it has proved; a link that merely resolves to a bond is not that bond's owner, and takes nothing from it.
        let bond: BondID?
        /// What it wants to be told of the characteristic.
        let wanted: ClientCharacteristicConfiguration
        let room: Room

        var link: LinkID { room.link }
    }

    /// One update for one link's bearer.
    struct Update {
        let link: LinkID
        let handle: AttributeHandle
        let value: [UInt8]
        let isIndication: Bool
        /// The one of the ledger's queue that it is.
        let kept: (owner: Owner, sequence: UInt64)?

        /// An indication's: it comes back when the indication has ended. The ledger counts from one, and an update that is not
        /// kept is waited for by nobody.
        var token: UInt64 { kept?.sequence ?? 0 }
    }

    /// False when a client that wants it has no room: nobody is sent anything then, and ``Output/readyToUpdate`` comes when it
    /// has. With a keeper, the update is kept in that app's name for bonded subscribers: all, or those `among` these.
    mutating func updateValue(
        _ handle: AttributeHandle, _ value: [UInt8], keeper: Owner?, among bonds: Set<BondID>? = nil,
        for clients: [Client], into outputs: inout [Output]
    ) -> Bool {
        var isRefused = false
        for client in clients where !hasRoom(for: client, isKept: keeper != nil) {
            if let place = place(of: client.link) { sessions[place].isInTheWay = true }
            isRefused = true
        }
        guard !isRefused else { return false }
        let subscribers = keeper == nil ? [] : bondedSubscribers(of: handle)
        if let keeper {
            for (bond, wanted) in subscribers where bonds?.contains(bond) ?? true {
                outputs.append(.keep(keeper, bond, handle, value, isIndication: !wanted.contains(.notification)))
            }
        }
        for client in clients {
            if keeper != nil, let bond = client.bond, bonds?.contains(bond) ?? true, isSubscribed(bond, to: handle) {
                outputs.append(.deliver(client.link))
            } else if !client.wanted.isEmpty {
                outputs.append(.send(Update(client.link, handle, value, wanted: client.wanted, kept: nil)))
            }
        }
        return true
    }

    /// One whose client does not want it always has: nobody is kept from the news by somebody whom it does not concern.
    private func hasRoom(for client: Client, isKept: Bool) -> Bool {
        guard !client.wanted.isEmpty else { return true }
        guard client.room.hasOctets, client.wanted != .indication || client.room.hasIndications else { return false }
        return !isKept || hasRoomInQueue(client.room)
    }

    /// What waited for this client goes out one by one, and is as much as may wait: nothing of it gives way to what is new.
    private func hasRoomInQueue(_ room: Room) -> Bool {
        room.hasKept || place(of: room.link).map { !sessions[$0].isCatchingUp } ?? true
    }
}

// MARK: What is kept goes out

extension Server {
    /// Whether what waits for a link's client has to wait on.
    func hasWaitingUpdates(for link: LinkID) -> Bool { place(of: link).map { sessions[$0].hasWaitingUpdates } ?? false }

    mutating func offered(
        _ update: QueuedUpdate, _ owner: Owner, _ client: Client, into outputs: inout [Output]
    ) {
        guard let place = place(of: client.link), update.bond == client.bond,
            sessions[place].underWay[update.sequence] == nil
        else { return }
        guard client.room.hasOctets else { return sessions[place].hasWaitingUpdates = true }
        guard !client.wanted.isEmpty else { return outputs.append(.delivered(owner, sequence: update.sequence)) }
        sessions[place].underWay[update.sequence] = owner
        let kept = (owner, update.sequence)
        outputs.append(
            .send(Update(client.link, update.valueHandle, update.value, wanted: client.wanted, kept: kept)))
    }

    mutating func tried(
        _ link: LinkID, _ sequence: UInt64, _ outcome: GATTSendOutcome, into outputs: inout [Output]
    ) {
        guard let place = place(of: link), !outcome.isOnItsWay,
            let owner = sessions[place].underWay.removeValue(forKey: sequence)
        else { return }
        if outcome == .queueFull { sessions[place].hasWaitingUpdates = true }
        // Anything but these means later: the next time that this client proves itself.
        if outcome.isUnwanted { outputs.append(.delivered(owner, sequence: sequence)) }
    }

    mutating func indicationEnded(
        _ link: LinkID, _ token: UInt64, _ confirmed: Bool, into outputs: inout [Output]
    ) {
        guard let place = place(of: link), let owner = sessions[place].underWay.removeValue(forKey: token), confirmed
        else { return }
        outputs.append(.delivered(owner, sequence: token))
        if sessions[place].hasWaitingUpdates { outputs.append(.deliver(link)) }
    }
}

// MARK: Room

extension Server {
    /// Whether an app waits for a link's room.
    func isInTheWay(_ link: LinkID) -> Bool { place(of: link).map { sessions[$0].isInTheWay } ?? false }

    var isAnybodyInTheWay: Bool { sessions.contains { $0.isInTheWay } }

    /// Those that still have none stay in the way of their own updates alone.
    mutating func roomChanged(_ rooms: [Room], into outputs: inout [Output]) {
        var isNews = false
        for room in rooms where room.hasOctets && room.hasIndications && hasRoomInQueue(room) {
            guard let place = place(of: room.link), sessions[place].isInTheWay else { continue }
            sessions[place].isInTheWay = false
            isNews = true
        }
        if isNews { outputs.append(.readyToUpdate) }
    }
}

extension Server.Update {
    /// As the client wants it; one that wants both is notified.
    fileprivate init(
        _ link: LinkID, _ handle: AttributeHandle, _ value: [UInt8], wanted: ClientCharacteristicConfiguration,
        kept: (owner: Server.Owner, sequence: UInt64)?
    ) {
        self.init(
            link: link, handle: handle, value: value, isIndication: !wanted.contains(.notification), kept: kept)
    }
}

extension GATTSendOutcome {
    /// Sent, or in the link's own queue of indications.
    fileprivate var isOnItsWay: Bool { self == .sent || self == .queued }
    /// Nobody waits for it any more.
    fileprivate var isUnwanted: Bool { self == .notSubscribed || self == .invalidCharacteristic }
}
