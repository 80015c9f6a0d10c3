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

    /// `heard`: each event, for whoever does something by it. `event`: shows it to people. `answered`: before the answer is shown, to
    /// people or programs.
    static func run(
        _ request: some ControlRequest, role: StateDirectory.Role, arguments: ParsedArguments,
        waitMilliseconds: UInt64 = answerMilliseconds, heard: (String, JSONObject) throws -> Void = { _, _ in },
        event: (String, JSONObject) throws -> Void = { _, _ in },
        answered: (JSONObject) -> Void = { _ in },
        result: (JSONObject) -> Void
    ) throws -> ExitCode {
        try talking(role, arguments) { client in
            let answer = try client.ask(request, deadline: deadline(waitMilliseconds)) { name, fields in
                try heard(name, fields)
                guard arguments.has("json") else { return try event(name, fields) }
                var line: JSONObject = ["event": .string(name)]
                for member in fields.members { line[member.name] = member.value }
                Output.line(.object(line))
            }
            answered(answer)
            tell(answer, arguments, result)
        }
    }

    /// One page of the lock's status, or all of them as one: sorted by names, which no page is.
    static func status(_ page: PeripheralRequest.StatusPage?, arguments: ParsedArguments) throws -> ExitCode {
        try talking(.peripheral, arguments) { client in
            func ask(_ page: PeripheralRequest.StatusPage) throws -> JSONObject {
                try askPage(PeripheralRequest.statusPage(page), of: &client)
            }
            tell(try page.map(ask) ?? StatusPages.all(ask), arguments) { Output.fields($0) }
        }
    }

    /// One page of the lock's bonds, or all of them: page by page for people, and as one for programs.
    static func bonds(_ page: PeripheralRequest.StatusPage?, arguments: ParsedArguments) throws -> ExitCode {
        try talking(.peripheral, arguments) { client in
            func ask(_ page: PeripheralRequest.StatusPage) throws -> JSONObject {
                try askPage(PeripheralRequest.bondsPage(page), of: &client)
            }
            if page == nil, !arguments.has("json") { return try StatusPages.eachBonds(ask) { Output.fields($0) } }
            tell(try page.map(ask) ?? StatusPages.bonds(ask), arguments) { Output.fields($0) }
        }
    }

    /// One page of the lock's users, or all of them, as bonds are.
    static func users(_ page: PeripheralRequest.UsersPage?, arguments: ParsedArguments) throws -> ExitCode {
        var table = UserTable()
        func show(_ page: JSONObject) {
            for line in table.lines(of: page["users"]?.array ?? []) { Output.line(line) }
        }
        return try talking(.peripheral, arguments) { client in
            func ask(_ page: PeripheralRequest.UsersPage) throws -> JSONObject {
                try askPage(PeripheralRequest.usersPage(page), of: &client)
            }
            if page == nil, !arguments.has("json") { return try StatusPages.eachUsers(ask, show) }
            tell(try page.map(ask) ?? StatusPages.users(ask), arguments, show)
        }
    }

    /// However many pages there are, each is waited for as long as an answer is.
    private static func askPage(_ request: PeripheralRequest, of client: inout ControlClient) throws -> JSONObject {
        try client.ask(request, deadline: deadline(answerMilliseconds))
    }

    /// `body` has events from the daemon for as long as that lives.
    static func watching(
        _ role: StateDirectory.Role, _ arguments: ParsedArguments, _ body: (inout ControlClient) throws -> Void
    ) throws -> ExitCode {
        try talking(role, arguments) { client in
            do { try body(&client) } catch let failure as ControlFailure where failure.code == .stopping {
                throw Failure(.unavailable, "the daemon has ended, and so has the watch")
            } catch ControlClientError.closed {
                throw Failure(
                    .unavailable, "the daemon has gone, or has dropped this reader because it was too slow: begin anew")
            }
        }
    }

    static func tell(_ answer: JSONObject, _ arguments: ParsedArguments, _ text: (JSONObject) -> Void) {
        if arguments.has("json") { Output.line(["result": .object(answer)]) } else { text(answer) }
    }

    static func deadline(_ milliseconds: UInt64) -> Instant {
        Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: milliseconds)
    }

    static func talking(
        _ role: StateDirectory.Role, _ arguments: ParsedArguments, _ body: (inout ControlClient) throws -> Void
    ) throws -> ExitCode {
        let place = try ControlPlace(arguments, role: role)
        do {
            var client = try place.connect(role)
            try body(&client)
            return .ok
        } catch let error as ControlClientError {
            // Where nobody has said which daemon, nobody may be there because it was looked for in the wrong place.
            guard error.isNotRunning else { throw Failure(error.exitCode, error.description) }
            let doubt = place.doubt + (UserPlace(arguments, role: role)?.doubt ?? "")
            throw Failure(error.exitCode, error.description + doubt)
        } catch let failure as ControlFailure {
            throw Failure(failure.code.exitCode, failure.message)
        }
    }
}

extension ControlClientError {
    fileprivate var isNotRunning: Bool { if case .notRunning = self { true } else { false } }

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
        case .configuration: .configuration
        default: .refused
        }
    }
}
