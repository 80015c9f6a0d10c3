import BluetoothCore
import Glibc
import StrikeControl
import TestSupport

@testable import StrikeKeeping

/// A keeper, the metal under it and the daemon over it, each of which may go and come back at any moment; and what docs/STRIKE.md
/// promises of them, looked at from the metal and from the daemon's end.
final class KeeperJudge {
    /// How the door came to be released.
    private struct Opening {
        var order: StrikeOrder
        var begin: UInt64
        /// How long the pulse may be; nil for a hold.
        var pulse: UInt64?
    }

    private let plan: StrikePlan
    private let orphanMilliseconds: UInt64
    private let chip: FakeChip
    private var keeper: StrikeKeeper?
    private var now: UInt64 = 0
    private var armed: Instant?

    /// Orders of this connection without an end, and of those before it.
    private var awaited: Set<UInt64> = []
    private var past: Set<UInt64> = []
    private var isConnected = false
    /// Since when there is no daemon.
    private var goneSince: UInt64? = 0
    private var told: StrikeStatus?
    private var statuses = 0

    private var nextName: UInt64 = 1
    /// The names of openings.
    private var opened: [UInt64] = []
    /// When each of them is too late.
    private var times: [UInt64: Instant] = [:]
    /// Openings that this keeper has begun: it makes none of them again.
    private var made: Set<UInt64> = []
    private var began = Instant(nanoseconds: 0)
    /// What is handed in just now, and may release the door.
    private var asked: StrikeOrder?
    /// What may be tried again.
    private var retried: StrikeOrder?
    private var opening: Opening?
    /// Until then the line may be where nobody has ordered it: the keeper finds that when it looks.
    private var trustedAfter: UInt64 = 0
    private(set) var releases = 0
    private var history: [String] = []

    init(_ text: String) throws {
        plan = try strikePlan(text)
        orphanMilliseconds = plan.rules.orphanMilliseconds
        chip = FakeChip(plan)
        chip.inputs = plan.inputs.map { $0.use == .feedback || $0.use == .contact }
        chip.wasSet = { [unowned self] in
            note($0 ? "release" : "rest")
            if $0 { released() } else { opening = nil }
        }
        start()
    }

    private var chipWorks: Bool { chip.code == 0 && !chip.isDeaf }
    /// What has happened lately, for whoever reads a failure.
    private var lately: String { history.suffix(24).joined(separator: ", ") }
    /// What was broken; a judge that has found something may end.
    private(set) var broken: [String] = []

    private func promise(_ isKept: Bool, _ what: @autoclosure () -> String) {
        if !isKept { broken.append("\(what()): \(lately)") }
    }

    private func note(_ what: String) { history.append("\(now) \(what)") }
    private var isTrusted: Bool { chipWorks && trustedAfter < now }
    private var hasFeedback: Bool { plan.rules.feedback != nil }

    // MARK: What may happen

    func step(_ generator: inout SeededGenerator) {
        pass(to: now + .random(in: 0...400, using: &generator))
        switch Int.random(in: 0..<32, using: &generator) {
        case 0..<10: order(&generator)
        case 10: plug()
        case 11: if chip.code != ENODEV { set(code: chip.code == EIO ? 0 : EIO) }
        case 12: setDeaf(!chip.isDeaf)
        case 13 where !chipWorks: comeBack()
        case 13, 14: if isConnected { part() }
        case 15, 16: greet()
        case 17: begins(afterKill: true, &generator)
        case 18: begins(afterKill: false, &generator)
        case 19: meddle()
        case 20..<25: move(&generator)
        default: pass(to: now + .random(in: 0...3_000, using: &generator))
        }
        settled()
    }

