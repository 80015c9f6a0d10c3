import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Alice owns the lock. The bench's clock says Friday, 15 January 2027, 08:00 UTC.
@Suite("Doors")
struct DoorTests {
    private func bench(
        _ rules: DoorRules = DoorRules(), mode: LockMode = .normal, bolt position: BoltPosition = .locked,
        door: DoorCode = .closed, isFire: Bool = false
    ) -> LockBench {
        var snapshot = LockSnapshot.furnished
        snapshot.settings.mode = mode
        snapshot.bolt = BoltRecord(position: position, door: door)
        return LockBench(snapshot, reading: BoltReading(position: position, door: door, isFire: isFire), rules: rules)
    }

    /// Another process on what is on disk, with a bolt that is where this one's is unless `position` says otherwise.
    private func relaunched(
        _ bench: LockBench, _ rules: DoorRules = DoorRules(), bolt position: BoltPosition? = nil, isFire: Bool = false,
        in boot: BootID = LockPeripheralTests.boot
    ) -> LockBench {
        let kept = bench.store.committed
        let reading = BoltReading(
            position: position ?? kept.bolt.position, door: kept.bolt.door, performed: false, isFire: isFire)
        var next = LockBench(
            kept, reading: reading, boot: boot, rules: rules,
            now: boot == LockPeripheralTests.boot ? bench.now : Instant(nanoseconds: 5),
            wallClockSeconds: bench.wallClockSeconds)
        next.nextRandom = bench.nextRandom + 1_000
        return next
    }

    private func feel(_ bench: inout LockBench, _ input: DoorInput) { bench.put(.actuator(.input(input))) }

    private func movements(_ bench: LockBench) -> [Movement] { bench.orders.map(\.movement) }

    private func ask(
        _ bench: inout LockBench, _ operation: LockOperation, _ argument: RelockArgument = .setting
    ) throws -> LockResult? {
        let link = 100 + bench.nextRandom
        bench.connectEncrypted(link)
        bench.encrypted(
            link, LockCommand(operation: operation, argument: argument, challenge: try bench.challenge(link).id))
        return bench.outputs.compactMap { output -> LockResult? in
            guard case .notifyLockState(LockLink(rawValue: link), let octets) = output else { return nil }
            return (try? LockState(exactly: octets))?.result
        }.first
    }

    /// The clock goes on with the time.
    private func pass(_ bench: inout LockBench, seconds: Int64) -> [LockOutput] {
        var all: [LockOutput] = []
        for _ in 0..<seconds {
            bench.wallClockSeconds = bench.wallClockSeconds.map { $0 + 1 }
            all += bench.run(milliseconds: 1_000)
        }
        return all
    }

    // MARK: Exit

    @Test("Whoever is inside gets out, in every mode, and the door is locked behind him", arguments: LockMode.allCases)
    func exit(mode: LockMode) throws {
        var bench = bench(mode: mode)
        feel(&bench, .exit)
        #expect(movements(bench) == [.unlock] && bench.orders.first?.command == nil)
        #expect(bench.orders.first?.notAfter != nil)
        let record = try #require(bench.outputs.records.first)
        #expect(record.event == .opening(.exit) && bench.store.committed.intent?.id.rawValue == record.sequence)
        bench.finishMovement()
        #expect(bench.events == [.outcome(of: record.sequence, .done)])
        feel(&bench, .exit)
        #expect(bench.orders.isEmpty && bench.events.isEmpty)
        let locked = bench.run(milliseconds: 10_000)
        #expect(locked.contains { if case .actuate = $0 { true } else { false } } == (mode != .passage))
    }

