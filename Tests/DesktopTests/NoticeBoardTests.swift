import BluetoothCore
import DBus
import Testing

@testable import Desktop

@Suite("Notices on a user's desktop")
struct NoticeBoardTests {
    private static let door = PeerIdentifier(bits: 1)
    private static let garage = PeerIdentifier(bits: 2)
    private static let service = ":1.7"

    /// A desktop that the test plays.
    private struct Desk {
        var board = NoticeBoard(staysOnBus: true)
        var now = Instant(nanoseconds: 0)
        /// Calls that wait for an answer.
        var calls: [(id: DBusCallID, call: DBusCall)] = []
        var said: [NoticeBoard.Output] = []

        mutating func put(_ event: NoticeBoard.Event) {
            var outputs: [NoticeBoard.Output] = []
            board.handle(event, now: now, into: &outputs)
            for output in outputs {
                if case .act(.call(let id, let call)) = output { calls.append((id, call)) } else { said.append(output) }
            }
        }

        /// The call of this name that waits, which is answered with this.
        @discardableResult
        mutating func answer(_ member: String, _ body: [DBusValue] = []) -> DBusCall? {
            guard let place = calls.firstIndex(where: { $0.call.member == member }) else {
                Issue.record("\(member) is not asked for, but \(calls.map(\.call.member))")
                return nil
            }
            let (id, call) = calls.remove(at: place)
            put(.bus(.answered(id, .success(body))))
            return call
        }

        mutating func refuse(_ member: String, _ text: String) {
            guard let place = calls.firstIndex(where: { $0.call.member == member }) else { return }
            put(.bus(.answered(calls.remove(at: place).id, .failure(DBusError(name: "e.r.r", text: text)))))
        }

        mutating func begin(_ capabilities: [String] = ["actions", "body", "body-markup"]) {
            put(.bus(.opened))
            answer("GetNameOwner", [.string(NoticeBoardTests.service)])
            answer("GetCapabilities", [.strings(capabilities)])
        }

        mutating func signal(_ member: String, _ body: [DBusValue], from sender: String = NoticeBoardTests.service) {
            put(
                .bus(
                    .signal(
                        DBusMessage(
                            sender: sender, path: "/org/freedesktop/Notifications",
                            interface: "org.freedesktop.Notifications", member: member, body: body))))
        }
    }

    /// Time passes, and the board is told at its deadline.
    private static func pass(_ milliseconds: UInt64, _ desk: inout Desk) {
        desk.now = desk.now.advanced(byMilliseconds: milliseconds)
        if let deadline = desk.board.deadline, deadline <= desk.now { desk.put(.timerFired) }
    }

    private static let late = "the desktop did not answer in time"

    private static func question(_ peer: PeerIdentifier = door, _ text: String = "Unlock it?") -> Notice {
        Notice(
            about: peer, title: "Front door", text: text, actions: [Notice.Action(name: "unlock", label: "Unlock")],
            milliseconds: 30_000)
    }

    @Test("It is shown once the service is known, and what the user chooses is told")
    func chosen() {
        var desk = Desk()
        #expect(!desk.board.isShowing)
        desk.put(.show(Self.question()))
        #expect(desk.board.isShowing && desk.calls.isEmpty)
        desk.begin()
        let call = desk.answer("Notify", [.uint32(5)])
        #expect(call?.destination == Self.service)
        #expect(call?.body.map(\.signature) == ["s", "u", "s", "s", "s", "as", "a{sv}", "i"])
        #expect(call?.body[1] == .uint32(0) && call?.body[3] == .string("Front door"))
        #expect(call?.body[5] == .strings(["unlock", "Unlock"]) && call?.body[7] == .int32(30_000))
        desk.signal("ActionInvoked", [.uint32(5), .string("unlock")])
        #expect(desk.said == [.chosen(Self.door, action: "unlock")] && !desk.board.isShowing)
        // What comes behind it is of nothing that is shown.
        desk.signal("NotificationClosed", [.uint32(5), .uint32(2)])
        #expect(desk.said.count == 1)
    }

