import BluetoothCore
import BluetoothHost
import Foundation
import Glibc
import HCITransport
import LockCentral
import TestSupport
import Testing

@testable import latch

@Suite("A program that has to agree", .serialized, .timeLimit(.minutes(30)))
struct ApproachProgramTests {
    private final class Bench {
        let directory: TemporaryDirectory
        let loop: EventLoop
        let program: ApproachProgram
        private(set) var answers: [(approach: Approach, refusal: String?)] = []

        init(_ script: String, timeoutMilliseconds: UInt64 = 60_000) throws {
            directory = try TemporaryDirectory()
            // One that no other test's thread minds.
            loop = try EventLoop(signals: [SIGUSR2])
            let path = directory.path + "/agree"
            try ChildProcess.writeScript("cd \"$(dirname \"$0\")\"\n" + script, to: path)
            program = try ApproachProgram(path: path, timeoutMilliseconds: timeoutMilliseconds, loop: loop)
            program.answered = { [unowned self] in answers.append(($0, $1)) }
        }

        func text(_ name: String) -> String {
            (try? String(contentsOfFile: directory.path + "/" + name, encoding: .utf8)) ?? ""
        }

        func run(until count: Int) throws {
            guard answers.count < count else { return }
            try loop.run { answers.count < count ? .wait : .stop }
        }
    }

    private static func approach(_ number: UInt128) -> Approach {
        Approach(
            peer: PeerIdentifier(bits: number), until: Instant(nanoseconds: 1),
            policy: ApproachPolicy(asksFirst: false, needsUser: false, asksProgram: true))
    }

    @Test("It reads which lock it is, and agrees by status 0 alone; each lock's process runs in its turn")
    func turns() throws {
        let bench = try Bench("cat >> lines; case \"$(tail -n 1 lines)\" in *Back*) exit 3;; esac")
        bench.program.ask(Self.approach(1), lock: "Front \"door\"")
        bench.program.ask(Self.approach(2), lock: "Back door")
        bench.program.ask(Self.approach(3), lock: "Garage")
        try bench.run(until: 3)
        #expect(bench.answers.map(\.approach) == [1, 2, 3].map(Self.approach))
        #expect(bench.answers.map { $0.refusal == nil } == [true, false, true])
        let refusal = try #require(bench.answers[1].refusal)
        #expect(refusal.hasPrefix(bench.directory.path) && refusal.hasSuffix("does not agree: it ended with status 3"))
        let lines = bench.text("lines").split(separator: "\n")
        #expect(
            lines.count == 3 && lines[0].contains(#""lock":"Front \"door\"""#)
                && lines[0].contains(#""event":"approach""#))
    }

    @Test("What takes too long, what cannot be started and what is ended by a signal does not agree")
    func ends() throws {
        let slow = try Bench("sleep 1000", timeoutMilliseconds: 300)
        slow.program.ask(Self.approach(1), lock: "a")
        try slow.run(until: 1)
        #expect(slow.answers.first?.refusal?.contains("did not end in 300 ms") == true)
        let killed = try Bench("kill -KILL $$")
        killed.program.ask(Self.approach(1), lock: "a")
        try killed.run(until: 1)
        #expect(killed.answers.first?.refusal?.contains("signal 9") == true)
        let gone = try Bench("exit 0")
        unlink(gone.directory.path + "/agree")
        gone.program.ask(Self.approach(1), lock: "a")
        gone.program.ask(Self.approach(2), lock: "b")
        try gone.run(until: 2)
        #expect(
            gone.answers.count == 2 && gone.answers.allSatisfy { $0.refusal?.contains("cannot be started") == true })
    }

    @Test("Of what nobody has to decide any more nothing is said, whether its process runs or waits")
    func withdrawn() throws {
        let bench = try Bench("while [ ! -e go ]; do sleep 0.01; done")
        for number in [1, 2, 3] as [UInt128] { bench.program.ask(Self.approach(number), lock: "\(number)") }
        bench.program.withdraw(Self.approach(1))
        bench.program.withdraw(Self.approach(2))
        try Data().write(to: URL(fileURLWithPath: bench.directory.path + "/go"))
        try bench.run(until: 1)
        #expect(bench.answers.map(\.approach) == [Self.approach(3)])
    }
}
