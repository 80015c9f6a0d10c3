import BluetoothCore
import LockProtocol
import StrikeControl

/// A bolt that another program moves: the keeper, `latch-strike`. The keeper has the strike's line. It ends a pulse in time even when the
/// lock's daemon dies. docs/STRIKE.md
///
/// **At most once.** An order has its intent's number. The keeper makes an opening once, however often it is ordered. When it greets, it
/// says since when it runs (``StrikeReport/welcome(began:)``), and its last order with the result. From that a launch concludes what became
/// of an opening:
/// - The keeper's last order is this opening: its result says it.
/// - The keeper was running before the opening was decided, and has not heard of it: it has not begun.
/// - Anything else: it is unknown.
///
/// The keeper is the record of what was made. So this class writes no file, and an order leaves as soon as its intent is committed.
///
/// **A keeper that is away** is looked for every ``searchMilliseconds``. It is there when it has said how everything stands: one that only
/// takes connections, or hangs up again and again, is away. The one that comes is asked for the order that was under way. The
/// same process knows its end. A new process does not, and the order ends as unknown.
package final class StrikeBolt: Actuator {
    /// How long a launch waits for the keeper to come and to say how everything stands.
    package static let arrivalMaximumMilliseconds: UInt64 = 1_000
    /// How often a keeper that is away is looked for.
    package static let searchMilliseconds: UInt64 = 100
    /// A keeper that is away for longer than a restart takes is told: nobody knows where the bolt is.
    package static let absenceMilliseconds: UInt64 = 3_000

    private enum Connection {
        case none(Absence)
        /// Its keeper has yet to say how everything stands. `began`: since when it has been there, which it says first.
        case greeting(Absence, began: Instant?)
        /// `search`: no other one is looked for before.
        case connected(search: Instant, began: Instant?, StrikeStatus)
    }

    /// Since a keeper was there last.
    private struct Absence {
        /// When the next one is looked for.
        var search: Instant
        /// When it is told that nobody knows where the bolt is.
        var telling: Instant
        var isTold = false
        /// A keeper was connected to, and did not say how everything stands: it gets no order.
        var isInVain = false

        init(search: Instant, now: Instant) {
            self.search = search
            telling = now.advanced(byMilliseconds: StrikeBolt.absenceMilliseconds)
        }
    }

    private let boot: BootID
    private let link: any StrikeLink
    private let pulseMilliseconds: UInt32
    private let bootTime: () -> Instant
    private let tell: (String) -> Void
    private var connection: Connection
    /// What the keeper was told and has not answered.
    private var underWay: (order: ActuatorOrder, giveUp: Instant)?
    /// Under way when the keeper went.
    private var lost: ActuatorOrder?
    /// What the lock knows.
    private var known: Known?
    private var reports: [ActuatorReport] = []
    /// What the operator knows of the keeper; nil for nothing bad.
    private var complaint: String?

    fileprivate struct Known: Equatable {
        var position: BoltPosition
        var door: DoorCode
        var isFire: Bool
    }

    /// `bootTime`: at this very moment. `tell`: what the operator should know of the keeper, as a reason.
    package init(
        boot: BootID, link: any StrikeLink, pulseMilliseconds: UInt32, bootTime: @escaping () -> Instant,
        tell: @escaping (String) -> Void
    ) {
        self.boot = boot
        self.link = link
        self.pulseMilliseconds = pulseMilliseconds
        self.bootTime = bootTime
        self.tell = tell
        let now = bootTime()
        connection = .none(Absence(search: now, now: now))
    }

    package func reading(asking intent: Intent?, now: Instant) throws -> BoltReading {
        let status = awaitStatus()
        let found = Known(status)
        known = found
        var reading = BoltReading(position: found.position, door: found.door, isFire: found.isFire)
        if let last = status?.last {
            if last.result == nil { reading.moving = IntentID(rawValue: last.intent) }
            reading.isUnrecorded =
                last.intent == ActuatorOrder.unrecordedLock.intent.rawValue && last.result != .declined
        }
        guard let intent else { return reading }
        switch memory(of: intent, status) {
        case .made: reading.performed = true
        case .notMade: reading.performed = false
        case .isAtIt: break
        case .unknown: reading.mayHaveBegun = true
        }
        return reading
    }

    private enum Memory { case made, notMade, isAtIt, unknown }

    /// What the keeper knows of `intent`.
    private func memory(of intent: Intent, _ status: StrikeStatus?) -> Memory {
        guard let status, case .connected(_, let began?, _) = connection else { return .unknown }
        if let last = status.last, last.intent == intent.id.rawValue {
            return switch last.result {
            case .locked?, .unlocked?: .made
            case .declined?: .notMade
            case .jammed?, .unknown?: .unknown
            case nil: .isAtIt
            }
        }
        // The last order is an older one, whose name is less: this one has not come. A lock that nobody could write down has no name.
        let isUnheard =
            status.last.map {
                $0.intent != ActuatorOrder.unrecordedLock.intent.rawValue && $0.intent < intent.id.rawValue
            } ?? true
        // It ends a life behind the decision, or earlier.
        guard isUnheard, intent.boot == boot, let deadline = intent.deadline,
            began.advanced(byMilliseconds: Intent.openingLifeMilliseconds) < deadline
        else { return .unknown }
        return .notMade
    }

    private func awaitStatus() -> StrikeStatus? {
        let giveUp = bootTime().advanced(byMilliseconds: Self.arrivalMaximumMilliseconds)
        while true {
            let now = bootTime()
            search(now)
            drain(now)
            if case .connected(_, _, let status) = connection { return status }
            guard now < giveUp else { return nil }
            let until = Instant.earliest(giveUp, searchInstant) ?? giveUp
            link.wait(milliseconds: max(1, until.milliseconds(since: now)))
        }
    }

    package func perform(_ order: ActuatorOrder, now: Instant) throws -> ActuatorReport? {
        let request = request(order)
        drain(now)
        var isSent = send(request, now)
        // One that has gone without being noticed may have a successor.
        if !isSent, case .none(let absence) = connection, !absence.isInVain {
            connect(now, absence)
            isSent = send(request, now)
        }
        guard isSent else {
            tell("the bolt's keeper is not there, and \(order.movement) was not made")
            return .declined(order.intent)
        }
        underWay = (order, now.advanced(byMilliseconds: BoltMachine.travelMaximumMilliseconds))
        return nil
    }

    /// False where nothing has been sent.
    private func send(_ request: StrikeRequest, _ now: Instant) -> Bool {
        switch connection {
        case .none: return false
        case .greeting(let absence, _) where absence.isInVain: return false
        case .greeting, .connected:
            let isSent = link.send(request)
            if !isSent { part(now) }
            return isSent
        }
    }

    private func request(_ order: ActuatorOrder) -> StrikeRequest {
        .order(
            StrikeOrder(
                intent: order.intent.rawValue, movement: StrikeMovement(order.movement),
                pulseMilliseconds: pulseMilliseconds, notAfter: order.notAfter))
    }

    package var deadline: Instant? {
        guard reports.isEmpty else { return bootTime() }
        return Instant.earliest(underWay?.giveUp, Instant.earliest(searchInstant, tellingInstant))
    }

    private var searchInstant: Instant? {
        if case .none(let absence) = connection { absence.search } else { nil }
    }

    private var tellingInstant: Instant? { absence.flatMap { $0.isTold ? nil : $0.telling } }

    private var absence: Absence? {
        switch connection {
        case .none(let absence), .greeting(let absence, _): absence
        case .connected: nil
        }
    }

    package var descriptor: Int32? { link.descriptor }

    package func poll(now: Instant) throws -> ActuatorReport? {
        if reports.isEmpty {
            search(now)
            drain(now)
            if let tellingInstant, now >= tellingInstant { tellAbsence() }
            // The lock has given it up by now, too.
            if let underWay, now >= underWay.giveUp { self.underWay = nil }
        }
        return reports.isEmpty ? nil : reports.removeFirst()
    }

    // MARK: The keeper

    private func search(_ now: Instant) {
        if case .none(let absence) = connection, now >= absence.search { connect(now, absence) }
    }

    private func connect(_ now: Instant, _ absence: Absence) {
        var absence = absence
        absence.search = now.advanced(byMilliseconds: Self.searchMilliseconds)
        guard let reason = link.connect() else {
            connection = .greeting(absence, began: nil)
            return
        }
        complain("the bolt's keeper is not there: \(reason)")
        connection = .none(absence)
    }

    private func part(_ now: Instant) {
        if let underWay { lost = underWay.order }
        underWay = nil
        switch connection {
        case .none: break
        case .greeting(var absence, _):
            absence.isInVain = true
            connection = .none(absence)
        // One that was killed is back before long. One that hangs up again and again is not asked more often.
        case .connected(let search, _, _): connection = .none(Absence(search: max(now, search), now: now))
        }
        complain("the bolt's keeper has gone")
    }

    private func complain(_ reason: String) {
        if complaint == nil { tell(reason) }
        complaint = reason
    }

    private func tellAbsence() {
        switch connection {
        case .none(var absence):
            absence.isTold = true
            connection = .none(absence)
        case .greeting(var absence, let began):
            (absence.isTold, absence.isInVain) = (true, true)
            connection = .greeting(absence, began: began)
        case .connected: return
        }
        // Nobody knows of a fire's end either.
        update(Known(position: .unknown, door: .unknown, isFire: known?.isFire ?? false))
    }

    private func drain(_ now: Instant) {
        while let news = link.next() {
            switch news {
            case .gone: part(now)
            case .report(.welcome(let began)):
                if case .greeting(let absence, _) = connection { connection = .greeting(absence, began: began) }
            case .report(.status(let status)): take(status)
            case .report(.ended(let intent, let result)): end(IntentID(rawValue: intent), result)
            case .report(.exit): reports.append(.input(.exit))
            case .report(.unsupported(let version)):
                complain(
                    "the bolt's keeper speaks version \(version) of their protocol alone: install both of one version")
            }
        }
    }

    private func take(_ status: StrikeStatus) {
        switch connection {
        case .none: return
        case .greeting(let absence, let began): connection = .connected(search: absence.search, began: began, status)
        case .connected(let search, let began, _): connection = .connected(search: search, began: began, status)
        }
        if status.hasChip {
            if complaint != nil { tell("the bolt's keeper is there, with its chip") }
            complaint = nil
        } else {
            complain("the bolt's keeper has no chip")
        }
        if let lost {
            self.lost = nil
            if status.last?.intent != lost.intent.rawValue {
                #if LATCH_PLANTS
                if Plant.active == .twice, link.send(request(lost)) { return }
                #endif
                end(lost.intent, .unknown)
            } else if let result = status.last?.result {
                end(lost.intent, result)
            }
        }
        var now = Known(status)
        // Where it comes to rest is told with its end. A door that opens meanwhile, or a fire that begins, waits for nothing.
        if let known, let last = status.last, last.result == nil { now.position = known.position }
        update(now)
    }

    private func update(_ now: Known) {
        guard let before = known else { return }
        known = now
        if now.position != before.position { reports.append(.bolt(now.position)) }
        if now.door != before.door { reports.append(.door(now.door)) }
        if now.isFire != before.isFire { reports.append(.input(.fire(now.isFire))) }
    }

    private func end(_ intent: IntentID, _ result: StrikeResult) {
        if underWay?.order.intent == intent { underWay = nil }
        if result == .declined { return reports.append(.declined(intent)) }
        reports.append(.ended(intent, BoltPosition(result)))
    }
}

extension StrikeBolt.Known {
    /// Without a keeper nobody knows anything.
    fileprivate init(_ status: StrikeStatus?) {
        guard let status else {
            self.init(position: .unknown, door: .unknown, isFire: false)
            return
        }
        let door: DoorCode =
            switch status.contact {
            case .unknown: .unknown
            case .closed: .closed
            case .open: .open
            }
        self.init(
            position: BoltPosition(status.position),
            door: status.isTampered ? door.with(flags: DoorCode.tamper) : door, isFire: status.isFire)
    }
}

extension BoltPosition {
    fileprivate init(_ position: StrikePosition) {
        self =
            switch position {
            case .unknown: .unknown
            case .locked: .locked
            case .unlocked: .unlocked
            case .jammed: .jammed
            }
    }

    /// Where it rests behind an end that is no refusal.
    fileprivate init(_ result: StrikeResult) {
        self =
            switch result {
            case .locked: .locked
            case .unlocked: .unlocked
            case .jammed: .jammed
            case .unknown, .declined: .unknown
            }
    }
}

extension StrikeMovement {
    fileprivate init(_ movement: Movement) {
        self =
            switch movement {
            case .lock: .lock
            case .unlock: .unlock
            case .unlatch: .unlatch
            }
    }
}
