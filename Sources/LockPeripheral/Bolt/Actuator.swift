import BluetoothCore
import LockProtocol

/// One movement, to be made at most once however often it is ordered.
package struct ActuatorOrder: Hashable, Sendable {
    package var intent: IntentID
    package var movement: Movement
    /// The command that it carries out; nil when the lock moves by its own rules.
    package var command: ChallengeID?
    /// In boot time: an actuator that comes to it later than this does not move, and says so.
    package var notAfter: Instant?

    package init(intent: IntentID, movement: Movement, command: ChallengeID?, notAfter: Instant?) {
        self.intent = intent
        self.movement = movement
        self.command = command
        self.notAfter = notAfter
    }

    package init(_ intent: Intent) {
        self.init(
            intent: intent.id, movement: intent.movement, command: intent.origin.command?.challenge,
            notAfter: intent.deadline)
        #if LATCH_PLANTS
        if Plant.active == .late { notAfter = nil }
        #endif
    }
}

/// What an actuator tells.
package enum ActuatorReport: Hashable, Sendable {
    /// Worth telling only for one that cannot say later whether it moved.
    case began(IntentID)
    /// The movement is over, and this is where the bolt rests.
    case ended(IntentID, BoltPosition)
    /// It did not move at all: too late, or unable.
    case declined(IntentID)
    /// The bolt was moved by hand or key.
    case bolt(BoltPosition)
    case door(DoorCode)
    case input(DoorInput)

    var isDeclined: Bool { if case .declined = self { true } else { false } }
}

/// What is fitted beside the door.
package enum DoorInput: Hashable, Sendable {
    /// Somebody inside asks to go out.
    case exit
    /// There is a fire, or no more.
    case fire(Bool)
}

/// What an actuator finds when the program begins.
package struct BoltReading: Hashable, Sendable {
    package var position: BoltPosition
    package var door: DoorCode
    /// The movement that is still going on.
    package var moving: IntentID?
    /// Whether the movement that was asked about has been made, or begun; nil from hardware that does not remember.
    package var performed: Bool?
    /// Whether the movement that was asked about may have begun, by hardware that knows this and not how it ended.
    package var mayHaveBegun: Bool
    /// Whether the bolt's last movement was ``ActuatorOrder/unrecordedLock``.
    package var isUnrecorded: Bool
    /// As the fire input says. Without one there is no fire.
    package var isFire: Bool

    package init(
        position: BoltPosition, door: DoorCode = .unknown, moving: IntentID? = nil, performed: Bool? = nil,
        mayHaveBegun: Bool = false, isUnrecorded: Bool = false, isFire: Bool = false
    ) {
        self.position = position
        self.door = door
        self.moving = moving
        self.performed = performed
        self.mayHaveBegun = mayHaveBegun
        self.isUnrecorded = isUnrecorded
        self.isFire = isFire
    }
}

/// The lock's hands: a shell. Reports come back as inputs of the machine, inline or later.
package protocol Actuator: AnyObject {
    /// Read once per launch, before anything is ordered.
    func reading(asking intent: Intent?, now: Instant) throws -> BoltReading
    /// Begins a movement, unless it was made before or is too late. What is known at once is returned. `now` is read from
    /// the clock for this call: the commit in front of it may have taken any time.
    func perform(_ order: ActuatorOrder, now: Instant) throws -> ActuatorReport?
    /// When it wants to be asked again.
    var deadline: Instant? { get }
    /// Readable while it wants to be asked, whatever its deadline; the same one for all its life. nil from one that only waits.
    var descriptor: Int32? { get }
    /// What has come to its end by now: one thing. To be asked until there is nothing.
    func poll(now: Instant) throws -> ActuatorReport?
}

extension Actuator {
    package var descriptor: Int32? { nil }
}
