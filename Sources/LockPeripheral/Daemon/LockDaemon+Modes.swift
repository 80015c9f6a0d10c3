import LockProtocol

/// Why the lock stays in the mode that it is in.
package enum ModeRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case isMoving

    package var description: String {
        switch self {
        case .isMoving: "the bolt is moving: ask again when it rests"
        }
    }
}

extension LockDaemon {
    /// An operator's word; says whether that changed anything.
    package func enter(_ mode: LockMode) throws(ModeRefusal) -> Bool {
        guard machine.mayEnter(mode) else { throw .isMoving }
        guard machine.settings.mode != mode else { return false }
        feed(.administration(.mode(mode)))
        return true
    }
}
