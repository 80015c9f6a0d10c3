import CommandInterface
import Testing

@testable import latch

@Suite("The helper that gives setup codes, as a program")
struct HelperProgramTests {
    @Test("Whoever starts it by hand is told what does that")
    func byHand() throws {
        // A pipe, as in a shell: what tests give a program to read is a socket.
        let outcome = try Program.run(["-c", #"echo x | "$0" answer --anyone"#, Program.helper], of: "/bin/sh")
        #expect(outcome.status == ExitCode.usage.rawValue && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errorLines.count == 1 && outcome.errors.contains("latch-oob.socket"), "\(outcome)")
    }

    @Test("A word that it does not know is refused in one line", arguments: [[], ["give"], ["answer", "--bogus"]])
    func wrongWords(words: [String]) throws {
        let outcome = try Program.run(words, of: Program.helper)
        #expect(outcome.status == ExitCode.usage.rawValue && outcome.errorLines.count == 1, "\(outcome)")
    }
}
