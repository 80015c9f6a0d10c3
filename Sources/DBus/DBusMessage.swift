/// What comes from the bus.
///
/// D-Bus Specification, Message Protocol
package struct DBusMessage: Hashable, Sendable {
    /// The unique name of the connection that sent it, as the bus has it: nobody can have another one's.
    package var sender: String
    package var path: String
    package var interface: String
    package var member: String
    package var body: [DBusValue]

    package init(sender: String, path: String, interface: String, member: String, body: [DBusValue] = []) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.body = body
    }
}

/// A method that this side calls.
package struct DBusCall: Hashable, Sendable {
    package var destination: String
    package var path: String
    package var interface: String
    package var member: String
    package var body: [DBusValue]

    package init(
        to destination: String, path: String, interface: String, member: String, body: [DBusValue] = []
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.member = member
        self.body = body
    }
}

/// Names one call of this side, for its answer.
package struct DBusCallID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Names one call of somebody else's, for this side's answer.
package struct DBusRequestID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Why a call was not done.
package struct DBusError: Error, Hashable, Sendable {
    /// As `org.bluez.Error.Failed`.
    package var name: String
    package var text: String

    package init(name: String, text: String = "") {
        self.name = name
        self.text = text
    }
}

/// What the bus tells this side.
package enum DBusEvent: Hashable, Sendable {
    /// There is a connection, of this unique name. Matches are in place.
    case opened
    /// There is none any more: what was called has no answer.
    case closed
    case signal(DBusMessage)
    case called(DBusRequestID, DBusMessage)
    case answered(DBusCallID, Result<[DBusValue], DBusError>)
}

/// What this side tells the bus.
package enum DBusAct: Hashable, Sendable {
    case call(DBusCallID, DBusCall)
    case answer(DBusRequestID, [DBusValue])
    case refuse(DBusRequestID, DBusError)
}
