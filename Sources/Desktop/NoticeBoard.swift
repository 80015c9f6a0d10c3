import BluetoothCore
import DBus

/// Notices on a user's desktop, by the notification service of their session.
///
/// - In: notices, what the session's bus says, time.
/// - Out: calls on that bus, what the user has chosen.
/// - Owner: the companion. While nothing is shown no bus is needed.
///
/// Desktop Notifications Specification 1.2, 9
package struct NoticeBoard: Sendable {
    package enum Event: Equatable, Sendable {
        case bus(DBusEvent)
        case show(Notice)
        /// What is about this is of no interest any more.
        case withdraw(PeerIdentifier)
        /// There is no bus, and why.
        case noBus(reason: String)
        case timerFired
    }

    package enum Output: Equatable, Sendable {
        case act(DBusAct)
        /// The user has answered with this action of a notice's.
        case chosen(PeerIdentifier, action: String)
        /// It is not shown any more, and nobody has answered.
        case gone(PeerIdentifier)
        /// It is not shown, and nobody will answer.
        case failed(PeerIdentifier, reason: String)
    }

    private enum Service: Equatable {
        case closed
        /// Who it is is asked of the bus; it has been started where it did not run.
        case naming(isStarted: Bool)
        case asking(owner: String)
        case known(owner: String, takesActions: Bool)
    }

    private enum Purpose: Equatable {
        case start
        case owner
        case capabilities
        case notify(PeerIdentifier)
        case close
    }

    private struct Shown {
        /// The service's; nil until it has said it.
        var number: UInt32?
        var notice: Notice
        /// As it was said to the service, which has not answered.
        var said: Notice?
        /// When the desktop has to have taken it; nil once it has.
        var until: Instant?
        var isWithdrawn = false
    }

    /// Notices at a time: one for each lock, and more locks than anybody stands at.
    package static let noticesMaximum = 16
    /// For so long a desktop may leave a notice without an answer; a service that does not run is started in that time too.
    package static let answerMaximumMilliseconds: UInt64 = 10_000
    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"

    /// What is to be heard of the session's bus.
    package static let matches = [
        "type='signal',sender='\(name)',interface='\(name)'", DBusName.ownerMatch(name),
    ]

    private var service = Service.closed
    private var shown: [PeerIdentifier: Shown] = [:]
    private var calls = DBusCalls<Purpose>()

    private let staysOnBus: Bool

    /// `staysOnBus`: whether whoever shows notices stays on the bus for as long as one is shown.
    package init(staysOnBus: Bool) { self.staysOnBus = staysOnBus }

    /// Whether a bus is wanted.
    package var isShowing: Bool { !shown.isEmpty }

    /// Whether the desktop has taken what is shown about this.
    package func hasTaken(_ peer: PeerIdentifier) -> Bool { shown[peer].map { $0.until == nil } ?? false }

    /// When it wants ``Event/timerFired``.
    package var deadline: Instant? { shown.values.compactMap(\.until).min() }

    package mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        switch event {
        case .show(let notice): show(notice, now, &outputs)
        case .withdraw(let peer): withdraw(peer, &outputs)
        case .noBus(let reason): failAll(reason, &outputs)
        case .bus(.opened): askForOwner(isStarted: false, &outputs)
        case .bus(.closed): failAll("the session's bus has gone", &outputs)
        case .bus(.answered(let call, let result)):
            if let purpose = calls.take(call) { answered(purpose, result, now, &outputs) }
        case .bus(.signal(let signal)): heard(signal, &outputs)
        case .bus(.called(let id, _)):
            outputs.append(.act(.refuse(id, DBusError(name: DBusName.unknownMethod))))
        case .timerFired:
            if let deadline, deadline <= now { failAll("the desktop did not answer in time", &outputs) }
        }
    }

    // MARK: Notices

    private mutating func show(_ notice: Notice, _ now: Instant, _ outputs: inout [Output]) {
        let before = shown[notice.about]
        guard before != nil || shown.count < Self.noticesMaximum else {
            return outputs.append(.failed(notice.about, reason: "there are \(Self.noticesMaximum) already"))
        }
        // The one before may be what the desktop does not answer.
        let until = before?.until ?? Self.answerEnd(now)
        shown[notice.about] = Shown(number: before?.number, notice: notice, said: before?.said, until: until)
        // It takes the place of one that is on its way once that one's number is known.
        if before?.said == nil { say(notice.about, &outputs) }
    }

    private static func answerEnd(_ now: Instant) -> Instant {
        now.advanced(byMilliseconds: answerMaximumMilliseconds)
    }

    /// Where the service is known; before that it waits.
    private mutating func say(_ peer: PeerIdentifier, _ outputs: inout [Output]) {
        guard case .known(let owner, let takesActions) = service, let entry = shown[peer] else { return }
        let notice = entry.notice
        guard takesActions || notice.actions.isEmpty else {
            return fail(peer, "the desktop's notifications take no answers", &outputs)
        }
        shown[peer]?.said = notice
        var hints: [String: DBusValue] = [
            "urgency": .byte(1), "category": .string("presence"), "transient": .boolean(notice.actions.isEmpty),
        ]
        // GNOME Shell and Cinnamon take the notices of an application that they know down when their sender leaves the bus.
        if staysOnBus { hints["desktop-entry"] = .string("latch-central") }
        call(
            owner, Self.path, Self.name, "Notify",
            [
                .string("Latch"), .uint32(entry.number ?? 0), .string("dialog-password"), .string(notice.title),
                .string(Self.escaped(notice.text)), .strings(notice.actions.flatMap { [$0.name, $0.label] }),
                .properties(hints), .int32(Int32(clamping: notice.milliseconds)),
            ], for: .notify(peer), &outputs)
    }

    private mutating func withdraw(_ peer: PeerIdentifier, _ outputs: inout [Output]) {
        guard let entry = shown[peer] else { return }
        if entry.said != nil {
            shown[peer]?.isWithdrawn = true
        } else {
            shown[peer] = nil
            close(entry.number, &outputs)
        }
    }

    private mutating func close(_ number: UInt32?, _ outputs: inout [Output]) {
        guard let number, case .known(let owner, _) = service else { return }
        call(owner, Self.path, Self.name, "CloseNotification", [.uint32(number)], for: .close, &outputs)
    }

    /// A text may be read as markup; a title is not.
    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
    }

    private mutating func failAll(_ reason: String, _ outputs: inout [Output]) {
        service = .closed
        calls.forgetAll()
        for peer in shown.keys.sorted(by: { $0.bits < $1.bits }) { fail(peer, reason, &outputs) }
    }

    private mutating func fail(_ peer: PeerIdentifier, _ reason: String, _ outputs: inout [Output]) {
        guard let entry = shown.removeValue(forKey: peer), !entry.isWithdrawn else { return }
        outputs.append(.failed(peer, reason: reason))
    }

    // MARK: What the bus says

    private mutating func answered(
        _ purpose: Purpose, _ result: Result<[DBusValue], DBusError>, _ now: Instant, _ outputs: inout [Output]
    ) {
        switch (purpose, result) {
        case (.start, .success): askForOwner(isStarted: true, &outputs)
        case (.owner, .success(let body)):
            guard let owner = body.first?.text else { return failAll(Self.unreadable, &outputs) }
            service = .asking(owner: owner)
            call(owner, Self.path, Self.name, "GetCapabilities", for: .capabilities, &outputs)
        case (.capabilities, .success(let body)):
            guard case .asking(let owner) = service, let all = body.first?.texts else {
                return failAll(Self.unreadable, &outputs)
            }
            service = .known(owner: owner, takesActions: all.contains("actions"))
            for peer in shown.keys.sorted(by: { $0.bits < $1.bits }) { say(peer, &outputs) }
        case (.notify(let peer), .success(let body)): notified(peer, body.first?.integer(), now, &outputs)
        case (.notify(let peer), .failure(let error)): fail(peer, Self.reason(error), &outputs)
        // One that runs need not be one that the bus could start.
        case (.owner, .failure) where service == .naming(isStarted: false):
            call(
                DBusName.bus, DBusName.busPath, DBusName.bus, "StartServiceByName", [.string(Self.name), .uint32(0)],
                for: .start,
                &outputs)
        case (.start, .failure(let error)), (.owner, .failure(let error)), (.capabilities, .failure(let error)):
            failAll("this desktop shows no notifications: \(Self.reason(error))", &outputs)
        case (.close, _): break
        }
    }

    private mutating func askForOwner(isStarted: Bool, _ outputs: inout [Output]) {
        service = .naming(isStarted: isStarted)
        call(DBusName.bus, DBusName.busPath, DBusName.bus, "GetNameOwner", [.string(Self.name)], for: .owner, &outputs)
    }

    private static let unreadable = "the desktop's notification service has said what nobody can read"

    private static func reason(_ error: DBusError) -> String { error.text.isEmpty ? error.name : error.text }

    private mutating func notified(
        _ peer: PeerIdentifier, _ number: UInt32?, _ now: Instant, _ outputs: inout [Output]
    ) {
        guard let entry = shown[peer] else { return }
        guard let number else { return fail(peer, Self.unreadable, &outputs) }
        if entry.isWithdrawn {
            shown[peer] = nil
            return close(number, &outputs)
        }
        shown[peer]?.number = number
        shown[peer]?.said = nil
        let isLast = entry.notice == entry.said
        shown[peer]?.until = isLast ? nil : Self.answerEnd(now)
        if !isLast { say(peer, &outputs) }
    }

    private mutating func heard(_ signal: DBusMessage, _ outputs: inout [Output]) {
        if signal.sender == DBusName.bus { return heardOfOwner(signal, &outputs) }
        // Anybody may send a signal of this name: only the service's counts.
        guard case .known(let owner, _) = service, signal.sender == owner, signal.interface == Self.name,
            let number: UInt32 = signal.body.first?.integer(),
            let peer = shown.first(where: { $0.value.number == number })?.key
        else { return }
        // The service answers for a notice before it tells of it: this is of the one whose place is being taken.
        guard shown[peer]?.said == nil else {
            if signal.member == "NotificationClosed" { shown[peer]?.number = nil }
            return
        }
        switch signal.member {
        case "ActionInvoked":
            guard let action = signal.body.dropFirst().first?.text,
                shown[peer]?.notice.actions.contains(where: { $0.name == action }) == true
            else { return }
            shown[peer] = nil
            outputs.append(.chosen(peer, action: action))
            close(number, &outputs)
        case "NotificationClosed":
            shown[peer] = nil
            outputs.append(.gone(peer))
        default: break
        }
    }

    private mutating func heardOfOwner(_ signal: DBusMessage, _ outputs: inout [Output]) {
        guard case .known(let owner, _) = service, signal.member == "NameOwnerChanged",
            signal.body.count == 3, signal.body[0].text == Self.name, signal.body[2].text != owner
        else { return }
        failAll("the desktop's notification service has ended", &outputs)
    }

    private mutating func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ body: [DBusValue] = [],
        for purpose: Purpose, _ outputs: inout [Output]
    ) {
        let call = DBusCall(to: destination, path: path, interface: interface, member: member, body: body)
        outputs.append(.act(calls.make(call, for: purpose)))
    }
}
