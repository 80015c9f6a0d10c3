import BluetoothCore
import BluetoothCrypto
import Glibc

/// Parses the words, runs the command they name, and says in one line and one number how it went.
@main
struct Latch {
    static let version = "0.1.0"

    static func main() {
        #if LATCH_PLANTS
        Plant.active = getenv("LATCH_PLANT").flatMap { Plant(rawValue: String(cString: $0)) }
        #endif
        let words = Array(CommandLine.arguments.dropFirst())
        let isMachineReading = words.contains("--json")
        do {
            exit(try run(words).rawValue)
        } catch {
            let failure = error as? Failure ?? Failure(.refused, String(describing: error))
            Output.failure(failure, json: isMachineReading)
            exit(failure.code.rawValue)
        }
    }

    private static func run(_ words: [String]) throws -> ExitCode {
        let parser = ArgumentParser(commands: Commands.candidates(for: words))
        guard !words.isEmpty else {
            throw Failure(.usage, "a command is needed: `latch --help` lists them")
        }
        switch try parser.parse(words) {
        case .help(let text):
            Output.write(text)
            return .ok
        case .version:
            Output.write("latch \(version)\n")
            return .ok
        case .run(let command, let arguments):
            OpenSSLConfiguration.ignore()
            return try command.run(arguments)
        }
    }
}
