import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import SecurityManager
import Testing

/// docs/PROTOCOL.md, Enrolment
@Suite("The lock's enrolment: state × input")
struct LockEnrolmentTableTests {
    enum Phase: CaseIterable { case closed, open, openWithCode, paired }

    /// In the table, Alice has enrolled once, with bond 5, and is offered a smaller role; bond 7 is what comes of it.
    private static let standing = person(1, "Alice", bond: 5)
    private static let offered = person(2, "Alice", .guest)
    private static let register = LockEnrolment.Register(
        credentials: [standing, offered], bonds: [bond(5, "Alice", .confirmed), bond(7, "Alice")])
    /// The same, and nobody has paired.
    private static let vacant = LockEnrolment.Register(
        credentials: [standing, offered], bonds: [bond(5, "Alice", .confirmed)])
    private static let begin = Instant(nanoseconds: 1_000_000_000)
    private static let end = begin.advanced(byMilliseconds: 120_000)
    private static let (pairedLink, freshLink) = (LockLink(rawValue: 3), LockLink(rawValue: 4))

    private static func opening(_ name: String, _ offer: LockEnrolment.Offer = .passkey) -> LockEnrolment.Opening {
        .init(credential: name, role: .guest, seconds: 120, offer: offer, fresh: CredentialID(rawValue: 9))
    }

    /// A machine that came there by the shortest way. `remembers`: a pairing has completed on link 3.
    private static func machine(_ phase: Phase, remembers: Bool = false) -> LockEnrolment {
        var machine = LockEnrolment()
        var outputs: [Output] = []
        func put(_ event: Event) { machine.handle(event, now: begin, into: &outputs) }
        let pairing = Event.paired(pairedLink, bondID(7))
        switch phase {
        case .closed: break
        case .open, .paired: put(.open(opening("Alice"), isReady: true, vacant))
        case .openWithCode: put(.open(opening("Alice", .code), isReady: true, vacant))
        }
        if phase == .paired || remembers { put(pairing) }
        return machine
    }

    struct Row: CustomTestStringConvertible {
        var phase: Phase
        var event: Event
        var name: String
        var now = LockEnrolmentTableTests.begin
        var outputs: [Output]
        var end: LockEnrolment
        var testDescription: String { "\(phase) × \(name)" }
    }

    private static func closing(_ end: EnrolmentEnd) -> [Output] {
        [closed(end), .progress(.ended(end)), .deadline(nil), .closePairingWindow]
    }
    private static func closed(_ end: EnrolmentEnd) -> Output {
        let told: WindowEnd =
            switch end {
            case .enrolled: .enrolled
            case .expired: .expired
            case .burnt: .burnt
            case .tooManyFailures: .tooManyFailures
            case .cancelled: .cancelled
            }
        return .administration(.windowClosed(name: "Alice", told))
    }
    private static let withdrawal = Output.administration(.credentialRemoved(CredentialID(rawValue: 2)))
    private static let handingOver: [Output] = [
        .promoteBond(bondID(7)), .administration(.credential(person(1, "Alice", .guest, bond: 7))),
        .administration(.enrolled(person(1, "Alice", .guest, bond: 7))), withdrawal, .administration(.bondForgotten(5)),
        .deleteBond(bondID(5)), .enrolled(credential: "Alice", bondID(7)),
    ]

