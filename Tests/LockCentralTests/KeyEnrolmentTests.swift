import BluetoothCore
import LockCentral
import LockProtocol
import SecurityManager
import Testing

/// docs/PROTOCOL.md, Enrolment
@Suite("The key's enrolment: state × input")
struct KeyEnrolmentTableTests {
    /// The operator waits from `connecting` to `refused`; from `waiting` on nobody does.
    enum Phase: CaseIterable {
        case absent
        case connecting, pairing, preparing, leaving, returning, encrypting, proving, asked, refused
        case waiting, waitingEncrypting, waitingProving, waitingAsked, waitingRefused, waitingLeaving, resting

        var hasOperator: Bool {
            switch self {
            case .connecting, .pairing, .preparing, .leaving, .returning, .encrypting, .proving, .asked, .refused: true
            case .absent, .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused,
                .waitingLeaving, .resting:
                false
            }
        }

        /// When the state is over by itself.
        var deadline: Instant? {
            switch self {
            case .absent, .waiting, .waitingRefused, .waitingLeaving: nil
            case .connecting, .pairing, .preparing, .leaving, .returning, .refused: after(90_000)
            case .encrypting, .waitingEncrypting: after(1_000)
            case .proving, .waitingProving: after(10_000)
            case .asked, .waitingAsked: after(5_000)
            case .resting: after(60_000)
            }
        }
    }

    private static let begin = Instant(nanoseconds: 1_000_000_000)
    private static func after(_ milliseconds: UInt64) -> Instant { begin.advanced(byMilliseconds: milliseconds) }
    private static let enrol = EnrolmentEvent.enrol(door, setupData, waitMilliseconds: 90_000, .vacant)

    /// A machine that came there by the shortest way. `lost`: after so many links that were lost in a row.
    private static func machine(_ phase: Phase, lost: Int = 0) -> KeyEnrolmentMachine {
        var machine = KeyEnrolmentMachine()
        var outputs: [EnrolmentOutput] = []
        func put(_ events: EnrolmentEvent..., at now: Instant = begin) {
            for event in events { machine.handle(event, now: now, into: &outputs) }
        }
        func lose() { for _ in 0..<lost { put(.disconnected(door, isLost: true, .asked)) } }
        func prepared() -> EnrolmentEvent { .prepared(door, isTreeKnown: true) }
        let encrypted = EnrolmentEvent.encrypted(door, isConfirmed: false, .paired)
        switch phase {
        case .absent: break
        case .connecting: put(enrol)
        case .pairing: put(enrol, .connected(door))
        case .preparing: put(enrol, .connected(door), .paired(door, bondID(7)))
        case .leaving: put(enrol, .connected(door), .paired(door, bondID(7)), prepared())
        case .returning:
            machine = Self.machine(.leaving)
            put(.disconnected(door, isLost: false, .paired))
            lose()
        case .encrypting:
            machine = Self.machine(.returning, lost: lost)
            put(.connected(door))
        case .proving:
            machine = Self.machine(.encrypting, lost: lost)
            put(encrypted)
        case .asked:
            machine = Self.machine(.proving)
            put(prepared())
        case .refused:
            machine = Self.machine(.encrypting, lost: lost)
            put(.encryptionFailed(door))
        case .waiting:
            put(.poweredOn(.paired))
            lose()
        case .waitingEncrypting:
            machine = Self.machine(.waiting, lost: lost)
            put(.connected(door))
        case .waitingProving:
            machine = Self.machine(.waitingEncrypting, lost: lost)
            put(encrypted)
        case .waitingAsked:
            machine = Self.machine(.waitingProving)
            put(prepared())
        case .waitingRefused:
            machine = Self.machine(.waitingEncrypting, lost: lost)
            put(.encryptionFailed(door))
        case .waitingLeaving:
            machine = Self.machine(.waitingProving)
            put(.timerFired(.paired), at: after(10_000))
        case .resting:
            put(.poweredOn(.paired))
            for _ in 0..<3 { put(.disconnected(door, isLost: true, .paired)) }
        }
        return machine
    }

    struct Row: CustomTestStringConvertible {
        var phase: Phase
        var event: EnrolmentEvent
        var name: String
        var now: Instant
        var outputs: [EnrolmentOutput]
        var end: KeyEnrolmentMachine
        var testDescription: String { "\(phase) × \(name)" }
    }

