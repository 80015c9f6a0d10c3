import DBus
import Testing

@testable import Desktop

@Suite("Whether somebody is there, as logind has it")
struct PresenceQuestionTests {
    private static let user: UInt32 = 1000

    /// A logind with these sessions, by path. nil: it refuses.
    private struct Logind {
        var isLidClosed: Bool? = false
        var sessions: [(user: UInt32, path: String, properties: [String: DBusValue]?)] = []

        func answer(_ call: DBusCall) -> Result<[DBusValue], DBusError> {
            let refusal = DBusError(name: "org.freedesktop.DBus.Error.ServiceUnknown", text: "no logind")
            switch (call.path, call.member) {
            case ("/org/freedesktop/login1", "Get"):
                return isLidClosed.map { .success([.variant(.boolean($0))]) } ?? .failure(refusal)
            case ("/org/freedesktop/login1", "ListSessions"):
                let rows = sessions.enumerated().map { number, session in
                    DBusValue.structure([
                        .string("\(number)"), .uint32(session.user), .string("anna"), .string("seat0"),
                        .objectPath(session.path),
                    ])
                }
                return .success([.array(of: "(susso)", rows)])
            default:
                guard let properties = sessions.first(where: { $0.path == call.path })?.properties else {
                    return .failure(refusal)
                }
                return .success([.properties(properties)])
            }
        }
    }

    private static func session(
        active: Bool = true, locked: Bool = false, remote: Bool = false, of kind: String = "user"
    ) -> [String: DBusValue] {
        [
            "Active": .boolean(active), "LockedHint": .boolean(locked), "Remote": .boolean(remote),
            "Class": .string(kind), "Type": .string("wayland"),
        ]
    }

    /// What it says, each of its calls answered in turn, the last one first where `reversed`.
    private func ask(_ logind: Logind, reversed: Bool = false) -> [Presence] {
        var question = PresenceQuestion(user: Self.user)
        var outputs: [PresenceQuestion.Output] = []
        var said: [Presence] = []
        question.begin(into: &outputs)
        while !outputs.isEmpty {
            switch reversed ? outputs.removeLast() : outputs.removeFirst() {
            case .answered(let presence): said.append(presence)
            case .act(.call(let id, let call)):
                #expect(call.destination == "org.freedesktop.login1")
                question.answered(id, logind.answer(call), into: &outputs)
                // Twice the same answer is once.
                question.answered(id, logind.answer(call), into: &outputs)
            case .act(let act): Issue.record("\(act)")
            }
        }
        return said
    }

    @Test("A session of theirs that is active, open and no guest's from afar counts; whatever the order of the answers")
    func here() {
        let cases: [(sessions: [[String: DBusValue]], Presence)] = [
            ([], .noSession), ([Self.session()], .here), ([Self.session(locked: true)], .locked),
            ([Self.session(active: false)], .noSession), ([Self.session(remote: true)], .noSession),
            ([Self.session(of: "greeter")], .noSession), ([[:]], .noSession),
            ([Self.session(locked: true), Self.session()], .here),
            ([Self.session(locked: true), Self.session(active: false)], .locked),
            ([["Active": .boolean(true), "Remote": .boolean(false), "Class": .string("user")]], .locked),
        ]
        for (sessions, presence) in cases {
            let rows = sessions.enumerated().map { (Self.user, "/session/\($0.offset)", Optional($0.element)) }
            for reversed in [false, true] {
                #expect(ask(Logind(sessions: rows), reversed: reversed) == [presence], "\(sessions)")
            }
        }
    }

    @Test("Another user's session is nobody's here")
    func others() {
        #expect(ask(Logind(sessions: [(1001, "/a", Self.session()), (0, "/b", Self.session())])) == [.noSession])
    }

    @Test("A closed lid counts whatever the session is")
    func lid() {
        let logind = Logind(isLidClosed: true, sessions: [(Self.user, "/a", Self.session())])
        #expect(ask(logind) == [.lidClosed])
    }

    @Test("Without logind nobody knows, and it is said why; a session that has ended meanwhile is none")
    func absent() {
        #expect(ask(Logind(isLidClosed: nil)) == [.unknown(reason: "logind: no logind")])
        #expect(ask(Logind(sessions: [(Self.user, "/gone", nil)])) == [.noSession])
    }

    @Test("What logind says that nobody can read is no presence")
    func unreadable() {
        for body in [[], [DBusValue.boolean(false)], [.variant(.string("no"))]] as [[DBusValue]] {
            var question = PresenceQuestion(user: Self.user)
            var outputs: [PresenceQuestion.Output] = []
            question.begin(into: &outputs)
            guard case .act(.call(let lid, _))? = outputs.first else {
                Issue.record("\(outputs)")
                return
            }
            outputs = []
            question.answered(lid, .success(body), into: &outputs)
            guard case .answered(.unknown)? = outputs.first else {
                Issue.record("\(body): \(outputs)")
                continue
            }
        }
    }

    @Test("So many sessions are looked at, and no more")
    func bound() {
        let rows = (0...PresenceQuestion.sessionsMaximum).map { number in
            // The last one alone is open.
            let isLast = number == PresenceQuestion.sessionsMaximum
            return (Self.user, "/session/\(number)", Optional(Self.session(locked: !isLast)))
        }
        #expect(ask(Logind(sessions: rows)) == [.locked])
        #expect(ask(Logind(sessions: Array(rows.dropFirst()))) == [.here])
    }
}
