import CommandInterface
import DaemonControl
import LockCentral
import ProximityWalks
import Simulation

/// `latch-lab proximity walks`: how often a key opens too early, too late, never, or for somebody who passes by.
enum ProximityCommand {
    private static let usualSeed: UInt64 = 1
    private static let usualDoors = 40
    private static let usualWalks = 5

    static let walks = CommandSpec(
        path: ["proximity", "walks"],
        summary: "Walk a simulated key to and past simulated doors, before and after a calibration.",
        details: [
            "The key's own proximity machine decides, by advertisements and links whose strength a model of the air says: path loss by "
                + "the logarithm of the distance, shadowing, multipath fading, the body of who carries the key. docs/PROXIMITY.md says "
                + "where the model is from. Each door is walked to, past, and calibrated by a walk of its own. A seed gives the same walks.",
            "Too early: farther than \(Int(WalkStudy.earlyMetres)) m from the door. Too late: more than "
                + "\(Int(WalkStudy.lateSeconds)) s at the door. Never: not in \(Int(WalkStudy.patienceSeconds)) s at the door.",
            "With --svg it draws the calibration walk of one door, on standard output.",
        ],
        options: [
            .value("seed", "S", "Where chance begins; \(usualSeed) by default."),
            .value("doors", "N", "How many doors; \(usualDoors) by default."),
            .value("walks", "N", "How many walks to each door, and past it; \(usualWalks) by default."),
            .flag("links-only", "The key hears no advertisements, as beside bluetoothd."),
            .flag("svg", "Draw the calibration walk of --door instead."),
            .value("door", "N", "Which door is drawn, from 0 on; 0 by default."),
            .flag("json", "One JSON object on standard output."),
        ],
        examples: [
            "latch-lab proximity walks --seed 1",
            "latch-lab proximity walks --seed 7 --doors 200 --walks 10 --json",
            "latch-lab proximity walks --seed 1 --door 1 --svg",
        ]
    ) { arguments in
        let seed = try arguments.integer("seed", in: 0...UInt64.max) ?? usualSeed
        let doors = try arguments.integer("doors", in: 1...100_000) ?? usualDoors
        let walks = try arguments.integer("walks", in: 1...10_000) ?? usualWalks
        let door = try arguments.integer("door", in: 0...100_000)
        if arguments.has("svg") {
            Output.write(picture(seed: seed, door: door ?? 0))
            return .ok
        }
        guard door == nil else { throw Failure(.usage, "option `--door` goes with `--svg`") }
        let study = WalkStudy(
            seed: seed, doors: doors, walksPerDoor: walks, hearsAdvertisements: !arguments.has("links-only"))
        if arguments.has("json") {
            Output.line(.object(json(study, seed)))
        } else {
            for line in lines(study) { Output.line(line) }
        }
        return .ok
    }

    /// A table of Markdown's, as docs/PROXIMITY.md has it.
    static func lines(_ study: WalkStudy) -> [String] {
        let columns = [study.usual, study.calibrated]
        func row(_ name: String, _ count: (WalkStudy.Tally) -> Int, of whole: (WalkStudy.Tally) -> Int) -> String {
            "| \(name) | " + columns.map { percent(count($0), of: whole($0)) }.joined(separator: " | ") + " |"
        }
        return [
            "| of \(study.usual.approaches) walks to \(study.doors) doors | usual thresholds | calibrated |",
            "|---|---|---|",
            row("in time", \.inTime, of: \.approaches), row("too early", \.early, of: \.approaches),
            row("too late", \.late, of: \.approaches), row("never", \.never, of: \.approaches),
            row("never, as no absence was seen", \.unseenAbsences, of: \.approaches),
            row("opened for a passer-by, of \(study.usual.passages)", \.falseOpenings, of: \.passages),
            "| doors without a proposal | | \(study.refusedCalibrations) of \(study.doors) |",
        ]
    }

    private static func percent(_ count: Int, of whole: Int) -> String {
        let thousandths = (count * 1_000 + whole / 2) / max(whole, 1)
        return "\(thousandths / 10).\(thousandths % 10) %"
    }

    private static func json(_ study: WalkStudy, _ seed: UInt64) -> JSONObject {
        func tally(_ tally: WalkStudy.Tally) -> JSONValue {
            [
                "approaches": JSONValue(tally.approaches), "in_time": JSONValue(tally.inTime),
                "early": JSONValue(tally.early), "late": JSONValue(tally.late), "never": JSONValue(tally.never),
                "unseen_absences": JSONValue(tally.unseenAbsences), "passages": JSONValue(tally.passages),
                "false_openings": JSONValue(tally.falseOpenings),
            ]
        }
        return [
            "seed": JSONValue(seed), "doors": JSONValue(study.doors),
            "refused_calibrations": JSONValue(study.refusedCalibrations), "usual": tally(study.usual),
            "calibrated": tally(study.calibrated),
        ]
    }

    static func picture(seed: UInt64, door: Int) -> String {
        let walk = WalkStudy.calibration(seed: seed, door: door)
        return WalkPicture(walk.trace).svg(
            title: "A simulated calibration walk: seed \(seed), door \(door)", present: ProximityRules(),
            proposed: try? walk.proposal().thresholds)
    }
}