    @Test("An exit while the bolt goes out waits for its end; one that comes late does not close a door sooner")
    func exitWaits() throws {
        var bench = bench(bolt: .unlocked)
        #expect(try ask(&bench, .lock) == .accepted)
        let order = try #require(bench.orders.first)
        feel(&bench, .exit)
        #expect(bench.orders.isEmpty)
        bench.pass(milliseconds: 3_000)
        bench.put(.actuator(.ended(order.intent, .locked)))
        #expect(movements(bench) == [.unlock])
        bench.finishMovement()
        // His time begins when it opens.
        bench.pass(milliseconds: 4_900)
        #expect(bench.verdict(on: .lock) == .busy)

        #expect(try ask(&bench, .unlock, .after(seconds: 60)) == .done)
        let due = bench.store.committed.relock
        feel(&bench, .exit)
        #expect(bench.store.committed.relock == due)
        #expect(try ask(&bench, .unlock, .holdOpen) == .done)
        feel(&bench, .exit)
        #expect(bench.store.committed.relock == nil)
    }

    @Test(
        "An exit that waits for a locking that fails comes before the one that is tried again, which waits for its time"
    )
    func exitBehindJam() throws {
        var bench = bench(bolt: .unlocked)
        #expect(try ask(&bench, .lock) == .accepted)
        let order = try #require(bench.orders.first)
        feel(&bench, .exit)
        bench.put(.actuator(.ended(order.intent, .jammed)))
        #expect(movements(bench) == [.unlock])
        bench.finishMovement()
        let due = try #require(bench.store.committed.relock)
        #expect(due.at >= bench.now.advanced(byMilliseconds: DoorRules.leavingMilliseconds))
    }

    @Test(
        "Whoever goes out has five seconds, or the time of the relock where that is shorter: a mode, an end of a fire and a word to lock wait for it",
        arguments: [(10, 5_000), (2, 2_000)] as [(UInt16, UInt64)])
    func leaving(relockSeconds: UInt16, milliseconds: UInt64) throws {
        func left() -> LockBench {
            var bench = bench()
            bench.put(.administration(.settings(LockSettings(relockSeconds: relockSeconds))))
            feel(&bench, .exit)
            bench.finishMovement()
            bench.pass(milliseconds: 100)
            return bench
        }
        func isLocked(_ bench: inout LockBench, within milliseconds: UInt64) -> Bool {
            bench.run(milliseconds: milliseconds).contains { if case .actuate = $0 { true } else { false } }
        }
        for mode in [LockMode.lockdown, .privacy] {
            var bench = left()
            bench.put(.administration(.mode(mode)))
            #expect(movements(bench) == [])
            // It is on disk: no kill puts it off.
            #expect(bench.store.committed.relock?.at == bench.now.advanced(byMilliseconds: milliseconds - 100))
            #expect(!isLocked(&bench, within: milliseconds - 101) && isLocked(&bench, within: 1))
        }
        // The bolt is on its way.
        var early = bench()
        early.put(.administration(.settings(LockSettings(relockSeconds: relockSeconds))))
        feel(&early, .exit)
        let opening = try #require(early.orders.first)
        early.put(.administration(.mode(.lockdown)))
        early.put(.actuator(.ended(opening.intent, .unlocked)))
        #expect(movements(early) == [])
        #expect(!isLocked(&early, within: milliseconds - 1) && isLocked(&early, within: 1))

        var burning = left()
        feel(&burning, .fire(true))
        feel(&burning, .fire(false))
        #expect(movements(burning) == [] && isLocked(&burning, within: milliseconds - 100))

        var asked = left()
        #expect(try ask(&asked, .lock) == .busy)
        asked.put(.administration(.operate(.lock)))
        #expect(movements(asked) == [] && asked.events == [])
        #expect(asked.verdict(on: .lock) == .busy)
        // Who opens for a shorter time does not shorten that.
        #expect(try ask(&asked, .unlock, .after(seconds: 1)) == .done)
        #expect(!isLocked(&asked, within: milliseconds - 200) && isLocked(&asked, within: 100))

        var over = left()
        over.pass(milliseconds: milliseconds - 100)
        #expect(try ask(&over, .lock) == .accepted)
    }

