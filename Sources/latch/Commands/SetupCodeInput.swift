import CLinux
import CommandInterface
import DaemonControl
import Glibc
import LockProtocol

/// Reads a setup code from where no other user can see it.
enum SetupCodeInput {
    static let maximumOctets = 256

    static func read(file: String?, namesStandardInput: Bool) throws(Failure) -> SecretText {
        if let file {
            guard !namesStandardInput else {
                throw Failure(.usage, "`-` and option `--code-file` are two sources of one code: keep one of them")
            }
            return try code(try text(file))
        }
        return try code(try standardInput())
    }

    private static func text(_ file: String) throws(Failure) -> String {
        do throws(SmallFile.ReadError) {
            return try SmallFile.readText(file, maximumOctets: maximumOctets)
        } catch {
            throw Failure(.usage, "option `--code-file`: \(reason(error, source: file))")
        }
    }

    private static func standardInput() throws(Failure) -> String {
        let terminal = TerminalEcho(prompt: "Setup code (not shown): ")
        do throws(SmallFile.ReadError) {
            let octets =
                try terminal.isTerminal
                ? SmallFile.readLine(descriptor: STDIN_FILENO, maximumOctets: maximumOctets)
                : SmallFile.readOctets(descriptor: STDIN_FILENO, maximumOctets: maximumOctets)
            guard let text = String(validating: octets, as: UTF8.self) else { throw .notUTF8 }
            return text
        } catch {
            throw Failure(.usage, "the setup code on standard input: \(reason(error, source: "it"))")
        }
    }

    /// Reads it here too, so that a slip of the hand is told to whoever made it before anything is asked of the daemon.
    private static func code(_ text: String) throws(Failure) -> SecretText {
        do throws(SetupCodeError) {
            return SecretText(try SetupCode(parsing: text).text)
        } catch {
            throw Failure(.usage, "\(error); give exactly what `latch peripheral enroll` printed")
        }
    }

    private static func reason(_ error: SmallFile.ReadError, source: String) -> String {
        switch error {
        case .system(let number): "\(source) cannot be read: \(String(cString: strerror(number)))"
        case .tooLarge: "\(source) is longer than \(maximumOctets) octets, and no setup code is"
        case .notUTF8: "\(source) is not text"
        }
    }
}

/// Prompts, and keeps a terminal from showing what is typed for as long as it lives.
private struct TerminalEcho: ~Copyable {
    let isTerminal: Bool
    private var saved = termios()

    init(prompt: String) {
        isTerminal = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &saved) == 0
        guard isTerminal else { return }
        Output.prompt(prompt)
        var silent = saved
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    }

    deinit {
        guard isTerminal else { return }
        var restored = saved
        tcsetattr(STDIN_FILENO, TCSANOW, &restored)
        Output.prompt("\n")
    }
}
