import BluetoothCore
import LockProtocol

/// Where a bolt rests, as its sensor tells. Kept by its number.
package enum BoltPosition: UInt8, Sendable, CaseIterable {
    /// Between its ends, or not readable.
    case unknown = 0
    case locked = 1
    case unlocked = 2
    case jammed = 3

    package var code: BoltCode {
        switch self {
        case .unknown: .unknown
        case .locked: .locked
        case .unlocked: .unlocked
        case .jammed: .jammed
        }
    }
}

/// Bolt and door as last known: what is told until the sensors have been read again.
package struct BoltRecord: Hashable, Sendable {
    package var position: BoltPosition
    package var door: DoorCode

    package init(position: BoltPosition = .unknown, door: DoorCode = .unknown) {
        self.position = position
        self.door = door
    }
}
