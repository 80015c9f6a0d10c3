import DBus

/// Whether the user of a machine is there, as logind has it.
package enum Presence: Hashable, Sendable {
    /// A session of theirs is the active one at this machine, it is not locked, and the lid is open.
    case here
    case lidClosed
    /// Every session of theirs that is active at this machine is locked.
    case locked
    /// None of theirs is active at this machine.
    case noSession
    /// Nobody could say.
    case unknown(reason: String)
}

/// Asks logind once whether a user is there.
///
/// - In: answers to its calls.
/// - Out: calls, and one word.
/// - Owner: whoever wants to know. Nothing is watched in between, so nothing wakes the machine.
///
/// systemd 252, org.freedesktop.login1(5)
package struct PresenceQuestion: Sendable {
    package enum Output: Equatable, Sendable {
        case act(DBusAct)
        /// Exactly once.
        case answered(Presence)
    }

    private enum Purpose {
        case lid
        case sessions
        case session
    }

    /// Sessions of one user that are looked at.
    static let sessionsMaximum = 16

    private static let service = "org.freedesktop.login1"
    private static let manager = "org.freedesktop.login1.Manager"
    private static let path = "/org/freedesktop/login1"

    private let user: UInt32
    private var calls = DBusCalls<Purpose>()
    private var isLidClosed = false
    private var isSomeLocked = false
    private var isSomeOpen = false
    private var hasAnswered = false

    /// `user`: by their number.
    package init(user: UInt32) { self.user = user }

    package mutating func begin(into outputs: inout [Output]) {
        call(Self.path, DBusName.properties, "Get", [.string(Self.manager), .string("LidClosed")], for: .lid, &outputs)
        call(Self.path, Self.manager, "ListSessions", for: .sessions, &outputs)
    }

    package mutating func answered(
        _ call: DBusCallID, _ result: Result<[DBusValue], DBusError>, into outputs: inout [Output]
    ) {
        guard let purpose = calls.take(call), !hasAnswered else { return }
        switch (purpose, result) {
        case (.lid, .success(let body)):
            // A machine without a lid says that it is open.
            guard case .variant(.boolean(let isClosed))? = body.first else { return end(Self.unreadable, &outputs) }
            isLidClosed = isClosed
        case (.sessions, .success(let body)):
            guard case .array(_, let sessions)? = body.first else { return end(Self.unreadable, &outputs) }
            ask(of: sessions, &outputs)
        case (.session, .success(let body)):
            guard let session = body.first?.properties else { return end(Self.unreadable, &outputs) }
            look(at: session)
        // One that has ended meanwhile is no session.
        case (.session, .failure): break
        case (.lid, .failure(let error)), (.sessions, .failure(let error)):
            return end(.unknown(reason: "logind: \(error.text.isEmpty ? error.name : error.text)"), &outputs)
        }
        if calls.isEmpty { end(verdict, &outputs) }
    }

    private mutating func ask(of sessions: [DBusValue], _ outputs: inout [Output]) {
        let own = sessions.compactMap { session -> String? in
            guard case .structure(let fields) = session, fields.count == 5, fields[1].integer() == user else {
                return nil
            }
            return fields[4].text
        }
        for path in own.prefix(Self.sessionsMaximum) {
            call(
                path, DBusName.properties, "GetAll", [.string("org.freedesktop.login1.Session")], for: .session,
                &outputs)
        }
    }

    /// Somebody who has come in over a network is elsewhere.
    private mutating func look(at session: [String: DBusValue]) {
        guard session["Class"]?.text == "user", session["Active"]?.flag == true, session["Remote"]?.flag == false
        else { return }
        if session["LockedHint"]?.flag == false { isSomeOpen = true } else { isSomeLocked = true }
    }

    private var verdict: Presence {
        if isLidClosed { return .lidClosed }
        if isSomeOpen { return .here }
        return isSomeLocked ? .locked : .noSession
    }

    private static let unreadable = Presence.unknown(reason: "logind has said what nobody can read")

    private mutating func end(_ presence: Presence, _ outputs: inout [Output]) {
        hasAnswered = true
        calls.forgetAll()
        outputs.append(.answered(presence))
    }

    private mutating func call(
        _ path: String, _ interface: String, _ member: String, _ body: [DBusValue] = [], for purpose: Purpose,
        _ outputs: inout [Output]
    ) {
        let call = DBusCall(to: Self.service, path: path, interface: interface, member: member, body: body)
        outputs.append(.act(calls.make(call, for: purpose)))
    }
}
