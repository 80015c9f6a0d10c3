import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol

/// A lock with anything happening to it, kills among it: facts come before acts, nothing opens without a granted
/// command, every movement has one outcome, the audit's chain is unbroken, no receipt counter is used twice, and an alarm whose telling a
/// kill comes before is raised by the next launch.
@Sendable func fuzzLockMachine(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var world = LockWorld()
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

private struct LockWorld {
    private static let receiptHandle = AttributeHandle(0x20)
    private static let bonds: ClosedRange<UInt64> = 1...4

    private var machine: LockMachine
    private var committed = LockSnapshot()
    private var records: [AuditRecord] = []
    private var boot = BootID(bits: 1)
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var outputs: [LockOutput] = []
    private var random: UInt64 = 0
    private var receipts: Set<[UInt8]> = []
    private var challenge: [UInt8] = []
    /// Octets of the answer that is due, and the window that a manager has opened.
    private var responseOctets = 20
    private var window: ControlPointContext.Window?
    /// Since when that one is answered, and until when the last command's sender means it.
    private var issued = Instant(nanoseconds: 0)
    private var meant: (command: ChallengeID, until: Instant)?
    private var ordered: ActuatorOrder?
    /// Movements that wait for their outcome, and those that have it.
    private var granted: Set<UInt64> = []
    private var ended: Set<UInt64> = []
    /// Records on which the lock may open by its own rules.
    private var openings: Set<UInt64> = []
    private var isFire = false
    /// Raised on a record, and cut off by a kill if that comes next.
    private var untold: [AlarmReport] = []
    /// Alarms that one launch has raised.
    private var raised: [AlarmReport] = []

    init() {
        for bond in Self.bonds {
            let credential = Credential(
                id: CredentialID(rawValue: bond), name: Self.name(of: bond),
                role: Role(rawValue: UInt8(bond)) ?? .owner,
                bond: bond)
            committed.apply(.credential(credential))
        }
        machine = Self.launch(committed, BoltReading(position: .locked), boot, now, &outputs)
        settle()
    }

    private static func launch(
        _ snapshot: LockSnapshot, _ reading: BoltReading, _ boot: BootID, _ now: Instant, _ outputs: inout [LockOutput]
    ) -> LockMachine {
        LockMachine(
            restoring: snapshot, reading: reading, boot: boot, receiptHandle: receiptHandle,
            rules: DoorRules(ajarSeconds: 5, locksWhenClosed: true), at: LockMoment(now: now, wallClockSeconds: 1_000),
            into: &outputs)
    }

    private static func claim(_ bond: UInt64) -> LinkClaim {
        let csrk = Secret([UInt8](repeating: UInt8(truncatingIfNeeded: bond), count: 16))
        return LinkClaim(bond: bond, receiptKey: ReceiptKey(lockCSRK: csrk))
    }

    /// Two share each name.
    private static func name(of bond: UInt64) -> String { "fuzz \(bond / 2)" }

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        let link = LockLink(rawValue: UInt64(event >> 4 & 3))
        switch event & 15 {
        case 0:
            let bits = input.octet()
            let bond = UInt64(bits & 7)
            let subscriptions = Set(
                LockSubscription.allCases.enumerated().filter { bits >> (4 + $0.offset) & 1 == 1 }
                    .map(\.element))
            feed(.connected(link, Self.bonds.contains(bond) ? Self.claim(bond) : nil, subscriptions: subscriptions))
        case 1: feed(.disconnected(link))
        case 2: feed(.encrypted(link, Self.claim(UInt64(input.octet() & 3) + 1)))
        case 3: feed(.pairing(link, isUnderWay: input.bool()))
        case 4:
            let all = LockSubscription.allCases
            feed(.subscription(link, all[Int(input.octet()) % all.count], isOn: input.bool()))
        case 5: feed(.challengeRead(link))
        // A command that answers the last challenge, which chance would never hit.
        case 6, 7:
            let first = input.octet()
            let bound = CommandBound(rawValue: first >> 4) ?? .challengeLife
            let command = [bound.rawValue << 4 | first & 15, input.octet()] + challenge.prefix(6)
            meant = bound.milliseconds.flatMap { milliseconds in
                (try? LockCommand(exactly: command)).map {
                    ($0.challenge, issued.advanced(byMilliseconds: milliseconds))
                }
            }
            feed(.command(link, event & 1 == 0 ? .encrypted : .signed(counter: UInt32(input.uint16())), command))
        case 8: feed(.command(link, input.bool() ? .encrypted : .signed(counter: 1), input.chunk()))
        case 9:
            let octets = input.chunk()
            manage(link, octets, &input)
            feed(.recordAccess(link, octets))
        case 14: manage(link, request(&input), &input)
        case 10: report(&input)
        case 11, 12:
            now = now.advanced(byMilliseconds: input.milliseconds())
            feed(.timerFired)
        case 13: administer(&input)
        default: relaunch(&input)
        }
    }

    /// A request about somebody, of the version that there is, which chance would never hit.
    private func request(_ input: inout FuzzInput) -> [UInt8] {
        let opcode = ControlPointOpcode.known[Int(input.octet()) % ControlPointOpcode.known.count]
        let number = UInt64(input.octet() & 3) + 1
        let version = committed.credentials[CredentialID(rawValue: number)].map {
            ValueVersion(of: $0.record.encoded)
        }
        var writer = ByteWriter(capacity: 16)
        writer.write(opcode.rawValue)
        if opcode != .openEnrolment { writer.write(number) }
        if input.bool() { writer.write(UInt16(input.octet())) }
        if opcode != .openEnrolment { writer.write(version?.rawValue ?? 0) }
        writer.write(input.chunk())
        return writer.bytes
    }

    /// Whoever changed anything was allowed to, and a credential that nobody may touch over the air is as it was.
    private mutating func manage(_ link: LockLink, _ octets: [UInt8], _ input: inout FuzzInput) {
        responseOctets = 20 + Int(input.octet())
        let before = committed.credentials
        let first = records.count
        let credentials = before
        func sorted(_ isIn: (Credential) -> Bool) -> [Credential] {
            credentials.values.filter(isIn).sorted { $0.id.rawValue < $1.id.rawValue }
        }
        let context = ControlPointContext(
            of: octets, responseOctets: responseOctets, window: window,
            after: { last, limit in
                Array(sorted { credential in last.map { credential.id.rawValue > $0.rawValue } ?? true }.prefix(limit))
            }, all: { scope in sorted { scope.covers($0) } })
        feed(.controlPoint(link, octets, context))
        let changed = Set(before.keys).union(committed.credentials.keys)
            .filter { before[$0] != committed.credentials[$0] }
        let managers = records[first...].compactMap { record -> CredentialID? in
            if case .managed(let manager, _, _, _) = record.event { manager.credential } else { nil }
        }
        require(changed.isEmpty == managers.isEmpty, "a change that nobody made, or nobody wrote down")
        for case let sender? in managers.map({ before[$0] }) {
            require(sender.isEnabled && committed.credentials[sender.id] == sender, "a manager changes itself")
            for case let other? in changed.map({ before[$0] }) {
                require(
                    sender.role == .owner && (other.role != .owner || !sender.isPassing)
                        || sender.role == .administrator && other.role != .owner && other.role != .administrator,
                    "a manager changes who ranks as high")
            }
        }
    }

    private mutating func report(_ input: inout FuzzInput) {
        let intent = ordered?.intent ?? IntentID(rawValue: UInt64(input.octet()))
        let position = BoltPosition(rawValue: input.octet() & 3) ?? .unknown
        let reports: [ActuatorReport] = [
            .began(intent), .ended(intent, position), .ended(intent, ordered?.movement.target ?? position),
            .declined(intent), .bolt(position), .door(DoorCode(rawValue: input.octet())), .input(.exit),
            .input(.fire(true)), .input(.fire(false)),
        ]
        let report = reports[Int(input.octet()) % reports.count]
        if case .input(.fire(let isOn)) = report { isFire = isOn }
        feed(.actuator(report))
    }

    private mutating func administer(_ input: inout FuzzInput) {
        let bond = UInt64(input.octet() & 3) + 1
        switch input.octet() & 7 {
        case 0:
            let settings = LockSettings(
                relockSeconds: input.bool() ? UInt16(input.octet()) : nil, lockAndGoSeconds: UInt16(input.octet()),
                challengeLifeMilliseconds: UInt64(input.uint16()), acceptsSigned: input.bool())
            feed(.administration(.settings(settings)))
        case 1:
            let isEnd = input.octet() & 1 == 1
            feed(.administration(isEnd ? .bondEnded(bond, .expired) : .bondForgotten(bond)))
        case 2: feed(.administration(.credentialRemoved(CredentialID(rawValue: bond))))
        case 3, 4:
            let change: CredentialChange =
                switch input.octet() & 3 {
                case 1: .disabled
                case 2: .enabled
                case 3: .removed
                default:
                    .scheduled(Validity(notAfterSeconds: input.bool() ? 1_500 : nil), Self.schedules(&input))
                }
            feed(.administration(.named(Self.name(of: bond), change)))
        case 5: feed(.administration(.operate(input.bool() ? .unlock : .lock)))
        default:
            let validity = Validity(
                notBeforeSeconds: input.bool() ? 500 : nil, notAfterSeconds: input.bool() ? 1_500 : nil)
            let credential = Credential(
                id: CredentialID(rawValue: bond), name: Self.name(of: bond),
                role: Role(rawValue: input.octet()) ?? .owner,
                isEnabled: input.bool(), bond: bond, validity: validity)
            feed(.administration(.credential(credential)))
        }
    }

    private static func schedules(_ input: inout FuzzInput) -> CredentialSchedules {
        let weekday = WeekdaySchedule(
            days: WeekdaySet(rawValue: input.octet()), fromMinute: Int(input.uint16()), untilMinute: Int(input.uint16())
        )
        return CredentialSchedules(weekdays: weekday.map { [$0] } ?? []) ?? .none
    }

    /// A kill, with or without the machine's power.
    private mutating func relaunch(_ input: inout FuzzInput) {
        if input.bool() {
            boot = BootID(bits: boot.bits + 1)
            now = Instant(nanoseconds: UInt64(input.octet()) * 1_000_000)
        }
        let bits = input.octet()
        var reading = BoltReading(position: BoltPosition(rawValue: bits & 3) ?? .unknown)
        if bits & 4 != 0 { reading.moving = committed.intent?.id }
        reading.performed = [nil, true, false, nil][Int(bits >> 3 & 3)]
        reading.isUnrecorded = bits & 0x20 != 0
        reading.isFire = bits & 0x40 != 0
        isFire = reading.isFire
        ordered = nil
        window = nil
        outputs.removeAll()
        let owed = untold
        (untold, raised) = ([], [])
        machine = Self.launch(committed, reading, boot, now, &outputs)
        settle()
        // Of a kind with more than are told in a minute, one says that there are more.
        for report in owed {
            require(
                raised.contains { $0.alarm == report.alarm && $0.record == report.record }
                    || raised.contains { $0.alarm.kind == report.alarm.kind && $0.hasMore },
                "a kill has silenced an alarm")
        }
    }

    private var moment: LockMoment { LockMoment(now: now, wallClockSeconds: 1_000) }

    private mutating func feed(_ event: LockInput) {
        random &+= 0x9E37_79B9_7F4A_7C15
        if let last = untold.last { machine.alarmsTold(through: last.number) }
        untold = []
        machine.handle(event, at: moment, random: random, into: &outputs)
        settle()
    }

    private mutating func settle() {
        var hasActed = false
        for output in outputs {
            if case .persist(let fact) = output {
                require(!hasActed, "a fact comes behind an act")
                keep(fact)
                continue
            }
            hasActed = true
            act(output)
        }
        outputs.removeAll()
        require(granted.count <= 1, "\(granted.count) movements wait for their outcome")
    }

    private mutating func keep(_ fact: LockMutation) {
        committed.apply(fact)
        // What the lock opens by its own rules stands on the record of its mode, or of the opening.
        if case .intent(let intent?) = fact, intent.phase == .decided, intent.origin == .rule,
            !intent.movement.isSecuring
        {
            granted.insert(intent.id.rawValue)
        }
        guard case .audit(let record) = fact else { return }
        records.append(record)
        switch record.event {
        case .granted(let command):
            let credential = command.credential.flatMap { committed.credentials[$0] }
            require(credential?.isEnabled == true && credential?.bond == command.bond, "a revoked credential opens")
            granted.insert(record.sequence)
        case .securing: granted.insert(record.sequence)
        case .opening, .modeChanged(.passage, by: _): openings.insert(record.sequence)
        // A bolt that is there has its outcome without a movement.
        case .operated(let operation):
            granted.insert(record.sequence)
            if operation == .unlock { openings.insert(record.sequence) }
        case .outcome(let sequence, _):
            require(granted.remove(sequence) != nil, "an outcome without a movement")
            require(ended.insert(sequence).inserted, "a movement has two outcomes")
        case .refused, .refusalsSuppressed, .idleGrantsSuppressed, .bolt, .door, .launched, .administered,
            .securedUnrecorded, .relaunched, .stateConfirmed, .bondDeleted, .bondExpired, .windowOpened,
            .windowClosed, .enrolled, .settingsChanged, .auditDoubted, .managed, .procedureRefused, .windowManaged,
            .spent, .lockedOut, .duress, .userSet, .settingsManaged, .modeChanged, .timeSet, .reset, .operatorIs,
            .stopped, .clockStepped, .held:
            break
        }
    }

    private mutating func act(_ output: LockOutput) {
        switch output {
        case .actuate(let order):
            ordered = order
            require(committed.intent?.id == order.intent, "a movement is ordered that is not on disk")
            require(order.movement.isSecuring || order.notAfter != nil, "an opening has no end to its time")
            require(
                order.movement.isSecuring || order.command != nil || openings.contains(order.intent.rawValue),
                "a lock opens by itself")
            require(!isFire || !order.movement.isSecuring, "a door is locked in a fire")
            if let meant, order.command == meant.command, let notAfter = order.notAfter {
                require(notAfter <= meant.until, "a lock may open later than was meant")
            }
        case .notifyChallenge(_, let octets), .challengeValue(_, let octets):
            require(octets.count == Challenge.octets, "a challenge has another length")
            if octets != challenge { issued = now }
            challenge = octets
        case .notifyReceipt(_, let octets):
            require(octets.count == Receipt.octets, "a receipt has another length")
            require(receipts.insert(octets).inserted, "a receipt was sent twice")
        case .notifyLockState(_, let octets):
            require(octets.count == LockState.octets, "a lock state has another length")
        case .indicateControlPoint(_, let octets):
            require(octets.count <= responseOctets, "an answer needs a longer MTU")
        case .openWindow(_, let opening, let manager):
            require(window == nil, "a second window opens")
            window = ControlPointContext.Window(
                name: opening.name, role: opening.role, opener: manager.credential)
        case .closeWindow: window = nil
        case .recordAccess(let link, let verdict):
            if case .granted = verdict {
                require(machine.mayReadAudit(link, at: moment), "somebody reads the audit who may not")
            }
        case .alarm(let report):
            if report.record != nil { untold.append(report) }
            raised.append(report)
            require(
                report.record.map { number in records.contains { $0.sequence == number } } ?? true,
                "an alarm stands on no record")
        case .notifyAlarm(_, let octets):
            require(octets.count == AlarmValue.octets, "an alarm has another length")
        case .credentialRemoved, .stateChanged, .disconnect, .persist: break
        }
    }

    mutating func finish() {
        require(AuditHead.empty.firstBreak(in: records) == nil, "the audit's chain is broken")
        require(committed.intent == nil || granted == [committed.intent?.id.rawValue ?? 0], "an intent is nobody's")
    }
}
