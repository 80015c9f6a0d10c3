import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// At least once: from the commit of its record until it has been told, an alarm is owed.
@Suite("Alarms that are owed")
struct AlarmDebtTests {
    /// A program that has been told nothing of what it told.
    private static func forced() throws -> (LockBench, AlarmReport) {
        var bench = LockBench()
        bench.report(.bolt(.unlocked))
        return (bench, try #require(bench.outputs.alarms.first))
    }

    private static func owed(_ alarm: Alarm, _ record: UInt64, hasMore: Bool = false) -> OwedAlarm {
        OwedAlarm(alarm, on: record, hasMore: hasMore)
    }

    private static func snapshot(_ owed: [OwedAlarm]) -> LockSnapshot {
        var snapshot = LockSnapshot.furnished
        snapshot.apply(.owedAlarms(owed))
        return snapshot
    }

    @Test("It is owed with the commit of its record, and by one that stands on no record nothing is")
    func owes() throws {
        var (bench, report) = try Self.forced()
        let record = try #require(report.record)
        #expect(bench.outputs.records.map(\.sequence).contains(record))
        #expect(bench.persists.contains(.owedAlarms([Self.owed(.forced(.bolt), record)])))
        #expect(bench.store.committed.owedAlarms == [Self.owed(.forced(.bolt), record)])
        for alarm in [Alarm.tamper(.row), .tamper(.state(.anchorMissing)), .rollback] {
            bench.put(.alarm(alarm))
            #expect(bench.raised == [alarm] && bench.persists == [])
        }
        bench.wallClockSeconds = nil
        bench.put(.timerFired)
        #expect(bench.raised == [.clock(.unset)] && bench.persists == [])
    }

    @Test("Told, it is taken back with the next commit that is made anyway")
    func takenBack() throws {
        var (bench, report) = try Self.forced()
        bench.put(.timerFired)
        #expect(bench.persists == [])
        bench.put(.administration(.settings(LockSettings(relockSeconds: 9))))
        #expect(bench.store.committed.owedAlarms.count == 1, "nobody has said that it was told")
        bench.machine.alarmsTold(through: report.number)
        bench.put(.timerFired)
        #expect(bench.persists == [], "it costs a write of its own")
        bench.put(.administration(.settings(LockSettings(relockSeconds: 8))))
        #expect(bench.persists.last == .owedAlarms([]) && bench.store.committed.owedAlarms == [])
        bench.put(.administration(.settings(LockSettings(relockSeconds: 7))))
        #expect(!bench.persists.contains(.owedAlarms([])))
    }

    @Test("Where nothing else is written, it is taken back by one commit, a little later, or as the program ends")
    func review() throws {
        var (bench, report) = try Self.forced()
        // Nobody has told it: each look finds that, and writes nothing.
        #expect(bench.run(milliseconds: 3 * AlarmDebt.reviewMilliseconds) == [])
        bench.machine.alarmsTold(through: report.number)
        #expect(bench.run(milliseconds: AlarmDebt.reviewMilliseconds) == [.persist(.owedAlarms([]))])
        #expect(bench.machine.deadline == nil && bench.store.committed.owedAlarms == [])

        (bench, report) = try Self.forced()
        bench.machine.alarmsTold(through: report.number)
        bench.put(.administration(.stopped))
        #expect(bench.store.committed.owedAlarms == [] && bench.events == [.stopped])
        // Nothing has happened since the launch, and nothing is on record of the end.
        var late = LockBench(Self.snapshot([Self.owed(.ajar, 4)]))
        late.put(.administration(.stopped))
        #expect(late.store.committed.owedAlarms.count == 1)
        late.machine.alarmsTold(through: 1)
        late.put(.administration(.stopped))
        #expect(late.store.committed.owedAlarms == [])
    }

    @Test("What one alarm's commit finds told of another one is taken back with it")
    func others() throws {
        var (bench, first) = try Self.forced()
        bench.machine.alarmsTold(through: first.number)
        bench.report(.door(.closed.with(flags: DoorCode.tamper)))
        #expect(bench.store.committed.owedAlarms.map(\.alarm) == [.tamper(.door)])
        let second = try #require(bench.outputs.alarms.first)
        #expect(second.number == first.number + 1)
    }

    @Test("A launch raises what an earlier program owed, late and in its order, before what it finds itself")
    func late() throws {
        let someone = CredentialID(rawValue: 1)
        let owed = [
            Self.owed(.duress(of: someone), 3), Self.owed(.jam(.jammed), 5, hasMore: true), Self.owed(.jam(.locked), 6),
        ]
        var bench = LockBench(Self.snapshot(owed), reading: BoltReading(position: .unlocked, door: .closed))
        #expect(
            bench.outputs.alarms == [
                AlarmReport(.duress(of: someone), on: 3, isLate: true, number: 1),
                AlarmReport(.jam(.jammed), on: 5, hasMore: true, isLate: true, number: 2),
                AlarmReport(.jam(.locked), on: 6, isLate: true, number: 3),
                AlarmReport(.forced(.bolt), on: bench.outputs.alarms.last?.record, number: 4),
            ])
        // Whoever comes back reads the last one, and that there were others.
        #expect(bench.machine.alarms.value.count == 4 && bench.machine.alarms.value.contains(.duress))
        #expect(bench.store.committed.owedAlarms.count == 4)
        // Killed again before it told the third.
        bench.machine.alarmsTold(through: 2)
        bench.put(.administration(.settings(LockSettings(relockSeconds: 9))))
        let again = LockBench(
            bench.store.committed, reading: BoltReading(position: .unlocked, door: .closed))
        #expect(again.outputs.alarms.map(\.alarm) == [.jam(.locked), .forced(.bolt)])
        #expect(again.outputs.alarms.map(\.isLate) == [true, true])
    }

