import CommandInterface
import DaemonControl
import Glibc
import LockCentral
import ProximityWalks

/// `latch central calibrate`: a walk with two stands, and the thresholds that follow from it.
enum CalibrateCommand {
    static let all = [calibrate]

    private static let standSeconds: UInt64 = 6
    private static let standSecondsRange: ClosedRange<UInt64> = 2...60

    private static let calibrate = CommandSpec(
        path: ["central", "calibrate"], summary: "Give a lock thresholds of its own, by a walk with the key.",
        details: [
            "Carry the key as you always do. It reads how strong its link to the lock is while you stand where the door should open, and "
                + "then where it should count as away; press Enter at each place, and turn round once there, slowly. Two thresholds "
                + "follow, which are shown with the signal, and set when you say so. They come before `[proximity]` of the configuration, at once.",
            "The key opens and closes nothing by itself at this lock meanwhile. How strong a signal is says when to ask the lock, and never "
                + "what is allowed. Walk while nobody is near who may have set up a radio of their own.",
            "Without a terminal each line on standard input is an Enter, and --yes is needed. --json writes each reading.",
        ],
        options: ControlPlace.options + [
            .flag("clear", "Forget the lock's own thresholds: the configuration's count again."),
            .value(
                "seconds", "N",
                "How long a stand lasts, \(standSecondsRange.lowerBound) to"
                    + " \(standSecondsRange.upperBound); \(standSeconds) by default."),
            .value("svg", "FILE", "Draw the walk in a new file of mode 0600."),
            .flag("yes", "Do not ask before the thresholds are set. Without a terminal it is needed."), Commands.json,
        ],
        operands: .words(["[LOCK]"]),
        examples: [
            "latch central calibrate", "latch central calibrate \"Front door\" --svg ./front-door.svg",
            "latch central calibrate \"Front door\" --clear",
        ]
    ) { arguments in
        let lock = arguments.operands.first
        let seconds = try arguments.integer("seconds", in: standSecondsRange)
        if arguments.has("clear") {
            guard seconds == nil, arguments["svg"] == nil else {
                throw Failure(.usage, "option `--clear` is no walk: `--seconds` and `--svg` do not go with it")
            }
            return try set(nil, of: lock, arguments)
        }
        // Nobody walks for a daemon that is not named, for a file that is there, or where nobody can be asked.
        _ = try ControlPlace(arguments, role: .central)
        guard arguments.has("yes") || isatty(STDIN_FILENO) == 1 else {
            throw Failure(
                .usage, "nobody can be asked here whether to set the thresholds: give `--yes` if that is meant")
        }
        let picture = try arguments["svg"].map { (path) throws(Failure) in try file(path) }
        let walked = try walk(lock, standSeconds: seconds ?? standSeconds, arguments)
        try draw(walked, in: picture)
        let proposal = try proposal(of: walked)
        if !arguments.has("json") { for line in CalibrationText.summary(walked, proposal) { Output.line(line) } }
        // What was typed on the way is no answer.
        tcflush(STDIN_FILENO, TCIFLUSH)
        try Confirmation.require(
            "set", "These thresholds are about to count for \(Output.shown(walked.lock)).", arguments)
        return try set(proposal.thresholds, of: walked.id, arguments)
    }

    private static func walk(
        _ lock: String?, standSeconds: UInt64, _ arguments: ParsedArguments
    ) throws -> WalkedLock {
        var guide = CalibrationGuide(standSeconds: standSeconds, screen: CalibrationScreen(json: arguments.has("json")))
        var walked: WalkedLock?
        _ = try ControlCommand.talking(.central, arguments) { client in walked = try guide.walk(lock, with: &client) }
        guard let walked else { throw Failure(.refused, "the walk did not come to its end") }
        return walked
    }

    private static func proposal(of walked: WalkedLock) throws(Failure) -> CalibrationProposal {
        do throws(CalibrationFault) { return try walked.walk.proposal() } catch {
            throw Failure(.refused, error.description)
        }
    }

    private static func file(_ path: String) throws(Failure) -> ExportFile {
        guard path != "-" else { throw Failure(.usage, "option `--svg` needs a file's name, not `-`") }
        return try ExportFile(path)
    }

    private static func draw(_ walked: WalkedLock, in file: ExportFile?) throws(Failure) {
        guard let file else { return }
        let thresholds = try? walked.walk.proposal().thresholds
        try file.line(
            WalkPicture(walked.walk.trace).svg(
                title: "Calibration of \(walked.lock)", present: walked.rules, proposed: thresholds))
        try file.finish()
    }

    private static func set(
        _ thresholds: ProximityThresholds?, of lock: String?, _ arguments: ParsedArguments
    ) throws -> ExitCode {
        let values = thresholds.map { CentralRequest.Thresholds(near: Int64($0.nearDBm), away: Int64($0.awayDBm)) }
        return try ControlCommand.run(
            CentralRequest.thresholds(lock: lock, values), role: .central, arguments: arguments
        ) { result in
            let name = Output.shown(result["lock"]?.string ?? "")
            let near = result["near_dbm"]?.number
            let away = result["away_dbm"]?.number
            let what = near.flatMap { near in away.map { "near \(near) dBm, away \($0) dBm" } }
            Output.line(name + ": " + (what ?? "the configuration's thresholds"))
        }
    }
}
