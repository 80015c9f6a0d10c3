import Glibc

/// What the air at one door does to a signal, in dB. Path loss by the logarithm of the distance, shadowing by the place, fading by
/// the place and the channel. docs/PROXIMITY.md says where each figure is from.
struct DoorAir {
    static let channelsMegahertz: ClosedRange<Int> = 2_402...2_480
    /// Weaker than this nothing is received.
    static let sensitivityDBm = -95.0

    /// How a door sees whoever comes.
    enum View: CaseIterable {
        /// Nothing in between.
        case lineOfSight
        /// Through a wall, or the leaf of the door.
        case obstructed

        /// 3GPP TR 38.901, Table 7.4.1-1 (InH - Office)
        var exponent: Double { self == .lineOfSight ? 1.73 : 3.19 }
        /// The same, and half of its value where there is a wall: of a small part of one building.
        var shadowingDB: Double { self == .lineOfSight ? 3 : 4 }
        /// 3GPP TR 38.901, Table 7.5-6 Part 2 (Indoor - Office)
        var correlationMetres: Double { self == .lineOfSight ? 10 : 6 }
        var riceFactorDB: (mean: Double, deviation: Double)? { self == .lineOfSight ? (7, 4) : nil }
    }

    private static let freeSpaceAtOneMetreDB = 40.2
    private static let shortestMetres = 0.3
    /// What both antennas, their enclosures and the metal of the door take: our guess, and wide on purpose.
    private static let antennasDB = (mean: 14.0, deviation: 5.0)
    /// What a link needs above the sensitivity, where a body and fading come and go.
    private static let reserveDB = 12.0
    /// Behind a corner: our guess.
    private static let cornerDB = 15.0
    private static let cornerRampMetres = 2.0

    let view: View
    private let atOneMetreDBm: Double
    private let cornerMetres: Double
    private let approach: ShadowMap
    private let passage: ShadowMap
    private let fading: FadingField

    init(using dice: inout Dice) {
        view = dice.choice(View.allCases)
        // Of a transmitter of 0 dBm.
        atOneMetreDBm = -Self.freeSpaceAtOneMetreDB - dice.normal(Self.antennasDB.mean, Self.antennasDB.deviation)
        cornerMetres = dice.between(10, 18)
        approach = ShadowMap(view, fromMetres: 0, toMetres: SimulatedWalk.farMetres, using: &dice)
        passage = ShadowMap(
            view, fromMetres: -SimulatedWalk.passageMetres, toMetres: SimulatedWalk.passageMetres, using: &dice)
        fading = FadingField(riceFactorDB: view.riceFactorDB.map { dice.normal($0.mean, $0.deviation) }, using: &dice)
    }

    /// Whether a link of somebody who turns round there holds.
    func reaches(_ metres: Double) -> Bool {
        median(at: WalkPlace(alongMetres: metres, lateralMetres: nil)) >= Self.sensitivityDBm + Self.reserveDB
    }

    /// Of one packet, in dBm, without whoever carries the key.
    func strength(at place: WalkPlace, megahertz: Int) -> Double {
        median(at: place) + fading.gainDB(alongMetres: place.alongMetres, megahertz: megahertz)
    }

    private func median(at place: WalkPlace) -> Double {
        let metres = max(place.distanceMetres, Self.shortestMetres)
        let shadowing = place.lateralMetres == nil ? approach[place.alongMetres] : passage[place.alongMetres]
        let behindCorner = min(max((metres - cornerMetres) / Self.cornerRampMetres, 0), 1) * Self.cornerDB
        return atOneMetreDBm - 10 * view.exponent * log10(metres) + shadowing - behindCorner
    }
}

/// Somewhere on a way.
struct WalkPlace {
    /// On the way to the door: how far it is. On a way past it: how far from the point next to it, before it less than 0.
    var alongMetres: Double
    /// How far away the way past the door passes it; nil on the way to the door.
    var lateralMetres: Double?

    var distanceMetres: Double { lateralMetres.map { hypot($0, alongMetres) } ?? abs(alongMetres) }
}

/// Log-normal shadowing whose correlation falls off with the way between two places, as an autoregression on a grid (Gudmundson 1991).
private struct ShadowMap {
    private static let stepMetres = 0.5

    private let first: Double
    private var values: [Double]

    init(_ view: DoorAir.View, fromMetres: Double, toMetres: Double, using dice: inout Dice) {
        first = fromMetres
        let kept = exp(-Self.stepMetres / view.correlationMetres)
        values = [dice.normal(0, view.shadowingDB)]
        for _ in 0..<Int((toMetres - fromMetres) / Self.stepMetres) + 1 {
            values.append(kept * values[values.count - 1] + dice.normal(0, view.shadowingDB * sqrt(1 - kept * kept)))
        }
    }

    /// Between two of the grid, on the line between them.
    subscript(metres: Double) -> Double {
        let at = min(max((metres - first) / Self.stepMetres, 0), Double(values.count - 2))
        let index = Int(at)
        let part = at - Double(index)
        return values[index] * (1 - part) + values[index + 1] * part
    }
}

/// Multipath: rays from all sides, each with a delay of its own, and a direct one in front of them where there is a line of sight. What
/// they add up to depends on the place, by parts of a wave's length, and on the channel (Clarke 1968; Rice's where one is direct).
private struct FadingField {
    private static let rays = 8
    private static let meanDelayMicroseconds = 0.03
    private static let speedOfLightMetresPerMicrosecond = 299.792458

    private struct Ray {
        var cosine: Double
        var delayMicroseconds: Double
        var phase: Double
        var amplitude: Double
    }

    private var all: [Ray] = []

    /// `riceFactorDB`: nil for Rayleigh's.
    init(riceFactorDB: Double?, using dice: inout Dice) {
        let factor = riceFactorDB.map { pow(10, $0 / 10) } ?? 0
        let scattered = sqrt(1 / (factor + 1) / Double(Self.rays))
        for _ in 0..<Self.rays {
            all.append(
                Ray(
                    cosine: cos(dice.between(0, 2 * .pi)),
                    delayMicroseconds: -Self.meanDelayMicroseconds * log(1 - dice.between(0, 1)),
                    phase: dice.between(0, 2 * .pi), amplitude: scattered))
        }
        if factor > 0 {
            all.append(Ray(cosine: 1, delayMicroseconds: 0, phase: 0, amplitude: sqrt(factor / (factor + 1))))
        }
    }

    func gainDB(alongMetres: Double, megahertz: Int) -> Double {
        var (real, imaginary) = (0.0, 0.0)
        let cycles = Double(megahertz) / Self.speedOfLightMetresPerMicrosecond
        for ray in all {
            let phase =
                ray.phase + 2 * .pi * (cycles * alongMetres * ray.cosine + Double(megahertz) * ray.delayMicroseconds)
            real += ray.amplitude * cos(phase)
            imaginary += ray.amplitude * sin(phase)
        }
        return 10 * log10(max(real * real + imaginary * imaginary, 1e-6))
    }
}

extension Dice {
    mutating func between(_ least: Double, _ most: Double) -> Double {
        least + (most - least) * Double(next() >> 11) / Double(1 << 53)
    }

    /// By Box and Muller's way.
    mutating func normal(_ mean: Double, _ deviation: Double) -> Double {
        mean + deviation * sqrt(-2 * log(1 - between(0, 1))) * cos(2 * .pi * between(0, 1))
    }
}
