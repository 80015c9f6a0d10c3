import BluetoothCore
import LockCentral

/// What a walk has shown so far: the readings of a link's RSSI, each with what the key's filter made of them up to it.
package struct WalkTrace: Equatable, Sendable {
    package struct Reading: Equatable, Sendable {
        /// From the walk's beginning on.
        package var milliseconds: UInt64
        package var rssi: Int8
        /// Smoothed as ``SmoothedLevel`` smooths, in dBm.
        package var level: Double
        /// When the link before this reading's was lost; nil where the reading before is of the same link, or there is none.
        package var lostBefore: UInt64?

        package init(milliseconds: UInt64, rssi: Int8, level: Double, lostBefore: UInt64? = nil) {
            (self.milliseconds, self.rssi, self.level, self.lostBefore) = (milliseconds, rssi, level, lostBefore)
        }
    }

    /// What the key's own machine found in the readings up to then.
    package struct Decision: Equatable, Sendable {
        package var milliseconds: UInt64
        package var proximity: Proximity

        package init(milliseconds: UInt64, proximity: Proximity) {
            (self.milliseconds, self.proximity) = (milliseconds, proximity)
        }
    }

    /// Where somebody stood on purpose.
    package struct Stand: Equatable, Sendable {
        package var place: Proximity
        package var begin: UInt64
        /// nil while it lasts.
        package var end: UInt64?

        package init(place: Proximity, begin: UInt64, end: UInt64?) {
            (self.place, self.begin, self.end) = (place, begin, end)
        }
    }

    package private(set) var readings: [Reading] = []
    package var stands: [Stand] = []
    private var filter = SmoothedLevel()
    /// When the link was lost, and none has been read since.
    private var lost: UInt64?

    package init() {}

    package mutating func add(_ rssi: Int8, milliseconds: UInt64) {
        filter.add(rssi)
        readings.append(
            Reading(milliseconds: milliseconds, rssi: rssi, level: filter.dBm ?? Double(rssi), lostBefore: lost))
        lost = nil
    }

    /// The next link is measured anew, as the key does it.
    package mutating func linkLost(milliseconds: UInt64) {
        guard !readings.isEmpty else { return }
        filter = SmoothedLevel()
        lost = lost ?? milliseconds
    }

    package static func == (one: Self, other: Self) -> Bool {
        one.readings == other.readings && one.stands == other.stands
    }

    /// The filtered levels of a stand.
    package func levels(of stand: Stand) -> [Double] {
        readings.filter { stand.begin <= $0.milliseconds && $0.milliseconds <= stand.end ?? .max }.map(\.level)
    }

    /// What the key would have found on this walk by these rules, from the door on.
    package func decisions(by rules: ProximityRules) -> [Decision] {
        var trial = ProximityTrial(rules: rules)
        return readings.compactMap { reading in
            // By the clock of whoever guides the walk, which is not the key's.
            if let lost = reading.lostBefore { trial.unlink(milliseconds: min(lost, reading.milliseconds)) }
            return trial.read(reading.rssi, milliseconds: reading.milliseconds).map {
                Decision(milliseconds: reading.milliseconds, proximity: $0)
            }
        }
    }
}