    private typealias Expectation = (outputs: [EnrolmentOutput], to: Phase?, lost: Int)

    private static let pass: Expectation = ([.passOn], nil, 0)
    private static let nothing: Expectation = ([], nil, 0)
    private static func to(_ phase: Phase, lost: Int = 0, _ outputs: EnrolmentOutput...) -> Expectation {
        (outputs, phase, lost)
    }

    private static let kept = KeyEnrolmentFailure.notConfirmed("it has kept the bond that it had, which goes on")

    /// Nobody has a bond that waits, or somebody has.
    private static func failing(_ failure: KeyEnrolmentFailure, _ register: KeyEnrolmentMachine.Register) -> Expectation
    {
        register == .vacant
            ? to(.absent, .progress(.failed(failure)), .release(door))
            : to(.waiting, .progress(.failed(failure)), .release(door), .connect(door))
    }

    private static let taking: [EnrolmentOutput] = [
        .promoteBond(bondID(7)), .keep(LockRecord(peer: door, name: "Front door")), .bonded(door),
        .enrolled(door, name: "Front door"),
    ]

    private static func enrolling(_ phase: Phase, _ register: KeyEnrolmentMachine.Register) -> Expectation {
        let former = phase.hasOperator ? failing(.superseded, register).outputs : []
        return (former + [.release(door), .progress(.connecting), .connect(door)], .connecting, 0)
    }

    private static func ending(
        _ phase: Phase, _ failure: KeyEnrolmentFailure, _ register: KeyEnrolmentMachine.Register
    ) -> Expectation { phase.hasOperator ? failing(failure, register) : nothing }

    private static func connected(_ phase: Phase) -> Expectation {
        switch phase {
        case .absent: pass
        case .connecting:
            to(
                .pairing, .progress(.pairing),
                .pair(door, setupData, credential: "lock \(setupData.address)", programKey: .none))
        case .pairing, .preparing, .asked: nothing
        case .leaving, .returning, .encrypting, .proving, .refused: to(.encrypting, .encrypt(door))
        case .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused, .waitingLeaving:
            to(.waitingEncrypting, .encrypt(door))
        case .resting: to(.waitingEncrypting, lost: 3, .encrypt(door))
        }
    }

    private static func encrypted(_ phase: Phase) -> Expectation {
        switch phase {
        case .absent: pass
        case .connecting, .pairing, .preparing, .asked: nothing
        case .leaving, .returning, .encrypting, .proving, .refused: to(.proving, .passOn)
        case .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused, .waitingLeaving:
            to(.waitingProving, .passOn)
        case .resting: to(.waitingProving, lost: 3, .passOn)
        }
    }

    private static func encryptedWithConfirmed(_ phase: Phase) -> Expectation {
        switch phase {
        case .absent: pass
        case .connecting, .pairing, .preparing, .asked: nothing
        case .leaving, .returning, .encrypting, .proving, .refused:
            to(.absent, .deleteBond(bondID(7)), .progress(.failed(kept)), .release(door))
        case .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused, .waitingLeaving, .resting:
            to(.absent, .deleteBond(bondID(7)), .release(door))
        }
    }

    private static func encryptionFailed(_ phase: Phase) -> Expectation {
        switch phase {
        case .absent, .connecting, .pairing: pass
        case .preparing: to(.leaving, .disconnect(door))
        case .leaving, .returning, .encrypting, .proving, .asked, .refused: to(.refused, .disconnect(door))
        case .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused, .waitingLeaving:
            to(.waitingRefused, .disconnect(door))
        case .resting: to(.waitingRefused, lost: 3, .disconnect(door))
        }
    }

    private static func prepared(_ phase: Phase) -> Expectation {
        switch phase {
        case .absent: pass
        case .connecting, .pairing, .asked: nothing
        case .preparing: to(.leaving, .disconnect(door))
        case .leaving, .returning, .encrypting, .proving, .refused: to(.asked, .askKeyStatus(door))
        case .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused, .waitingLeaving, .resting:
            to(.waitingAsked, .askKeyStatus(door))
        }
    }

