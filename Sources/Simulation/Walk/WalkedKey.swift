import LockCentral
import ProximityWalks

/// A key on a simulated walk: the lock's advertisements, the link that the key's own machine asks for, and its readings.
struct WalkedKey {
    static let advertisingMilliseconds: UInt64 = 100
    private static let advertisingDelayMilliseconds = 0...10
    /// From the advertisement that is answered to a link that is encrypted.
    private static let connectingMilliseconds = 200...600
    /// Of ten advertisements one collides.
    private static let lossOneIn = 10
    private static let supervisionMilliseconds: UInt64 = 2_000

    private enum Link {
        case none
        case coming(at: UInt64)
        case up(lastHeard: UInt64)
    }

    /// What the machine found, and where.
    struct Finding {
        var proximity: Proximity
        var seconds: Double
        var distanceMetres: Double
    }

    private let walk: SimulatedWalk
    private let air: DoorAir
    private let hearsAdvertisements: Bool
    private var trial: ProximityTrial
    private var dice: Dice
    private var link = Link.none
    private(set) var findings: [Finding] = []

    init(
        _ walk: SimulatedWalk, in air: DoorAir, rules: ProximityRules, from proximity: Proximity, dice: Dice
    ) {
        (self.walk, self.air, self.dice) = (walk, air, dice)
        hearsAdvertisements = rules.hearsAdvertisements
        trial = ProximityTrial(rules: rules, from: proximity)
    }

    /// Walks to the end, or until it has come near.
    mutating func go() {
        let end = UInt64(walk.seconds * 1_000)
        var (now, advertisement) = (UInt64(0), UInt64(0))
        while now < end, findings.last?.proximity != .near {
            if let shown = trial.pass(to: now) { note(shown, now) }
            if advertisement <= now {
                advertise(now)
                advertisement =
                    now + Self.advertisingMilliseconds + UInt64(dice.one(of: Self.advertisingDelayMilliseconds))
            }
            measure(now)
            // What is due already is done at the next millisecond.
            now = max(now + 1, min(advertisement, trial.deadline ?? end, connected ?? end))
        }
    }

    private var connected: UInt64? { if case .coming(let at) = link { at } else { nil } }

    private mutating func strength(_ now: UInt64) -> Double {
        walk.strength(in: air, atSeconds: Double(now) / 1_000, using: &dice).dBm
    }

    private mutating func advertise(_ now: UInt64) {
        let dBm = strength(now)
        guard dBm >= DoorAir.sensitivityDBm, !dice.oneIn(Self.lossOneIn) else { return }
        if hearsAdvertisements { trial.hear(Self.rssi(dBm), milliseconds: now) }
        guard trial.wantsLink, case .none = link else { return }
        link = .coming(at: now + UInt64(dice.one(of: Self.connectingMilliseconds)))
    }

    private mutating func measure(_ now: UInt64) {
        if case .coming(let at) = link, at <= now {
            link = .up(lastHeard: now)
            trial.link(milliseconds: now)
        }
        guard case .up(let lastHeard) = link else { return }
        guard trial.wantsLink else { return link = .none }
        guard trial.takesReading(milliseconds: now) else { return }
        let dBm = strength(now)
        if dBm >= DoorAir.sensitivityDBm {
            link = .up(lastHeard: now)
            if let shown = trial.measure(Self.rssi(dBm), milliseconds: now) { note(shown, now) }
        } else if now - lastHeard >= Self.supervisionMilliseconds {
            link = .none
            trial.unlink(milliseconds: now)
        }
    }

    private mutating func note(_ shown: Proximity, _ now: UInt64) {
        let seconds = Double(now) / 1_000
        let place = walk.strength(in: air, atSeconds: seconds, using: &dice).place
        findings.append(Finding(proximity: shown, seconds: seconds, distanceMetres: place.distanceMetres))
    }

    /// Whole dB, as a controller says it.
    static func rssi(_ dBm: Double) -> Int8 { Int8(min(max(dBm.rounded(), -127), 20)) }
}
