import BluetoothCore
import BluetoothHost
import DBus
import DBusTransport
import Desktop
import HCITransport
import LockCentral
import LockProtocol

/// The person who has the key, as far as the key needs them: whether they are there, what they answer, and what they are told of what the
/// key has done by itself.
final class Companion {
    /// What the journal is to have of it.
    enum Report: Equatable {
        /// The key has come near and asks its lock for nothing.
        case stays(PeerIdentifier, reason: String)
        /// Nobody was told.
        case untold(PeerIdentifier, reason: String)
    }

    private static let unlock = "unlock"
    private static let notNow = "not-now"
    private static let tellingMilliseconds: UInt32 = 10_000

    private let host: Host
    private let user: UInt32
    /// Says what the key does.
    var decide: (Approach, Bool) -> Void = { _, _ in }
    private let report: (Report) -> Void
    private let machine: DesktopBus
    /// nil where the user has no session to be told in.
    private let session: DesktopBus?
    private let timer: TimerToken
    private let tellsOwnActs: Bool
    private var question: PresenceQuestion?
    /// Of whom it is asked whether the user is there.
    private var asking: [Approach] = []
    /// nil where none is named.
    private let program: ApproachProgram?
    private var names: [PeerIdentifier: String] = [:]
    private var questions: [PeerIdentifier: Approach] = [:]
    private var ownActs = OwnActs()
    private var board = NoticeBoard(staysOnBus: true)

    /// `user`: by their number. `session`: the bus of their session; nil for none. `program`: the path of one that has to agree.
    ///
    /// - Throws: What to do, where the kernel gives such a program no timer.
    init(
        user: UInt32, session place: SystemBus.Place?, tellsOwnActs: Bool, program path: String?, host: Host,
        loop: EventLoop, report: @escaping (Report) -> Void
    ) throws {
        program = try path.map { try ApproachProgram(path: $0, loop: loop) }
        (self.host, self.user, self.tellsOwnActs, self.report) = (host, user, tellsOwnActs, report)
        timer = host.makeTimer()
        machine = DesktopBus(.system, host: host, loop: loop)
        session = place.map { DesktopBus($0, matches: NoticeBoard.matches, host: host, loop: loop) }
        machine.event = { [unowned self] in heardOfMachine($0) }
        machine.unavailable = { [unowned self] in present(.unknown(reason: $0)) }
        session?.event = { [unowned self] in feed(.bus($0)) }
        session?.unavailable = { [unowned self] in feed(.noBus(reason: $0)) }
        program?.answered = { [unowned self] approach, refusal in
            host.beginIteration(now: SystemClock.now())
            if let refusal { stay(approach, refusal) } else { ask(approach) }
        }
    }

    func hear(_ event: KeyEvent) {
        switch event {
        case .approached(let approach, let name):
            names[approach.peer] = name
            if approach.policy.needsUser { askWhetherThere(approach) } else { proceed(approach) }
        case .approachEnded(let approach):
            asking.removeAll { $0 == approach }
            if asking.isEmpty { askNoMore() }
            program?.withdraw(approach)
            if questions[approach.peer] == approach {
                questions[approach.peer] = nil
                feed(.withdraw(approach.peer))
            }
        case .byItself(let peer, let name, _, _, _): names[peer] = name
        case .forgotten(let peer, _):
            names[peer] = nil
            feed(.withdraw(peer))
        default: break
        }
        if let (peer, text) = ownActs.sentence(on: event) { show(peer, text) }
    }

    // MARK: Whether they are there

    private func askWhetherThere(_ approach: Approach) {
        asking.append(approach)
        if !machine.isOpen { machine.open() }
    }

    private func heardOfMachine(_ event: DBusEvent) {
        var outputs: [PresenceQuestion.Output] = []
        switch event {
        case .opened:
            question = PresenceQuestion(user: user)
            question?.begin(into: &outputs)
        case .answered(let call, let result): question?.answered(call, result, into: &outputs)
        case .closed: outputs.append(.answered(.unknown(reason: "the system bus has gone")))
        case .signal: break
        case .called(let id, _):
            machine.perform(.refuse(id, DBusError(name: DBusName.unknownMethod)))
        }
        for output in outputs {
            switch output {
            case .act(let act): machine.perform(act)
            case .answered(let presence): present(presence)
            }
        }
    }

    /// A question that nobody answers is none for the next approach.
    private func askNoMore() {
        machine.close()
        question = nil
    }

    private func present(_ presence: Presence) {
        askNoMore()
        let waiting = asking
        asking = []
        for approach in waiting {
            if let reason = presence.obstacle { stay(approach, reason) } else { proceed(approach) }
        }
    }

    private func stay(_ approach: Approach, _ reason: String) {
        report(.stays(approach.peer, reason: reason))
        decide(approach, false)
    }

    // MARK: What they are asked, and told

    private func proceed(_ approach: Approach) {
        guard let program else { return ask(approach) }
        program.ask(approach, lock: names[approach.peer] ?? "")
    }

    private func ask(_ approach: Approach) {
        guard approach.policy.asksFirst else { return decide(approach, true) }
        let left = host.now < approach.until ? approach.until.milliseconds(since: host.now) : 0
        questions[approach.peer] = approach
        show(
            Notice(
                about: approach.peer, title: names[approach.peer] ?? "", text: "You are at the door. Unlock it?",
                actions: [
                    Notice.Action(name: Self.unlock, label: "Unlock"),
                    Notice.Action(name: Self.notNow, label: "Not now"),
                ], milliseconds: UInt32(clamping: left)))
    }

    private func answer(_ peer: PeerIdentifier, opens: Bool) {
        if let approach = questions.removeValue(forKey: peer) { decide(approach, opens) }
    }

    private func show(_ peer: PeerIdentifier, _ text: String) {
        guard tellsOwnActs else { return }
        show(
            Notice(about: peer, title: names[peer] ?? "", text: text, milliseconds: Self.tellingMilliseconds))
    }

    private func show(_ notice: Notice) {
        guard session != nil else { return untold(notice.about, "this user has no session bus") }
        feed(.show(notice))
    }

    private func untold(_ peer: PeerIdentifier, _ reason: String) {
        if let approach = questions.removeValue(forKey: peer) {
            return stay(approach, "nobody can be asked: \(reason)")
        }
        report(.untold(peer, reason: reason))
    }

    private func feed(_ event: NoticeBoard.Event) {
        var outputs: [NoticeBoard.Output] = []
        board.handle(event, now: host.now, into: &outputs)
        for output in outputs {
            switch output {
            case .act(let act): session?.perform(act)
            case .chosen(let peer, let action): answer(peer, opens: action == Self.unlock)
            case .gone(let peer): answer(peer, opens: false)
            case .failed(let peer, let reason): untold(peer, reason)
            }
        }
        host.setTimer(timer, at: board.deadline) { [weak self] _ in self?.feed(.timerFired) }
        guard let session, board.isShowing != session.isOpen else { return }
        guard board.isShowing else {
            session.close()
            return feed(.bus(.closed))
        }
        session.open()
    }
}

extension Presence {
    /// Why nothing is opened; nil for nothing.
    fileprivate var obstacle: String? {
        switch self {
        case .here: nil
        case .lidClosed: "the lid is closed"
        case .locked: "the session is locked"
        case .noSession: "the user is not logged in at this machine"
        case .unknown(let reason): "nobody knows whether the user is there: \(reason)"
        }
    }
}
