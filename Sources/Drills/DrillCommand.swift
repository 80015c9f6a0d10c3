import CLinux
import Glibc

/// The way in from the command line: `latch drill ARGUMENTS…`.
package enum DrillCommand {
    private static let usage: Int32 = 2

    /// Returns the exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        guard arguments.first == "processes" else {
            let named = arguments.first.map { "unknown drill `\($0)`" } ?? "a drill is needed"
            return fail("\(named): the drills are processes (see `latch drill processes --help`)")
        }
        do throws(DrillOptions.UsageError) {
            switch try DrillOptions.parse(Array(arguments.dropFirst())) {
            case .help:
                write(DrillOptions.help, to: STDOUT_FILENO)
                return 0
            case .run(let options): return run(options)
            }
        } catch {
            return fail("\(error.message) (see `latch drill processes --help`)")
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
        guard let executable = realpath("/proc/self/exe", nil) else { return fail("/proc is not mounted") }
        defer { free(executable) }
        let drill = ProcessDrill(options: options, executable: String(cString: executable)) {
            write($0, to: STDOUT_FILENO)
        }
        return drill.run()
    }

    private static func fail(_ message: String) -> Int32 {
        write("latch: \(message)\n", to: STDERR_FILENO)
        return usage
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let octets = Array(text.utf8)
        _ = Glibc.write(descriptor, octets, octets.count)
    }
}