    @Test("Who has gone out through the door has gone: behind it everything locks as ever")
    func gone() throws {
        var bench = bench(DoorRules(locksWhenClosed: true))
        feel(&bench, .exit)
        bench.finishMovement()
        bench.put(.actuator(.door(.open)))
        bench.put(.administration(.mode(.lockdown)))
        bench.put(.actuator(.door(.closed)))
        #expect(movements(bench) == [.lock])
        bench.finishMovement()

        // A door that was open already may be somebody else's, who closes it behind himself.
        bench.put(.administration(.mode(.passage)))
        bench.finishMovement()
        bench.put(.actuator(.door(.open)))
        feel(&bench, .exit)
        bench.put(.administration(.mode(.normal)))
        bench.put(.actuator(.door(.open.with(flags: DoorCode.tamper))))
        bench.put(.actuator(.door(.closed)))
        #expect(movements(bench) == [])
        bench.put(.actuator(.door(.open)))
        bench.put(.actuator(.door(.closed)))
        #expect(movements(bench) == [.lock])
    }

    @Test("Where the bolt was open already, and goes out by itself while somebody goes to the door, it opens once more")
    func pulseEndsWhileLeaving() throws {
        var bench = bench()
        #expect(try ask(&bench, .unlock) == .accepted)
        bench.finishMovement()
        feel(&bench, .exit)
        #expect(movements(bench) == [])
        bench.put(.actuator(.bolt(.locked)))
        #expect(movements(bench) == [.unlock] && bench.events.last == .opening(.exit))
        bench.finishMovement()
        bench.put(.actuator(.bolt(.locked)))
        #expect(movements(bench) == [])

        // A pulse of an exit's own is as long as it is.
        feel(&bench, .exit)
        bench.finishMovement()
        bench.put(.actuator(.bolt(.locked)))
        #expect(movements(bench) == [])
        bench.pass(milliseconds: 5_000)
        bench.put(.actuator(.bolt(.unlocked)))
        feel(&bench, .exit)
        bench.pass(milliseconds: 5_000)
        bench.put(.actuator(.bolt(.locked)))
        #expect(movements(bench) == [])
    }

    @Test("An exit that is announced moves nothing, and for ten seconds a door that opens is not forced")
    func announced() throws {
        for (milliseconds, isForced) in [(9_999, false), (10_000, true)] as [(UInt64, Bool)] {
            var bench = bench(DoorRules(exit: .announces))
            feel(&bench, .exit)
            #expect(bench.outputs.isEmpty)
            bench.pass(milliseconds: milliseconds)
            bench.put(.actuator(.door(.open)))
            #expect(bench.raised == (isForced ? [.forced(.door)] : []))
            #expect(bench.store.committed.bolt.door == (isForced ? .forced : .open))
            // It was for one door.
            bench.put(.actuator(.door(.closed)))
            bench.put(.actuator(.door(.open)))
            #expect(bench.raised == [.forced(.door)])
        }
    }

    // MARK: Fire

    @Test("A fire opens in every mode; nobody locks while it lasts, and its end does", arguments: LockMode.allCases)
    func fire(mode: LockMode) throws {
        var bench = bench(mode: mode)
        feel(&bench, .fire(true))
        #expect(movements(bench) == [.unlock] && bench.events.prefix(2) == [.held(.fire), .opening(.hold)])
        bench.finishMovement()
        #expect(!bench.run(milliseconds: 86_400_000).contains { if case .actuate = $0 { true } else { false } })
        #expect(try ask(&bench, .lock) == .modeForbids)
        #expect(try ask(&bench, .unlock) == .done)
        bench.put(.administration(.mode(.lockdown)))
        #expect(bench.orders.isEmpty)
        bench.put(.administration(.mode(mode)))
        #expect(bench.orders.isEmpty)
        bench.put(.actuator(.door(.open)))
        feel(&bench, .fire(false))
        #expect(bench.events == [.held(nil)] && bench.orders.isEmpty)
        bench.put(.actuator(.door(.closed)))
        #expect(movements(bench) == (mode == .passage ? [] : [.lock]))
    }

