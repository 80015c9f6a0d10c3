import BluetoothCore
import Foundation
import LockPeripheral
import LockProtocol
import Testing

func intent(
    _ movement: Movement, _ operation: LockOperation? = nil, boot: BootID = boot, phase: Intent.Phase = .decided
) -> Intent {
    let origin = operation.map {
        IntentOrigin.command(
            CommandOrigin(
                bond: alice, credential: CredentialID(rawValue: 1), challenge: ChallengeID(bits: 5), operation: $0))
    }
    return Intent(
        id: IntentID(rawValue: 9), movement: movement, origin: origin ?? .rule, boot: boot,
        deadline: movement == .lock ? nil : Instant(nanoseconds: 2_000), phase: phase)
}

@Suite("Launch rules: what a kill left × what the bolt says")
struct LaunchRuleTests {
    typealias Row = (
        name: String, intent: Intent, position: BoltPosition, performed: Bool?, moving: Bool, now: UInt64,
        expected: LaunchRules.Settlement
    )
    static let other = BootID(bits: 2)
    static let rows: [Row] = [
        ("lock, not begun", intent(.lock, .lock), .unlocked, false, false, 9_000, .driven),
        ("lock, not begun, other boot", intent(.lock, .lock, boot: other), .unlocked, false, false, 1, .driven),
        ("lock, hardware that forgets", intent(.lock, .lock), .unlocked, nil, false, 1, .driven),
        ("lock, half way", intent(.lock, .lock), .unknown, nil, false, 1, .driven),
        ("lock, still moving", intent(.lock, .lock), .unknown, true, true, 1, .awaited),
        ("lock, made", intent(.lock, .lock), .locked, true, false, 1, .ended(.done)),
        ("lock, made and jammed", intent(.lock, .lock), .jammed, true, false, 1, .ended(.unknown)),
        ("lock, found locked", intent(.lock, .lock), .locked, nil, false, 1, .ended(.done)),
        ("relock, not begun", intent(.lock), .unlocked, false, false, 1, .driven),
        ("unlock, not begun, in time", intent(.unlock, .unlock), .locked, false, false, 2_000, .driven),
        ("unlock, not begun, too late", intent(.unlock, .unlock), .locked, false, false, 2_001, .ended(.aborted)),
        (
            "unlock, not begun, other boot", intent(.unlock, .unlock, boot: other), .locked, false, false, 1,
            .ended(.aborted)
        ),
        ("unlock, still moving, too late", intent(.unlock, .unlock), .unknown, true, true, 9_000, .awaited),
        ("unlock, made, too late now", intent(.unlock, .unlock), .unlocked, true, false, 9_000, .ended(.done)),
        ("unlock, made, locked by hand since", intent(.unlock, .unlock), .locked, true, false, 1, .ended(.done)),
        (
            "unlock, hardware that forgets, locked", intent(.unlock, .unlock), .locked, nil, false, 9_000,
            .ended(.aborted)
        ),
        (
            "unlock, hardware that forgets, half way", intent(.unlock, .unlock), .unknown, nil, false, 9_000,
            .ended(.unknown)
        ),
        ("unlock, hardware that forgets, open", intent(.unlock, .unlock), .unlocked, nil, false, 9_000, .ended(.done)),
        (
            "unlock, had begun, locked", intent(.unlock, .unlock, phase: .moving), .locked, nil, false, 1,
            .ended(.unknown)
        ),
        ("unlatch, not begun, in time", intent(.unlatch, .unlatch), .locked, false, false, 1, .ended(.aborted)),
        ("unlatch, hardware that forgets", intent(.unlatch, .unlatch), .locked, nil, false, 1, .ended(.unknown)),
        ("unlatch, made", intent(.unlatch, .unlatch), .unlocked, true, false, 1, .ended(.done)),
        ("lock-and-go, not begun, in time", intent(.unlock, .lockAndGo), .locked, false, false, 1, .ended(.aborted)),
    ]

    @Test("The matrix of docs/RESTORATION.md", arguments: rows.indices)
    func matrix(index: Int) {
        let row = Self.rows[index]
        let reading = BoltReading(
            position: row.position, door: .closed, moving: row.moving ? row.intent.id : nil, performed: row.performed)
        let settled = LaunchRules.settle(
            row.intent, reading: reading, boot: boot, now: Instant(nanoseconds: row.now))
        #expect(settled == row.expected, "\(row.name)")
    }

