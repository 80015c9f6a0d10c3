import BluetoothCore
import LockProtocol
import StrikeControl

/// A bolt that a keeper moves: `latch-strike`, which has the line and ends its pulses whoever dies. docs/STRIKE.md
///
/// **At most once.** By ``BegunMovements``, and by the keeper, which answers an opening's name once.
///
/// **A keeper that is away** is looked for again and again. What was under way when it went is asked of the one that comes: it knows the
/// end, or it is another process, and then nobody knows.
package final class StrikeBolt: Actuator {
    /// How long a launch waits for the keeper to come and to say how everything stands.
    package static let arrivalMaximumMilliseconds: UInt64 = 1_000
    /// How often a keeper that is away is looked for.
    package static let searchMilliseconds: UInt64 = 100
    /// A keeper that is away for longer than a restart takes is told: nobody knows where the bolt is.
    package static let absenceMilliseconds: UInt64 = 3_000

    private enum Connection {
        /// `told`: that nobody knows where the bolt is.
        case none(search: Instant, absent: Instant, isTold: Bool)
        case connected(StrikeStatus?)
    }

    private let begun: BegunMovements
    private let link: any StrikeLink
    private let pulseMilliseconds: UInt32
    private let bootTime: () -> Instant
    private let tell: (String) -> Void
    private var connection: Connection
    /// What the keeper was told and has not answered.
    private var underWay: (order: ActuatorOrder, giveUp: Instant)?
    /// Under way when the keeper went.
    private var lost: IntentID?
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
        journal: any MovementJournal, link: any StrikeLink, pulseMilliseconds: UInt32,
        bootTime: @escaping () -> Instant, tell: @escaping (String) -> Void
    ) {
        begun = BegunMovements(journal)
        self.link = link
        self.pulseMilliseconds = pulseMilliseconds
        self.bootTime = bootTime
        self.tell = tell
        let now = bootTime()
        connection = .none(
            search: now, absent: now.advanced(byMilliseconds: Self.absenceMilliseconds), isTold: false)
    }

    package func reading(asking intent: Intent?, now: Instant) throws -> BoltReading {
        try begun.settle(asking: intent)
        let status = awaitStatus()
        let found = Known(status)
        known = found
        var moving: IntentID?
        if let last = status?.last, last.result == nil { moving = IntentID(rawValue: last.intent) }
        let reading = BoltReading(position: found.position, door: found.door, moving: moving, isFire: found.isFire)
        return complete(begun.complete(reading, asking: intent), asking: intent, status)
    }

    /// A keeper that has outlived the daemon knows more than the journal.
    private func complete(_ reading: BoltReading, asking intent: Intent?, _ status: StrikeStatus?) -> BoltReading {
        guard let intent, let last = status?.last, last.intent == intent.id.rawValue, let result = last.result else {
            return reading
        }
        var reading = reading
        switch result {
        case .locked, .unlocked: reading.performed = true
        case .declined:
            reading.performed = false
            reading.mayHaveBegun = false
        case .jammed, .unknown: break
        }
        return reading
    }

    private func awaitStatus() -> StrikeStatus? {
        let giveUp = bootTime().advanced(byMilliseconds: Self.arrivalMaximumMilliseconds)
        while true {
            let now = bootTime()
            if case .none(let search, _, _) = connection, now >= search { connect(now) }
            drain(now)
            if case .connected(let status?) = connection { return status }
            guard now < giveUp else { return nil }
            let until = Instant.earliest(giveUp, searchInstant) ?? giveUp
            link.wait(milliseconds: max(1, until.milliseconds(since: now)))
        }
    }

    package func perform(_ order: ActuatorOrder, now: Instant) throws -> ActuatorReport? {
        if case .report(let report) = try begun.admit(order, now: now) { return report }
        // The flush may have taken any time: the keeper looks at the order's own.
        let now = bootTime()
        let request = StrikeRequest.order(
            StrikeOrder(
                intent: order.intent.rawValue, movement: StrikeMovement(order.movement),
                pulseMilliseconds: pulseMilliseconds, notAfter: order.notAfter))
        drain(now)
        if case .none = connection { connect(now) }
        var isSent = link.send(request)
        if !isSent, case .connected = connection {
            part(now)
            connect(now)
            isSent = link.send(request)
        }
        guard isSent else {
            tell("the bolt's keeper is not there, and \(order.movement) was not made")
            return .declined(order.intent)
        }
        underWay = (order, now.advanced(byMilliseconds: BoltMachine.travelMaximumMilliseconds))
        return nil
    }

    package var deadline: Instant? {
        guard reports.isEmpty else { return bootTime() }
        return Instant.earliest(underWay?.giveUp, Instant.earliest(searchInstant, absentInstant))
    }

    private var searchInstant: Instant? {
        if case .none(let search, _, _) = connection { search } else { nil }
    }

    private var absentInstant: Instant? {
        if case .none(_, let absent, isTold: false) = connection { absent } else { nil }
    }

    package var descriptor: Int32? { link.descriptor }

    package func poll(now: Instant) throws -> ActuatorReport? {
        if reports.isEmpty {
            if let searchInstant, now >= searchInstant { connect(now) }
            drain(now)
            if let absentInstant, now >= absentInstant { tellAbsence() }
            // The lock has given it up by now, too.
            if let underWay, now >= underWay.giveUp { self.underWay = nil }
        }
        return reports.isEmpty ? nil : reports.removeFirst()
    }

    // MARK: The keeper

    private func connect(_ now: Instant) {
        guard let reason = link.connect() else {
            connection = .connected(nil)
            return
        }
        complain("the bolt's keeper is not there: \(reason)")
        guard case .none(_, let absent, let isTold) = connection else { return }
        connection = .none(
            search: now.advanced(byMilliseconds: Self.searchMilliseconds), absent: absent, isTold: isTold)
    }

    private func part(_ now: Instant) {
        if let underWay { lost = underWay.order.intent }
        underWay = nil
        // One that was killed is back before long.
        connection = .none(
            search: now, absent: now.advanced(byMilliseconds: Self.absenceMilliseconds), isTold: false)
        complain("the bolt's keeper has gone")
    }

    private func complain(_ reason: String) {
        if complaint == nil { tell(reason) }
        complaint = reason
    }

    private func tellAbsence() {
        guard case .none(let search, let absent, _) = connection else { return }
        connection = .none(search: search, absent: absent, isTold: true)
        // Nobody knows of a fire's end either.
        update(Known(position: .unknown, door: .unknown, isFire: known?.isFire ?? false))
    }

    private func drain(_ now: Instant) {
        while let news = link.next() {
            switch news {
            case .gone: part(now)
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
        connection = .connected(status)
        if status.hasChip {
            if complaint != nil { tell("the bolt's keeper is there, with its chip") }
            complaint = nil
        } else {
            complain("the bolt's keeper has no chip")
        }
        if let lost {
            self.lost = nil
            if status.last?.intent != lost.rawValue {
                end(lost, .unknown)
            } else if let result = status.last?.result {
                end(lost, result)
            }
        }
        // Where it comes to rest is told with its end.
        if status.last.map({ $0.result != nil }) ?? true { update(Known(status)) }
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
