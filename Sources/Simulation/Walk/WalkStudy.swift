import LockCentral
import ProximityWalks

/// Many walks to and past many doors, with the thresholds that every lock has and with those of a calibration walk at the same door. A
/// seed gives the same walks.
package struct WalkStudy: Sendable {
    /// Farther away than this, an opening comes too early.
    package static let earlyMetres = 6.0
    /// Later than this at the door, it comes too late.
    package static let lateSeconds = 3.0
    /// Who has waited for so long at the door opens it otherwise.
    package static let patienceSeconds = 15.0
    package static let standSeconds = 6.0
    package static let calibrationNearMetres = 1.5
    package static let calibrationAwayMetres = 15.0

    /// What became of the walks by one kind of thresholds.
    package struct Tally: Equatable, Sendable {
        package var approaches = 0
        package var early = 0
        package var late = 0
        /// Not while its user waited at the door, for whatever reason.
        package var never = 0
        /// Of those: no link had shown that the key was away.
        package var unseenAbsences = 0
        package var passages = 0
        package var falseOpenings = 0

        package var inTime: Int { approaches - early - late - never }
    }

    package private(set) var usual = Tally()
    package private(set) var calibrated = Tally()
    package private(set) var doors = 0
    /// Doors whose calibration walk proposed nothing. They keep the usual thresholds.
    package private(set) var refusedCalibrations = 0

    private let seed: UInt64
    private let hearsAdvertisements: Bool

    package init(seed: UInt64, doors: Int, walksPerDoor: Int, hearsAdvertisements: Bool = true) {
        (self.seed, self.hearsAdvertisements) = (seed, hearsAdvertisements)
        for door in 0..<doors { study(door, walks: walksPerDoor) }
    }

    private mutating func study(_ door: Int, walks: Int) {
        var dice = Dice(seed: seed, part: UInt64(door))
        let air = DoorAir(using: &dice)
        let rules = ProximityRules(hearsAdvertisements: hearsAdvertisements)
        let carrier = SimulatedWalk.Carrier(using: &dice)
        let proposal = try? Self.calibrate(air, carrier, using: &dice).proposal()
        doors += 1
        if proposal == nil { refusedCalibrations += 1 }
        let own = rules.with(proposal?.thresholds)
        for _ in 0..<walks {
            let errand = SimulatedWalk.errand(of: carrier, using: &dice)
            let passage = SimulatedWalk.passage(of: carrier, using: &dice)
            let chance = Dice(seed: dice.next())
            Self.count(errand, passage, air, rules, chance, into: &usual)
            Self.count(errand, passage, air, own, chance, into: &calibrated)
        }
    }

    /// The walk that calibrates a door, with Enter where the user is told to press it.
    package static func calibration(seed: UInt64, door: Int) -> CalibrationWalk {
        var dice = Dice(seed: seed, part: UInt64(door))
        let air = DoorAir(using: &dice)
        let carrier = SimulatedWalk.Carrier(using: &dice)
        return calibrate(air, carrier, using: &dice)
    }

    private static func calibrate(_ air: DoorAir, _ carrier: SimulatedWalk.Carrier, using dice: inout Dice)
        -> CalibrationWalk
    {
        let way = SimulatedWalk.calibration(
            of: carrier, at: air, nearMetres: calibrationNearMetres, awayMetres: calibrationAwayMetres,
            standSeconds: standSeconds,
            using: &dice)
        let stands = [1, 3].map { UInt64(way.begin(of: $0) * 1_000) }
        var walk = CalibrationWalk(standMilliseconds: UInt64(standSeconds * 1_000))
        walk.linked()
        var entered = 0
        let end = UInt64(way.seconds * 1_000) + ProximityMachine.samplingMilliseconds
        for now in stride(from: 0, through: end, by: Int(ProximityMachine.samplingMilliseconds)) {
            if entered < stands.count, stands[entered] <= now {
                walk.enter(milliseconds: now)
                entered += 1
            }
            let dBm = way.strength(in: air, atSeconds: Double(now) / 1_000, using: &dice).dBm
            if dBm >= DoorAir.sensitivityDBm { walk.read(WalkedKey.rssi(dBm), milliseconds: now) }
        }
        walk.pass(to: end + CalibrationWalk.patience * UInt64(standSeconds * 1_000))
        return walk
    }

    private static func count(
        _ errand: SimulatedWalk, _ passage: SimulatedWalk, _ air: DoorAir, _ rules: ProximityRules, _ chance: Dice,
        into tally: inout Tally
    ) {
        var key = WalkedKey(errand, in: air, rules: rules, from: .near, dice: chance)
        key.go()
        tally.approaches += 1
        if let opening = key.findings.last, opening.proximity == .near {
            if opening.distanceMetres > earlyMetres {
                tally.early += 1
            } else if opening.seconds > errand.begin(of: errand.legs.count - 1) + lateSeconds {
                tally.late += 1
            }
        } else {
            tally.never += 1
            if key.findings.isEmpty { tally.unseenAbsences += 1 }
        }
        var passing = WalkedKey(passage, in: air, rules: rules, from: .away, dice: chance)
        passing.go()
        tally.passages += 1
        if passing.findings.last?.proximity == .near { tally.falseOpenings += 1 }
    }
}
