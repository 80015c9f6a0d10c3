import BluetoothCore
import BluetoothCrypto
import CommandInterface
import Glibc

/// What is installed beside a door and on a laptop.
@main
struct Latch {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        program(Commands.candidates(for: words)).main(words)
    }

    static func program(_ commands: [CommandSpec] = Commands.all) -> CommandProgram {
        CommandProgram(
            name: "latch", summary: "Locks and keys over Bluetooth LE that survive SIGKILL at any instruction.",
            commands: commands,
            examples: [
                "latch peripheral run --config /etc/latch/peripheral.conf",
                "latch peripheral enroll --state /var/lib/latch --credential anna --role owner",
                "latch central unlock --state /var/lib/latch-key --wait 10",
            ],
            exitStatuses: ExitCode.allCases.map { ($0, $0.meaning) },
            elsewhere: [
                "radio": "latch-lab", "drill": "latch-lab", "restarts": "latch-lab", "power": "latch-lab",
                "disk": "latch-lab", "door": "latch-lab", "day": "latch-lab", "proximity": "latch-lab",
            ],
            prepare: OpenSSLPreparation.run)
    }
}
