import BluetoothCore

/// What somebody makes of a lock's clock on the wall.
package enum ClockStep: Sendable {
    case unset
    case by(seconds: Int64)

    init(_ dice: inout Dice) {
        self = dice.choice([
            .unset, .by(seconds: -100_000), .by(seconds: -7_200), .by(seconds: -40), .by(seconds: 90),
            .by(seconds: 3_600), .by(seconds: 8_640_000),
        ])
    }

    /// Seconds since 1970 when the world began, of a clock that had `origin`.
    func origin(from origin: Int64?) -> Int64? {
        switch self {
        case .unset: nil
        case .by(let seconds): (origin ?? Door.usualClockOrigin) + seconds
        }
    }
}

extension ClockStep: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unset: "is not set any more"
        case .by(let seconds): "is set \(abs(seconds)) s \(seconds < 0 ? "back" : "forth")"
        }
    }
}
