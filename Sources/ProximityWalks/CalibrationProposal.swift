import LockCentral

/// Thresholds for one door, by two stands of its user's: where it should open, and where the key should count as away.
package struct CalibrationProposal: Equatable, Sendable {
    /// A stand with fewer readings says nothing.
    package static let readingsMinimum = 15
    /// So many parts in a hundred of the stand where it should open are weaker than the threshold that is proposed, and so many of
    /// the stand away are stronger than the other one. docs/PROXIMITY.md says what other values cost.
    package static let weakerPercent = 50
    package static let strongerPercent = 25
    /// Farther below near than this, away is not proposed: a link that weak is often lost before it has shown anything.
    package static let hysteresisMaximumDB = 10

    package var thresholds: ProximityThresholds
    /// Of the filtered level, in dBm: what the stands have shown.
    package var nearDBm: Double
    package var awayDBm: Double

    /// - Throws: ``CalibrationFault`` where no thresholds follow from the stands.
    package init(near: [Double], away: [Double]) throws(CalibrationFault) {
        guard near.count >= Self.readingsMinimum else { throw .tooFewReadings(.near, near.count) }
        guard away.count >= Self.readingsMinimum else { throw .tooFewReadings(.away, away.count) }
        nearDBm = Self.quantile(Self.weakerPercent, of: near)
        awayDBm = Self.quantile(100 - Self.strongerPercent, of: away)
        let nearest = Int(nearDBm.rounded(.down))
        let farthest = Int(awayDBm.rounded(.up))
        guard
            let found = ProximityThresholds(
                nearDBm: nearest, awayDBm: max(farthest, nearest - Self.hysteresisMaximumDB))
        else { throw .notApart(nearDBm: nearest, awayDBm: farthest) }
        thresholds = found
    }

    /// The value that so many parts in a hundred do not exceed. There is at least one.
    private static func quantile(_ percent: Int, of levels: [Double]) -> Double {
        levels.sorted()[(levels.count - 1) * percent / 100]
    }
}

/// Why a walk says nothing of its door.
package enum CalibrationFault: Error, Equatable, Sendable, CustomStringConvertible {
    case tooFewReadings(Proximity, Int)
    case notApart(nearDBm: Int, awayDBm: Int)

    package var description: String {
        switch self {
        case .tooFewReadings(let place, let count):
            "too few readings where you stood \(place == .near ? "near" : "away"): \(count) of at least"
                + " \(CalibrationProposal.readingsMinimum); the link was lost, or you did not stand there for long enough"
        case .notApart(let near, let away):
            "near and away are not \(ProximityRules.hysteresisMinimumDB) dB apart: \(near) and \(away) dBm; walk again, and"
                + " stand farther away the second time"
        }
    }
}
