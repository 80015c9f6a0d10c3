import BluetoothCore
import LockPeripheral
import StrikeControl

/// What joins one process of a lock to the keeper of its strike. It ends with either.
final class SimulatedLink: StrikeLink {
    private unowned let keeper: KeeperProcess
    private unowned let world: World
    private var news: [StrikeNews] = []
    var isConnected = false
    let descriptor: Int32 = -1

    init(_ keeper: KeeperProcess, _ world: World) { (self.keeper, self.world) = (keeper, world) }

    /// Whether its process has something to hear.
    var isReadable: Bool { !news.isEmpty }

    func put(_ heard: StrikeNews) { news.append(heard) }

    /// The process has ended.
    func hangUp() {
        if isConnected { keeper.part(self) }
        isConnected = false
        news = []
    }

    func connect() -> String? {
        hangUp()
        guard keeper.accept(self) else { return "the keeper is not there" }
        isConnected = true
        return send(.hello(version: StrikeProtocol.version)) ? nil : "the keeper has gone"
    }

    func send(_ request: StrikeRequest) -> Bool {
        guard isConnected else { return false }
        // It goes through the octets that it is on a socket.
        guard let heard = try? StrikeRequest(exactly: request.encoded) else { return false }
        keeper.take(heard)
        return true
    }

    func next() -> StrikeNews? { news.isEmpty ? nil : news.removeFirst() }

    /// Nobody else goes on but the keeper and the metal: there is one thread for all.
    func wait(milliseconds: UInt64) { world.pass(milliseconds: milliseconds) { [unowned self] in isReadable } }
}

/// The real bolt, and what it is told to do: for which command the metal moves nobody else knows.
final class TracedBolt: Actuator {
    private let bolt: StrikeBolt
    private let trace: (ActuatorOrder) -> Void

    init(_ bolt: StrikeBolt, trace: @escaping (ActuatorOrder) -> Void) { (self.bolt, self.trace) = (bolt, trace) }

    func reading(asking intent: Intent?, now: Instant) throws -> BoltReading {
        try bolt.reading(asking: intent, now: now)
    }
    func perform(_ order: ActuatorOrder, now: Instant) throws -> ActuatorReport? {
        trace(order)
        return try bolt.perform(order, now: now)
    }
    var deadline: Instant? { bolt.deadline }
    func poll(now: Instant) throws -> ActuatorReport? { try bolt.poll(now: now) }
}
