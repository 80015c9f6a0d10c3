import BluetoothCore
import LockPeripheral
import LockProtocol
import MemoryStores
import Testing

@Suite("What the lock raises an alarm for")
struct AlarmTests {
    @Test("Forced: the bolt leaves its locked place without a command, and what a hand does else raises nothing")
    func forcedBolt() {
        for position in [BoltPosition.unlocked, .jammed] {
            var bench = LockBench()
            #expect(bench.report(.bolt(position)) == [.forced(.bolt)])
            #expect(bench.standsOn == .bolt(position))
            #expect(bench.report(.bolt(.locked)) == [])
        }
        var open = LockBench(reading: BoltReading(position: .unlocked, door: .closed))
        #expect(open.report(.bolt(.locked)) == [])
    }

    @Test("Jam: nobody can say any more where a locked bolt is, while the lock runs or at its launch")
    func unknownBolt() {
        var bench = LockBench()
        #expect(bench.report(.bolt(.unknown)) == [.jam(.unknown)])
        #expect(bench.standsOn == .bolt(.unknown))
        #expect(bench.report(.bolt(.unlocked)) == [])
        var launched = LockBench(reading: BoltReading(position: .unknown, door: .closed))
        #expect(launched.raised == [.jam(.unknown)])
        launched.tellAlarms()
        // It was known before: a lock that is new, or that never knew, has nothing to tell.
        let again = LockBench(launched.store.committed, reading: BoltReading(position: .unknown, door: .closed))
        #expect(again.raised == [])
    }

    @Test("Forced: the door opens while the bolt is locked, and not while it is not")
    func forcedDoor() {
        for door in [DoorCode.open, .ajar, .forced] {
            var bench = LockBench()
            #expect(bench.report(.door(door)) == [.forced(.door)])
            #expect(bench.standsOn == .door(.forced))
            #expect(bench.report(.door(.closed)) == [])
            bench.report(.bolt(.unlocked))
            #expect(bench.report(.door(.open)) == [])
            // The contact's own word counts in any case.
            #expect(bench.report(.door(.forced)) == [.forced(.door)])
        }
    }

    @Test("An opening, a door that is used and a relock raise nothing")
    func ordinaryDay() throws {
        var bench = LockBench()
        let order = try bench.unlockUnderWay()
        var all = bench.raised
        all += bench.report(.began(order.intent))
        all += bench.report(.ended(order.intent, .unlocked))
        all += bench.report(.door(.open))
        all += bench.run(milliseconds: 60_000).alarms.map(\.alarm)
        all += bench.report(.door(.closed))
        let relock = try #require(bench.orders.last)
        all += bench.report(.ended(relock.intent, .locked))
        #expect(all == [] && bench.machine.state.bolt == .locked)
        #expect(bench.machine.alarms.value == AlarmValue(kind: AlarmKind(rawValue: 0), cause: 0, count: 0, kinds: 0))
    }

    @Test(
        "Jam: the bolt rests elsewhere than where it was sent",
        arguments: [BoltPosition.jammed, .locked, .unknown])
    func jam(position: BoltPosition) throws {
        var bench = LockBench()
        let order = try bench.unlockUnderWay()
        #expect(bench.report(.ended(order.intent, position)) == [.jam(position)])
        guard case .outcome(of: order.intent.rawValue, _) = bench.standsOn else {
            Issue.record("an alarm stands on \(String(describing: bench.standsOn))")
            return
        }
    }

    @Test("Jam: an actuator that is silent, a bolt that does not lock, and one that is found jammed")
    func otherJams() throws {
        var silent = LockBench()
        _ = try silent.unlockUnderWay()
        let alarms = silent.run(milliseconds: BoltMachine.travelMaximumMilliseconds).alarms.map(\.alarm)
        #expect(alarms == [.jam(.unknown)])

        var stuck = LockBench()
        let order = try stuck.unlockUnderWay()
        stuck.report(.ended(order.intent, .unlocked))
        stuck.outputs = stuck.run(milliseconds: 10_000)
        let relock = try #require(stuck.orders.first)
        #expect(stuck.report(.declined(relock.intent)) == [.jam(.unlocked)])

        var found = LockBench(reading: BoltReading(position: .unlocked, door: .closed))
        #expect(found.report(.bolt(.jammed)) == [.jam(.jammed)])
    }

    @Test("An opening that comes too late for its deadline is no jam")
    func lateOpening() throws {
        var bench = LockBench()
        let order = try bench.unlockUnderWay()
        #expect(bench.report(.declined(order.intent)) == [])
    }

    @Test("A launch raises what has moved meanwhile, and nothing for what was owed or secured without a record")
    func launch() throws {
        func raised(_ reading: BoltReading, _ change: (inout LockSnapshot) -> Void = { _ in }) -> [Alarm] {
            var snapshot = LockSnapshot.furnished
            change(&snapshot)
            return LockBench(snapshot, reading: reading).raised
        }
        #expect(raised(BoltReading(position: .locked, door: .closed)) == [])
        #expect(raised(BoltReading(position: .unlocked, door: .open)) == [.forced(.bolt)])
        #expect(raised(BoltReading(position: .locked, door: .open)) == [.forced(.door)])
        #expect(raised(BoltReading(position: .locked, door: .closed.with(flags: DoorCode.tamper))) == [.tamper(.door)])
        #expect(raised(BoltReading(position: .unlocked, door: .closed, isUnrecorded: true)) == [])
        let isNew = { (snapshot: inout LockSnapshot) in snapshot = LockSnapshot() }
        #expect(raised(BoltReading(position: .unlocked, door: .open), isNew) == [])
        let isOpening = { (snapshot: inout LockSnapshot) in
            let origin = CommandOrigin(
                bond: alice, credential: CredentialID(rawValue: 1), challenge: ChallengeID(bits: 5), operation: .unlock)
            snapshot.intent = Intent(
                id: IntentID(rawValue: 9), movement: .unlock, origin: .command(origin), boot: boot, deadline: nil)
        }
        #expect(raised(BoltReading(position: .unlocked, door: .open, performed: true), isOpening) == [])
        #expect(raised(BoltReading(position: .jammed, door: .closed, performed: true), isOpening) == [.jam(.jammed)])
        #expect(raised(BoltReading(position: .locked, door: .closed, performed: false), isOpening) == [])
        let isDoubted = { (snapshot: inout LockSnapshot) in snapshot.auditDoubt = .shortened }
        #expect(raised(BoltReading(position: .locked, door: .closed), isDoubted) == [.tamper(.audit)])
    }

