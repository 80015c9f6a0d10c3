import BluetoothCore
import BluetoothHost
import Foundation
import Glibc
import HCITransport
import HostComposition

/// What the environment says of the process's host.
struct HostSettings: Sendable {
    enum Variable {
        /// As ``AirAddress`` writes it; without it bluetoothd's adapter, and where no bluetoothd runs the first one there is.
        static let transport = "LATCH_TRANSPORT"
        /// An absolute path: where everything is kept.
        static let state = "LATCH_STATE"
        /// What peers read as the device's name; without it the machine's.
        static let name = "LATCH_NAME"
        /// `refused`, `as-needed` or `just-works`.
        static let pairing = "LATCH_PAIRING"
        /// `yes` or `no`.
        static let privacy = "LATCH_PRIVACY"
    }

    /// A variable that says nothing that could be done.
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    /// nil: bluetoothd's adapter, and where no bluetoothd runs the first one there is.
    var transport: AirAddress?
    var stateDirectory: String
    var configuration: HostConfiguration
    var boot: BootID
    /// Where systemd put this service's credentials.
    var credentialsDirectory: String?

    /// `boot`: the kernel's name for this boot. `program`: what the executable is called, which names the directory of its state where nobody else does.
    init(environment: [String: String], boot: BootID, program: String, machine: String) throws {
        self.boot = boot
        transport = try environment[Variable.transport].map { text in
            do throws(TransportError) {
                return try AirAddress(parsing: text)
            } catch {
                throw Malformed(description: "\(Variable.transport): \(error)")
            }
        }
        stateDirectory = try Self.stateDirectory(environment, program: program)
        configuration = HostConfiguration(deviceName: environment[Variable.name] ?? machine)
        configuration.encryptsBondedLinks = true
        configuration.pairing =
            try Self.choice(
                Variable.pairing, environment,
                ["refused": PairingRules.refused, "as-needed": .asNeeded, "just-works": .justWorks])
            ?? .asNeeded
        configuration.privacy =
            try Self.choice(Variable.privacy, environment, ["yes": true, "no": false]) ?? configuration.privacy
        credentialsDirectory = environment["CREDENTIALS_DIRECTORY"]
    }

    /// What was asked for by name, else what systemd made for the service (`StateDirectory=`), else the user's.
    ///
    /// https://specifications.freedesktop.org/basedir-spec/latest: relative paths there are invalid and to be ignored.
    private static func stateDirectory(_ environment: [String: String], program: String) throws -> String {
        if let named = environment[Variable.state] {
            guard named.hasPrefix("/") else {
                throw Malformed(description: "\(Variable.state): \"\(named)\" is no absolute path")
            }
            return named
        }
        // systemd names each directory of the service, separated by colons.
        if let made = environment["STATE_DIRECTORY"]?.split(separator: ":").first, made.hasPrefix("/") {
            return String(made)
        }
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/latch/\(program)" }
        if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.local/state/latch/\(program)" }
        throw Malformed(
            description: "no place for state: set \(Variable.state) to an absolute path, or HOME")
    }

    private static func choice<Value>(
        _ variable: String, _ environment: [String: String], _ choices: [String: Value]
    ) throws -> Value? {
        guard let text = environment[variable] else { return nil }
        guard let value = choices[text] else {
            let known = choices.keys.sorted().map { "\"\($0)\"" }.joined(separator: " or ")
            throw Malformed(description: "\(variable): \"\(text)\" means nothing: write \(known)")
        }
        return value
    }
}

extension HostSettings {
    /// Those of this process.
    static func ofProcess() throws -> Self {
        guard let boot = SystemClock.bootIdentifier() else {
            throw Malformed(description: "/proc/sys/kernel/random/boot_id cannot be read: mount /proc")
        }
        return try Self(
            environment: ProcessInfo.processInfo.environment, boot: BootID(bits: boot), program: program,
            machine: machine)
    }

    private static var program: String {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return path?.split(separator: "/").last.map(String.init) ?? "app"
    }

    private static var machine: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "Linux" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
