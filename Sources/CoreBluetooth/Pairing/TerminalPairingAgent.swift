import Foundation
import Glibc
import Synchronization

/// Asks at a terminal, one question after the other: `yes` or `no`, or six digits. For tools and for trying things out; an app with
/// windows has an agent of its own.
public final class TerminalPairingAgent: PairingAgent {
    private let input: Int32
    private let output: Int32
    /// A reader waits for a line: one at a time.
    private let readers = DispatchQueue(label: "CoreBluetooth.terminal")
    /// What was typed behind the last line that was taken.
    private let rest = Mutex<[UInt8]>([])

    /// An agent that reads lines from one descriptor and writes to another. They stay the caller's, and open. By default standard input
    /// and standard error.
    public init(input: Int32 = STDIN_FILENO, output: Int32 = STDERR_FILENO) {
        (self.input, self.output) = (input, output)
    }

    /// A terminal shows and takes everything.
    public var capability: PairingCapability { .keyboardDisplay }

    /// Asks for `yes`.
    public func confirm(_ pairing: PairingAttempt) async -> Bool {
        let what = pairing.replacesBond ? "wants to pair anew and give up its bond" : "wants to pair"
        let how =
            switch pairing.method {
            case .justWorks: " (nothing shows that it is the one you mean)"
            case .numericComparison: " (you will compare six digits)"
            case .passkeyEntry: " (with a passkey)"
            case .outOfBand, nil: ""
            }
        return await isYes("\(pairing.name) \(what)\(how). Allow it? [yes/no] ")
    }

    /// Writes the digits.
    public func show(_ passkey: String, for pairing: PairingAttempt) async {
        say("Type \(passkey) at \(pairing.name).\n")
    }

    /// Asks for the digits.
    public func enter(for pairing: PairingAttempt) async -> String? {
        await line("Digits that \(pairing.name) shows: ")
    }

    /// Asks for `yes`.
    public func compare(_ number: String, for pairing: PairingAttempt) async -> Bool {
        await isYes("Does \(pairing.name) show \(number)? [yes/no] ")
    }

    /// Says how it ended.
    public func done(_ pairing: PairingAttempt, error: (any Error)?) async {
        say(
            error.map { "Not paired with \(pairing.name): \($0.localizedDescription)\n" }
                ?? "Paired with \(pairing.name).\n")
    }

    private func isYes(_ question: String) async -> Bool {
        let answer = await line(question)?.trimmingCharacters(in: .whitespaces).lowercased()
        return answer == "yes" || answer == "y"
    }

    private func say(_ text: String) {
        let octets = Array(text.utf8)
        _ = octets.withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
    }

    /// The next line; nil at the input's end, and when the question is withdrawn.
    private func line(_ question: String) async -> String? {
        let withdrawal = Withdrawal()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                readers.async {
                    guard !withdrawal.isMade else { return continuation.resume(returning: nil) }
                    self.say(question)
                    continuation.resume(returning: self.readLine(unless: withdrawal))
                }
            }
        } onCancel: {
            withdrawal.make()
        }
    }

    /// A line is no longer than anybody types.
    private static let lineOctetsMaximum = 1_024

    private func readLine(unless withdrawal: Withdrawal) -> String? {
        var line = rest.withLock { $0 }
        defer { rest.withLock { $0 = line } }
        while true {
            if let end = line.firstIndex(of: 0x0A) {
                let text = String(decoding: line[..<end], as: UTF8.self)
                line.removeSubrange(...end)
                return text
            }
            guard line.count < Self.lineOctetsMaximum, withdrawal.isAwaited(input) else {
                line = []
                return nil
            }
            var octets = [UInt8](repeating: 0, count: Self.lineOctetsMaximum)
            let count = read(input, &octets, octets.count)
            guard count > 0 else { return nil }
            line += octets.prefix(count)
        }
    }
}

extension PairingAttempt {
    fileprivate var name: String { peer.uuidString }
}

/// That a question is not asked any more, as something that a thread can wait for beside its input.
private final class Withdrawal: Sendable {
    private let pipe = Pipe()
    private let made = Mutex(false)

    var isMade: Bool { made.withLock { $0 } }

    func make() {
        made.withLock { $0 = true }
        try? pipe.fileHandleForWriting.write(contentsOf: [0])
    }

    /// True once there is something to read, or an end; false when the question is withdrawn before.
    func isAwaited(_ input: Int32) -> Bool {
        let told = pipe.fileHandleForReading.fileDescriptor
        var waiting = [input, told].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&waiting, 2, -1) < 0 { guard errno == EINTR else { return false } }
        return waiting[1].revents == 0
    }
}
