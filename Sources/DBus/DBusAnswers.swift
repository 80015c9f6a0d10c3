/// Whose messages count. A reply names the call that it answers by a number, which anybody on the bus may guess: some buses let through
/// what nobody has asked for. So a call is answered by the connection that it went to, by a unique name that nobody else can have, or
/// refused by the bus itself. Signals and calls are heard from those alone that this side has called: anybody may send some to this connection.
///
/// - In: what is sent, by the bus's numbers for it; the senders of what comes; the owners of names.
/// - Out: which call is answered, who is heard, and what is to be sent so that owners are known.
/// - Owner: a connection to a bus. It forgets everything with it.
///
/// D-Bus Specification, Message Protocol, Header Fields (REPLY_SERIAL, SENDER); Message Bus Names
package struct DBusAnswers: Sendable {
    /// What a message that was sent is for.
    package enum Purpose: Hashable, Sendable {
        case call(DBusCallID)
        /// Of a well-known name that is called.
        case owner(of: String)
    }

    private struct Awaited {
        var purpose: Purpose
        var destination: String
        /// Who has had the well-known name since, last: a name may go to somebody else while its former owner is at the answer.
        var owners: [String] = []

        mutating func mayBeAnswered(by owner: String) {
            guard !owner.isEmpty else { return }
            owners.append(owner)
            owners.removeFirst(max(0, owners.count - DBusAnswers.ownersMaximum))
        }
    }

    /// Owners of one name that may still answer one call.
    package static let ownersMaximum = 4
    /// Connections that are heard since they were called by their own names.
    package static let calledMaximum = 8

    private var awaited: [UInt64: Awaited] = [:]
    /// Of the well-known names that were called; empty, as the bus says it, for one that nobody has as far as is known.
    private var owners: [String: String] = [:]
    /// Unique names that were called, the last one at the end. A bus gives none of them twice.
    private var called: [String] = []

    package init() {}

    /// What is to be sent before the first call to a name, in this order. The bus answers it before any owner of the name can answer the
    /// call, so that nobody waits for it. The first has no answer that matters; the second is sent for ``Purpose/owner(of:)``.
    package mutating func prelude(to destination: String) -> (match: DBusCall, owner: DBusCall)? {
        guard !Self.isKnown(destination), owners[destination] == nil else { return nil }
        owners[destination] = ""
        func bus(_ member: String, _ text: String) -> DBusCall {
            DBusCall(
                to: DBusName.bus, path: DBusName.busPath, interface: DBusName.bus, member: member,
                body: [.string(text)])
        }
        return (bus("AddMatch", DBusName.ownerMatch(destination)), bus("GetNameOwner", destination))
    }

    /// Those that need no owner: a connection's own, and the bus's.
    private static func isKnown(_ name: String) -> Bool { isUnique(name) || name == DBusName.bus }

    private static func isUnique(_ name: String) -> Bool { name.hasPrefix(":") }

    /// Whether a signal or a call of this connection is to be looked into: it is the bus, or this side has called it, by its own name or by
    /// one that it owns.
    package func hears(_ sender: String) -> Bool {
        guard !sender.isEmpty else { return false }
        return sender == DBusName.bus || called.contains(sender) || owners.values.contains(sender)
    }

    private mutating func hear(_ destination: String) {
        guard Self.isUnique(destination), called.last != destination else { return }
        called.removeAll { $0 == destination }
        called.append(destination)
        called.removeFirst(max(0, called.count - Self.calledMaximum))
    }

    package mutating func sent(_ number: UInt64, for purpose: Purpose, to destination: String) {
        var call = Awaited(purpose: purpose, destination: destination)
        if let owner = owners[destination] { call.mayBeAnswered(by: owner) }
        awaited[number] = call
        hear(destination)
    }

    /// The purpose of what is answered; nil for what nobody waits for, and for the answer of somebody else. Then its call goes on waiting.
    package mutating func take(_ number: UInt64, from sender: String, isError: Bool) -> Purpose? {
        guard let call = awaited[number], mayAnswer(call, sender, isError: isError) else { return nil }
        awaited[number] = nil
        return call.purpose
    }

    private func mayAnswer(_ call: Awaited, _ sender: String, isError: Bool) -> Bool {
        if sender == DBusName.bus { return isError || call.destination == DBusName.bus }
        return Self.isKnown(call.destination) ? sender == call.destination : call.owners.contains(sender)
    }

    /// By the answer to ``Purpose/owner(of:)``, or by ``heard(_:)``. Empty: nobody.
    package mutating func owner(of name: String, is owner: String) {
        guard owners[name] != nil else { return }
        owners[name] = owner
        for number in awaited.keys where awaited[number]?.destination == name {
            awaited[number]?.mayBeAnswered(by: owner)
        }
    }

    /// D-Bus Specification, org.freedesktop.DBus.NameOwnerChanged
    package mutating func heard(_ signal: DBusMessage) {
        guard signal.sender == DBusName.bus, signal.interface == DBusName.bus, signal.member == "NameOwnerChanged",
            signal.body.count == 3, let name = signal.body[0].text, let new = signal.body[2].text
        else { return }
        owner(of: name, is: new)
    }
}
