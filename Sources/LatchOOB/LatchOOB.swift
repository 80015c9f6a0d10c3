import CLinux
import CSystemBus
import CommandInterface
import Glibc
import SetupCodeGiving

/// The one thing of a pairing that an ordinary user may not do: a program of its own, with the one capability that it takes.
@main
struct LatchOOB {
    static func main() { program.main(Array(CommandLine.arguments.dropFirst())) }

    static var program: CommandProgram {
        CommandProgram(
            name: "latch-oob", summary: "Gives the kernel a lock's setup code, so that bluetoothd pairs by it.",
            commands: [answer] + ReferenceCommands.all(of: "latch-oob") { Self.program },
            examples: ["latch-oob answer --anyone"],
            exitStatuses: [ExitCode.ok, .refused, .usage].map { ($0, $0.meaning) },
            elsewhere: ["central": "latch", "peripheral": "latch"])
    }

    static let answer = CommandSpec(
        path: ["answer"], summary: "Answer whoever is connected to standard input, once.",
        details: [
            "For a unit that is activated by its socket. Root is answered, and the user of the active session of a seat of the machine: "
                + "nobody who has come over a network. "
                + "What comes is a setup code and the number of an adapter, and nothing else is done with them."
        ],
        options: [.flag("anyone", "Answer whoever can reach the socket: its mode and its group say who that is.")],
        examples: ["latch-oob answer", "latch-oob answer --anyone"]
    ) { arguments in
        var user: uid_t = 0
        guard latch_peer_user(STDIN_FILENO, &user) == 0 else {
            throw Failure(
                .usage, "standard input is no connection of a local socket: latch-oob.socket starts this for each")
        }
        guard latch_forbid_dumps() == 0 else { throw Failure(.refused, "dumps of a crash cannot be forbidden") }
        let helper = Helper(connection: STDIN_FILENO, kernel: ManagementSocket())
        let result = helper.answer(allows: { arguments.has("anyone") || isAllowed($0) })
        return result == .given ? .ok : .refused
    }

    private static func isAllowed(_ user: uid_t) -> Bool { user == 0 || latch_login_is_at_seat(user) == 1 }
}