    @Test("A movement that may have begun is not begun again, and nobody says that it was not made; a lock is")
    func perhapsBegun() {
        let now = Instant(nanoseconds: 1)
        for (asked, position, expected) in [
            (intent(.unlock, .unlock), BoltPosition.locked, LaunchRules.Settlement.ended(.unknown)),
            (intent(.unlock, .unlock), .unknown, .ended(.unknown)),
            (intent(.unlock, .unlock), .unlocked, .ended(.done)),
            (intent(.unlatch, .unlatch), .locked, .ended(.unknown)),
            (intent(.unlock, .lockAndGo), .unlocked, .ended(.unknown)),
            (intent(.lock, .lock), .unlocked, .driven), (intent(.lock, .lock), .locked, .ended(.done)),
        ] {
            let reading = BoltReading(position: position, mayHaveBegun: true)
            let settled = LaunchRules.settle(asked, reading: reading, boot: boot, now: now)
            #expect(settled == expected, "\(asked.movement) at \(position)")
        }
    }

    @Test("A momentary opening that was interrupted is aborted and the bolt driven to its secure state")
    func recovery() {
        var snapshot = LockSnapshot.furnished
        let interrupted = intent(.unlatch, .unlatch)
        snapshot.intent = interrupted
        let bench = LockBench(snapshot, reading: BoltReading(position: .unlocked, door: .closed, performed: false))
        #expect(bench.events.dropFirst() == [.outcome(of: 9, .aborted), .securing(recovering: true)])
        #expect(bench.orders.map(\.movement) == [.lock])
        #expect(bench.orders.first?.intent != interrupted.id)
    }

    @Test("A relock of another boot is due at once; one of this boot at its time")
    func relockAcrossBoots() {
        var snapshot = LockSnapshot.furnished
        let reading = BoltReading(position: .unlocked, door: .closed)
        snapshot.relock = BootDeadline(boot: Self.other, at: Instant(nanoseconds: .max))
        #expect(LockBench(snapshot, reading: reading).orders.map(\.movement) == [.lock])
        snapshot.relock = BootDeadline(boot: boot, at: Instant(nanoseconds: 2_000_000_000))
        var bench = LockBench(snapshot, reading: reading)
        #expect(bench.orders.isEmpty)
        bench.outputs = bench.run(milliseconds: 1_000)
        #expect(bench.orders.map(\.movement) == [.lock])
    }
}

@Suite("Bolt machine: state × report")
struct BoltMachineTests {
    private static let id = IntentID(rawValue: 9)
    private static let stranger = IntentID(rawValue: 8)

    private static let reports: [(ActuatorReport, resting: BoltMachine.Change, moving: BoltMachine.Change)] = [
        (.began(id), .nothing, .began(intent(.unlock, .unlock, phase: .moving))),
        (.began(stranger), .nothing, .nothing),
        (.ended(id, .unlocked), .nothing, .ended(intent(.unlock, .unlock), .done, .unlocked)),
        (.ended(id, .locked), .nothing, .ended(intent(.unlock, .unlock), .aborted, .locked)),
        (.ended(id, .jammed), .nothing, .ended(intent(.unlock, .unlock), .aborted, .jammed)),
        (.ended(id, .unknown), .nothing, .ended(intent(.unlock, .unlock), .unknown, .unknown)),
        (.ended(stranger, .unlocked), .nothing, .nothing),
        (.declined(id), .nothing, .ended(intent(.unlock, .unlock), .aborted, .locked)),
        (.declined(stranger), .nothing, .nothing),
        (.bolt(.locked), .nothing, .nothing),
        (.bolt(.unlocked), .found(.unlocked), .nothing),
        (.door(.closed), .nothing, .nothing),
        (.door(.open), .door(.open), .door(.open)),
    ]

    @Test("Every report, at rest and on the way")
    func table() {
        for (report, resting, moving) in Self.reports {
            var bolt = BoltMachine(BoltRecord(position: .locked, door: .closed))
            #expect(bolt.handle(report) == resting, "\(report) at rest")
            bolt = BoltMachine(BoltRecord(position: .locked, door: .closed))
            bolt.begin(intent(.unlock, .unlock), now: Instant(nanoseconds: 0))
            #expect(bolt.handle(report) == moving, "\(report) on the way")
        }
    }

    @Test("What is told of a bolt on its way")
    func codes() {
        for (movement, code) in [(Movement.lock, BoltCode.locking), (.unlock, .unlocking), (.unlatch, .unlatched)] {
            var bolt = BoltMachine(BoltRecord(position: .unknown, door: .closed))
            bolt.begin(intent(movement), now: Instant(nanoseconds: 0))
            #expect(bolt.code == code)
        }
    }

    @Test("An actuator has ten seconds, not a millisecond more")
    func silence() {
        var bolt = BoltMachine(BoltRecord(position: .locked, door: .closed))
        bolt.begin(intent(.unlock, .unlock), now: Instant(nanoseconds: 0))
        let end = Instant(nanoseconds: 0).advanced(byMilliseconds: BoltMachine.travelMaximumMilliseconds)
        #expect(bolt.deadline == end)
        #expect(bolt.timerFired(now: Instant(nanoseconds: end.nanoseconds - 1)) == .nothing)
        #expect(bolt.timerFired(now: end) == .ended(intent(.unlock, .unlock), .unknown, .unknown))
        #expect(bolt.position == .unknown)
    }
}

