import CommandInterface
import Testing

/// A key without its lock.
@Suite("Daemons: how long an enrolment is waited for", .timeLimit(.minutes(30)))
struct EnrolmentWaitTests {
    /// Of no lock here.
    private static let code = "LATCH1:070128-HK8HAH-048J2C-A1A5GQ-30CHM6-RW3MF1-Z851MA-HT99D6-MYMAKA-NBNJPT-XBV5X8"

    @Test("A lock that is out of reach for the operator's time is told by the key, with what to do")
    func unheard() throws {
        let bench = try Bench()
        let key = try bench.start("central", "key")
        let outcome = try bench.latch("central", "enroll", "key", ["--seconds", "1", "-"], input: Self.code)
        #expect(outcome.status == ExitCode.unavailable.rawValue, "\(outcome)")
        #expect(outcome.errors.contains("the lock was not heard in time: go nearer"), "\(outcome)")
        #expect(key.end() == 0)
    }
}
