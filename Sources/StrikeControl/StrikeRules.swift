/// What an operator says of a strike: how it is driven, what it may do at most, and how long its bolt takes.
package struct StrikeRules: Hashable, Sendable {
    package enum Drive: String, CaseIterable, Sendable {
        /// An unlock releases the door for a while.
        case pulse
        /// An unlock releases the door until a lock.
        case hold
    }

    /// What the door does without power, and so which level of the line secures it.
    package enum Failure: String, CaseIterable, Sendable {
        /// It is locked without power: the line is active while the door is released.
        case secure
        /// It is open without power: the line is active while the door is locked.
        case safe
    }

    /// By which the bolt is seen to arrive.
    package struct Feedback: Hashable, Sendable {
        package var travelMilliseconds: UInt64
        /// Further attempts behind a jam, and the pause in front of each.
        package var retries: Int
        package var retryPauseMilliseconds: UInt64

        package init(travelMilliseconds: UInt64, retries: Int, retryPauseMilliseconds: UInt64) {
            self.travelMilliseconds = travelMilliseconds
            self.retries = retries
            self.retryPauseMilliseconds = retryPauseMilliseconds
        }

        /// What a movement takes at most.
        package var wholeMilliseconds: UInt64 {
            UInt64(retries + 1) * travelMilliseconds + UInt64(retries) * retryPauseMilliseconds
        }
    }

    package var drive: Drive
    package var failure: Failure
    /// No pulse is longer, whatever is asked.
    package var pulseMaximumMilliseconds: UInt64
    /// nil without a sensor at the bolt: it is believed to be where the line sends it.
    package var feedback: Feedback?
    /// How long a door is held open for a daemon that is not there.
    package var orphanMilliseconds: UInt64

    package init(
        drive: Drive = .pulse, failure: Failure = .secure, pulseMaximumMilliseconds: UInt64 = 10_000,
        feedback: Feedback? = nil, orphanMilliseconds: UInt64 = 10_000
    ) {
        self.drive = drive
        self.failure = failure
        self.pulseMaximumMilliseconds = pulseMaximumMilliseconds
        self.feedback = feedback
        self.orphanMilliseconds = orphanMilliseconds
    }

    /// The line's level.
    package func isActive(released: Bool) -> Bool { released == (failure == .secure) }
}

/// What the lines beside the door say, debounced; nil where a line is not fitted.
package struct StrikeInputs: Hashable, Sendable {
    package var isClosed: Bool?
    package var isLocked: Bool?
    package var isExit: Bool
    package var isTampered: Bool
    package var isFire: Bool

    package init(
        isClosed: Bool? = nil, isLocked: Bool? = nil, isExit: Bool = false, isTampered: Bool = false,
        isFire: Bool = false
    ) {
        self.isClosed = isClosed
        self.isLocked = isLocked
        self.isExit = isExit
        self.isTampered = isTampered
        self.isFire = isFire
    }
}
