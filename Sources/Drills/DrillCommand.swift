import CLinux
import Glibc

/// The way in from the command line: `latch-lab drill ARGUMENTS…`.
package enum DrillCommand {
    private static let usage: Int32 = 2

    /// Returns the exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        guard arguments.first == "processes" else {
            let named = arguments.first.map { "unknown drill `\($0)`" } ?? "a drill is needed"
            return fail("\(named): the drills are processes and simulate (see `latch-lab drill processes --help`)")
        }
        do throws(DrillOptions.UsageError) {
            switch try DrillOptions.parse(Array(arguments.dropFirst())) {
            case .help:
                write(DrillOptions.help, to: STDOUT_FILENO)
                return 0
            case .run(let options): return run(options)
            }
        } catch {
            return fail("\(error.message) (see `latch-lab drill processes --help`)")
        }
    }

    private static func run(_ options: DrillOptions) -> Int32 {
        #if !LATCH_PLANTS
        if options.plant != nil {
            return fail(
                "this build cannot break itself on purpose: make one that can with `swift build -Xswiftc "
                    + "-DLATCH_PLANTS --scratch-path .build/plants`")
        }
        #endif
        return ProcessDrill(options: options) { write($0, to: STDOUT_FILENO) }.run()
    }

    private static func fail(_ message: String) -> Int32 {
        write("latch-lab: \(message)\n", to: STDERR_FILENO)
        return usage
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let octets = Array(text.utf8)
        _ = Glibc.write(descriptor, octets, octets.count)
    }
}