@Suite("Simulated bolt and its journal")
struct JournalTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "bolt-\(UUID().uuidString)").path()
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func order(_ id: UInt64, _ movement: Movement, notAfter: Instant? = nil) -> ActuatorOrder {
        ActuatorOrder(
            intent: IntentID(rawValue: id), movement: movement, command: ChallengeID(bits: 0xF6E5_D4C3_B2A1 + id),
            notAfter: notAfter)
    }

    private func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test("One line for each movement, and the same order again moves nothing")
    func journal() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let bolt = SimulatedBolt(journal: try BoltJournal(path: path), travelMilliseconds: 500)
        #expect(try bolt.reading(asking: nil, now: start).position == .locked)
        #expect(try bolt.perform(order(0, .unlock), now: start) == nil)
        #expect(try bolt.perform(order(0, .unlock), now: start) == nil)
        #expect(try bolt.poll(now: start.advanced(byMilliseconds: 499)) == nil)
        #expect(try bolt.poll(now: start.advanced(byMilliseconds: 500)) == .ended(IntentID(rawValue: 0), .unlocked))
        #expect(try bolt.perform(order(0, .unlock), now: start) == .ended(IntentID(rawValue: 0), .unlocked))
        #expect(try text() == "1 1000000000 \(ProcessInfo.processInfo.processIdentifier) 0 A1B2C3D4E5F6 unlock\n")
    }

    @Test("Killed behind the line: the next process finds it moving, or moved, and does not move it again")
    func killedBehindTheLine() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        var asked = intent(.unlock, .unlock)
        asked.deadline = start.advanced(byMilliseconds: Intent.openingLifeMilliseconds)
        let order = ActuatorOrder(asked)
        _ = try SimulatedBolt(journal: try BoltJournal(path: path), travelMilliseconds: 500).perform(order, now: start)
        for (later, reading) in [
            (100, BoltReading(position: .unknown, door: .closed, moving: asked.id, performed: true)),
            (500, BoltReading(position: .unlocked, door: .closed, moving: nil, performed: true)),
        ] as [(UInt64, BoltReading)] {
            let bolt = SimulatedBolt(journal: try BoltJournal(path: path), travelMilliseconds: 500)
            let now = start.advanced(byMilliseconds: later)
            #expect(try bolt.reading(asking: asked, now: now) == reading)
            _ = try bolt.perform(order, now: now)
            #expect(
                try bolt.poll(now: start.advanced(byMilliseconds: 500)) == .ended(asked.id, .unlocked) || later == 500)
        }
        #expect(try text().split(separator: "\n").count == 1)
        // Before the power went: boot time began anew.
        let rebooted = SimulatedBolt(journal: try BoltJournal(path: path), travelMilliseconds: 500)
        #expect(try rebooted.reading(asking: asked, now: Instant(nanoseconds: 5)).position == .unlocked)
    }

    @Test("An order that comes late is declined and not written")
    func late() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let bolt = SimulatedBolt(journal: try BoltJournal(path: path))
        let late = Instant(nanoseconds: start.nanoseconds + 1)
        #expect(try bolt.perform(order(3, .unlock, notAfter: start), now: late) == .declined(IntentID(rawValue: 3)))
        #expect(try text().isEmpty)
    }

    @Test("A torn last line is a movement that never began")
    func torn() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let whole = "1 5 7 3 A1B2C3D4E5F6 unlock\n2 6 7 4 - lock\n"
        try (whole + "3 7 7 5 - unl").write(toFile: path, atomically: false, encoding: .utf8)
        let journal = try BoltJournal(path: path)
        #expect(journal.last?.movement == .lock)
        #expect(journal.damagedLineCount == 0)
        #expect(try text() == whole)
        try journal.append(order(6, .unlock), now: start)
        #expect(BoltJournalEnd(Array(try text().utf8), isWhole: true).lines.map(\.sequence) == [1, 2, 3])
    }

    private static let unreadable = [
        "2 6 7 4 - jump", "2 6 7 4 zz lock", "1 6 7 4 - lock", "2 6 7 4 -", "", String(repeating: "\0", count: 4_096),
    ]

    @Test(
        "A damaged line costs itself: the ones around it say where the bolt is, and what was made",
        arguments: unreadable)
    func damage(_ line: String) throws {
        let text = "1 5 7 3 A1B2C3D4E5F6 unlock\n\(line)\n3 7 7 5 - lock\n"
        let end = BoltJournalEnd(Array(text.utf8), isWhole: true)
        #expect(end.lines.map(\.sequence) == [1, 3])
        #expect(end.damagedLineCount == 1)
        #expect(end.isLastKnown && end.isLastIntendedKnown)
        #expect(end.last?.movement == .lock)
    }

    @Test(
        "Behind a damaged last line nobody knows where the bolt is, nor what was made, until it moves",
        arguments: unreadable, ["", "\n"])
    func damagedLast(_ line: String, _ lineEnd: String) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        // A short one without its end is a torn one.
        guard lineEnd == "\n" || line.count > BoltJournal.lineMaximumOctets else { return }
        let asked = intent(.unlock, .unlock)
        let before = "1 5 7 3 A1B2C3D4E5F6 unlock\n\(line)\(lineEnd)"
        try before.write(toFile: path, atomically: false, encoding: .utf8)
        do {
            let bolt = SimulatedBolt(journal: try BoltJournal(path: path), travelMilliseconds: 0)
            let reading = try bolt.reading(asking: asked, now: start)
            #expect(reading.position == .unknown)
            #expect(reading.performed == nil)
            #expect(try bolt.perform(order(4, .lock), now: start) == .ended(IntentID(rawValue: 4), .locked))
        }
        #expect(try text().hasPrefix(before), "what cannot be read stays")
        let journal = try BoltJournal(path: path)
        #expect(journal.last?.movement == .lock)
        #expect(journal.last?.sequence == 2)
        #expect(try SimulatedBolt(journal: journal).reading(asking: asked, now: start).performed == false)
    }

    @Test("A line that cannot be read behind the last movement of an intent: nobody knows whether that was made")
    func damagedBeforeUnrecorded() throws {
        let unrecorded = BoltJournal.Line(
            sequence: 3, at: start, process: 7, intent: ActuatorOrder.unrecordedLock.intent, command: nil,
            movement: .lock)
        let text = "1 5 7 3 A1B2C3D4E5F6 unlock\n2 6 7 4 - jump\n\(unrecorded.text)\n"
        let end = BoltJournalEnd(Array(text.utf8), isWhole: true)
        #expect(end.last == unrecorded)
        #expect(end.lastIntended?.sequence == 1)
        #expect(!end.isLastIntendedKnown)
    }

    @Test("A long journal becomes FILE.1 and goes on with what a launch asks for; a launch reads the end of either")
    func rotation() throws {
        defer { for name in [path, path + ".1"] { try? FileManager.default.removeItem(atPath: name) } }
        let line = { (number: Int) in "\(number) 5 7 \(number) - \(number % 2 == 0 ? "lock" : "unlock")\n" }
        var (before, count) = ("1 jump\n", 1)
        while before.utf8.count < BoltJournal.fileMaximumOctets {
            count += 1
            before += line(count)
        }
        try before.write(toFile: path, atomically: false, encoding: .utf8)
        var journal: BoltJournal? = try BoltJournal(path: path)
        #expect(journal?.damagedLineCount == 0, "that is far behind the end")
        #expect(journal?.last?.sequence == UInt64(count))
        try journal?.append(order(9, .unlock), now: start)
        try journal?.append(.unrecordedLock, now: start)
        #expect(!FileManager.default.fileExists(atPath: path + ".1"))
        try journal?.settle()
        #expect(try String(contentsOfFile: path + ".1", encoding: .utf8).hasPrefix(before))
        let kept = BoltJournalEnd(Array(try text().utf8), isWhole: true).lines
        #expect(kept.map(\.sequence) == [UInt64(count) + 1, UInt64(count) + 2])
        #expect(kept.map(\.isIntended) == [true, false])
        #expect(throws: BoltJournal.Failure.inUse) { try BoltJournal(path: path) }
        try journal?.append(order(10, .lock), now: start)
        try journal?.settle()
        journal = nil
        #expect(try BoltJournal(path: path).last?.sequence == UInt64(count) + 3)
    }

    @Test("Every audit event round-trips, and every strict prefix of one is refused")
    func auditEvents() throws {
        let command = AuditedCommand(
            bond: alice, credential: CredentialID(rawValue: 1),
            command: LockCommand(operation: .unlock, challenge: ChallengeID(bits: 5)), signCounter: 0)
        let bare = AuditedCommand(bond: alice, credential: nil, command: command.command, signCounter: nil)
        let events: [AuditEvent] = [
            .granted(command), .granted(bare), .refused(command, .busy), .refusalsSuppressed(bond: bob),
            .idleGrantsSuppressed(bond: bob),
            .securing(recovering: true), .securing(recovering: false), .outcome(of: 3, .unknown), .bolt(.jammed),
            .door(.forced), .launched,
        ]
        for event in events {
            #expect(try AuditEvent(exactly: event.encoded) == event)
            for count in 0..<event.encoded.count {
                #expect(throws: DecodingError.self) { try AuditEvent(exactly: Array(event.encoded.prefix(count))) }
            }
        }
    }
}
