import BluetoothCore
import BluetoothHost

/// An update that an app made, as the host is to send it.
struct ValueUpdate: Sendable {
    var handle: AttributeHandle
    var value: [UInt8]
    /// For whom; nil is for every subscriber.
    var recipients: [UpdateRecipient]?
    var keepForAbsent: Bool
    /// Much, and in no hurry.
    var isBulk = false
}

/// Updates that were taken and that the host had no room for. Each central gets its own in their order; one that has no
/// room holds up what is for it, and nothing that is for others alone.
struct WaitingUpdates: Sendable {
    private var updates: [ValueUpdate] = []

    var isEmpty: Bool { updates.isEmpty }
    var count: Int { updates.count }

    mutating func append(_ update: ValueUpdate) { updates.append(update) }

    /// Says how many there were.
    mutating func removeAll(where isMeant: (ValueUpdate) -> Bool) -> Int {
        let before = updates.count
        updates.removeAll(where: isMeant)
        return before - updates.count
    }

    /// Hands over, in their order, what `send` takes; false says that there is no room for one of those whom it is for.
    /// Returns how many went.
    mutating func send(_ send: (ValueUpdate) -> Bool) -> Int {
        var isFull: Set<UpdateRecipient> = []
        var kept: [ValueUpdate] = []
        for (position, update) in updates.enumerated() {
            guard let recipients = update.recipients else {
                if kept.isEmpty, send(update) { continue }
                // It is for everybody: what comes behind it is for somebody who waits.
                kept += updates[position...]
                break
            }
            if isFull.isDisjoint(with: recipients), send(update) { continue }
            isFull.formUnion(recipients)
            kept.append(update)
        }
        defer { updates = kept }
        return updates.count - kept.count
    }
}
