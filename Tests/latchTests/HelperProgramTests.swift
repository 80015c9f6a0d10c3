import CommandInterface
import Foundation
import SetupCodeGiving
import TestSupport
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

    /// What logind says of a user, in a file of libsystemd's; nil: nobody of this number is logged in.
    enum Login: String, CaseIterable {
        case nobody = ""
        /// Every session without a seat counts as active.
        case overNetwork = "STATE=active\nSESSIONS=3\nACTIVE_SESSIONS=3\nSEATS=\nACTIVE_SEATS=\nONLINE_SEATS=\n"
        case behindAnother = "STATE=online\nSESSIONS=3\nSEATS=seat0\nACTIVE_SEATS=\nONLINE_SEATS=seat0\n"
        case atSeat = "STATE=active\nSESSIONS=3\nSEATS=seat0\nACTIVE_SEATS=seat0\nONLINE_SEATS=seat0\n"
    }

    @Test(
        "It answers root, and the user of a seat's active session: nobody who has come over a network, or sits behind another",
        arguments: [0, 1_000], Login.allCases)
    func answered(user: Int, login: Login) throws {
        // A user of this number, by a namespace, and what logind says there.
        let helper = try ChildProcess(
            [
                "/usr/bin/unshare", "--user", "--map-user=\(user)", "--map-group=\(user)", "--keep-caps", "--mount",
                "/bin/sh", "-c",
                #"mount -t tmpfs none /run && mkdir -p /run/systemd/users && if [ -n "$2" ]; then printf "$2" >"/run/systemd/users/$1"; fi && exec "$0" answer"#,
                Program.helper, "\(user)", login.rawValue,
            ], environment: Program.environment)
        // It is no code, which is the first thing that somebody who is answered hears.
        helper.input.write(Data([0]))
        let answer = GivingAnswer(Array(helper.input.readData(ofLength: 2)))
        let errors = String(decoding: helper.errors.readDataToEndOfFile(), as: UTF8.self)
        #expect(answer == (user == 0 || login == .atSeat ? .malformed : .notAllowed), "\(errors)")
    }
}
