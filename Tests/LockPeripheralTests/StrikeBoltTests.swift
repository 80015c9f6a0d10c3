import BluetoothCore
import LockPeripheral
import LockProtocol
import Simulation
import StrikeControl
import Testing

@Suite("A bolt that a keeper moves")
struct StrikeBoltTests {
    /// A keeper as the test wants it.
    private final class Keeper: StrikeLink {
        var isThere = true
        var isConnected = false
        var heard: [StrikeRequest] = []
        var news: [StrikeNews] = []
        var began: Instant? = Instant(nanoseconds: 0)
        var greeting: StrikeStatus? = StrikeStatus(position: .locked, contact: .closed)
        /// Behind its greeting, whoever connects.
        var hangsUp = false
        /// What passes while somebody waits.
        var onWait: (UInt64) -> Void = { _ in }
        let descriptor: Int32 = -1

        func connect() -> String? {
            guard isThere else { return "Connection refused" }
            isConnected = true
            heard.append(.hello(version: StrikeProtocol.version))
            if let began { say(.welcome(began: began)) }
            if let greeting { say(.status(greeting)) }
            if hangsUp { hangUp() }
            return nil
        }
        func send(_ request: StrikeRequest) -> Bool {
            guard isConnected, isThere else {
                isConnected = false
                return false
            }
            heard.append(request)
            return true
        }
        func next() -> StrikeNews? { news.isEmpty ? nil : news.removeFirst() }
        func wait(milliseconds: UInt64) { onWait(milliseconds) }

        /// Killed: those who wait for it hear that.
        func die() {
            isThere = false
            hangUp()
        }
        func hangUp() {
            isConnected = false
            news.append(.gone)
        }
        func say(_ report: StrikeReport) { news.append(.report(report)) }

        var hellos: Int { heard.filter { if case .hello = $0 { true } else { false } }.count }
        var orders: [StrikeOrder] { heard.compactMap { if case .order(let order) = $0 { order } else { nil } } }
    }

    /// A minute behind the boot.
    private final class Clock { var now = Instant(nanoseconds: 60_000_000_000) }

    private let keeper = Keeper()
    private let clock = Clock()

    private func bolt(tell: @escaping (String) -> Void = { _ in }) -> StrikeBolt {
        keeper.onWait = { [clock] in clock.now = clock.now.advanced(byMilliseconds: $0) }
        return StrikeBolt(
            boot: boot, link: keeper, pulseMilliseconds: 3_000, bootTime: { [clock] in clock.now }, tell: tell)
    }

    private func reports(_ bolt: StrikeBolt) throws -> [ActuatorReport] {
        var all: [ActuatorReport] = []
        while let report = try bolt.poll(now: clock.now) { all.append(report) }
        return all
    }

    private func status(_ position: StrikePosition, of intent: Intent? = nil, _ result: StrikeResult? = nil)
        -> StrikeStatus
    {
        StrikeStatus(
            position: position, contact: .closed,
            last: intent.map { StrikeStatus.Last(intent: $0.id.rawValue, result: result) })
    }

    /// Decided now.
    private func opening(_ id: UInt64 = 9, boot: BootID = boot) -> Intent {
        Intent(
            id: IntentID(rawValue: id), movement: .unlock, origin: .rule, boot: boot,
            deadline: clock.now.advanced(byMilliseconds: Intent.openingLifeMilliseconds))
    }

    @Test("An opening's time goes to the keeper with it")
    func notAfter() throws {
        let asked = opening()
        #expect(try bolt().perform(ActuatorOrder(asked), now: clock.now) == nil)
        #expect(asked.deadline != nil && keeper.orders.map(\.notAfter) == [asked.deadline])
    }