    private static func preparedWithoutTree(_ phase: Phase) -> Expectation {
        switch phase {
        case .absent, .preparing: prepared(phase)
        case .connecting, .pairing, .leaving, .returning, .encrypting, .proving, .asked, .refused, .waiting,
            .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused, .waitingLeaving, .resting:
            nothing
        }
    }

    private static func unprepared(_ phase: Phase, _ register: KeyEnrolmentMachine.Register) -> Expectation {
        phase.hasOperator ? failing(.notALock, register) : encryptionFailed(phase)
    }

    private static func answered(_ phase: Phase, isGood: Bool) -> Expectation {
        switch phase {
        case .absent, .connecting, .pairing, .preparing, .leaving, .returning, .encrypting, .proving, .refused: pass
        case .asked:
            isGood
                ? (taking + [.progress(.enrolled(door, name: "Front door")), .release(door)], .absent, 0) : nothing
        case .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingRefused, .waitingLeaving, .resting:
            isGood ? (taking + [.release(door)], .absent, 0) : nothing
        }
    }

    private static func disconnected(_ phase: Phase, isLost: Bool) -> Expectation {
        switch phase {
        case .absent: pass
        case .connecting, .pairing: failing(.linkLost, .paired)
        case .preparing: to(.returning, .connect(door))
        case .leaving, .returning, .encrypting, .proving, .asked: to(.returning, lost: isLost ? 1 : 0, .connect(door))
        case .refused: to(.returning, lost: 1, .connect(door))
        case .waiting, .waitingEncrypting, .waitingProving, .waitingAsked, .waitingLeaving:
            to(.waiting, lost: isLost ? 1 : 0, .connect(door))
        case .waitingRefused: to(.waiting, lost: 1, .connect(door))
        case .resting: nothing
        }
    }

    /// What the state's own time makes of it.
    private static func due(_ phase: Phase, _ register: KeyEnrolmentMachine.Register) -> Expectation {
        switch phase {
        case .absent, .waiting, .waitingRefused, .waitingLeaving: nothing
        case .connecting, .pairing: failing(.expired(isPaired: false), register)
        case .preparing, .leaving, .returning, .refused: failing(.expired(isPaired: true), register)
        case .encrypting: to(.refused, .disconnect(door))
        case .proving, .asked: to(.leaving, .disconnect(door))
        case .waitingEncrypting: to(.waitingRefused, .disconnect(door))
        case .waitingProving, .waitingAsked: to(.waitingLeaving, .disconnect(door))
        case .resting: to(.waiting, lost: 3, .connect(door))
        }
    }