    private func order(_ generator: inout SeededGenerator) {
        guard isConnected else { return }
        let movement = StrikeMovement.allCases.randomElement(using: &generator) ?? .lock
        var name = nextName
        if movement != .lock, Int.random(in: 0..<4, using: &generator) == 0 {
            name = opened.suffix(5).randomElement(using: &generator) ?? name
        }
        if name == nextName {
            nextName += 1
            if movement != .lock { opened.append(name) }
        }
        let isLate = now > 0 && Int.random(in: 0..<6, using: &generator) == 0
        let notAfter = times[name] ?? KeeperBench.instant(isLate ? now - 1 : now + 1_000)
        times[name] = notAfter
        let order = StrikeOrder(
            intent: name, movement: movement, pulseMilliseconds: .random(in: 0...3_000, using: &generator),
            notAfter: notAfter)
        note("order \(order)")
        awaited.insert(name)
        asked = movement != .lock && !made.contains(name) && KeeperBench.instant(now) <= notAfter ? order : nil
        keeper?.take(order)
        asked = nil
        if movement == .lock, isTrusted { promise(!chip.isOpen, "released behind a lock") }
    }

    private func plug() {
        guard chip.code != ENODEV else { return set(code: 0) }
        note("unplugged")
        chip.unplug()
        // Nobody is woken by that.
        distrust(for: StrikeKeeper.readingMilliseconds)
    }

    private func set(code: Int32) {
        note("errno \(code)")
        chip.code = code
        distrust(for: StrikeKeeper.openingMilliseconds)
    }

    private func comeBack() {
        set(code: 0)
        setDeaf(false)
    }

    private func setDeaf(_ isDeaf: Bool) {
        note("deaf \(isDeaf)")
        chip.isDeaf = isDeaf
        distrust(for: StrikeKeeper.openingMilliseconds)
    }

    /// Somebody else moves the line. It is read each second.
    private func meddle() {
        guard chipWorks else { return }
        note("meddle")
        chip.isActive.toggle()
        distrust(for: StrikeKeeper.readingMilliseconds)
    }

    private func distrust(for milliseconds: UInt64) { trustedAfter = max(trustedAfter, now + milliseconds) }

    private func move(_ generator: inout SeededGenerator) {
        guard let index = chip.inputs.indices.randomElement(using: &generator) else { return }
        note("input \(index)")
        chip.inputs[index].toggle()
        chip.hasMoved = true
        keeper?.linesMoved()
    }

    // MARK: The daemon

    private func greet() {
        // One that comes takes the place of the one before.
        if isConnected { part() }
        note("hello")
        isConnected = true
        goneSince = nil
        keeper?.greet()
    }

    private func part() {
        note("daemon gone")
        isConnected = false
        past.formUnion(awaited)
        awaited = []
        told = nil
        goneSince = now
        keeper?.daemonIsGone()
    }

    private func hear(_ report: StrikeReport) {
        guard isConnected else { return }
        switch report {
        case .status(let status):
            told = status
            statuses += 1
        case .ended(let intent, let result):
            let isAwaited = awaited.remove(intent) != nil
            let isPast = past.remove(intent) != nil
            promise(isAwaited || isPast, "\(intent) ends once more")
            if retried?.intent == intent { retried = nil }
            guard isTrusted else { return }
            if result == .unlocked { promise(chip.isOpen, "\(intent) is said to have opened") }
            if result == .locked { promise(!chip.isOpen, "\(intent) is said to have locked") }
        case .welcome(let began): promise(began == self.began, "another keeper's begin")
        case .exit: break
        case .unsupported: promise(false, "nobody has asked for a version")
        }
    }

    // MARK: The keeper

    private func start() {
        let keeper = StrikeKeeper(
            plan, chip: chip,
            surroundings: StrikeKeeper.Surroundings(
                now: { [unowned self] in KeeperBench.instant(now) }, arm: { [unowned self] in armed = $0 },
                send: { [unowned self] in hear($0) }, tell: { _ in }))
        self.keeper = keeper
        (made, retried, opening) = ([], nil, nil)
        began = KeeperBench.instant(now)
        keeper.begin()
        // Whatever was before: with a chip that works the door is not open.
        if chipWorks { promise(!chip.isOpen, "a new keeper leaves the door open") }
    }