    @Test("Killed in a fire: the next process opens if the fire is still there, and locks if it is not")
    func killedInFire() throws {
        var bench = bench()
        feel(&bench, .fire(true))
        // In the middle of the movement, and behind it.
        #expect(movements(relaunched(bench, bolt: .locked, isFire: true)) == [.unlock])
        #expect(movements(relaunched(bench, bolt: .unlocked, isFire: false)) == [.lock])
        bench.finishMovement()
        #expect(relaunched(bench, isFire: true).outputs.records.map(\.event) == [.launched])
        let over = relaunched(bench)
        #expect(movements(over) == [.lock] && over.events.contains(.held(nil)))
        #expect(movements(relaunched(bench, isFire: true, in: BootID(bits: 9))) == [])
        #expect(movements(relaunched(bench, bolt: .locked, isFire: true, in: BootID(bits: 9))) == [.unlock])
        // Killed while it was locking, and then the fire began.
        var locking = self.bench(bolt: .unlocked)
        #expect(try ask(&locking, .lock) == .accepted)
        #expect(movements(relaunched(locking, bolt: .unlocked, isFire: true)) == [])
        #expect(movements(relaunched(locking, bolt: .unknown, isFire: true)) == [.unlock])
        // A fire that began while nobody was there.
        #expect(movements(self.bench(isFire: true)) == [.unlock])
    }

    @Test("In a fire a bolt that does not get open is tried three times, and again when somebody asks")
    func jamInFire() throws {
        var bench = bench()
        feel(&bench, .fire(true))
        for left in [true, true, false] {
            let order = try #require(bench.orders.first)
            bench.put(.actuator(.ended(order.intent, .jammed)))
            #expect(bench.raised == [.jam(.jammed)])
            #expect(movements(bench) == (left ? [.unlock] : []))
        }
        feel(&bench, .exit)
        #expect(movements(bench) == [.unlock])
        let order = try #require(bench.orders.first)
        bench.put(.actuator(.ended(order.intent, .unlocked)))
        #expect(bench.orders.isEmpty)
    }

    @Test(
        "In a fire a bolt that is found locked, behind a pulse, a keeper's death or a hand, opens anew; behind it nothing does"
    )
    func lockedInFire() throws {
        var bench = bench()
        feel(&bench, .fire(true))
        bench.finishMovement()
        for _ in 0..<5 {
            bench.put(.actuator(.bolt(.unknown)))
            #expect(movements(bench) == [])
            bench.put(.actuator(.bolt(.locked)))
            #expect(movements(bench) == [.unlock] && bench.events.last == .opening(.hold))
            bench.finishMovement()
        }
        feel(&bench, .fire(false))
        #expect(movements(bench) == [.lock])
        bench.finishMovement()
        bench.put(.actuator(.bolt(.unlocked)))
        bench.put(.actuator(.bolt(.locked)))
        #expect(movements(bench) == [])
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
        var bench = bench(Self.hours)
        #expect(pass(&bench, seconds: 1_799).records.isEmpty)
        let begun = pass(&bench, seconds: 1)
        #expect(begun.records.map(\.event) == [.held(.schedule), .opening(.hold)])
        bench.outputs = begun
        bench.finishMovement()
        #expect(try ask(&bench, .lock) == .modeForbids)
        #expect(try ask(&bench, .unlock, .after(seconds: 5)) == .done)
        #expect(pass(&bench, seconds: 1_799).records.isEmpty)
        let over = pass(&bench, seconds: 1)
        #expect(over.records.map(\.event) == [.held(nil), .securing(recovering: false)])
    }

    @Test("Hours that begin or end while no process is there count from its launch; each is told once")
    func relaunchedInHours() throws {
        var bench = bench(Self.hours)
        bench.wallClockSeconds = bench.wallClockSeconds.map { $0 + 1_900 }
        var begun = relaunched(bench, Self.hours)
        #expect(movements(begun) == [.unlock] && begun.events.contains(.held(.schedule)))
        begun.finishMovement()
        #expect(relaunched(begun, Self.hours).events == [.launched])
        // Somebody has locked by hand: he is not overruled.
        #expect(movements(relaunched(begun, Self.hours, bolt: .locked)) == [])
        begun.wallClockSeconds = begun.wallClockSeconds.map { $0 + 3_600 }
        #expect(movements(relaunched(begun, Self.hours)) == [.lock])
        // Rules that say nothing of hours any more.
        #expect(movements(relaunched(begun)) == [.lock])
    }