    static let rows: [Row] = Phase.allCases.flatMap { phase -> [Row] in
        func row(_ name: String, _ event: EnrolmentEvent, _ expected: Expectation, at now: Instant = begin) -> Row {
            let end = expected.to ?? phase
            // A timer that has fired is set anew.
            let isTold = phase.deadline == end.deadline && event.number != 12
            let deadline =
                isTold || event.number == 12 && end.deadline == nil ? [] : [EnrolmentOutput.deadline(end.deadline)]
            return Row(
                phase: phase, event: event, name: name, now: now, outputs: deadline + expected.outputs,
                end: expected.to.map { machine($0, lost: expected.lost) } ?? machine(phase))
        }
        let otherAnswer = ControlPointResponse(request: ControlPointOpcode(rawValue: 2), result: .success).encoded
        let vacantEnd: Expectation =
            phase == .connecting || phase == .pairing
            ? to(.absent, .progress(.failed(.linkLost)), .release(door), .passOn) : nothing
        return [
            row("a code", enrol, enrolling(phase, .vacant)),
            row(
                "a code, and a bond waits", .enrol(door, setupData, waitMilliseconds: 90_000, .paired),
                enrolling(phase, .paired)),
            row("cancelled", .cancelled(.vacant), ending(phase, .superseded, .vacant)),
            row("cancelled, and a bond waits", .cancelled(.paired), ending(phase, .superseded, .paired)),
            row("powered on", .poweredOn(.paired), phase == .absent ? to(.waiting, .connect(door)) : nothing),
            row("powered on, and nothing waits", .poweredOn(.vacant), nothing),
            row("connected", .connected(door), connected(phase)),
            row(
                "paired", .paired(door, bondID(7)),
                phase == .pairing ? to(.preparing, .progress(.paired), .discover(door)) : nothing),
            row(
                "pairing failed", .pairingFailed(door, reason: "no", .vacant),
                phase == .pairing ? failing(.pairing("no"), .vacant) : nothing),
            row("encrypted", .encrypted(door, isConfirmed: false, .paired), encrypted(phase)),
            row(
                "encrypted with the old bond", .encrypted(door, isConfirmed: true, .paired),
                encryptedWithConfirmed(phase)),
            row("encryption failed", .encryptionFailed(door), encryptionFailed(phase)),
            row("prepared", .prepared(door, isTreeKnown: true), prepared(phase)),
            row("prepared, and the tree has changed", .prepared(door, isTreeKnown: false), preparedWithoutTree(phase)),
            row("unprepared", .unprepared(door, .vacant), unprepared(phase, .vacant)),
            row("unprepared, and a bond waits", .unprepared(door, .paired), unprepared(phase, .paired)),
            row("answered", .answered(door, statusAnswer, proof(7), .paired), answered(phase, isGood: true)),
            row("another answer", .answered(door, otherAnswer, proof(7), .paired), answered(phase, isGood: false)),
            row("no answer", .answered(door, [], proof(7), .paired), answered(phase, isGood: false)),
            row("answered in clear", .answered(door, statusAnswer, nil, .paired), answered(phase, isGood: false)),
            row(
                "answered with a confirmed bond", .answered(door, statusAnswer, proof(5), .paired),
                answered(phase, isGood: false)),
            row("disconnected", .disconnected(door, isLost: false, .paired), disconnected(phase, isLost: false)),
            row("link lost", .disconnected(door, isLost: true, .paired), disconnected(phase, isLost: true)),
            row(
                "forgotten", .forgotten(door),
                phase == .absent || phase.hasOperator ? nothing : to(.absent, .release(door))),
            row("timer, early", .timerFired(.paired), nothing),
        ]
            + (phase == .connecting || phase == .pairing
                ? [row("link lost, and nothing waits", .disconnected(door, isLost: true, .vacant), vacantEnd)] : [])
            + (phase.deadline.map { now in
                [
                    row("timer", .timerFired(.vacant), due(phase, .vacant), at: now),
                    row("timer, and a bond waits", .timerFired(.paired), due(phase, .paired), at: now),
                ]
            } ?? [])
    }

    @Test("Each state takes each input", arguments: rows)
    func transition(_ row: Row) {
        var machine = Self.machine(row.phase)
        var outputs: [EnrolmentOutput] = []
        machine.handle(row.event, now: row.now, into: &outputs)
        #expect(outputs == row.outputs)
        #expect(machine == row.end)
    }

    @Test("The states of the table are not one another, and the table has every input in each of them")
    func complete() {
        let machines = Phase.allCases.map { Self.machine($0) }
        for (index, machine) in machines.enumerated() { #expect(machines.firstIndex(of: machine) == index) }
        for phase in Phase.allCases {
            #expect(Set(Self.rows.filter { $0.phase == phase }.map(\.event.number)) == Set(0...13))
        }
    }

    @Test(
        "Links to a lock are the enrolment's from the code to the confirmation, and the bond waits from the pairing on")
    func whose() {
        for phase in Phase.allCases {
            let machine = Self.machine(phase)
            #expect(machine.holds(door) == (phase != .absent), "\(phase)")
            #expect(machine.isConfirming(door) == ![.absent, .connecting, .pairing].contains(phase), "\(phase)")
            #expect(machine.enrolling == (phase.hasOperator ? door : nil), "\(phase)")
            #expect(machine.unattended(.paired).isEmpty == (phase == .absent || phase.hasOperator), "\(phase)")
        }
    }
}

extension KeyEnrolmentMachine.Event {
    /// One number for each case: a new one does not compile until it is here, and fails the table until it has its rows.
    fileprivate var number: Int {
        switch self {
        case .enrol: 0
        case .cancelled: 1
        case .poweredOn: 2
        case .connected: 3
        case .paired: 4
        case .pairingFailed: 5
        case .encrypted: 6
        case .encryptionFailed: 7
        case .prepared: 8
        case .unprepared: 9
        case .answered: 10
        case .disconnected: 11
        case .timerFired: 12
        case .forgotten: 13
        }
    }
}
