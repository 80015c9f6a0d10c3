import BluetoothCore
import SecurityManager
import Testing

@Suite("Repeated attempts, Vol 3 Part H 2.3.6")
struct RepeatedAttemptsTests {
    private let peer = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)

    private func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("Each failure doubles the wait, up to the last")
    func doubling() {
        var attempts = RepeatedAttempts()
        var now: UInt64 = 5
        #expect(attempts.waits(peer, at: at(now)) == nil)
        for expected: UInt64 in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096] {
            attempts.failed(peer, at: at(now))
            #expect(attempts.waits(peer, at: at(now)) == at(now + expected * 1_000))
            #expect(attempts.waits(peer, at: at(now + expected * 1_000 - 1)) != nil)
            now += expected * 1_000
            #expect(attempts.waits(peer, at: at(now)) == nil)
        }
    }

    @Test("Quiet spells halve it, and after enough of them the first wait is the first again")
    func decay() {
        var attempts = RepeatedAttempts()
        for _ in 0..<4 { attempts.failed(peer, at: at(0)) }
        let end: UInt64 = 8_000
        var quiet = attempts
        quiet.failed(peer, at: at(end + RepeatedAttempts.quietMilliseconds - 1))
        #expect(quiet.waits(peer, at: at(end + RepeatedAttempts.quietMilliseconds + 15_000)) != nil)
        quiet = attempts
        let later = end + RepeatedAttempts.quietMilliseconds
        quiet.failed(peer, at: at(later))
        #expect(quiet.waits(peer, at: at(later)) == at(later + 8_000))
        quiet = attempts
        let muchLater = end + 4 * RepeatedAttempts.quietMilliseconds
        quiet.failed(peer, at: at(muchLater))
        #expect(quiet.waits(peer, at: at(muchLater)) == at(muchLater + 1_000))
        attempts.failed(peer, at: Instant(nanoseconds: .max))
        #expect(attempts.waits(peer, at: Instant(nanoseconds: .max)) == nil, "the clock's end traps nothing")
    }

    @Test("A pairing that succeeds forgets the failures before it, and only that peer's")
    func success() {
        var attempts = RepeatedAttempts()
        let other = DeviceAddress(kind: .random, bits: 0xC000_0000_0002)
        for claimant in [peer, peer, other] { attempts.failed(claimant, at: at(0)) }
        attempts.succeeded(peer)
        #expect(attempts.waits(peer, at: at(1)) == nil)
        #expect(attempts.waits(other, at: at(1)) == at(1_000))
        attempts.failed(peer, at: at(1))
        #expect(attempts.waits(peer, at: at(1)) == at(1_001))
    }

    @Test("One claimant past the bound: the table does not grow, and the one whose wait ends first gives way")
    func bound() {
        var attempts = RepeatedAttempts()
        attempts.failed(peer, at: at(0))
        for _ in 0..<3 { attempts.failed(peer, at: at(0)) }
        for number in 0..<UInt64(RepeatedAttempts.claimantsMaximum) {
            attempts.failed(DeviceAddress(kind: .random, bits: 0xC100_0000_0000 + number), at: at(number))
        }
        #expect(attempts.count == RepeatedAttempts.claimantsMaximum)
        #expect(attempts.waits(peer, at: at(100)) != nil, "who failed often stays")
        #expect(attempts.waits(DeviceAddress(kind: .random, bits: 0xC100_0000_0000), at: at(100)) == nil)
    }
}
