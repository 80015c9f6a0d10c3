import BluetoothCore
import CLinux
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
