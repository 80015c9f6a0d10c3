#if LATCH_PLANTS
import BluetoothCore
#endif

/// What the door is for at present, whoever comes. Kept by its number.
package enum LockMode: UInt8, Sendable, CaseIterable {
    case normal = 0
    /// The bolt stays open: nothing locks it, no relock and no command.
    case passage = 1
    /// Somebody inside wants to be left alone: only who may change the mode opens.
    case privacy = 2
    /// Nobody opens.
    case lockdown = 3

    /// Whether the bolt is kept out as far as it can be: such a mode begins with a securing.
    package var isClosed: Bool { self == .privacy || self == .lockdown }

    /// Whether who has these rights may have this done now.
    package func admits(_ operation: LockOperation, _ rights: Rights) -> Bool {
        #if LATCH_PLANTS
        if Plant.active == .mode { return true }
        #endif
        return switch self {
        case .normal: true
        case .passage: operation != .lock && operation != .lockAndGo
        case .privacy: operation.isSecuring || rights.permit(.changeMode)
        case .lockdown: operation.isSecuring
        }
    }
}