    @Test("A program that only settles the bolt leaves them to the lock that begins behind it")
    func settlesOnly() {
        let kept = Self.snapshot([Self.owed(.ajar, 4)])
        let reading = BoltReading(position: .locked, door: .closed)
        let moment = LockMoment(now: Instant(nanoseconds: 1), wallClockSeconds: 1)
        func begin(_ book: AlarmBook, tellsLaunch: Bool) -> (AlarmBook, [LockOutput]) {
            var outputs: [LockOutput] = []
            let machine = LockMachine(
                restoring: kept, reading: reading, boot: boot, receiptHandle: receiptHandle, tellsLaunch: tellsLaunch,
                alarms: book, at: moment, into: &outputs)
            return (machine.alarms, outputs)
        }
        let (first, nothing) = begin(AlarmBook(), tellsLaunch: false)
        #expect(nothing.alarms == [])
        let (second, outputs) = begin(first, tellsLaunch: true)
        #expect(outputs.alarms.map(\.alarm) == [.ajar])
        // One program tells it once, though its store still owes it.
        #expect(begin(second, tellsLaunch: true).1.alarms == [])
    }

    @Test(
        "Killed at each instruction between its commit and its telling, and once more at each of the next launch, it is told"
    )
    func killed() throws {
        /// A hand moves the bolt, and then the door is forced. How many instructions there were, without a kill.
        @discardableResult
        func play(_ first: Int?, _ second: Int? = nil) throws -> Int {
            let world = LockWorld()
            world.launch()
            let before = world.outputCount
            world.outputsToLive = first
            var isFirstLife = true
            for report in [ActuatorReport.bolt(.unlocked), .bolt(.locked), .door(.open)] {
                world.put(.actuator(report))
                if isFirstLife, world.kills > 0 { (world.outputsToLive, isFirstLife) = (second, false) }
            }
            world.run(milliseconds: 1_000)
            world.outputsToLive = nil
            world.run(milliseconds: 2 * AlarmDebt.reviewMilliseconds)
            for record in world.store.audit {
                let alarm: Alarm
                switch record.event {
                case .bolt(.unlocked): alarm = .forced(.bolt)
                case .door(.forced): alarm = .forced(.door)
                default: continue
                }
                let heard = world.told.filter { $0.alarm == alarm && $0.record == record.sequence }
                #expect(!heard.isEmpty, "killed at \(first ?? -1) and \(second ?? -1): \(alarm) is told never")
                #expect(heard.count == 1 || world.kills > 0, "\(alarm) is told twice, and nobody was killed")
            }
            #expect(world.store.committed.owedAlarms == [], "killed at \(first ?? -1) and \(second ?? -1)")
            return world.outputCount - before
        }
        let count = try play(nil)
        #expect(count > 8)
        for first in 0..<count {
            for second in 0...4 { try play(first, second) }
        }
    }

    @Test("The one that says that there are more is owed until the last of these has been told")
    func more() {
        var bench = LockBench()
        func force() {
            bench.report(.door(.open))
            bench.report(.door(.closed))
        }
        for _ in 0..<AlarmDebt.alarmsOfKindMaximum { force() }
        bench.pass(milliseconds: 60_000)
        force()
        let last = bench.machine.alarms.reportCount
        #expect(last == UInt64(AlarmDebt.alarmsOfKindMaximum) + 1)
        // The program is killed behind the one that has the record, and before the one that stood for more.
        bench.machine.alarmsTold(through: last - 1)
        bench.put(.administration(.settings(LockSettings(relockSeconds: 9))))
        #expect(bench.store.committed.owedAlarms.map(\.hasMore) == [true])
        bench.machine.alarmsTold(through: last)
        bench.put(.administration(.settings(LockSettings(relockSeconds: 8))))
        #expect(bench.store.committed.owedAlarms == [])
    }