    @Test("A door that was forced while the lock was down is on the audit's record, once")
    func launchRecord() {
        var bench = LockBench(reading: BoltReading(position: .locked, door: .open))
        #expect(bench.standsOn == .door(.forced) && bench.events.count { $0 == .door(.forced) } == 1)
        bench.tellAlarms()
        let again = LockBench(bench.store.committed, reading: BoltReading(position: .locked, door: .open))
        #expect(again.raised == [] && again.events.contains(.door(.forced)) == false)
        let wider = LockBench(bench.store.committed, reading: BoltReading(position: .locked, door: .ajar))
        #expect(wider.raised == [] && wider.events.contains(.door(.ajar)) == false)
    }

    @Test("Tamper and rollback: what the shell finds, and a door's contact, once for each time")
    func tamper() {
        var bench = LockBench()
        let tampered = DoorCode.closed.with(flags: DoorCode.tamper)
        #expect(bench.report(.door(tampered)) == [.tamper(.door)])
        #expect(bench.report(.door(tampered.with(flags: DoorCode.lowBattery))) == [])
        for doubt in 1...7 {
            guard let doubt = StateDoubt(rawValue: UInt8(doubt)) else { continue }
            bench.put(.alarm(Alarm(doubt)))
            bench.pass(milliseconds: 60_000)
            #expect(bench.raised == [doubt == .older ? .rollback : .tamper(.state(doubt))])
        }
        bench.put(.alarm(.tamper(.row)))
        #expect(bench.raised == [.tamper(.row)] && bench.outputs.alarms.first?.record == nil)
    }

    @Test("Clock: once when it goes back or cannot be believed any more, and never where it was not believed before")
    func clock() {
        var bench = LockBench()
        #expect(bench.raised == [])
        let now = bench.wallClockSeconds ?? 0
        func look() -> [Alarm] {
            bench.pass(milliseconds: 60_000)
            bench.put(.timerFired)
            return bench.raised
        }
        bench.wallClockSeconds = now - WallClockMark.backwardsMaximumSeconds
        #expect(look() == [])
        bench.wallClockSeconds = now - WallClockMark.backwardsMaximumSeconds - 1
        #expect(look() == [.clock(.behind)])
        #expect(look() == [])
        bench.wallClockSeconds = now
        #expect(look() == [])
        bench.wallClockSeconds = nil
        #expect(look() == [.clock(.unset)])
        bench.wallClockSeconds = 0
        #expect(look() == [])

        // The mark outlives the program.
        var snapshot = LockSnapshot.furnished
        snapshot.auditTail.wallClockSeconds = now + 3_600
        #expect(LockBench(snapshot).raised == [.clock(.behind)])

        var without = LockBench(wallClockSeconds: nil)
        #expect(without.raised == [])
        without.put(.timerFired)
        #expect(without.raised == [])
    }

    @Test("Refusals: the meter's summary, with whom it is about")
    func refusals() throws {
        var bench = LockBench()
        bench.connectEncrypted(1, bob)
        var raised: [[Alarm]] = []
        for _ in 0..<6 {
            bench.encrypted(1, unlock(try bench.challenge(1)))
            raised.append(bench.raised)
        }
        #expect(raised == [[], [], [], [], [], [.refusals(of: CredentialID(rawValue: 2))]])
        #expect(bench.standsOn == .refusalsSuppressed(bond: bob))
    }

    @Test("Refusals: procedures count with commands, and raise the same")
    func refusedProcedures() {
        var bench = LockBench([Credential(1, "Ana", .owner), Credential(2, "Bo", .guest)])
        var raised: [[Alarm]] = []
        for _ in 0..<6 {
            bench.ask(.closeEnrolment, on: 2)
            raised.append(bench.raised)
        }
        #expect(raised == [[], [], [], [], [], [.refusals(of: CredentialID(rawValue: 2))]])
    }

    @Test("Each kind has its number, and those of the last alarm and of all before it are told")
    func kinds() {
        let someone = CredentialID(rawValue: 3)
        let all: [Alarm] = [
            .forced(.bolt), .jam(.jammed), .tamper(.row), .rollback, .clock(.unset), .refusals(of: nil),
            .duress(of: someone), .lockout(of: someone), .ajar,
        ]
        #expect(all.map(\.kind) == AlarmKind.known && AlarmKind.known.map(\.rawValue) == Array(1...9))
        var bench = LockBench([Credential(1, "Ana", .owner)])
        bench.hearAlarms(1)
        for (index, alarm) in all.enumerated() {
            bench.put(.alarm(alarm))
            #expect(bench.raised == [alarm])
            let value = bench.machine.alarms.value
            #expect(value.count == UInt8(index + 1) && value.credential == alarm.credential?.rawValue ?? 0)
            // Kinds behind the eighth have no bit.
            #expect(AlarmKind.known.filter(value.contains) == AlarmKind.known.prefix(min(index + 1, 8)).map { $0 })
        }
    }
}
