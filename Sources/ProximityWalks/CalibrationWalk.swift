import LockCentral

/// A walk with two stands, as its user is guided through it. In: the link, its readings, Enter, time. Out: the phase, the trace, and at
/// the end the proposal. The command that guides owns one.
package struct CalibrationWalk {
    package enum Phase: Equatable, Sendable {
        case connecting
        /// To where the door should open. Enter: the user is there.
        case comingNear
        case standingNear
        /// To where the key should count as away. Enter: the user is there.
        case goingAway
        case standingAway
        case over
    }

    /// A stand without readings is over after so many times its length.
    package static let patience: UInt64 = 3

    package private(set) var phase = Phase.connecting
    package private(set) var isLinked = false
    package private(set) var trace = WalkTrace()
    private let standMilliseconds: UInt64

    package init(standMilliseconds: UInt64) { self.standMilliseconds = standMilliseconds }

    package mutating func linked() {
        isLinked = true
        if phase == .connecting { phase = .comingNear }
    }

    package mutating func linkLost(milliseconds: UInt64) {
        isLinked = false
        if phase != .over { trace.linkLost(milliseconds: milliseconds) }
    }

    package mutating func read(_ rssi: Int8, milliseconds: UInt64) {
        guard phase != .over else { return }
        trace.add(rssi, milliseconds: milliseconds)
        endStand(milliseconds, after: standMilliseconds)
    }

    /// The user says to be there. Where nobody is asked for it, it means nothing.
    package mutating func enter(milliseconds: UInt64) {
        switch phase {
        case .comingNear: stand(.near, milliseconds)
        case .goingAway: stand(.away, milliseconds)
        case .connecting, .standingNear, .standingAway, .over: break
        }
    }

    package mutating func pass(to milliseconds: UInt64) {
        endStand(milliseconds, after: Self.patience * standMilliseconds)
    }

    private mutating func stand(_ place: Proximity, _ milliseconds: UInt64) {
        trace.stands.append(WalkTrace.Stand(place: place, begin: milliseconds, end: nil))
        phase = place == .near ? .standingNear : .standingAway
    }

    private mutating func endStand(_ milliseconds: UInt64, after length: UInt64) {
        guard let stand = trace.stands.last, stand.end == nil, milliseconds >= stand.begin + length else { return }
        trace.stands[trace.stands.count - 1].end = milliseconds
        phase = stand.place == .near ? .goingAway : .over
    }

    /// What follows from the stands.
    ///
    /// - Throws: ``CalibrationFault`` where nothing does.
    package func proposal() throws(CalibrationFault) -> CalibrationProposal {
        func levels(_ place: Proximity) -> [Double] {
            trace.stands.first { $0.place == place }.map { trace.levels(of: $0) } ?? []
        }
        return try CalibrationProposal(near: levels(.near), away: levels(.away))
    }
}
