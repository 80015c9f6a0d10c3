import BluetoothCore
import LockPeripheral
import LockProtocol

/// Is where it is sent at once, and says so. It remembers every opening, and where it rests.
final class PromptBolt: Actuator {
    private(set) var openings = 0
    private var position = BoltPosition.locked
    private var lastIntent: IntentID?

    func reading(asking intent: Intent?, now: Instant) -> BoltReading {
        BoltReading(position: position, door: .closed, performed: intent.map { $0.id == lastIntent })
    }
    func perform(_ order: ActuatorOrder, now: Instant) -> ActuatorReport? {
        if order.movement != .lock { openings += 1 }
        (position, lastIntent) = (order.movement.target, order.intent)
        return .ended(order.intent, position)
    }
    var deadline: Instant? { nil }
    func poll(now: Instant) -> ActuatorReport? { nil }
}
