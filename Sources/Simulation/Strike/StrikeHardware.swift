import BluetoothCore
import StrikeControl
import StrikeKeeping

/// The metal of a door that a strike holds: the line and its coil, the bolt behind it, the leaf, and what is beside them. Nothing that
/// happens to a process changes it, but by the line. What it has seen is in ``record``.
final class StrikeHardware: Timed {
    /// How long the bolt takes behind its coil.
    static let travelMilliseconds: UInt64 = 80
    /// How long somebody takes who sees that he may come in, and for how long he waits for that.
    private static let pullMilliseconds: UInt64 = 100
    private static let patienceMilliseconds: UInt64 = 6_000
    /// Who forces a door does not come in the middle of something.
    private static let quietMilliseconds: UInt64 = 1_500

    enum LineFault: Hashable {
        /// It stays as it is, and reads so.
        case deaf
        /// It goes where it is set, and reads otherwise.
        case lying
    }

    let rules: StrikeRules
    var record = DoorRecord()
    private unowned let world: World
    private var plans: [(at: Instant, act: () -> Void)] = []
    /// Inputs with an edge that nobody has read.
    private var moved: Set<InputUse> = []
    private var hasNews = false
    /// Hears of each edge of the coil: whether it releases the door.
    var onEdge: (Bool) -> Void = { _ in }

    // MARK: How it stands

    private var isActive = false
    private(set) var isReleased = false
    /// The bolt is withdrawn.
    private(set) var isFree = false
    private(set) var isLeafOpen = false
    private var isHeldByHand = false
    private var isJammed = false
    private var isPressed = false
    /// For how long somebody presses as the coil lets go next.
    private var pressAtLocking: UInt64?
    private var isFire = false
    private var isTampered = false
    /// Somebody stands before it, who leaves it open for so long.
    private var visitor: (until: Instant, openMilliseconds: UInt64)?
    /// When coil or bolt moved last.
    private var restless = Instant(nanoseconds: 0)
    private(set) var isPlugged = true
    /// Of the chip, since it was plugged in.
    private(set) var generation = 0
    private var failsCalls = false
    private var lineFault: LineFault?
    private var stuckFeedback: Bool?

    init(_ rules: StrikeRules, _ world: World) {
        self.rules = rules
        self.world = world
        isReleased = rules.isActive(released: true) == false
        isFree = isReleased
    }

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

    // MARK: The chip

    /// Why it cannot be spoken to at present.
    enum ChipFault { case gone, failing }

    func fault(of generation: Int?) -> ChipFault? {
        guard isPlugged, generation == nil || generation == self.generation else { return .gone }
        return failsCalls ? .failing : nil
    }

    func drive(isActive: Bool) {
        guard lineFault != .deaf else { return }
        self.isActive = isActive
        review()
    }

    var reads: Bool { lineFault == .lying ? !isActive : isActive }

    func reading(of use: InputUse) -> LineReading {
        let isActive =
            switch use {
            case .contact: !isLeafOpen
            case .feedback: stuckFeedback ?? !isFree
            case .exit: isPressed
            case .tamper: isTampered
            case .fire: isFire
            }
        return LineReading(isActive: isActive, hasMoved: moved.remove(use) != nil)
    }

