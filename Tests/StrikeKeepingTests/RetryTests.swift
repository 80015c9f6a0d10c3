import BluetoothCore
import CommandInterface
import Testing

@testable import StrikeKeeping

@Suite("The keeper of a strike: what the system does not give at present")
struct RetryTests {
    private static let taken = Failure(.unavailable, "taken")
    private static let unwritable = Failure(.unavailable, "unwritable")

    @Test("Each pause is twice the one before, up to the longest; when it is given they begin anew")
    func pauses() {
        var retry = Retry()
        #expect(retry.next == nil)
        var now = Instant(nanoseconds: 7)
        for milliseconds: UInt64 in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000] {
            _ = retry.failed(Self.taken, now: now)
            #expect(retry.next == now.advanced(byMilliseconds: milliseconds))
            now = retry.next ?? now
        }
        _ = retry.succeeded("there")
        #expect(retry.next == nil)
        _ = retry.failed(Self.taken, now: now)
        #expect(retry.next == now.advanced(byMilliseconds: Retry.pause.firstMilliseconds))
    }

    @Test("The operator hears each reason once, and that it is over where there was one")
    func told() {
        var retry = Retry()
        let now = Instant(nanoseconds: 0)
        #expect(retry.succeeded("there") == nil)
        #expect(retry.failed(Self.taken, now: now) == "taken; it is tried again")
        #expect(retry.failed(Self.taken, now: now) == nil)
        #expect(retry.failed(Self.unwritable, now: now) == "unwritable; it is tried again")
        #expect(retry.failed(Self.unwritable, now: now) == nil)
        #expect(retry.succeeded("there") == "there")
        #expect(retry.succeeded("there") == nil)
        #expect(retry.failed(Self.taken, now: now) == "taken; it is tried again")
    }
}