    @Test("It names its application where the sender stays on the bus, and nowhere else", arguments: [true, false])
    func application(stays: Bool) {
        var desk = Desk(board: NoticeBoard(staysOnBus: stays))
        desk.put(.show(Self.question()))
        desk.begin()
        let hints = desk.answer("Notify", [.uint32(5)])?.body[6].properties
        #expect(hints?["desktop-entry"] == (stays ? .string("latch-central") : nil))
        #expect(hints?["category"] == .string("presence"))
    }

    @Test("A service that does not run is started, once")
    func started() {
        var desk = Desk()
        desk.put(.show(Self.question()))
        desk.put(.bus(.opened))
        desk.refuse("GetNameOwner", "no owner")
        desk.answer("StartServiceByName", [.uint32(1)])
        desk.answer("GetNameOwner", [.string(Self.service)])
        desk.answer("GetCapabilities", [.strings(["actions"])])
        desk.answer("Notify", [.uint32(5)])
        #expect(desk.said.isEmpty && desk.calls.isEmpty && desk.board.isShowing)
    }

    @Test("Who closes it, or lets its time pass, has not chosen")
    func closed() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.answer("Notify", [.uint32(5)])
        desk.signal("NotificationClosed", [.uint32(5), .uint32(1)])
        #expect(desk.said == [.gone(Self.door)])
    }

    @Test("Nobody but the service answers: another sender, number, action or interface changes nothing")
    func forged() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.answer("Notify", [.uint32(5)])
        desk.signal("ActionInvoked", [.uint32(5), .string("unlock")], from: ":1.99")
        desk.signal("ActionInvoked", [.uint32(6), .string("unlock")])
        desk.signal("ActionInvoked", [.uint32(5), .string("default")])
        desk.signal("ActionInvoked", [.uint32(5)])
        desk.signal("ActionInvoked", [.string("5"), .string("unlock")])
        desk.put(
            .bus(
                .signal(
                    DBusMessage(
                        sender: Self.service, path: "/", interface: "org.example", member: "ActionInvoked",
                        body: [.uint32(5), .string("unlock")]))))
        #expect(desk.said.isEmpty && desk.board.isShowing)
    }

    @Test("A later one about the same takes the place of the one before, also of one that is on its way")
    func replaced() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.put(.show(Self.question(Self.door, "And now?")))
        #expect(desk.calls.map(\.call.member) == ["Notify"])
        desk.answer("Notify", [.uint32(5)])
        let second = desk.answer("Notify", [.uint32(5)])
        #expect(second?.body[1] == .uint32(5) && second?.body[4] == .string("And now?"))
        desk.put(.show(Self.question(Self.door, "Well?")))
        #expect(desk.answer("Notify", [.uint32(5)])?.body[1] == .uint32(5))
        #expect(desk.said.isEmpty && desk.calls.isEmpty)
    }

    @Test("What is withdrawn is closed, once its number is known, and tells nothing")
    func withdrawn() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.put(.withdraw(Self.door))
        desk.answer("Notify", [.uint32(5)])
        #expect(desk.answer("CloseNotification")?.body == [.uint32(5)])
        desk.put(.show(Self.question()))
        desk.answer("Notify", [.uint32(6)])
        desk.put(.withdraw(Self.door))
        #expect(desk.answer("CloseNotification")?.body == [.uint32(6)])
        desk.put(.withdraw(Self.door))
        #expect(desk.said.isEmpty && desk.calls.isEmpty && !desk.board.isShowing)
    }

    @Test(
        "A desktop that leaves a notice without an answer: so long, and then it fails, and what is shown later begins anew"
    )
    func silent() {
        let most = NoticeBoard.answerMaximumMilliseconds
        for unanswered in ["GetNameOwner", "GetCapabilities", "Notify"] {
            var desk = Desk()
            desk.put(.show(Self.question()))
            desk.put(.bus(.opened))
            if unanswered != "GetNameOwner" { desk.answer("GetNameOwner", [.string(Self.service)]) }
            if unanswered == "Notify" { desk.answer("GetCapabilities", [.strings(["actions"])]) }
            #expect(desk.calls.map(\.call.member) == [unanswered])
            Self.pass(most - 1, &desk)
            #expect(desk.said.isEmpty && desk.board.isShowing)
            Self.pass(1, &desk)
            #expect(desk.said == [.failed(Self.door, reason: Self.late)] && !desk.board.isShowing, "\(unanswered)")
            desk.calls = []
            desk.put(.show(Self.question()))
            desk.begin()
            desk.answer("Notify", [.uint32(9)])
            #expect(desk.board.hasTaken(Self.door) && desk.board.deadline == nil)
        }
    }

    @Test("Behind one that was withdrawn and is never answered, the next question is not lost without a word")
    func silentBefore() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.put(.withdraw(Self.door))
        Self.pass(5_000, &desk)
        desk.put(.show(Self.question(Self.door, "And now?")))
        Self.pass(NoticeBoard.answerMaximumMilliseconds - 5_000, &desk)
        #expect(desk.said == [.failed(Self.door, reason: Self.late)])
        // Withdrawn, and nobody's question behind it: there is nobody to tell.
        desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.put(.withdraw(Self.door))
        Self.pass(NoticeBoard.answerMaximumMilliseconds, &desk)
        #expect(desk.said.isEmpty && !desk.board.isShowing && desk.board.deadline == nil)
    }

    @Test("One that takes the place of another has its own time for an answer")
    func replacedLate() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.answer("Notify", [.uint32(5)])
        Self.pass(60_000, &desk)
        desk.put(.show(Self.question(Self.door, "And now?")))
        desk.put(.show(Self.question(Self.door, "Well?")))
        Self.pass(NoticeBoard.answerMaximumMilliseconds - 1, &desk)
        desk.answer("Notify", [.uint32(5)])
        Self.pass(NoticeBoard.answerMaximumMilliseconds - 1, &desk)
        #expect(desk.said.isEmpty && desk.board.isShowing)
        Self.pass(1, &desk)
        #expect(desk.said == [.failed(Self.door, reason: Self.late)])
    }

    @Test("The end of the one before, or an answer to it, is none of a question that takes its place")
    func endOfTheOneBefore() {
        for member in ["NotificationClosed", "ActionInvoked"] {
            var desk = Desk()
            desk.begin()
            desk.put(.show(Self.question(Self.door, "A moment ago?")))
            desk.answer("Notify", [.uint32(5)])
            desk.put(.show(Self.question()))
            desk.signal(member, [.uint32(5), member == "ActionInvoked" ? .string("unlock") : .uint32(1)])
            #expect(desk.said.isEmpty && desk.board.isShowing)
            desk.answer("Notify", [.uint32(6)])
            desk.signal("ActionInvoked", [.uint32(6), .string("unlock")])
            #expect(desk.said == [.chosen(Self.door, action: "unlock")])
        }
    }

    @Test("Whoever has closed the bus says so: nothing is said to a service of before")
    func closedBySelf() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.answer("Notify", [.uint32(5)])
        desk.put(.withdraw(Self.door))
        desk.answer("CloseNotification")
        desk.put(.bus(.closed))
        desk.put(.show(Self.question()))
        #expect(desk.calls.isEmpty && desk.said.isEmpty)
        desk.begin()
        #expect(desk.answer("Notify", [.uint32(6)])?.body[1] == .uint32(0))
    }

    @Test("A text that may be read as markup is none; a title is shown as it is")
    func markup() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Notice(about: Self.door, title: "A & B", text: "<b>x</b> & y", milliseconds: 1)))
        let call = desk.answer("Notify", [.uint32(1)])
        #expect(call?.body[3] == .string("A & B"))
        #expect(call?.body[4] == .string("&lt;b&gt;x&lt;/b&gt; &amp; y"))
    }

    @Test("A desktop that takes no answers shows what has none, and questions fail")
    func unanswerable() {
        var desk = Desk()
        desk.begin(["body"])
        desk.put(.show(Self.question()))
        #expect(desk.said == [.failed(Self.door, reason: "the desktop's notifications take no answers")])
        desk.put(.show(Notice(about: Self.door, title: "x", text: "y", milliseconds: 1)))
        desk.answer("Notify", [.uint32(1)])
        #expect(desk.said.count == 1 && desk.board.isShowing)
    }

    @Test("Without a bus or a service, and when either ends, each notice fails, with the reason")
    func absent() {
        let reason = "this desktop shows no notifications: nobody"
        var desk = Desk()
        desk.put(.show(Self.question()))
        desk.put(.show(Self.question(Self.garage)))
        desk.put(.noBus(reason: "no bus"))
        #expect(desk.said == [.failed(Self.door, reason: "no bus"), .failed(Self.garage, reason: "no bus")])
        for refused in ["StartServiceByName", "GetNameOwner", "GetCapabilities"] {
            desk = Desk()
            desk.put(.show(Self.question()))
            desk.put(.bus(.opened))
            // It does not run.
            desk.refuse("GetNameOwner", "no owner")
            if refused != "StartServiceByName" { desk.answer("StartServiceByName", [.uint32(1)]) }
            if refused == "GetCapabilities" { desk.answer("GetNameOwner", [.string(Self.service)]) }
            desk.refuse(refused, "nobody")
            #expect(desk.said == [.failed(Self.door, reason: reason)] && !desk.board.isShowing, "\(refused)")
        }
        desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.answer("Notify", [.uint32(5)])
        desk.put(
            .bus(
                .signal(
                    DBusMessage(
                        sender: "org.freedesktop.DBus", path: "/org/freedesktop/DBus",
                        interface: "org.freedesktop.DBus", member: "NameOwnerChanged",
                        body: [
                            .string("org.freedesktop.Notifications"), .string(Self.service), .string(""),
                        ]))))
        #expect(desk.said == [.failed(Self.door, reason: "the desktop's notification service has ended")])
        desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.put(.bus(.closed))
        #expect(desk.said == [.failed(Self.door, reason: "the session's bus has gone")])
        // What is shown later begins anew.
        desk.put(.show(Self.question()))
        desk.begin()
        desk.answer("Notify", [.uint32(9)])
        #expect(desk.board.isShowing)
    }

    @Test("A notice that is refused, or has no number, fails alone")
    func refused() {
        var desk = Desk()
        desk.begin()
        desk.put(.show(Self.question()))
        desk.put(.show(Self.question(Self.garage)))
        desk.refuse("Notify", "too many")
        desk.answer("Notify", [.string("five")])
        #expect(desk.said.first == .failed(Self.door, reason: "too many"))
        guard case .failed(Self.garage, _)? = desk.said.last else {
            Issue.record("\(desk.said)")
            return
        }
        #expect(!desk.board.isShowing)
    }

    @Test("So many are shown at a time, and one more fails")
    func bound() {
        var desk = Desk()
        for bits in 0..<UInt128(NoticeBoard.noticesMaximum) {
            desk.put(.show(Self.question(PeerIdentifier(bits: bits))))
        }
        #expect(desk.said.isEmpty)
        let last = PeerIdentifier(bits: 1_000)
        desk.put(.show(Self.question(last)))
        #expect(desk.said == [.failed(last, reason: "there are \(NoticeBoard.noticesMaximum) already")])
        desk.put(.show(Self.question(PeerIdentifier(bits: 3), "again")))
        #expect(desk.said.count == 1)
    }
}
