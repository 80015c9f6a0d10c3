import BluetoothCore
import LockCentral

/// The key's own ``ProximityMachine`` with signal strengths put before it, as ``KeyMachine`` does. In: advertisements, a link and its
/// readings, time. Out: what it found. Whoever tries a walk owns one.
package struct ProximityTrial {
    private var machine: ProximityMachine
    private let hearsAdvertisements: Bool

    /// `proximity`: what a link has shown last.
    package init(rules: ProximityRules, from proximity: Proximity = .near) {
        machine = ProximityMachine(proximity, isEnabled: true, now: Self.instant(0), rules: rules)
        hearsAdvertisements = rules.hearsAdvertisements
    }

    private static func instant(_ milliseconds: UInt64) -> Instant {
        Instant(nanoseconds: 0).advanced(byMilliseconds: milliseconds)
    }

    package var wantsLink: Bool { machine.wantsLink }

    /// When the machine wants ``pass(to:)``.
    package var deadline: UInt64? { machine.deadline.map { $0.milliseconds(since: Self.instant(0)) } }

    package mutating func hear(_ rssi: Int8, milliseconds: UInt64) {
        machine.heard(rssi, now: Self.instant(milliseconds))
    }

    package mutating func link(milliseconds: UInt64) { machine.linkProven(now: Self.instant(milliseconds)) }

    package mutating func unlink(milliseconds: UInt64) { machine.linkEnded(now: Self.instant(milliseconds)) }

    /// Whether the link is to be read now.
    package mutating func takesReading(milliseconds: UInt64) -> Bool {
        machine.takesSample(now: Self.instant(milliseconds))
    }

    package mutating func measure(_ rssi: Int8, milliseconds: UInt64) -> Proximity? {
        shown(machine.measured(rssi, now: Self.instant(milliseconds)))
    }

    package mutating func pass(to milliseconds: UInt64) -> Proximity? {
        _ = machine.look(now: Self.instant(milliseconds))
        return fireTimer(milliseconds)
    }

    private mutating func fireTimer(_ milliseconds: UInt64) -> Proximity? {
        shown(machine.timerFired(now: Self.instant(milliseconds)))
    }

    /// One reading of a link that is there whenever it is wanted. It stands for the advertisements too, where any are heard: the same
    /// antennas send and hear them. The key is awake also where there is nothing to read: no absence ends by that.
    package mutating func read(_ rssi: Int8, milliseconds: UInt64) -> Proximity? {
        let passed = fireTimer(milliseconds)
        if hearsAdvertisements { hear(rssi, milliseconds: milliseconds) }
        if wantsLink { link(milliseconds: milliseconds) }
        guard takesReading(milliseconds: milliseconds) else { return passed }
        return measure(rssi, milliseconds: milliseconds) ?? passed
    }

    private func shown(_ finding: ProximityMachine.Finding?) -> Proximity? {
        switch finding {
        case .came: .near
        case .left, .stayedAway: .away
        case .nothing, nil: nil
        }
    }
}