    /// Whether an input has moved since it was asked last.
    func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }

    private func move(_ use: InputUse) {
        moved.insert(use)
        hasNews = true
    }

    // MARK: Coil and bolt

    private func review() {
        let releases = rules.isActive(released: true) == (isActive && isPlugged)
        guard releases != isReleased else { return }
        isReleased = releases
        restless = world.now
        onEdge(releases)
        moveBolt()
        guard !releases, let milliseconds = pressAtLocking else { return }
        pressAtLocking = nil
        // The bolt is on its way.
        after(Self.travelMilliseconds / 4) { [unowned self] in press(milliseconds: milliseconds) }
    }

    private func moveBolt() {
        guard (isReleased || isHeldByHand) != isFree, !isJammed else { return }
        after(Self.travelMilliseconds) { [unowned self] in
            let isWanted = isReleased || isHeldByHand
            guard isWanted != isFree, !isJammed else { return }
            isFree = isWanted
            restless = world.now
            record.free.turn(isWanted, at: world.now)
            move(.feedback)
            if isFree { letIn() }
        }
    }

    private func letIn() {
        guard let visitor, world.now < visitor.until else { return }
        after(Self.pullMilliseconds) { [unowned self] in
            guard isFree, self.visitor != nil else { return }
            self.visitor = nil
            openLeaf(for: visitor.openMilliseconds, isForced: false)
        }
    }

    private func openLeaf(for milliseconds: UInt64, isForced: Bool) {
        guard !isLeafOpen else { return }
        isLeafOpen = true
        record.open.turn(true, at: world.now)
        if isForced { record.crimes.append(world.now) }
        move(.contact)
        after(milliseconds) { [unowned self] in closeLeaf() }
    }

    private func closeLeaf() {
        guard isLeafOpen else { return }
        isLeafOpen = false
        record.open.turn(false, at: world.now)
        move(.contact)
    }

    // MARK: People

    /// Somebody comes, opens it as soon as he can, and leaves it open for so long.
    func push(openMilliseconds: UInt64) {
        visitor = (world.now.advanced(byMilliseconds: Self.patienceMilliseconds), openMilliseconds)
        if isFree { letIn() }
    }

    /// Somebody opens it who may not, while it is locked.
    func force(openMilliseconds: UInt64) {
        guard !isFree, !isReleased, world.now >= restless.advanced(byMilliseconds: Self.quietMilliseconds) else {
            return
        }
        openLeaf(for: openMilliseconds, isForced: true)
    }

    func press(milliseconds: UInt64) {
        guard !isPressed else { return }
        isPressed = true
        record.presses.turn(true, at: world.now)
        move(.exit)
        after(milliseconds) { [unowned self] in letGo() }
    }

    func pressAtLocking(milliseconds: UInt64) { pressAtLocking = milliseconds }

    private func letGo() {
        guard isPressed else { return }
        isPressed = false
        record.presses.turn(false, at: world.now)
        move(.exit)
    }

    func burn(milliseconds: UInt64) {
        setFire(true)
        after(milliseconds) { [unowned self] in setFire(false) }
    }

    private func setFire(_ isOn: Bool) {
        guard isFire != isOn else { return }
        isFire = isOn
        record.fires.turn(isOn, at: world.now)
        move(.fire)
    }

    func tamper(milliseconds: UInt64) {
        setTampered(true)
        after(milliseconds) { [unowned self] in setTampered(false) }
    }

    private func setTampered(_ isOn: Bool) {
        guard isTampered != isOn else { return }
        isTampered = isOn
        record.tampers.turn(isOn, at: world.now)
        move(.tamper)
    }

    /// Somebody inside holds the bolt back.
    func holdBack(milliseconds: UInt64) {
        guard !isFree, !isReleased, !isJammed,
            world.now >= restless.advanced(byMilliseconds: Self.quietMilliseconds)
        else { return }
        record.hands.turn(true, at: world.now)
        isHeldByHand = true
        moveBolt()
        after(milliseconds) { [unowned self] in letBoltGo() }
    }

    private func letBoltGo() {
        guard isHeldByHand else { return }
        isHeldByHand = false
        record.hands.turn(false, at: world.now)
        moveBolt()
    }

    // MARK: Faults

    /// nil: until somebody mends it.
    func jam(milliseconds: UInt64?) {
        isJammed = true
        record.jams.turn(true, at: world.now)
        if let milliseconds { after(milliseconds) { [unowned self] in free() } }
    }

    private func free() {
        isJammed = false
        record.jams.turn(false, at: world.now)
        moveBolt()
    }

    func spoil(_ fault: LineFault, milliseconds: UInt64) {
        lineFault = fault
        record.absences.begin(.line, at: world.now)
        after(milliseconds) { [unowned self] in mendLine() }
    }

    private func mendLine() {
        lineFault = nil
        record.absences.end(.line, at: world.now)
    }

    func stickFeedback(isLocked: Bool, milliseconds: UInt64) {
        stuckFeedback = isLocked
        move(.feedback)
        after(milliseconds) { [unowned self] in freeFeedback() }
    }

    private func freeFeedback() {
        stuckFeedback = nil
        move(.feedback)
    }

    func unplug(milliseconds: UInt64) {
        guard isPlugged else { return }
        (isPlugged, isActive) = (false, false)
        generation += 1
        record.absences.begin(.chip, at: world.now)
        review()
        after(milliseconds) { [unowned self] in plug() }
    }

    private func plug() {
        guard !isPlugged else { return }
        isPlugged = true
        record.absences.end(.chip, at: world.now)
        review()
    }

    func failCalls(milliseconds: UInt64) {
        failsCalls = true
        record.absences.begin(.calls, at: world.now)
        after(milliseconds) { [unowned self] in mendCalls() }
    }

    private func mendCalls() {
        failsCalls = false
        record.absences.end(.calls, at: world.now)
    }

    /// The chip has no power for a moment.
    func losePower() {
        isActive = false
        generation += 1
        review()
    }

    /// Everybody goes home, and nothing is wrong any more.
    func mend() {
        plans = []
        (visitor, pressAtLocking) = (nil, nil)
        closeLeaf()
        letGo()
        setFire(false)
        setTampered(false)
        mendLine()
        freeFeedback()
        plug()
        mendCalls()
        letBoltGo()
        // The bolt may have been on its way.
        free()
    }
}
