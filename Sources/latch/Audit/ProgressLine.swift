import CLinux
import CommandInterface
import Glibc

/// How far a long command has come, in one line on a terminal's standard error, which goes when the command has ended. Nothing for
/// commands that are quick, and nothing where no person looks.
struct ProgressLine: ~Copyable {
    private static let patienceMilliseconds: UInt64 = 1_000
    private static let pauseMilliseconds: UInt64 = 200

    private let word: String
    /// nil: nobody looks.
    private var due: UInt64?
    private var isShown = false

    /// `word` says what is done.
    init(_ word: String) {
        self.word = word
        due = isatty(STDERR_FILENO) == 1 ? Self.now + Self.patienceMilliseconds : nil
    }

    mutating func show(_ part: UInt64, of whole: UInt64) {
        guard let due, Self.now >= due else { return }
        self.due = Self.now + Self.pauseMilliseconds
        isShown = true
        Output.prompt("\r" + Self.text(word, part, of: whole))
    }

    static func text(_ word: String, _ part: UInt64, of whole: UInt64) -> String {
        let percent = whole == 0 ? 100 : Int(Double(min(part, whole)) / Double(whole) * 100)
        return "\(word): record \(part) of \(whole), \(percent) %"
    }

    private static var now: UInt64 { latch_clock_nanoseconds(CLOCK_MONOTONIC) / 1_000_000 }

    deinit {
        // Back, and what stands there is cleared.
        if isShown { Output.prompt("\r\u{1B}[K") }
    }
}
