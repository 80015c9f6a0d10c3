import Glibc
import Simulation
import Testing
import VirtualRadio

@testable import WorldSupport

/// Tests that fail in the processes that `CaptureProcessTests` starts, and in no other.
@Suite("A test that fails, in each way, and one that does not", .capturesFailures) struct CaptureExampleTests {
    static let variable = "LATCH_TEST_CAPTURE_PLANT"

    private struct Planted: Error {}

    /// Kept by the suite, as most worlds are.
    private let world = World()
    private let isPlanted = getenv("LATCH_TEST_CAPTURE_PLANT") != nil

    init() {
        world.add("lock", seed: 1).launch { _ in }
        world.run(forMilliseconds: 100)
    }

    @Test func expectation() { #expect(!isPlanted) }

    @Test func requirement() throws { try #require(!isPlanted) }

    @Test func error() throws { if isPlanted { throw Planted() } }

    @Test(arguments: 1...3) func `one case of three`(number: Int) { #expect(!isPlanted || number != 2) }

    @Test func passing() { #expect(world.radio.now > 0) }

    @Test func known() { if isPlanted { withKnownIssue { Issue.record("planted") } } }

    /// As in a suite that lacks the trait.
    @Test func unmarked() { if isPlanted { CaptureScope.$current.withValue(nil) { _ = SharedAir() } } }
}
