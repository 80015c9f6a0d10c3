import BluetoothCore
import LockPeripheral
import LockProtocol
import StrikeControl
import StrikeKeeping

/// The keeper of one door's strike: processes that come and go beside the lock's, on a machine that keeps nothing for them. Each runs the
/// real keeper. What its line does is written down as the door's metal, for the order that it does it for.
final class KeeperProcess: Timed {
    let scene: DoorScene
    private unowned let world: World
    private let metal: MetalJournal
    private let plan: StrikePlan
    private var keeper: StrikeKeeper?
    private var life: KeeperLife?
    private var timer: Instant?
    private var restart: Instant?
    private weak var link: SimulatedLink?
    /// The order that was taken last, and whether its opening is on the metal's record.
    private var current: (order: StrikeOrder, isWritten: Bool)?
    private var isDeclined = false
    /// Which commands the lock's orders are for.
    private var commands: [UInt64: ChallengeID] = [:]
    private var killPoint: KeeperKill?
    private var calls = 0
    var onEnd: () -> Void = {}
    var onBegin: () -> Void = {}

    init(_ plan: StrikePlan, _ world: World, _ metal: MetalJournal) {
        (self.plan, self.world, self.metal) = (plan, world, metal)
        scene = DoorScene(plan.rules, world)
        scene.onEdge = { [unowned self] in edge(isReleased: $0) }
        launch()
    }

    // MARK: The process

    private func launch() {
        restart = nil
        let life = KeeperLife(
            beforeCall: { [unowned self] in
                calls += 1
                if killPoint?.isNow(call: calls, isBehind: false) == true { kill() }
            },
            behindCall: { [unowned self] in if killPoint?.isNow(call: calls, isBehind: true) == true { kill() } })
        let keeper = StrikeKeeper(
            plan, chip: SimulatedChip(scene.door, plan, life),
            surroundings: StrikeKeeper.Surroundings(
                now: { [unowned world] in world.now },
                arm: { [unowned self] in if !life.isOver { timer = $0 } },
                send: { [unowned self] in if !life.isOver { report($0) } }, tell: { _ in }))
        (self.life, self.keeper) = (life, keeper)
        scene.record.absences.end(.keeper, at: world.now)
        onBegin()
        keeper.begin()
    }

    /// SIGKILL. The chip leaves its line as it is, and the unit starts another process a little later.
    func kill(downMilliseconds: UInt64? = nil) {
        guard let life, !life.isOver else { return }
        life.isOver = true
        let down = downMilliseconds ?? killPoint?.downMilliseconds ?? 0
        killPoint = nil
        (keeper, timer, current) = (nil, nil, nil)
        restart = world.now.advanced(byMilliseconds: down)
        scene.record.absences.begin(.keeper, at: world.now)
        link?.put(.gone)
        link?.isConnected = false
        link = nil
        onEnd()
    }

    func arm(_ point: KeeperKill) { (killPoint, calls) = (point, 0) }

    /// The whole machine: the chip has no power for a moment either.
    func losePower(downMilliseconds: UInt64) {
        kill(downMilliseconds: downMilliseconds)
        scene.door.handle(.losesPower)
    }

    func begin() {
        scene.record.forget(at: world.now)
        commands = [:]
    }

    /// Nothing goes wrong any more, and a process that is away is on its way.
    func mend() {
        killPoint = nil
        scene.mend()
    }

    // MARK: Its time

    var deadline: Instant? { Instant.earliest(timer, restart) }

    func fireTimers() {
        if let restart, world.now >= restart { launch() }
        if let timer, world.now >= timer {
            self.timer = nil
            keeper?.timeIsUp()
        }
    }

    func step() -> Bool {
        guard scene.takeNews() else { return false }
        keeper?.linesMoved()
        return true
    }

    // MARK: The lock's process

    /// Whether somebody is there who hears it. Who was connected before is no more.
    func accept(_ arrival: SimulatedLink) -> Bool {
        guard keeper != nil else { return false }
        if let link, link !== arrival { part(link) }
        link = arrival
        scene.record.unattended.turn(false, at: world.now)
        return true
    }

    func part(_ leaving: SimulatedLink) {
        guard leaving === link else { return }
        link = nil
        leaving.put(.gone)
        scene.record.unattended.turn(true, at: world.now)
        keeper?.daemonIsGone()
    }

    func take(_ request: StrikeRequest) {
        switch request {
        case .hello: keeper?.greet()
        case .order(let order):
            scene.record.orders.append(DoorRecord.Order(order, at: world.now))
            let before = current
            current = (order, false)
            isDeclined = false
            keeper?.take(order)
            // What it is at goes on.
            if isDeclined, keeper != nil { current = before }
        }
    }

    private func report(_ report: StrikeReport) {
        if case .ended(current?.order.intent, .declined) = report { isDeclined = true }
        link?.put(.report(report))
    }

    /// The lock's process orders this for that command.
    func note(_ order: ActuatorOrder) { commands[order.intent.rawValue] = order.command }

    // MARK: The metal's record

    private func edge(isReleased: Bool) {
        let order = current?.order
        // A chip without power, at a door that is open without.
        let isPowerless = isReleased && (scene.metal.has(.unplugged) || life?.isOver ?? true)
        scene.record.release(
            isReleased, for: isPowerless || order?.movement == .lock ? nil : order, at: world.now)
        if isReleased {
            guard !isPowerless else { return }
            guard let order, order.movement != .lock else { return write(.unlock, for: nil) }
            // A further attempt is no further opening.
            guard current?.isWritten == false else { return }
            current?.isWritten = true
            write(order.movement == .unlatch ? .unlatch : .unlock, for: order)
        } else if let last = metal.last, last.movement != .lock {
            write(.lock, for: order?.movement == .lock ? order : nil)
        }
    }

    private func write(_ movement: Movement, for order: StrikeOrder?) {
        metal.append(
            ActuatorOrder(
                intent: IntentID(rawValue: order?.intent ?? 0), movement: movement,
                command: order.flatMap { commands[$0.intent] }, notAfter: nil), now: world.now)
        metal.settle()
    }
}

/// One process of a keeper. It can be killed in front of a call that sets a line, and behind it.
private final class KeeperLife: ChipProgram {
    var isOver = false
    let descriptor: Int32? = nil
    private let beforeCall: () -> Void
    private let behindCall: () -> Void

    init(beforeCall: @escaping () -> Void, behindCall: @escaping () -> Void) {
        (self.beforeCall, self.behindCall) = (beforeCall, behindCall)
    }

    func looks() {}
    func beginsCall() { if !isOver { beforeCall() } }
    func endsCall() { if !isOver { behindCall() } }
}

/// Where a keeper is killed: at one of the calls that set its line, from now on.
struct KeeperKill: Sendable, Hashable {
    var call: Int
    /// The line has been set.
    var isBehind: Bool
    var downMilliseconds: UInt64

    func isNow(call: Int, isBehind: Bool) -> Bool { call == self.call && isBehind == self.isBehind }
}
