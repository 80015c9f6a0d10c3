import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Alice owns the lock. The bench's clock says Friday, 15 January 2027, 08:00 UTC.
@Suite("Doors")
struct DoorTests {
    // MARK: Fire

    @Test("A fire opens in every mode; nobody locks while it lasts, and its end does", arguments: LockMode.allCases)
    func fire(mode: LockMode) throws {
        var bench = LockBench.atDoor(mode: mode)
        bench.feel(.fire(true))
        #expect(bench.movements == [.unlock] && bench.events.prefix(2) == [.held(.fire), .opening(.hold)])
        bench.finishMovement()
        #expect(!bench.run(milliseconds: 86_400_000).contains { if case .actuate = $0 { true } else { false } })
        #expect(try bench.ask(.lock) == .modeForbids)
        #expect(try bench.ask(.unlock) == .done)
        bench.put(.administration(.mode(.lockdown)))
        #expect(bench.orders.isEmpty)
        bench.put(.administration(.mode(mode)))
        #expect(bench.orders.isEmpty)
        bench.put(.actuator(.door(.open)))
        bench.feel(.fire(false))
        #expect(bench.events == [.held(nil)] && bench.orders.isEmpty)
        bench.put(.actuator(.door(.closed)))
        #expect(bench.movements == (mode == .passage ? [] : [.lock]))
    }

    @Test("Killed in a fire: the next process opens if the fire is still there, and locks if it is not")
    func killedInFire() throws {
        var bench = LockBench.atDoor()
        bench.feel(.fire(true))
        // In the middle of the movement, and behind it.
        #expect(bench.relaunched(bolt: .locked, isFire: true).movements == [.unlock])
        #expect(bench.relaunched(bolt: .unlocked, isFire: false).movements == [.lock])
        bench.finishMovement()
        #expect(bench.relaunched(isFire: true).outputs.records.map(\.event) == [.launched])
        let over = bench.relaunched()
        #expect(over.movements == [.lock] && over.events.contains(.held(nil)))
        #expect(bench.relaunched(isFire: true, in: BootID(bits: 9)).movements == [])
        #expect(bench.relaunched(bolt: .locked, isFire: true, in: BootID(bits: 9)).movements == [.unlock])
        // Killed while it was locking, and then the fire began.
        var locking = LockBench.atDoor(bolt: .unlocked)
        #expect(try locking.ask(.lock) == .accepted)
        #expect(locking.relaunched(bolt: .unlocked, isFire: true).movements == [])
        #expect(locking.relaunched(bolt: .unknown, isFire: true).movements == [.unlock])
        // A fire that began while nobody was there.
        #expect(LockBench.atDoor(isFire: true).movements == [.unlock])
    }

    @Test("In a fire a bolt that does not get open is tried three times, and again when somebody asks")
    func jamInFire() throws {
        var bench = LockBench.atDoor()
        bench.feel(.fire(true))
        for left in [true, true, false] {
            let order = try #require(bench.orders.first)
            bench.put(.actuator(.ended(order.intent, .jammed)))
            #expect(bench.raised == [.jam(.jammed)])
            #expect(bench.movements == (left ? [.unlock] : []))
        }
        bench.feel(.exit)
        #expect(bench.movements == [.unlock])
        let order = try #require(bench.orders.first)
        bench.put(.actuator(.ended(order.intent, .unlocked)))
        #expect(bench.orders.isEmpty)
    }

    @Test(
        "In a fire a bolt that is found locked, behind a pulse, a keeper's death or a hand, opens anew; behind it nothing does"
    )
    func lockedInFire() throws {
        var bench = LockBench.atDoor()
        bench.feel(.fire(true))
        bench.finishMovement()
        for _ in 0..<5 {
            bench.put(.actuator(.bolt(.unknown)))
            #expect(bench.movements == [])
            bench.put(.actuator(.bolt(.locked)))
            #expect(bench.movements == [.unlock] && bench.events.last == .opening(.hold))
            bench.finishMovement()
        }
        bench.feel(.fire(false))
        #expect(bench.movements == [.lock])
        bench.finishMovement()
        bench.put(.actuator(.bolt(.unlocked)))
        bench.put(.actuator(.bolt(.locked)))
        #expect(bench.movements == [])
    }

    @Test("A lock that cannot write locks no door in a fire")
    func unrecorded() {
        let now = Instant(nanoseconds: 1)
        for (isFire, isOwed) in [(true, false), (false, true)] {
            let reading = BoltReading(position: .unlocked, door: .closed, isFire: isFire)
            #expect(UnrecordedSecuring.isOwed(nil, reading: reading, boot: boot, now: now) == isOwed)
        }
    }

    // MARK: Hours

    private static let hours = DoorRules(
        passage: (try? CredentialSchedules(weekdays: "fri 08:30-09:00; sat 10:00-11:00")) ?? .none)

