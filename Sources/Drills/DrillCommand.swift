import CLinux
import Glibc

/// The way in from the command line: `latch-lab drill ARGUMENTS…`.
package enum DrillCommand {
    private static let usage: Int32 = 2

    /// Returns the exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        do throws(DrillOptions.UsageError) {
            switch arguments.first {
            case "processes":
                guard case .run(let options) = try DrillOptions.parse(rest) else { return help(DrillOptions.help) }
                return run(options.plant) { try ProcessDrill(options: options, output: write).run() }
            case "syscalls":
                guard case .run(let options) = try SystemCallOptions.parse(rest) else {
                    return help(SystemCallOptions.help)
                }
                return run(options.common.plant) { try SystemCallDrill(options: options, output: write).run() }
            case "machine":
                guard case .run(let options) = try MachineOptions.parse(rest) else { return help(MachineOptions.help) }
                return run(options.common.plant) { try MachineDrill(options: options, output: write).run() }
            case "app":
                guard case .run(let options) = try AppOptions.parse(rest) else { return help(AppOptions.help) }
                return run(nil) { try AppDrill(options: options, output: write).run() }
            default:
                let named = arguments.first.map { "unknown drill `\($0)`" } ?? "a drill is needed"
                return fail(
                    "\(named): the drills are processes, syscalls, machine, app and simulate (see `latch-lab drill processes "
                        + "--help`)"
                )
            }
        } catch {
            return fail("\(error.message) (see `latch-lab drill \(arguments.first ?? "") --help`)")
        }
    }

    private static func help(_ text: String) -> Int32 {
        write(text)
        return 0
    }

    /// Every process that the drill starts has the fault.
    private static func run(_ plant: DrillOptions.Plant?, _ drill: () throws -> Int32) -> Int32 {
        #if LATCH_PLANTS
        if let plant { setenv("LATCH_PLANT", plant.rawValue, 1) }
        #else
        if plant != nil {
            return fail(
                "this build cannot break itself on purpose: make one that can with `swift build -Xswiftc "
                    + "-DLATCH_PLANTS --scratch-path .build/plants`")
        }
        #endif
        do {
            return try drill()
        } catch let error as DrillOptions.UsageError {
            // Of a file that the command line names.
            return fail(error.message)
        } catch {
            Progress().say("latch-lab drill: \(error)")
            return (error as? DrillError)?.kind == .interrupted ? 1 : 4
        }
    }

    private static func fail(_ message: String) -> Int32 {
        Progress().say("latch-lab: \(message)")
        return usage
    }

    @Sendable private static func write(_ text: String) {
        let octets = Array(text.utf8)
        _ = Glibc.write(STDOUT_FILENO, octets, octets.count)
    }
}
