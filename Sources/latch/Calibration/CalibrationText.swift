import LockCentral
import ProximityWalks

/// What a person is told on a walk.
enum CalibrationText {
    static func prompt(_ walk: CalibrationWalk) -> String {
        switch walk.phase {
        case .connecting: return "Waiting for a link with the lock. Stand near the door."
        case .standingNear: return "Stay here, and turn round once, slowly."
        case .standingAway: return "Stay here, and turn round once, slowly. This is the last one."
        case .over: return "The walk is over."
        case .comingNear, .goingAway: break
        }
        guard walk.isLinked else { return "The link is lost: come back some steps, until it is there again." }
        return walk.phase == .comingNear
            ? "Stand where the door should open, and press Enter."
            : "Go where the key should count as away, and press Enter."
    }

    /// One line for those who have no chart.
    static func line(_ reading: WalkTrace.Reading, _ rules: ProximityRules) -> String {
        let place =
            reading.level >= Double(rules.nearDBm)
            ? "near" : reading.level <= Double(rules.awayDBm) ? "away" : "in between"
        return "\(reading.milliseconds / 1_000) s: \(reading.rssi) dBm, filtered \(tenths(reading.level)), \(place)"
    }

    static func summary(_ walked: WalkedLock, _ proposal: CalibrationProposal) -> [String] {
        let (rules, own) = (walked.rules, proposal.thresholds)
        let found = walked.walk.trace.decisions(by: rules.with(own))
        let story = found.map { "\($0.proximity) at \(tenths(Double($0.milliseconds) / 1_000)) s" }
        return [
            "where it should open: \(tenths(proposal.nearDBm)) dBm or more for \(100 - CalibrationProposal.weakerPercent) %"
                + " of the stand",
            "where it is away: \(tenths(proposal.awayDBm)) dBm or less for \(100 - CalibrationProposal.strongerPercent) %"
                + " of the stand",
            "until now: near \(rules.nearDBm) dBm, away \(rules.awayDBm) dBm, of "
                + (walked.isCalibrated ? "an earlier walk" : "the configuration"),
            "proposed: near \(own.nearDBm) dBm, away \(own.awayDBm) dBm",
            "on this walk they find: " + (story.isEmpty ? "nothing" : story.joined(separator: ", ")),
        ]
    }

    static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
