import LockPeripheral
import StrikeControl
import StrikeKeeping

/// What is fitted to a door that a strike holds, and what the lock and the keeper are told of it.
package struct DoorFit: Hashable, Sendable {
    var drive: StrikeRules.Drive
    var failure: StrikeRules.Failure
    var hasFeedback: Bool
    var hasContact: Bool
    var retries: Int
    var pulseMilliseconds: UInt64
    var orphanMilliseconds: UInt64
    var rules: DoorRules

    /// For which the keeper waits for the bolt.
    static let travelMilliseconds: UInt64 = 400
    static let pauseMilliseconds: UInt64 = 100

    /// Of a house: each seed has another one.
    init(seed: UInt64) {
        var dice = Dice(seed: seed, part: .max - 1)
        drive = dice.choice([.pulse, .hold])
        failure = dice.choice([.secure, .secure, .safe])
        hasFeedback = !dice.oneIn(3)
        hasContact = !dice.oneIn(5)
        retries = dice.below(3)
        pulseMilliseconds = dice.choice([1_000, 3_000])
        orphanMilliseconds = dice.choice([500, 2_000, 5_000])
        rules = DoorRules(
            ajarSeconds: dice.choice([nil, 2, 4]), locksWhenClosed: dice.oneIn(2),
            exit: dice.oneIn(4) ? .announces : .opens)
    }

    /// How long the keeper is at an opening at most.
    var wholeMilliseconds: UInt64 {
        StrikeRules.Feedback(
            travelMilliseconds: Self.travelMilliseconds, retries: retries,
            retryPauseMilliseconds: Self.pauseMilliseconds
        ).wholeMilliseconds
    }

    /// The keeper's.
    func plan() throws -> StrikePlan {
        var inputs: Set<InputUse> = [.exit, .tamper, .fire]
        if hasFeedback { inputs.insert(.feedback) }
        if hasContact { inputs.insert(.contact) }
        var settings = StrikeSettings.simulated(drive: drive, failure: failure, inputs: inputs, user: "0")
        settings.orphanMilliseconds = Int(orphanMilliseconds)
        settings.travelMilliseconds = Int(Self.travelMilliseconds)
        settings.retries = retries
        settings.retryPauseMilliseconds = Int(Self.pauseMilliseconds)
        return try StrikePlan(settings, configuration: "the house's")
    }
}