    /// The keeper is killed, or told to end, and there is another one a while later.
    private func begins(afterKill isKilled: Bool, _ generator: inout SeededGenerator) {
        if !isKilled {
            keeper?.end()
            if isTrusted { promise(!chip.isOpen, "a keeper that ends leaves the door open") }
        }
        note(isKilled ? "killed" : "ended")
        keeper = nil
        armed = nil
        isConnected = false
        (awaited, past, told, goneSince) = ([], [], nil, now)
        // Some drivers leave a line as it is, some give it back.
        if chip.code == 0, Bool.random(using: &generator) { chip.isActive = false }
        now += .random(in: 0...2_000, using: &generator)
        start()
    }

    // MARK: Time

    private func pass(to instant: UInt64) {
        var alarms = 0
        while let armed, armed <= KeeperBench.instant(instant) {
            alarms += 1
            guard alarms < 10_000 else { return promise(false, "a timer that goes off for nothing") }
            now = max(now, armed.milliseconds(since: KeeperBench.instant(0)))
            keeper?.timeIsUp()
            settled()
        }
        now = instant
    }

    // MARK: What was promised

    /// The line is told to release the door, at this moment.
    private func released() {
        releases += 1
        let order: StrikeOrder
        if let asked {
            order = asked
            made.insert(order.intent)
        } else {
            guard hasFeedback, let retried, retried.movement == .unlock else {
                return promise(false, "released without an order")
            }
            promise(retried.notAfter.map { KeeperBench.instant(now) <= $0 } ?? true, "tried again behind its time")
            order = retried
        }
        retried = order
        let isHold = plan.rules.drive == .hold && (order.movement == .unlock || opening != nil && opening?.pulse == nil)
        let pulse = isHold ? nil : min(UInt64(order.pulseMilliseconds), plan.rules.pulseMaximumMilliseconds)
        opening = Opening(order: order, begin: now, pulse: pulse)
        // Were this process held up now, nothing else would end the pulse.
        if let pulse { promise(armed.map { $0 <= KeeperBench.instant(now + pulse) } ?? false, "no timer for its end") }
    }

    private func settled() {
        promise(armed.map { $0 <= KeeperBench.instant(now + StrikeKeeper.readingMilliseconds) } ?? false, "no timer")
        promise(awaited.count <= 1, "orders without an end: \(awaited)")
        doorIsWhereItMayBe()
        guard isConnected, let before = told, let keeper else { return }
        // The same daemon's hello is answered, and changes nothing.
        let count = statuses
        keeper.greet()
        promise(statuses == count + 1 && told == before, "\(before) was told, and \(String(describing: told)) is so")
    }

    private func doorIsWhereItMayBe() {
        guard isTrusted else { return }
        if let told, isConnected, !hasFeedback {
            promise(told.hasChip && told.position == (chip.isOpen ? .unlocked : .locked), "\(told)")
        }
        guard chip.isOpen else { return }
        guard let opening else {
            return promise(false, "released, and nobody has asked for it")
        }
        if let pulse = opening.pulse {
            promise(now < opening.begin + pulse, "longer than asked")
        } else if let goneSince, plan.rules.failure == .secure {
            let travel = plan.rules.feedback?.travelMilliseconds ?? 0
            promise(now < max(goneSince, opening.begin + travel) + orphanMilliseconds, "held for nobody")
        }
    }

    /// Left alone, on a chip that works, everything ends.
    func comeToRest() {
        comeBack()
        if isConnected { part() }
        pass(to: now + 60_000)
        if plan.rules.drive == .pulse || plan.rules.failure == .secure {
            promise(!chip.isOpen, "left alone, and open")
        }
        greet()
        promise(awaited.isEmpty, "orders without an end: \(awaited)")
    }
}
