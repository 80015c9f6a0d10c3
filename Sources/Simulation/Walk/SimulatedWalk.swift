import Glibc
import ProximityWalks

/// Somebody with a key in a bag, and where they are when.
struct SimulatedWalk {
    /// Where the way to the door begins and ends.
    static let farMetres = 30.0
    static let doorMetres = 1.0
    /// A way past the door begins so far before it, and ends so far behind it.
    static let passageMetres = 20.0
    static let passageLateralMetres = 4.0

    /// Who has the key, and how they carry it.
    struct Carrier {
        /// Where the bag is.
        enum Side: CaseIterable { case front, back, beside }

        /// Three times in four it is there; else anywhere.
        let usualSide: Side
        /// What the body takes where it stands in between.
        let bodyDB: Double

        init(using dice: inout Dice) {
            usualSide = dice.choice(Side.allCases)
            bodyDB = min(max(dice.normal(10, 3), 3), 20)
        }

        func side(using dice: inout Dice) -> Side { dice.oneIn(4) ? dice.choice(Side.allCases) : usualSide }
    }

    struct Leg {
        var from: WalkPlace
        var to: WalkPlace
        var seconds: Double
        /// Whether who walks there looks towards the lock; nil where they turn round meanwhile.
        var facesLock: Bool?
    }

    let legs: [Leg]
    private let side: Carrier.Side
    private let bodyDB: Double
    /// How the bag is packed today, and who else stands about.
    private let todayDB: Double

    private init(_ legs: [Leg], _ side: Carrier.Side, of carrier: Carrier, using dice: inout Dice) {
        (self.legs, self.side, bodyDB) = (legs, side, carrier.bodyDB)
        todayDB = dice.normal(0, 2)
    }

    private static func way(_ metres: Double) -> WalkPlace { WalkPlace(alongMetres: metres, lateralMetres: nil) }

    private static func pace(using dice: inout Dice) -> Double { dice.between(1.0, 1.5) }

    private static func stand(_ metres: Double, seconds: Double, facesLock: Bool?) -> Leg {
        Leg(from: way(metres), to: way(metres), seconds: seconds, facesLock: facesLock)
    }

    private static func go(_ from: Double, _ to: Double, pace: Double) -> Leg {
        Leg(from: way(from), to: way(to), seconds: abs(to - from) / pace, facesLock: to < from)
    }

    /// From the door, and back to it.
    static func errand(of carrier: Carrier, using dice: inout Dice) -> Self {
        let pace = pace(using: &dice)
        return Self(
            [
                stand(doorMetres, seconds: 5, facesLock: true), go(doorMetres, farMetres, pace: pace),
                stand(farMetres, seconds: 5, facesLock: nil), go(farMetres, doorMetres, pace: pace),
                stand(doorMetres, seconds: WalkStudy.patienceSeconds, facesLock: true),
            ], carrier.side(using: &dice), of: carrier, using: &dice)
    }

    /// The way that a passer-by goes who was away before, and who means another door.
    static func passage(of carrier: Carrier, using dice: inout Dice) -> Self {
        let seconds = passageMetres / pace(using: &dice)
        func place(_ metres: Double) -> WalkPlace {
            WalkPlace(alongMetres: metres, lateralMetres: passageLateralMetres)
        }
        return Self(
            [
                Leg(from: place(-passageMetres), to: place(0), seconds: seconds, facesLock: true),
                Leg(from: place(0), to: place(passageMetres), seconds: seconds, facesLock: false),
            ], carrier.side(using: &dice), of: carrier, using: &dice)
    }

    /// Two stands and the way between them, as `latch central calibrate` asks for them.
    ///
    /// `awayMetres`: of the farther stand, where the link reaches as far. Where it does not, its user is told, and comes back some steps.
    static func calibration(
        of carrier: Carrier, at air: DoorAir, nearMetres: Double, awayMetres wanted: Double, standSeconds: Double,
        using dice: inout Dice
    ) -> Self {
        let pace = pace(using: &dice)
        let reach = stride(from: wanted, through: 2 * nearMetres, by: -1).first { air.reaches($0) }
        let awayMetres = reach ?? 2 * nearMetres
        return Self(
            [
                go(awayMetres, nearMetres, pace: pace),
                stand(nearMetres, seconds: standSeconds, facesLock: nil), go(nearMetres, awayMetres, pace: pace),
                stand(awayMetres, seconds: standSeconds, facesLock: nil),
            ], carrier.usualSide, of: carrier, using: &dice)
    }

    var seconds: Double { legs.reduce(0) { $0 + $1.seconds } }

    /// When this leg begins.
    func begin(of leg: Int) -> Double { legs[..<leg].reduce(0) { $0 + $1.seconds } }

    /// Of one packet at that time, in dBm, and where who carries the key is.
    func strength(in air: DoorAir, atSeconds seconds: Double, using dice: inout Dice) -> (dBm: Double, place: WalkPlace)
    {
        var rest = seconds
        var leg = legs[0]
        for each in legs {
            leg = each
            if rest < each.seconds { break }
            rest -= each.seconds
        }
        let part = min(rest / leg.seconds, 1)
        var place = leg.from
        place.alongMetres += (leg.to.alongMetres - leg.from.alongMetres) * part
        let facesLock = leg.facesLock ?? (part < 0.5)
        let shadow: Double =
            switch side {
            case .front: facesLock ? 0 : bodyDB
            case .back: facesLock ? bodyDB : 0
            case .beside: bodyDB / 2
            }
        // Nobody stands like a post: some centimetres, to and fro.
        var antenna = place
        antenna.alongMetres += 0.03 * sin(2 * .pi * 0.4 * seconds)
        let dBm = air.strength(at: antenna, megahertz: dice.one(of: DoorAir.channelsMegahertz)) - shadow + todayDB
        return (dBm, place)
    }
}