    @Test(
        "Rules that are new while the lock runs count from then on: hours that are no more end, and others begin at once"
    )
    func otherRules() throws {
        var bench = bench()
        _ = pass(&bench, seconds: 1_900)
        bench.put(.administration(.rules(Self.hours)))
        #expect(movements(bench) == [.unlock] && bench.events == [.held(.schedule), .opening(.hold)])
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
        #expect(movements(bench) == [.lock] && bench.events == [.held(nil), .securing(recovering: false)])
    }

    @Test("Without a clock that can be trusted the door is for nobody; who shuts it in its hours means it")
    func hoursAndModes() throws {
        var bench = bench(Self.hours)
        _ = pass(&bench, seconds: 1_900)
        for order in bench.orders { bench.put(.actuator(.ended(order.intent, .unlocked))) }
        #expect(bench.machine.hold == .schedule)
        bench.put(.actuator(.bolt(.unlocked)))
        bench.put(.administration(.mode(.lockdown)))
        #expect(movements(bench) == [.lock] && bench.machine.hold == nil)
        bench.finishMovement()
        bench.put(.administration(.mode(.normal)))
        #expect(movements(bench) == [.unlock] && bench.machine.hold == .schedule)
        bench.finishMovement()
        bench.wallClockSeconds = nil
        bench.put(.timerFired)
        #expect(movements(bench) == [.lock] && bench.machine.hold == nil)
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
        var bench = bench(Self.hours)
        let calendar = try LockCalendar(timeZone: "UTC0", holidays: "2027-01-15T00:00/2027-01-16T00:00")
        bench.put(.administration(.settings(LockSettings(calendar: calendar))))
        #expect(!pass(&bench, seconds: 1_900).contains { if case .actuate = $0 { true } else { false } })
    }

    // MARK: The contact

    @Test("A door that is open for too long is ajar, once, and no kill puts that off")
    func ajar() throws {
        let rules = DoorRules(ajarSeconds: 30)
        var bench = bench(rules, bolt: .unlocked)
        bench.put(.actuator(.door(.open)))
        bench.pass(milliseconds: 20_000)
        bench = relaunched(bench, rules)
        #expect(bench.run(milliseconds: 9_999).alarms.isEmpty)
        #expect(bench.run(milliseconds: 1).alarms.map(\.alarm) == [.ajar])
        #expect(bench.store.committed.bolt.door == .ajar)
        bench = relaunched(bench, rules)
        #expect(bench.machine.state.door == .ajar && bench.run(milliseconds: 60_000).alarms.isEmpty)
        bench.put(.actuator(.door(.closed)))
        bench.put(.actuator(.door(.open)))
        bench.put(.actuator(.door(.closed)))
        #expect(bench.run(milliseconds: 60_000).alarms.isEmpty && bench.store.committed.ajar == nil)
    }

    @Test("A door that opens with the bolt out is forced until it is closed, also behind a restart")
    func forced() throws {
        var bench = bench()
        bench.put(.actuator(.door(.open)))
        #expect(bench.raised == [.forced(.door)] && bench.machine.state.door == .forced)
        bench = relaunched(bench)
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
            var bench = bench(rules)
            if hasIntent { feel(&bench, .exit) }
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
            var bench = bench(rules)
            bench.put(.administration(.settings(LockSettings(relockSeconds: seconds))))
            #expect(try ask(&bench, .unlock) == .accepted)
            bench.finishMovement()
            bench.put(.actuator(.door(.open)))
            #expect(bench.run(milliseconds: 60_000).filter { if case .actuate = $0 { true } else { false } }.isEmpty)
            bench.put(.actuator(.door(.closed)))
            #expect(movements(bench) == [.lock])
            bench.finishMovement()
            // Nobody wanted it locked.
            #expect(try ask(&bench, .unlock, .holdOpen) == .accepted)
            bench.finishMovement()
            bench.put(.actuator(.door(.open)))
            bench.put(.actuator(.door(.closed)))
            #expect(bench.orders.isEmpty)
        }
    }
}
