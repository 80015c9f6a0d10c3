import CommandInterface
import DaemonControl
import Drills

/// What a script measured and wrote on lines, told and drawn: `latch-lab restarts`, `latch-lab power`, `latch-lab day`.
enum MeasuredCommands {
    static let restarts = spec(
        RestartReport.self, name: "restarts",
        summary: "Tell how long peripherals took from a kill to the next notification.",
        lines: "Standard input has a line for each peripheral: an object with `title`, `milliseconds` of each restart, "
            + "and `lost`, the links that were lost though nothing had been killed. `scripts/compare-restarts` measures "
            + "and writes them.")

    static let power = spec(
        PowerReport.self, name: "power",
        summary: "Tell what a lock did while its machine's power was cut.",
        lines: "Standard input begins with an object that has `seed` and `lies`. A line for each cut follows: `cut`, "
            + "`at` (`write`, `flush` or `rest`), `number`, `kept` and `unconfirmed` octets, `mended`, `back_ms`, "
            + "`answers` and `violations`. `scripts/drill-power` cuts and writes them.")

    static let day = spec(
        DayReport.self, name: "day", summary: "Tell of a day in the life of a door.",
        lines:
            "Standard input has a line for each scene, with `at` in nanoseconds, `scene` and `text`. Behind it a line with `at` for "
            + "each thing that happens: `command`, its `lines` and its `status`; `act`; `door`; or `promise` and whether it was "
            + "`held`. `scripts/demo` plays and writes them.")

    private static func spec<Measured: MeasuredReport>(
        _: Measured.Type, name: String, summary: String, lines details: String
    ) -> CommandSpec {
        CommandSpec(
            path: [name], summary: summary, details: [details],
            options: [
                .value("report", "DIR", "Write index.html, result.json and junit.xml there."),
                .flag("json", "One JSON object on standard output."),
            ],
            examples: ["latch-lab \(name) --report ./report"]
        ) { arguments in
            var lines: [String] = []
            while let line = readLine() { lines.append(line) }
            do {
                let measured = try Measured(lines: lines)
                try tell(measured.json, report: measured.report, as: arguments)
                return measured.isOK ? .ok : .refused
            } catch let error as DrillError {
                throw Failure(.state, error.description)
            }
        }
    }

    /// Says figures as `--json` wants them, and writes the report that `--report` wants.
    static func tell(_ figures: JSONObject, report: @autoclosure () throws -> Report, as arguments: ParsedArguments)
        throws
    {
        if arguments.has("json") { Output.line(.object(figures)) } else { Output.fields(figures) }
        guard let directory = arguments["report"] else { return }
        try report().write(to: directory)
        Output.prompt("report: \(directory)/index.html\n")
    }
}
