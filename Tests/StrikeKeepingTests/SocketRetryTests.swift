import BluetoothCore
import CommandInterface
import Testing

@testable import StrikeKeeping

@Suite("The keeper of a strike: a socket that cannot be had")
struct SocketRetryTests {
    private static let taken = Failure(.unavailable, "taken")
    private static let unwritable = Failure(.unavailable, "unwritable")

    @Test("Each pause is twice the one before, up to the longest; when the socket is there they begin anew")
    func pauses() {
        var retry = SocketRetry()
        #expect(retry.next == nil)
        var now = Instant(nanoseconds: 7)
        for milliseconds: UInt64 in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000] {
            _ = retry.failed(Self.taken, now: now)
            #expect(retry.next == now.advanced(byMilliseconds: milliseconds))
            now = retry.next ?? now
        }
        _ = retry.succeeded()
        #expect(retry.next == nil)
        _ = retry.failed(Self.taken, now: now)
        #expect(retry.next == now.advanced(byMilliseconds: SocketRetry.pause.firstMilliseconds))
    }

    @Test("The operator hears each reason once, and that the socket is there where there was one")
    func told() {
        var retry = SocketRetry()
        let now = Instant(nanoseconds: 0)
        #expect(retry.succeeded() == nil)
        #expect(retry.failed(Self.taken, now: now) == "taken; it is tried again")
        #expect(retry.failed(Self.taken, now: now) == nil)
        #expect(retry.failed(Self.unwritable, now: now) == "unwritable; it is tried again")
        #expect(retry.failed(Self.unwritable, now: now) == nil)
        #expect(retry.succeeded() == "the socket is there")
        #expect(retry.succeeded() == nil)
        #expect(retry.failed(Self.taken, now: now) == "taken; it is tried again")
    }
}