    @Test("The bolt goes open when its hours begin, stays so, and is locked when they end")
    func hours() throws {
        var bench = LockBench.atDoor(Self.hours)
        #expect(bench.pass(seconds: 1_799).records.isEmpty)
        let begun = bench.pass(seconds: 1)
        #expect(begun.records.map(\.event) == [.held(.schedule), .opening(.hold)])
        bench.outputs = begun
        bench.finishMovement()
        #expect(try bench.ask(.lock) == .modeForbids)
        #expect(try bench.ask(.unlock, .after(seconds: 5)) == .done)
        #expect(bench.pass(seconds: 1_799).records.isEmpty)
        let over = bench.pass(seconds: 1)
        #expect(over.records.map(\.event) == [.held(nil), .securing(recovering: false)])
    }

    @Test("Hours that begin or end while no process is there count from its launch; each is told once")
    func relaunchedInHours() throws {
        var bench = LockBench.atDoor(Self.hours)
        bench.wallClockSeconds = bench.wallClockSeconds.map { $0 + 1_900 }
        var begun = bench.relaunched(Self.hours)
        #expect(begun.movements == [.unlock] && begun.events.contains(.held(.schedule)))
        begun.finishMovement()
        #expect(begun.relaunched(Self.hours).events == [.launched])
        // Somebody has locked by hand: he is not overruled.
        #expect(begun.relaunched(Self.hours, bolt: .locked).movements == [])
        begun.wallClockSeconds = begun.wallClockSeconds.map { $0 + 3_600 }
        #expect(begun.relaunched(Self.hours).movements == [.lock])
        // Rules that say nothing of hours any more.
        #expect(begun.relaunched().movements == [.lock])
    }

    @Test("A fire opens a door that its hours hold already, and that somebody has locked by hand")
    func fireInHours() throws {
        var bench = LockBench.atDoor(Self.hours)
        bench.wallClockSeconds = bench.wallClockSeconds.map { $0 + 1_900 }
        bench = bench.relaunched(Self.hours)
        bench.finishMovement()
        bench.put(.actuator(.bolt(.locked)))
        #expect(bench.movements == [] && bench.machine.hold == .schedule)
        bench.feel(.fire(true))
        #expect(bench.movements == [.unlock] && bench.events == [.held(.fire), .opening(.hold)])
        bench.finishMovement()
        // Its end leaves the hours, and a bolt that is open.
        bench.feel(.fire(false))
        #expect(bench.movements == [] && bench.machine.hold == .schedule)
    }

    @Test("A fire opens also where the hours have tried in vain, as often as any other does")
    func fireBehindJamInHours() throws {
        var bench = LockBench.atDoor(Self.hours)
        bench.wallClockSeconds = bench.wallClockSeconds.map { $0 + 1_900 }
        bench = bench.relaunched(Self.hours)
        func jam() throws {
            let order = try #require(bench.orders.first)
            bench.put(.actuator(.ended(order.intent, .jammed)))
        }
        for _ in 0..<Doorway.openingsMaximum { try jam() }
        #expect(bench.movements == [])
        bench.feel(.fire(true))
        for _ in 0..<Doorway.openingsMaximum { try jam() }
        #expect(bench.movements == [])
    }

    @Test(
        "Rules that are new while the lock runs count from then on: hours that are no more end, and others begin at once"
    )
    func otherRules() throws {
        var bench = LockBench.atDoor()
        _ = bench.pass(seconds: 1_900)
        bench.put(.administration(.rules(Self.hours)))
        #expect(bench.movements == [.unlock] && bench.events == [.held(.schedule), .opening(.hold)])
        bench.finishMovement()
        // The same again, and with another rule beside it, changes nothing.
        var more = Self.hours
        more.ajarSeconds = 60
        for rules in [Self.hours, more] {
            bench.put(.administration(.rules(rules)))
            #expect(bench.outputs.isEmpty)
        }
        bench.put(.actuator(.door(.open)))
        #expect(bench.store.committed.ajar?.due(in: boot) == bench.now.advanced(byMilliseconds: 60_000))
        bench.put(.actuator(.door(.closed)))
        bench.put(.administration(.rules(DoorRules())))
        #expect(bench.movements == [.lock] && bench.events == [.held(nil), .securing(recovering: false)])
    }

    @Test("Without a clock that can be trusted the door is for nobody; who shuts it in its hours means it")
    func hoursAndModes() throws {
        var bench = LockBench.atDoor(Self.hours)
        _ = bench.pass(seconds: 1_900)
        for order in bench.orders { bench.put(.actuator(.ended(order.intent, .unlocked))) }
        #expect(bench.machine.hold == .schedule)
        bench.put(.actuator(.bolt(.unlocked)))
        bench.put(.administration(.mode(.lockdown)))
        #expect(bench.movements == [.lock] && bench.machine.hold == nil)
        bench.finishMovement()
        bench.put(.administration(.mode(.normal)))
        #expect(bench.movements == [.unlock] && bench.machine.hold == .schedule)
        bench.finishMovement()
        bench.wallClockSeconds = nil
        bench.put(.timerFired)
        #expect(bench.movements == [.lock] && bench.machine.hold == nil)
    }

