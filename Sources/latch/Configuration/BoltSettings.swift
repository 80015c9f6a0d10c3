import CommandInterface
import LockPeripheral

/// What moves the bolt, and how: the section [bolt], which config/peripheral.conf documents.
struct BoltSettings: Equatable, Sendable {
    enum Kind: String, CaseIterable { case simulated, exec, gpio }

    /// A ``Kind``.
    var actuator = Kind.simulated.rawValue
    /// Of the simulated bolt.
    var travelMilliseconds = 500
    /// Words with spaces between them; the first one is the program's path.
    var command: String?
    // Of the command.
    var timeoutMilliseconds = 3_000
    var retries = 1
    var retryPauseMilliseconds = 250
    /// The socket of a strike's keeper.
    var keeper = "/run/latch-strike/strike.sock"
    /// Of an opening that the keeper makes a pulse of.
    var pulseMilliseconds = 3_000

    static func keys(_ bolt: WritableKeyPath<PeripheralSettings, Self>) -> [ConfigurationKey<PeripheralSettings>] {
        [
            ConfigurationKey("bolt", "actuator", .text(bolt.appending(path: \.actuator)))
                .choices(Kind.allCases.map(\.rawValue)),
            ConfigurationKey("bolt", "travel_ms", .integer(bolt.appending(path: \.travelMilliseconds), 0...60_000)),
            ConfigurationKey("bolt", "command", .optionalText(bolt.appending(path: \.command))).maximumOctets(1_024)
                .fault(Self.fault(command:)),
            ConfigurationKey("bolt", "timeout_ms", .integer(bolt.appending(path: \.timeoutMilliseconds), 100...9_000)),
            ConfigurationKey("bolt", "retries", .integer(bolt.appending(path: \.retries), 0...3)),
            ConfigurationKey(
                "bolt", "retry_pause_ms", .integer(bolt.appending(path: \.retryPauseMilliseconds), 0...2_000)),
            // What the address of a unix socket has room for.
            ConfigurationKey("bolt", "keeper", .text(bolt.appending(path: \.keeper))).maximumOctets(107)
                .fault { $0.hasPrefix("/") ? nil : "write the socket's whole path, from / on" },
            ConfigurationKey("bolt", "pulse_ms", .integer(bolt.appending(path: \.pulseMilliseconds), 50...60_000)),
        ]
    }

    private static func fault(command: String) -> String? {
        guard !command.contains(where: { "\"'\\`$".contains($0) }) else {
            return "words stand between spaces and no shell reads them: write a script for anything else"
        }
        return OperatorProgram.fault(command)
    }

    var kind: Kind { Kind(rawValue: actuator) ?? .simulated }

    /// The command's own: what is wanted of it comes behind them.
    var words: [String] { command?.split(separator: " ").map(String.init) ?? [] }

    var limits: CommandMachine.Limits {
        CommandMachine.Limits(
            timeMilliseconds: UInt64(timeoutMilliseconds), retries: retries,
            pauseMilliseconds: UInt64(retryPauseMilliseconds))
    }

    /// At a start: what one key alone cannot tell.
    func faults(in configuration: String) -> [Failure] {
        func fault(_ key: String, _ problem: String) -> Failure {
            Failure(.configuration, "key `\(key)` in section [bolt] of \(configuration) \(problem)")
        }
        guard kind == .exec else {
            let problem = "is for another actuator: write actuator = \"exec\" beside it, or take it out"
            return command == nil ? [] : [fault("command", problem)]
        }
        var faults: [Failure] = []
        if words.isEmpty {
            faults.append(
                fault("command", "is wanted for actuator = \"exec\": write the program's path and its words"))
        }
        let whole = BoltMachine.travelMaximumMilliseconds
        if limits.wholeMilliseconds >= whole {
            faults.append(
                fault(
                    "timeout_ms",
                    "is too long: with `retries` and `retry_pause_ms` a movement may take "
                        + "\(limits.wholeMilliseconds) ms, and the lock waits \(whole) ms for it: lower one of the three"
                ))
        }
        if let program = words.first {
            faults += OperatorProgram(path: program, section: "bolt", key: "command").faults(in: configuration)
        }
        return faults
    }
}