    static let rows: [Row] = Phase.allCases.flatMap { phase -> [Row] in
        let here = machine(phase)
        let isOpen = phase != .closed
        let isAwaiting = isOpen && phase != .paired
        let closed = machine(.closed, remembers: phase == .paired)
        func row(
            _ name: String, _ event: Event, _ outputs: [Output] = [], to end: LockEnrolment? = nil,
            at now: Instant = begin
        ) -> Row { Row(phase: phase, event: event, name: name, now: now, outputs: outputs, end: end ?? here) }
        func ending(_ name: String, _ event: Event, _ how: EnrolmentEnd, at now: Instant = begin) -> [Row] {
            let (vacated, awaited) = (closing(how) + [withdrawal], closing(how))
            return [
                row("\(name), nobody paired", event, isOpen ? vacated : [], to: closed, at: now),
                row("\(name), somebody paired", event.with(register), isOpen ? awaited : [], to: closed, at: now),
            ]
        }
        let opening = opening("Alice")
        let refused: [Output] = [.refuse(.windowIsOpen(credential: "Alice"))]
        let opened: [Output] = [
            .administration(.credential(offered)), .administration(.windowOpened(name: "Alice", offered.role)),
            .deadline(end), .setPairingWindow(.passkey, credential: "Alice", programKey: .none),
            .progress(.opened(nil)),
        ]
        let isPairing = phase == .open || phase == .openWithCode
        let told: [Output] = isPairing ? [.progress(.attemptFailed("no"))] : []
        let failed = Event.attemptFailed(reason: "no", endsWindow: true, vacant)
        let failing: Row =
            isPairing
            ? row(
                "last failure", failed,
                told + closing(phase == .openWithCode ? .burnt : .tooManyFailures) + [withdrawal], to: closed)
            : row("last failure", failed)
        let proof = Event.controlPoint(freshLink, bondID(7), keyStatus, register)
        let other = Event.controlPoint(freshLink, bondID(5), [0xFF], register)
        return [
            row(
                "open", .open(opening, isReady: true, vacant), isOpen ? refused : opened,
                to: isOpen ? nil : machine(.open)),
            row(
                "open without a radio", .open(opening, isReady: false, vacant),
                isOpen ? refused : [.refuse(.notPoweredOn)]),
            row(
                "open without a name", .open(Self.opening(""), isReady: true, vacant),
                isOpen ? refused : [.refuse(.badName)]),
            row("another is removed", .credentialRemoved("Bob", vacant)),
            row("timer, early", .timerFired(vacant), at: Instant(nanoseconds: end.nanoseconds - 1)),
            row(
                "a bond of hers is gone", .bondGone(bondID(8), credential: "Alice", vacant),
                isOpen ? [] : [withdrawal]),
            row("a bond of hers is gone, and another waits", .bondGone(bondID(8), credential: "Alice", register)),
            row(
                "the window's bond is gone", .bondGone(bondID(7), credential: "Alice", vacant),
                phase == .paired ? closing(.cancelled) + [withdrawal] : isOpen ? [] : [withdrawal],
                to: phase == .paired ? closed : nil),
            row("a bond of somebody else's is gone", .bondGone(bondID(8), credential: "Bob", vacant)),
            row("a bond for nobody is gone", .bondGone(bondID(8), credential: nil, vacant)),
            row("passkey", .passkey(7), isOpen ? [.progress(.passkey(7))] : []),
            row(
                "paired", .paired(pairedLink, bondID(7)),
                (isOpen ? [.progress(.paired(bondID(7)))] : []) + [.closePairingWindow],
                to: isOpen
                    ? machine(phase == .openWithCode ? phase : .paired, remembers: true)
                    : machine(.closed, remembers: true)),
            failing, row("failure", .attemptFailed(reason: "no", endsWindow: false, vacant), told),
            row(
                "proof", proof, handingOver + (phase == .paired ? closing(.enrolled(bondID(7))) : []) + [.admit],
                to: phase == .paired ? closed : nil),
            row("a confirmed bond writes", other, [.admit]),
            row("an unconfirmed bond writes something else", .controlPoint(freshLink, bondID(7), [2], register)),
            row("a bond that there is not", .controlPoint(freshLink, bondID(6), keyStatus, register)),
            row(
                "disconnected", .disconnected(pairedLink), to: phase == .paired ? forgetful : nil),
        ] + ending("cancelled", .cancelled(vacant), .cancelled)
            + ending("removed", .credentialRemoved("Alice", vacant), .cancelled)
            + ending("timer", .timerFired(vacant), .expired, at: end)
            + (isAwaiting
                ? [
                    row(
                        "failure, and an earlier bond waits", failed.with(register),
                        failing.outputs.filter { $0 != withdrawal }, to: failing.end)
                ] : [])
    }

    /// Paired, and the link is gone.
    private static var forgetful: LockEnrolment {
        var machine = machine(.paired)
        var outputs: [Output] = []
        machine.handle(.disconnected(pairedLink), now: begin, into: &outputs)
        return machine
    }

    @Test("Each state takes each input", arguments: rows)
    func transition(_ row: Row) {
        var machine = Self.machine(row.phase)
        var outputs: [Output] = []
        machine.handle(row.event, now: row.now, into: &outputs)
        #expect(outputs == row.outputs)
        #expect(machine == row.end)
    }

    @Test("The states of the table are not one another, and the table has every input in each of them")
    func complete() {
        let machines = Phase.allCases.map { Self.machine($0) } + [Self.forgetful]
        for (index, machine) in machines.enumerated() {
            #expect(machines.firstIndex(of: machine) == index)
        }
        for phase in Phase.allCases {
            #expect(Set(Self.rows.filter { $0.phase == phase }.map(\.event.number)) == Set(0...9))
        }
    }
}

extension LockEnrolment.Event {
    /// One number for each case: a new one does not compile until it is here, and fails the table until it has its rows.
    fileprivate var number: Int {
        switch self {
        case .open: 0
        case .cancelled: 1
        case .credentialRemoved: 2
        case .passkey: 3
        case .paired: 4
        case .attemptFailed: 5
        case .controlPoint: 6
        case .disconnected: 7
        case .timerFired: 8
        case .bondGone: 9
        }
    }

    /// The same with others about.
    fileprivate func with(_ register: LockEnrolment.Register) -> Self {
        switch self {
        case .open(let opening, let isReady, _): .open(opening, isReady: isReady, register)
        case .cancelled: .cancelled(register)
        case .credentialRemoved(let name, _): .credentialRemoved(name, register)
        case .attemptFailed(let reason, let endsWindow, _):
            .attemptFailed(reason: reason, endsWindow: endsWindow, register)
        case .controlPoint(let link, let bond, let octets, _, let agreement):
            .controlPoint(link, bond, octets, register, agreement)
        case .timerFired: .timerFired(register)
        case .bondGone(let bond, let name, _): .bondGone(bond, credential: name, register)
        case .passkey, .paired, .disconnected: self
        }
    }
}
