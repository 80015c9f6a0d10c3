import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Foundation
import Glibc
import Testing

@testable import latch

/// What an operator is told holds, whatever happens next.
@Suite("Daemons: what operators are told", .serialized)
struct OperatorTests {
    private static var deadline: Instant {
        Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: 30_000)
    }

    /// A connection that the daemon has taken.
    private static func connect(_ bench: Bench) throws -> ControlClient {
        var client = try ControlClient(connectingTo: bench.path("lock") + "/peripheral.sock")
        try client.send(PeripheralRequest.status, deadline: deadline)
        _ = try client.next(deadline: deadline)
        return client
    }

    @Test("disable refuses the next command, enable takes it back, remove leaves nothing; each says what it did")
    func revocation() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        func administer(_ act: String, _ name: String = "anna") throws -> Program.Outcome {
            try bench.latch("peripheral", act, "lock", ["--credential", name])
        }
        let unlock = { try bench.latch("central", "unlock", "key") }
        #expect(try administer("disable").output == "anna: disabled\n")
        #expect(try administer("disable").output == "anna: disabled already\n")
        let refused = try unlock()
        #expect(refused.status == ExitCode.refused.rawValue && refused.errors.contains("not permitted"), "\(refused)")
        let status = try bench.latch("peripheral", "status", "lock").output
        #expect(status.contains("enabled: false") && status.contains("bolt: locked"))
        let unknown = try administer("remove", "ana")
        #expect(unknown.status == ExitCode.refused.rawValue)
        #expect(unknown.errors == "latch: no credential is called \"ana\": there are anna\n")
        #expect(try bench.latch("peripheral", "remove", "lock").status == ExitCode.usage.rawValue)

        #expect(try administer("enable").output == "anna: enabled\n")
        #expect(try unlock().status == 0)
        try bench.succeed("central", "lock", "key")
        let removal = try bench.latch("peripheral", "remove", "lock", ["--credential", "anna", "--json"])
        #expect(removal.output.contains(#""state":"removed""#), "\(removal)")
        #expect(try bench.roles().isEmpty)
        // Nobody answers any more.
        #expect(try bench.latch("central", "unlock", "key", ["--wait", "3"]).status != 0)
        #expect(try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked"))
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
        #expect(try bench.latch("state", "check", "lock").output.contains("faults: []"))
        let kept = try bench.latch("state", "inspect", "lock", ["--json"]).output
        #expect(!kept.contains("anna"), "but for the audit, whose records are octets")
    }

    @Test("bonds are listed, and deleted where no credential names them; each refusal names the remedy")
    func bonds() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        let list = try bench.latch("peripheral", "bonds", "lock")
        #expect(list.status == 0 && list.output.contains("credential: anna"), "\(list)")
        #expect(list.output.contains("state: confirmed"))
        #expect(
            try bench.latch("peripheral", "bonds", "lock", ["--limit", "1", "--json"]).output.contains("\"next\":\"p"))
        let bond = try #require(list.output.firstMatch(of: /bond: ([0-9a-f]+)/)?.1)
        func delete(_ bond: String) throws -> Program.Outcome {
            try Program.run(["peripheral", "bonds", "delete", "--state", bench.path("lock"), "--bond", bond])
        }
        let refused = try delete(String(bond))
        #expect(refused.status == ExitCode.refused.rawValue)
        #expect(refused.errors.contains("`latch peripheral remove --credential anna`"), "\(refused)")
        #expect(try delete("12ab").errors == "latch: there is no bond 12ab: `latch peripheral bonds` lists them\n")
        for text in ["anna", "+12ab", "-0"] { #expect(try delete(text).errors.contains("hexadecimal"), "\(text)") }
        let wrong = try bench.latch("peripheral", "bonds", "lock", ["--after", "x"])
        #expect(wrong.status == ExitCode.refused.rawValue && wrong.errors.contains("\"next\""), "\(wrong)")
        try bench.succeed("central", "unlock", "key")
        #expect(lock.end() == 0 && key.end() == 0)
    }

    @Test("a status says nothing of a credential whose commit never came")
    func uncommitted() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        var operatorWindow = try Self.connect(bench)
        var reader = try Self.connect(bench)
        // Both requests are there when the daemon goes on: one iteration makes a credential and is asked what there is. The
        // first write of its commit ends it.
        Glibc.kill(lock.pid, SIGSTOP)
        let enrolment = PeripheralRequest.Enrolment(credential: "anna", method: .oob, role: .owner, seconds: 60)
        try operatorWindow.send(PeripheralRequest.enroll(enrolment), deadline: Self.deadline)
        try reader.send(PeripheralRequest.status, deadline: Self.deadline)
        let limit = ["--pid", "\(lock.pid)", "--fsize=0"]
        #expect(try Program.run(limit, of: "/usr/bin/prlimit").status == 0)
        Glibc.kill(lock.pid, SIGCONT)
        let told = try? reader.next(deadline: Self.deadline)
        #expect(told == nil, "\(String(describing: told))")
        _ = lock.end(signalling: false)
        #expect(try !bench.latch("state", "inspect", "lock").output.contains("anna"))
    }
}
