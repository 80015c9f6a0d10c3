import LockCentral
import ProximityWalks
import Testing

@testable import Simulation

@Suite("Simulated walks")
struct WalkStudyTests {
    private static func study(_ seed: UInt64, doors: Int = 6) -> WalkStudy {
        WalkStudy(seed: seed, doors: doors, walksPerDoor: 2)
    }

    @Test("simulation: a seed gives the same walks, and another one others")
    func deterministic() {
        let (first, second) = (Self.study(3), Self.study(3))
        #expect(first.usual == second.usual && first.calibrated == second.calibrated)
        #expect(WalkStudy.calibration(seed: 3, door: 1).trace == WalkStudy.calibration(seed: 3, door: 1).trace)
        #expect(WalkStudy.calibration(seed: 3, door: 1).trace != WalkStudy.calibration(seed: 4, door: 1).trace)
        #expect(WalkStudy.calibration(seed: 3, door: 1).trace != WalkStudy.calibration(seed: 3, door: 2).trace)
    }

    @Test("simulation: each walk is counted once")
    func counted() {
        let study = Self.study(5)
        for tally in [study.usual, study.calibrated] {
            #expect(tally.approaches == 12 && tally.passages == 12 && tally.inTime >= 0)
            #expect(tally.unseenAbsences <= tally.never && tally.falseOpenings <= tally.passages)
        }
        #expect(study.doors == 6 && study.refusedCalibrations <= 6)
    }

    @Test("A signal falls off with the distance as its exponent says, and a guided walk comes to its end")
    func model() {
        var dice = Dice(seed: 11)
        var falls: [DoorAir.View: (sum: Double, count: Double)] = [:]
        for _ in 0..<200 {
            let air = DoorAir(using: &dice)
            func mean(_ metres: Double) -> Double {
                let place = WalkPlace(alongMetres: metres, lateralMetres: nil)
                let all = (0..<40).map { _ in
                    air.strength(at: place, megahertz: dice.one(of: DoorAir.channelsMegahertz))
                }
                return all.reduce(0, +) / 40
            }
            falls[air.view, default: (0, 0)].sum += mean(1) - mean(10)
            falls[air.view, default: (0, 0)].count += 1
        }
        for view in DoorAir.View.allCases {
            let fall = falls[view].map { $0.sum / $0.count } ?? 0
            #expect(abs(fall - 10 * view.exponent) < 2, "\(view): \(fall) dB from 1 m to 10 m")
        }
        #expect((0..<20).allSatisfy { WalkStudy.calibration(seed: 11, door: $0).phase == .over })
    }
}
