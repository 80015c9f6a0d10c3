import CLinux
import Glibc

/// Apple's API and the host under it, driven by lines of JSON: whatever a suite wants of our side of a link.
///
///     InteropPeer --transport ADDRESS --database FILE [--restore ID] [--name NAME] [--mtu OCTETS] [--capture FILE]
///                 [--pairing RULE,…] [--io CAPABILITY]
///
/// Rules of pairings that no window and no request pins, which are refused without them: `level=2` to `level=4`, `renews`,
/// `offers` (out of band), `legacy`, `legacyAlone`, `legacyKey=` with 32 digits. With a capability the script is asked what its user would be.
///
/// A command is a line on standard input, `{"id": 1, "do": "scan", …}`, and its answer a line on standard output with
/// the same id: `result`, `refused` when it makes no sense, `failed` when it could not be done. Everything that a
/// delegate hears is a line with an `event`. Nothing is written before it is on disk. The process ends with its input.
@main
enum InteropPeer {
    static func main() {
        signal(SIGPIPE, SIG_IGN)
        do {
            let runtime = try PeerRuntime(try PeerOptions(Array(CommandLine.arguments.dropFirst())))
            try runtime.run()
        } catch {
            try? Descriptor.write("InteropPeer: \(error)\n", to: STDERR_FILENO)
            exit(1)
        }
    }
}