    @Test(
        "One that an earlier program has left, and nobody has raised yet, is told for itself, whatever there is more of it"
    )
    func moreOfUnraised() {
        var debt = AlarmDebt()
        let now = Instant(nanoseconds: 1)
        let kept = (1...AlarmDebt.alarmsOfKindMaximum).map { Self.owed(.ajar, UInt64($0)) }
        debt.find(kept)
        debt.owe(AlarmReport(.ajar, on: 9, number: 1), now: now)
        debt.told(through: 1)
        #expect(debt.settle(at: now, isCommitting: true)?.map(\.record) == kept.map(\.record))
        #expect(debt.unraised.map(\.record) == kept.map(\.record))
    }

    @Test("Flood: of each kind no more is owed than is told in a minute, and the last one says that there are more")
    func bounded() {
        var bench = LockBench()
        for _ in 0..<400 {
            bench.report(.door(.open))
            bench.report(.door(.closed))
            bench.pass(milliseconds: 2_000)
        }
        bench.report(.door(.closed.with(flags: DoorCode.tamper)))
        let owed = bench.store.committed.owedAlarms
        #expect(owed.count { $0.alarm == .forced(.door) } == AlarmDebt.alarmsOfKindMaximum)
        #expect(owed.map(\.hasMore) == [false, false, false, false, false, true, false])
        #expect(owed.last?.alarm == .tamper(.door))
        // The oldest are kept, and none twice.
        #expect(owed.map(\.record) == owed.map(\.record).sorted() && Set(owed.map(\.record)).count == owed.count)
        // A launch tells them all, and what it finds itself of the same kind is more of it.
        var again = LockBench(bench.store.committed, reading: BoltReading(position: .locked, door: .closed))
        #expect(again.outputs.alarms.map(\.hasMore) == owed.map(\.hasMore))
        again.report(.door(.open))
        #expect(again.raised == [])
        again.machine.alarmsTold(through: 7)
        again.report(.door(.closed))
        #expect(again.store.committed.owedAlarms == [])
    }
}

@Suite("An owed alarm, as the store has it")
struct OwedAlarmTests {
    private static let all: [Alarm] = {
        let someone = CredentialID(rawValue: .max)
        return ForcedPart.allCases.map { .forced($0) } + ClockFault.allCases.map { .clock($0) } + [
            .jam(.unknown), .jam(.locked), .jam(.unlocked), .jam(.jammed), .tamper(.row), .tamper(.audit),
            .tamper(.door), .tamper(.state(.anchorMissing)), .rollback, .ajar, .refusals(of: nil),
            .refusals(of: someone), .lockout(of: nil), .lockout(of: someone), .duress(of: someone),
        ]
    }()

    @Test("Each comes back as it was, and no part of it is one")
    func codec() throws {
        for alarm in Self.all {
            for hasMore in [false, true] {
                let owed = OwedAlarm(alarm, on: 0x0102_0304_0506_0708, hasMore: hasMore)
                #expect(owed.encoded.count == 19)
                #expect(try OwedAlarm(exactly: owed.encoded) == owed)
                for count in 0..<19 {
                    #expect(throws: DecodingError.self) { try OwedAlarm(exactly: Array(owed.encoded.prefix(count))) }
                }
            }
        }
    }

    @Test("What no alarm is, is refused: octet by octet nothing else comes back than what was written")
    func refused() {
        var read = 0
        for kind in UInt8.min...UInt8.max {
            for cause in UInt8.min...UInt8.max {
                for flags in 0...4 as ClosedRange<UInt8> {
                    let octets = [kind, cause, flags] + [UInt8](repeating: 0, count: 16)
                    guard let owed = try? OwedAlarm(exactly: octets) else { continue }
                    #expect(owed.encoded == octets)
                    read += 1
                }
            }
        }
        let causes = ForcedPart.allCases.count + 4 + 3 + StateDoubt.allCases.count + ClockFault.allCases.count
        // Rollback and ajar; refusals and lockouts, of somebody or not; duress. Each with more and without.
        #expect(read == 2 * (causes + 2 + 4 + 1))
        var stray = OwedAlarm(.ajar, on: 1).encoded
        stray[18] = 1
        #expect(throws: DecodingError.self) { try OwedAlarm(exactly: stray) }
    }
}
