import BluetoothCore
import StrikeControl

/// What befalls the metal of a door in a simulated world: people who come, and what breaks and is mended again. What the metal has seen is
/// in ``record``.
final class DoorScene: Timed {
    /// How long the bolt takes behind its coil.
    static let travelMilliseconds: UInt64 = 80
    /// How long somebody takes who sees that he may come in, and for how long he waits for that.
    private static let pullMilliseconds: UInt64 = 100
    private static let patienceMilliseconds: UInt64 = 6_000
    /// Who forces a door does not come in the middle of something.
    private static let quietMilliseconds: UInt64 = 1_500

    let door: SharedMetal
    var record = DoorRecord()
    /// Hears of each edge of the coil: whether it releases the door.
    var onEdge: (Bool) -> Void = { _ in }
    private unowned let world: World
    private var plans: [(at: Instant, act: () -> Void)] = []
    private var hasNews = false
    /// When coil or bolt moved last.
    private var restless = Instant(nanoseconds: 0)
    /// Somebody stands before it, who leaves it open for so long.
    private var visitor: (until: Instant, openMilliseconds: UInt64)?
    /// For how long somebody presses as the coil lets go next.
    private var pressAtLocking: UInt64?

    init(_ rules: StrikeRules, _ world: World) {
        door = SharedMetal(rules)
        self.world = world
        door.watch = { [unowned self] in hear($0) }
    }

    var metal: StrikeMetal { door.metal }

    // MARK: Its time

    var deadline: Instant? { plans.map(\.at).min() }
    /// Nothing happens any more by itself.
    var isQuiet: Bool { plans.isEmpty }

    func step() -> Bool { false }

    func fireTimers() {
        let due = plans.filter { $0.at <= world.now }
        plans.removeAll { $0.at <= world.now }
        for plan in due { plan.act() }
    }

    func after(_ milliseconds: UInt64, _ act: @escaping () -> Void) {
        plans.append((world.now.advanced(byMilliseconds: milliseconds), act))
    }

    /// Whether an input has moved since it was asked last.
    func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }

    private func hear(_ output: StrikeMetal.Output) {
        switch output {
        case .began(let condition): record.turn(condition, true, at: world.now)
        case .ended(let condition): record.turn(condition, false, at: world.now)
        case .strike(let isReleased):
            restless = world.now
            onEdge(isReleased)
            if !isReleased { pressBehindCoil() }
        case .goes: after(Self.travelMilliseconds) { [unowned self] in door.handle(.arrives) }
        case .bolt(let isLocked):
            restless = world.now
            record.free.turn(!isLocked, at: world.now)
            if !isLocked { letIn() }
        case .leaf(let isClosed): record.open.turn(!isClosed, at: world.now)
        case .edge: hasNews = true
        }
    }

    // MARK: People

    /// Somebody comes, opens it as soon as he can, and leaves it open for so long.
    func push(openMilliseconds: UInt64) {
        visitor = (world.now.advanced(byMilliseconds: Self.patienceMilliseconds), openMilliseconds)
        if !metal.isBoltLocked { letIn() }
    }

    private func letIn() {
        guard let visitor, world.now < visitor.until else { return }
        after(Self.pullMilliseconds) { [unowned self] in
            guard !metal.isBoltLocked, self.visitor != nil else { return }
            self.visitor = nil
            openLeaf(for: visitor.openMilliseconds)
        }
    }

    private func openLeaf(for milliseconds: UInt64) {
        guard metal.isClosed else { return }
        door.handle(.opens)
        after(milliseconds) { [unowned self] in door.handle(.shuts) }
    }

    /// Somebody opens it who may not, while it is locked.
    func force(openMilliseconds: UInt64) {
        guard isAtRest, metal.isClosed else { return }
        record.crimes.append(world.now)
        openLeaf(for: openMilliseconds)
    }

    func press(milliseconds: UInt64) {
        if !metal.has(.pressed) { begin(.pressed, milliseconds: milliseconds) }
    }

    func pressAtLocking(milliseconds: UInt64) { pressAtLocking = milliseconds }

    private func pressBehindCoil() {
        guard let milliseconds = pressAtLocking else { return }
        pressAtLocking = nil
        // The bolt is on its way.
        after(Self.travelMilliseconds / 4) { [unowned self] in press(milliseconds: milliseconds) }
    }

    /// Somebody inside holds the bolt back.
    func holdBack(milliseconds: UInt64) {
        if isAtRest, !metal.has(.jammed) { begin(.held, milliseconds: milliseconds) }
    }

    /// It is locked, and nothing has moved for a while.
    private var isAtRest: Bool {
        metal.isBoltLocked && !metal.isReleased
            && world.now >= restless.advanced(byMilliseconds: Self.quietMilliseconds)
    }

    // MARK: What lasts

    /// nil: until somebody mends it.
    func begin(_ condition: StrikeMetal.Condition, milliseconds: UInt64?) {
        door.handle(.begins(condition))
        if let milliseconds { after(milliseconds) { [unowned self] in door.handle(.ends(condition)) } }
    }

    func unplug(milliseconds: UInt64) {
        if !metal.has(.unplugged) { begin(.unplugged, milliseconds: milliseconds) }
    }

    /// Everybody goes home, and nothing is wrong any more.
    func mend() {
        plans = []
        (visitor, pressAtLocking) = (nil, nil)
        door.handle(.shuts)
        // A bolt may have been on its way: the end of a jam, also of none, sends it again.
        for condition in StrikeMetal.Condition.kinds { door.handle(.ends(condition)) }
    }
}

extension DoorRecord {
    fileprivate mutating func turn(_ condition: StrikeMetal.Condition, _ isOn: Bool, at instant: Instant) {
        switch condition {
        case .pressed: presses.turn(isOn, at: instant)
        case .fire: fires.turn(isOn, at: instant)
        case .tampered: tampers.turn(isOn, at: instant)
        case .held: hands.turn(isOn, at: instant)
        case .jammed: jams.turn(isOn, at: instant)
        case .line: absences.turn(.line, isOn, at: instant)
        case .unplugged: absences.turn(.chip, isOn, at: instant)
        case .failing: absences.turn(.calls, isOn, at: instant)
        case .stuckSensor: lies.turn(isOn, at: instant)
        }
    }
}

extension Absences {
    fileprivate mutating func turn(_ reason: Absences.Reason, _ isOn: Bool, at instant: Instant) {
        if isOn { begin(reason, at: instant) } else { end(reason, at: instant) }
    }
}
