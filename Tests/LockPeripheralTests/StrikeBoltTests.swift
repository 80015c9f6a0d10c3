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
        var greeting: StrikeStatus? = StrikeStatus(position: .locked, contact: .closed)
        /// What passes while somebody waits.
        var onWait: (UInt64) -> Void = { _ in }
        let descriptor: Int32 = -1

        func connect() -> String? {
            guard isThere else { return "Connection refused" }
            isConnected = true
            heard.append(.hello(version: 1))
            if let greeting { news.append(.report(.status(greeting))) }
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
            isConnected = false
            news.append(.gone)
        }
        func say(_ report: StrikeReport) { news.append(.report(report)) }
    }

    private final class Clock { var now = Instant(nanoseconds: 1_000) }

    private let keeper = Keeper()
    private let metal = MetalJournal()
    private let clock = Clock()

    private func bolt(tell: @escaping (String) -> Void = { _ in }) -> StrikeBolt {
        keeper.onWait = { [clock] in clock.now = clock.now.advanced(byMilliseconds: $0) }
        return StrikeBolt(
            journal: metal, link: keeper, pulseMilliseconds: 3_000, bootTime: { [clock] in clock.now }, tell: tell)
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

    @Test("An opening that a killed daemon had ordered is not ordered again; a keeper that lives knows its end")
    func restarted() throws {
        let asked = intent(.unlock, .unlock)
        _ = try bolt().perform(ActuatorOrder(asked), now: clock.now)
        for (result, settlement) in [
            (StrikeResult.unlocked, LaunchRules.Settlement.ended(.done)), (.unknown, .ended(.unknown)),
            (.declined, .driven),
        ] {
            keeper.greeting = status(.locked, of: asked, result)
            let reading = try bolt().reading(asking: asked, now: clock.now)
            #expect(LaunchRules.settle(asked, reading: reading, boot: boot, now: clock.now) == settlement, "\(result)")
        }
        // Still at it.
        keeper.greeting = status(.unknown, of: asked)
        let reading = try bolt().reading(asking: asked, now: clock.now)
        #expect(LaunchRules.settle(asked, reading: reading, boot: boot, now: clock.now) == .awaited)
        // One that knows nothing of it.
        keeper.greeting = status(.locked)
        let next = bolt()
        let found = try next.reading(asking: asked, now: clock.now)
        #expect(LaunchRules.settle(asked, reading: found, boot: boot, now: clock.now) == .ended(.unknown))
        #expect(try next.perform(ActuatorOrder(asked), now: clock.now) == .ended(asked.id, .unknown))
        #expect(keeper.heard.filter { if case .order = $0 { true } else { false } }.count == 1)
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
            keeper.die()
            #expect(try reports(bolt).isEmpty)
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
        #expect(keeper.heard.first == .hello(version: 1) && keeper.heard.count == 2)
        _ = try reports(bolt)
        keeper.die()
        _ = try reports(bolt)
        #expect(try bolt.perform(order, now: clock.now) == .declined(asked.id))
        #expect(told.contains("the bolt's keeper has gone"))
        #expect(told.last == "the bolt's keeper is not there, and lock was not made")
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
}
