import CommandInterface
import DaemonControl
import Drills

/// `latch-lab restarts`: what scripts/compare-restarts measured, told and drawn.
enum RestartsCommand {
    static let restarts = CommandSpec(
        path: ["restarts"], summary: "Tell how long peripherals took from a kill to the next notification.",
        details: [
            "Standard input has a line for each peripheral: an object with `title`, `milliseconds` of each restart, and `lost`, the "
                + "links that were lost though nothing had been killed. `scripts/compare-restarts` measures and writes them."
        ],
        options: [
            .value("report", "DIR", "Write index.html, result.json and junit.xml there."),
            .flag("json", "One JSON object on standard output."),
        ],
        examples: ["latch-lab restarts --report ./report"]
    ) { arguments in
        var lines: [String] = []
        while let line = readLine() { lines.append(line) }
        do {
            let result = try RestartReport(lines: lines)
            if arguments.has("json") { Output.line(.object(result.json)) } else { Output.fields(result.json) }
            if let directory = arguments["report"] {
                try result.report.write(to: directory)
                Output.prompt("report: \(directory)/index.html\n")
            }
        } catch let error as DrillError {
            throw Failure(.state, error.description)
        }
        return .ok
    }
}