    @Test("An order goes to the keeper with its name, its pulse and its end in time, and each end of it is a report")
    func moves() throws {
        let bolt = bolt()
        #expect(try bolt.reading(asking: nil, now: clock.now) == BoltReading(position: .locked, door: .closed))
        for (result, report) in [
            (StrikeResult.unlocked, ActuatorReport.ended(IntentID(rawValue: 1), .unlocked)),
            (.jammed, .ended(IntentID(rawValue: 1), .jammed)),
            (.unknown, .ended(IntentID(rawValue: 1), .unknown)), (.locked, .ended(IntentID(rawValue: 1), .locked)),
            (.declined, .declined(IntentID(rawValue: 1))),
        ] {
            keeper.heard = []
            let asked = intent(.lock, .lock)
            let order = ActuatorOrder(intent: asked.id, movement: .lock, command: nil, notAfter: asked.deadline)
            #expect(try bolt.perform(order, now: clock.now) == nil)
            #expect(
                keeper.heard == [
                    .order(
                        StrikeOrder(
                            intent: asked.id.rawValue, movement: .lock, pulseMilliseconds: 3_000,
                            notAfter: asked.deadline))
                ])
            keeper.say(.ended(intent: asked.id.rawValue, result))
            let told = try reports(bolt)
            #expect(told.count == 1)
            switch (told.first, report) {
            case (.ended(let id, let position)?, .ended(_, let expected)):
                #expect(id == asked.id && position == expected)
            case (.declined(let id)?, .declined): #expect(id == asked.id)
            default: Issue.record("\(told)")
            }
        }
    }

    private func request(_ order: ActuatorOrder) -> StrikeRequest {
        .order(
            StrikeOrder(
                intent: order.intent.rawValue, movement: order.movement == .lock ? .lock : .unlock,
                pulseMilliseconds: 3_000, notAfter: order.notAfter))
    }

    private func settlement(of asked: Intent) throws -> LaunchRules.Settlement {
        let reading = try bolt().reading(asking: asked, now: clock.now)
        return LaunchRules.settle(asked, reading: reading, boot: boot, now: clock.now)
    }

    @Test("An opening that a killed daemon had ordered: the keeper that heard it says what became of it")
    func restarted() throws {
        let asked = opening()
        for (result, settlement) in [
            (StrikeResult?.some(.unlocked), LaunchRules.Settlement.ended(.done)), (.locked, .ended(.done)),
            (.unknown, .ended(.unknown)), (.jammed, .ended(.unknown)), (.declined, .driven), (nil, .awaited),
        ] {
            keeper.greeting = status(.locked, of: asked, result)
            #expect(try self.settlement(of: asked) == settlement, "\(String(describing: result))")
        }
    }

    @Test(
        "An opening that the keeper has not heard of is made, if it has been there all the time, and else nobody knows")
    func unheard() throws {
        let asked = opening()
        let life = Intent.openingLifeMilliseconds * 1_000_000
        let decided = Instant(nanoseconds: (asked.deadline?.nanoseconds ?? 0) - life)
        for (last, settlement) in [
            (nil as UInt64?, LaunchRules.Settlement.driven), (8, .driven), (10, .ended(.unknown)),
            // A lock without a name hides what was before it.
            (0, .ended(.unknown)),
        ] {
            keeper.greeting = StrikeStatus(position: .locked, last: last.map { .init(intent: $0, result: .locked) })
            keeper.began = Instant(nanoseconds: decided.nanoseconds - 1)
            #expect(try self.settlement(of: asked) == settlement, "\(String(describing: last))")
            // The keeper that took the order may have died since, and this one be the next.
            keeper.began = decided
            #expect(try self.settlement(of: asked) == .ended(.unknown), "the keeper began with the decision")
            keeper.began = nil
            #expect(
                try self.settlement(of: asked) == .ended(.unknown), "the keeper does not say since when it is there")
        }
        keeper.began = Instant(nanoseconds: 0)
        keeper.greeting = status(.locked)
        #expect(try settlement(of: opening(boot: BootID(bits: 2))) == .ended(.unknown))
        clock.now = clock.now.advanced(byMilliseconds: Intent.openingLifeMilliseconds + 1)
        #expect(try settlement(of: asked) == .ended(.aborted), "it has not been made, and is too late")
        keeper.isThere = false
        #expect(try settlement(of: opening()) == .ended(.unknown))
    }

    @Test("A lock that could not be written down is known to the next launch by the keeper, if it was made")
    func unrecorded() throws {
        for (result, isUnrecorded) in [(StrikeResult.locked, true), (.unknown, true), (.declined, false)] {
            keeper.greeting = StrikeStatus(position: .locked, last: .init(intent: 0, result: result))
            #expect(try bolt().reading(asking: nil, now: clock.now).isUnrecorded == isUnrecorded, "\(result)")
        }
        keeper.greeting = status(.locked, of: opening(), .locked)
        #expect(try !bolt().reading(asking: nil, now: clock.now).isUnrecorded)
    }

    @Test("The end of what was ordered before the daemon was killed is told to the next one")
    func awaited() throws {
        let asked = intent(.unlock, .unlock)
        keeper.greeting = status(.unknown, of: asked)
        let bolt = bolt()
        _ = try bolt.reading(asking: asked, now: clock.now)
        keeper.say(.ended(intent: asked.id.rawValue, .unlocked))
        keeper.say(.status(status(.unlocked, of: asked, .unlocked)))
        #expect(try reports(bolt) == [.ended(asked.id, .unlocked), .bolt(.unlocked)])
    }

    @Test("A keeper that is killed in the middle is asked again: the same one knows the end, another one does not")
    func keeperKilled() throws {
        for (greeting, expected) in [
            (status(.locked), BoltPosition?.some(.unknown)), (nil as StrikeStatus?, nil),
        ] {
            keeper.isThere = true
            keeper.greeting = status(.locked)
            let bolt = bolt()
            _ = try bolt.reading(asking: nil, now: clock.now)
            let asked = intent(.lock, .lock)
            let order = ActuatorOrder(intent: asked.id, movement: .lock, command: nil, notAfter: nil)
            #expect(try bolt.perform(order, now: clock.now) == nil)
            clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
            keeper.die()
            #expect(try bolt.poll(now: clock.now) == nil)
            #expect(bolt.deadline == clock.now)
            keeper.isThere = true
            keeper.greeting = greeting ?? status(.locked, of: asked, .locked)
            clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
            let told = try reports(bolt)
            #expect(told.first == .ended(asked.id, expected ?? .locked))
        }
    }

    @Test(
        "Without a keeper nothing is moved, which is said; one that was gone without being noticed is found by the order"
    )
    func away() throws {
        var told: [String] = []
        let bolt = bolt { told.append($0) }
        _ = try bolt.reading(asking: nil, now: clock.now)
        let asked = intent(.lock, .lock)
        let order = ActuatorOrder(intent: asked.id, movement: .lock, command: nil, notAfter: nil)
        // Another one is there already.
        keeper.isConnected = false
        keeper.heard = []
        #expect(try bolt.perform(order, now: clock.now) == nil)
        #expect(keeper.heard == [.hello(version: StrikeProtocol.version), request(order)])
        _ = try reports(bolt)
        keeper.die()
        _ = try reports(bolt)
        #expect(try bolt.perform(order, now: clock.now) == .declined(asked.id))
        #expect(
            told == [
                "the bolt's keeper has gone", "the bolt's keeper is there, with its chip", "the bolt's keeper has gone",
                "the bolt's keeper is not there, and lock was not made",
            ])
    }

    @Test("A keeper that stays away is told once, and so is what the next one says")
    func absent() throws {
        let bolt = bolt()
        _ = try bolt.reading(asking: nil, now: clock.now)
        keeper.die()
        #expect(try reports(bolt).isEmpty)
        let gone = clock.now
        clock.now = gone.advanced(byMilliseconds: StrikeBolt.absenceMilliseconds - 1)
        #expect(try reports(bolt).isEmpty)
        clock.now = gone.advanced(byMilliseconds: StrikeBolt.absenceMilliseconds)
        #expect(try reports(bolt) == [.bolt(.unknown), .door(.unknown)])
        clock.now = clock.now.advanced(byMilliseconds: 10_000)
        #expect(try reports(bolt).isEmpty)
        keeper.isThere = true
        keeper.greeting = StrikeStatus(position: .locked, contact: .open)
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
        #expect(try reports(bolt) == [.bolt(.locked), .door(.open)])
    }

    /// What is told from now on, with when, until the clock has gone on for so long by nothing but what the bolt waits for.
    private func reports(_ bolt: StrikeBolt, forMilliseconds milliseconds: UInt64) throws -> [(UInt64, ActuatorReport)]
    {
        let begin = clock.now
        let end = begin.advanced(byMilliseconds: milliseconds)
        var all: [(UInt64, ActuatorReport)] = []
        // Where the clock stands still there is no end.
        for _ in 0..<1_000 where clock.now < end {
            let now = clock.now.milliseconds(since: begin)
            all += try reports(bolt).map { (UInt64(now), $0) }
            clock.now = max(clock.now, min(end, bolt.deadline ?? end))
        }
        return all
    }

    private static let hellosMaximum = 5_000 / Int(StrikeBolt.searchMilliseconds) + 1

    @Test(
        "A keeper that takes connections and never says how everything stands is away: it is looked for each 100 ms, told as away, and gets no order",
        arguments: [StrikeReport?.none, .unsupported(version: 9)], [true, false])
    func neverGreets(word: StrikeReport?, hangsUp: Bool) throws {
        let bolt = bolt()
        _ = try bolt.reading(asking: nil, now: clock.now)
        keeper.die()
        (keeper.began, keeper.greeting, keeper.hangsUp, keeper.isThere) = (nil, nil, hangsUp, true)
        keeper.heard = []
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
        if let word { keeper.say(word) }
        let told = try reports(bolt, forMilliseconds: 5_000)
        #expect(told.map(\.0) == [StrikeBolt.absenceMilliseconds, StrikeBolt.absenceMilliseconds])
        #expect(told.map(\.1) == [.bolt(.unknown), .door(.unknown)])
        #expect(hangsUp ? (2...Self.hellosMaximum).contains(keeper.hellos) : keeper.hellos == 1)
        let asked = opening()
        #expect(try bolt.perform(ActuatorOrder(asked), now: clock.now) == .declined(asked.id))
        #expect(keeper.orders.isEmpty)
        // The next one says it.
        (keeper.greeting, keeper.hangsUp) = (status(.locked), false)
        if !hangsUp { keeper.say(.status(status(.locked))) }
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
        #expect(try reports(bolt) == [.bolt(.locked), .door(.closed)])
        #expect(try bolt.perform(ActuatorOrder(opening()), now: clock.now) == nil)
    }

    @Test("Two locks that displace each other at one keeper look for it each 100 ms, too")
    func displaced() throws {
        let bolt = bolt()
        _ = try bolt.reading(asking: nil, now: clock.now)
        (keeper.hangsUp, keeper.heard) = (true, [])
        keeper.hangUp()
        #expect(try reports(bolt, forMilliseconds: 5_000).isEmpty)
        #expect((2...Self.hellosMaximum).contains(keeper.hellos))
    }

    @Test("An order that a keeper took and did not answer is sent to no other one")
    func once() throws {
        let bolt = bolt()
        _ = try bolt.reading(asking: nil, now: clock.now)
        let asked = opening()
        #expect(try bolt.perform(ActuatorOrder(asked), now: clock.now) == nil)
        keeper.die()
        #expect(try reports(bolt).isEmpty)
        keeper.isThere = true
        keeper.greeting = status(.locked)
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
        #expect(try reports(bolt) == [.ended(asked.id, .unknown)])
        clock.now = clock.now.advanced(byMilliseconds: 60_000)
        #expect(try reports(bolt).isEmpty)
        #expect(keeper.orders.count == 1)
    }

    @Test("A fire is no less for a keeper that is away; the next one says whether it is over")
    func fireMeanwhile() throws {
        let bolt = bolt()
        _ = try bolt.reading(asking: nil, now: clock.now)
        keeper.say(.status(StrikeStatus(position: .locked, contact: .closed, isFire: true)))
        #expect(try reports(bolt) == [.input(.fire(true))])
        keeper.die()
        _ = try reports(bolt)
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.absenceMilliseconds)
        #expect(try reports(bolt) == [.bolt(.unknown), .door(.unknown)])
        keeper.isThere = true
        keeper.greeting = StrikeStatus(position: .locked, contact: .closed)
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
        #expect(try reports(bolt) == [.bolt(.locked), .door(.closed), .input(.fire(false))])
    }

    @Test("It wants to be asked: for a keeper that is away, for its absence, for an order's end, and for nothing else")
    func deadline() throws {
        let bolt = bolt()
        #expect(bolt.deadline == clock.now)
        _ = try bolt.reading(asking: nil, now: clock.now)
        #expect(bolt.deadline == nil)
        #expect(try bolt.perform(ActuatorOrder(opening()), now: clock.now) == nil)
        let giveUp = clock.now.advanced(byMilliseconds: BoltMachine.travelMaximumMilliseconds)
        #expect(bolt.deadline == giveUp)
        clock.now = giveUp
        #expect(try reports(bolt).isEmpty)
        #expect(bolt.deadline == nil)
        keeper.die()
        #expect(try reports(bolt).isEmpty)
        #expect(bolt.deadline == clock.now)
        #expect(try reports(bolt).isEmpty)
        #expect(bolt.deadline == clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds))
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.absenceMilliseconds)
        #expect(try bolt.poll(now: clock.now) == .bolt(.unknown))
        // More is to be told.
        #expect(bolt.deadline == clock.now)
    }

    @Test("The operator is told once what is bad with a keeper, and that it is good again")
    func complaints() throws {
        var told: [String] = []
        keeper.isThere = false
        let bolt = bolt { told.append($0) }
        _ = try bolt.reading(asking: nil, now: clock.now)
        #expect(told == ["the bolt's keeper is not there: Connection refused"])
        keeper.isThere = true
        keeper.greeting = nil
        keeper.began = nil
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
        #expect(try reports(bolt).isEmpty)
        keeper.say(.unsupported(version: 9))
        keeper.die()
        #expect(try reports(bolt).isEmpty)
        keeper.isThere = true
        keeper.greeting = status(.locked)
        clock.now = clock.now.advanced(byMilliseconds: StrikeBolt.searchMilliseconds)
        #expect(try reports(bolt) == [.bolt(.locked), .door(.closed)])
        #expect(
            told == [
                "the bolt's keeper is not there: Connection refused", "the bolt's keeper is there, with its chip",
            ])
        keeper.say(.unsupported(version: 9))
        keeper.die()
        #expect(try reports(bolt).isEmpty)
        #expect(told.count == 3)
        #expect(
            told.last == "the bolt's keeper speaks version 9 of their protocol alone: install both of one version")
    }

    @Test("A launch waits for a keeper that comes, and not for one that does not")
    func arrival() throws {
        keeper.isThere = false
        let bolt = bolt()
        let began = clock.now
        keeper.onWait = { [clock, keeper] in
            clock.now = clock.now.advanced(byMilliseconds: $0)
            keeper.isThere = clock.now.milliseconds(since: began) >= 300
        }
        #expect(try bolt.reading(asking: nil, now: clock.now).position == .locked)
        #expect(clock.now.milliseconds(since: began) == 300)
        keeper.isThere = false
        let never = self.bolt()
        let start = clock.now
        #expect(try never.reading(asking: nil, now: clock.now) == BoltReading(position: .unknown))
        #expect(clock.now.milliseconds(since: start) == StrikeBolt.arrivalMaximumMilliseconds)
    }

    @Test("What the lines beside the door say comes to the lock: contact, tamper, fire, exit, and a pulse's end")
    func inputs() throws {
        let bolt = bolt()
        _ = try bolt.reading(asking: nil, now: clock.now)
        keeper.say(.exit)
        keeper.say(.status(StrikeStatus(position: .unlocked, contact: .open, isTampered: true, isFire: true)))
        #expect(
            try reports(bolt) == [
                .input(.exit), .bolt(.unlocked), .door(DoorCode.open.with(flags: DoorCode.tamper)), .input(.fire(true)),
            ])
        keeper.say(.status(StrikeStatus(position: .locked, contact: .open, isFire: false)))
        #expect(try reports(bolt) == [.bolt(.locked), .door(.open), .input(.fire(false))])
        keeper.greeting = StrikeStatus(position: .locked, contact: .closed, isFire: true)
        #expect(try self.bolt().reading(asking: nil, now: clock.now).isFire)
    }

    @Test("While the bolt is on its way nothing is said of where it rests; without a chip nobody knows")
    func onItsWay() throws {
        var told: [String] = []
        let bolt = bolt { told.append($0) }
        _ = try bolt.reading(asking: nil, now: clock.now)
        let asked = intent(.unlock, .unlock)
        keeper.say(.status(status(.unknown, of: asked)))
        #expect(try reports(bolt).isEmpty)
        keeper.say(.status(StrikeStatus(position: .unknown, hasChip: false)))
        #expect(try reports(bolt) == [.bolt(.unknown), .door(.unknown)])
        keeper.say(.status(status(.locked)))
        #expect(try reports(bolt) == [.bolt(.locked), .door(.closed)])
        #expect(told == ["the bolt's keeper has no chip", "the bolt's keeper is there, with its chip"])
    }

    @Test(
        "A door that opens and a fire that begins while the bolt is on its way are told at once, and before the movement's end"
    )
    func doorOnItsWay() throws {
        let bolt = bolt()
        _ = try bolt.reading(asking: nil, now: clock.now)
        let asked = intent(.lock, .lock)
        #expect(try bolt.perform(ActuatorOrder(asked), now: clock.now) == nil)
        var now = status(.unknown, of: asked)
        (now.contact, now.isFire) = (.open, true)
        keeper.say(.status(now))
        #expect(try reports(bolt) == [.door(.open), .input(.fire(true))])
        (now.contact, now.position, now.last) = (.closed, .jammed, .init(intent: asked.id.rawValue, result: .jammed))
        keeper.say(.ended(intent: asked.id.rawValue, .jammed))
        keeper.say(.status(now))
        #expect(try reports(bolt) == [.ended(asked.id, .jammed), .bolt(.jammed), .door(.closed)])
    }
}
