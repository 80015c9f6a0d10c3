import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import StatePersistence

/// Asks a running daemon, and turns its answer into lines and an exit code.
enum ControlCommand {
    /// A reply waits for its commit, and a commit for others who hold the file.
    static let answerMilliseconds = UInt64(DatabaseLimits.commitWaitMaximumMilliseconds) + 5_000

    static func run(
        _ request: some ControlRequest, role: StateDirectory.Role, arguments: ParsedArguments,
        waitMilliseconds: UInt64 = answerMilliseconds, event: (String, JSONObject) -> Void = { _, _ in },
        result: (JSONObject) -> Void
    ) throws -> ExitCode {
        try run(role, arguments, waitMilliseconds, result) { (client, deadline) in
            try client.ask(request, deadline: deadline) { name, fields in
                guard arguments.has("json") else { return event(name, fields) }
                var line: JSONObject = ["event": .string(name)]
                for member in fields.members { line[member.name] = member.value }
                Output.line(.object(line))
            }
        }
    }

    /// One page of the lock's status, or all of them as one.
    static func status(_ page: PeripheralRequest.StatusPage?, arguments: ParsedArguments) throws -> ExitCode {
        try run(.peripheral, arguments, answerMilliseconds, { Output.fields($0) }) { (client, deadline) in
            guard let page else {
                return try StatusPages.all { try client.ask(PeripheralRequest.statusPage($0), deadline: deadline) }
            }
            return try client.ask(PeripheralRequest.statusPage(page), deadline: deadline)
        }
    }

    /// One page of the lock's bonds, or all of them as one.
    static func bonds(_ page: PeripheralRequest.StatusPage?, arguments: ParsedArguments) throws -> ExitCode {
        try run(.peripheral, arguments, answerMilliseconds, { Output.fields($0) }) { (client, deadline) in
            guard let page else {
                return try StatusPages.bonds { try client.ask(PeripheralRequest.bondsPage($0), deadline: deadline) }
            }
            return try client.ask(PeripheralRequest.bondsPage(page), deadline: deadline)
        }
    }

    /// One page of the lock's users, or all of them as one. However many there are, each page is waited for as long as an answer is.
    static func users(_ page: PeripheralRequest.UsersPage?, arguments: ParsedArguments) throws -> ExitCode {
        func show(_ page: JSONObject) {
            for line in UserTable.lines(of: page["users"]?.array ?? []) { Output.line(line) }
        }
        return try run(.peripheral, arguments, answerMilliseconds, show) { (client, _) in
            func ask(_ page: PeripheralRequest.UsersPage) throws -> JSONObject {
                try client.ask(PeripheralRequest.usersPage(page), deadline: deadline(answerMilliseconds))
            }
            return try page.map(ask) ?? StatusPages.users(ask)
        }
    }

    private static func deadline(_ milliseconds: UInt64) -> Instant {
        Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: milliseconds)
    }

    private static func run(
        _ role: StateDirectory.Role, _ arguments: ParsedArguments, _ waitMilliseconds: UInt64,
        _ result: (JSONObject) -> Void, asking: (inout ControlClient, Instant) throws -> JSONObject
    ) throws -> ExitCode {
        let place = try ControlPlace(arguments)
        let deadline = deadline(waitMilliseconds)
        do {
            var client = try place.connect(role)
            let answer = try asking(&client, deadline)
            if arguments.has("json") { Output.line(["result": .object(answer)]) } else { result(answer) }
            return .ok
        } catch let error as ControlClientError {
            throw Failure(error.exitCode, error.description)
        } catch let failure as ControlFailure {
            throw Failure(failure.code.exitCode, failure.message)
        }
    }
}

extension ControlClientError {
    fileprivate var exitCode: ExitCode {
        switch self {
        case .notRunning, .timeout, .closed: .unavailable
        case .notPermitted, .pathTooLong, .openDirectory, .stranger, .malformed, .failed: .state
        }
    }
}

extension ControlFailure.Code {
    fileprivate var exitCode: ExitCode {
        switch self {
        case .timeout, .stopping: .unavailable
        case .noRadio: .transport
        default: .refused
        }
    }
}