    @Test(
        "A launch goes by the time zone that is configured, and not first by the one that was: no hours begin for a moment"
    )
    func launchInAnotherZone() throws {
        var snapshot = LockSnapshot.furnished
        snapshot.bolt = BoltRecord(position: .locked, door: .closed)
        let calendar = try LockCalendar(timeZone: "EAT-3", holidays: nil)
        let rules = DoorRules(passage: try CredentialSchedules(weekdays: "fri 07:30-08:30"))
        var outputs: [LockOutput] = []
        _ = LockMachine(
            restoring: snapshot, reading: BoltReading(position: .locked, door: .closed), boot: boot,
            receiptHandle: receiptHandle, configured: LockSettings(calendar: calendar), rules: rules,
            at: LockMoment(now: Instant(nanoseconds: 1), wallClockSeconds: 1_800_000_000), into: &outputs)
        #expect(outputs.records.map(\.event).contains(.settingsChanged(LockSettings(calendar: calendar))))
        #expect(!outputs.contains { if case .actuate = $0 { true } else { false } })
    }

    @Test("On a holiday there are no hours")
    func holiday() throws {
        var bench = LockBench.atDoor(Self.hours)
        let calendar = try LockCalendar(timeZone: "UTC0", holidays: "2027-01-15T00:00/2027-01-16T00:00")
        bench.put(.administration(.settings(LockSettings(calendar: calendar))))
        #expect(!bench.pass(seconds: 1_900).contains { if case .actuate = $0 { true } else { false } })
    }

    // MARK: The contact

    @Test("A door that is open for too long is ajar, once, and no kill puts that off")
    func ajar() throws {
        let rules = DoorRules(ajarSeconds: 30)
        var bench = LockBench.atDoor(rules, bolt: .unlocked)
        bench.put(.actuator(.door(.open)))
        bench.pass(milliseconds: 20_000)
        bench = bench.relaunched(rules)
        #expect(bench.run(milliseconds: 9_999).alarms.isEmpty)
        #expect(bench.run(milliseconds: 1).alarms.map(\.alarm) == [.ajar])
        #expect(bench.store.committed.bolt.door == .ajar)
        bench = bench.relaunched(rules)
        #expect(bench.machine.state.door == .ajar && bench.run(milliseconds: 60_000).alarms.isEmpty)
        bench.put(.actuator(.door(.closed)))
        bench.put(.actuator(.door(.open)))
        bench.put(.actuator(.door(.closed)))
        #expect(bench.run(milliseconds: 60_000).alarms.isEmpty && bench.store.committed.ajar == nil)
    }

    @Test("A door that opens with the bolt out is forced until it is closed, also behind a restart")
    func forced() throws {
        var bench = LockBench.atDoor()
        bench.put(.actuator(.door(.open)))
        #expect(bench.raised == [.forced(.door)] && bench.machine.state.door == .forced)
        bench.tellAlarms()
        bench = bench.relaunched()
        #expect(bench.machine.state.door == .forced && bench.raised.isEmpty)
        bench.put(.actuator(.door(.closed)))
        #expect(bench.machine.state.door == .closed)
    }

    @Test(
        "A door that is found open behind an opening that was under way has been opened by it: it is not forced, and may be ajar"
    )
    func foundOpenBehindOpening() throws {
        let rules = DoorRules(ajarSeconds: 30)
        for hasIntent in [true, false] {
            var bench = LockBench.atDoor(rules)
            if hasIntent { bench.feel(.exit) }
            var kept = bench.store.committed
            #expect((kept.intent != nil) == hasIntent && kept.bolt.door == .closed)
            // Nobody was there; the keeper has let go meanwhile.
            let reading = BoltReading(position: .locked, door: .open.with(flags: DoorCode.tamper), performed: true)
            bench = LockBench(
                kept, reading: reading, rules: rules, now: bench.now, wallClockSeconds: bench.wallClockSeconds)
            #expect(bench.machine.state.door.state == (hasIntent ? .open : .forced))
            #expect(bench.raised == (hasIntent ? [.tamper(.door)] : [.forced(.door), .tamper(.door)]))
            kept = bench.store.committed
            #expect(
                (kept.ajar != nil) && bench.run(milliseconds: 60_000).alarms.contains { $0.alarm == .ajar } == hasIntent
            )
        }
    }

    @Test("Locked when it closes: at once, for an opening with a time and for one without, and never into an open door")
    func lockedWhenClosed() throws {
        let rules = DoorRules(locksWhenClosed: true)
        for seconds in [nil, 10] as [UInt16?] {
            var bench = LockBench.atDoor(rules)
            bench.put(.administration(.settings(LockSettings(relockSeconds: seconds))))
            #expect(try bench.ask(.unlock) == .accepted)
            bench.finishMovement()
            bench.put(.actuator(.door(.open)))
            #expect(bench.run(milliseconds: 60_000).filter { if case .actuate = $0 { true } else { false } }.isEmpty)
            bench.put(.actuator(.door(.closed)))
            #expect(bench.movements == [.lock])
            bench.finishMovement()
            // Nobody wanted it locked.
            #expect(try bench.ask(.unlock, .holdOpen) == .accepted)
            bench.finishMovement()
            bench.put(.actuator(.door(.open)))
            bench.put(.actuator(.door(.closed)))
            #expect(bench.orders.isEmpty)
        }
    }
}
