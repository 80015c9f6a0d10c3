import BluetoothCore
import BluetoothHost
import Testing

/// Holds the value, so that an expectation may ask it.
private final class Contested {
    var peers = ContestedPeers()
}

@Suite("Peers that somebody else answers for")
struct ContestedPeersTests {
    private let lock = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func place(_ number: Int) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0x4000_0000_0000 + UInt64(number))
    }

    private func after(_ milliseconds: UInt64) -> Instant { start.advanced(byMilliseconds: milliseconds) }

    private func isTried(
        _ contested: Contested, _ address: DeviceAddress, _ milliseconds: UInt64, busy: Set<DeviceAddress> = []
    ) -> Bool { contested.peers.heard(lock, at: address, now: after(milliseconds)) { busy.contains($0) } }

    @Test("A peer that nobody contests is connected under whatever address it is heard")
    func uncontested() {
        let contested = Contested()
        #expect(isTried(contested, place(1), 0) && contested.peers.isEmpty && contested.peers.deadline == nil)
    }

    @Test("Where a link was lost is tried again when no other address was heard in a while, and not before")
    func alone() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        #expect(!isTried(contested, place(1), ContestedPeers.listeningMilliseconds - 1))
        #expect(isTried(contested, place(1), ContestedPeers.listeningMilliseconds))
    }

    @Test("Another address is tried at once, and where a link was lost goes to the end of the queue")
    func queue() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        #expect(isTried(contested, place(2), 10))
        contested.peers.lost(lock, at: place(2), now: after(300))
        #expect(isTried(contested, place(1), 400), "it failed longest ago")
        #expect(!isTried(contested, place(2), 401))
        contested.peers.lost(lock, at: place(1), now: after(500))
        #expect(!isTried(contested, place(1), 510) && isTried(contested, place(2), 511))
    }

    @Test("An address that is not heard any more keeps nobody waiting")
    func stale() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        #expect(isTried(contested, place(2), 10))
        #expect(!isTried(contested, place(1), 10 + ContestedPeers.freshMilliseconds))
        #expect(isTried(contested, place(1), 11 + ContestedPeers.freshMilliseconds))
    }

    @Test("To an address with a link there is no second one, and it keeps no other from its turn")
    func busy() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        #expect(isTried(contested, place(2), 300))
        #expect(!isTried(contested, place(2), 301, busy: [place(2)]))
        #expect(isTried(contested, place(1), 302, busy: [place(2)]))
    }

    @Test("Recorded addresses: where the peer itself was met last comes first, for as long as no link was lost there")
    func home() {
        let contested = Contested()
        contested.peers.proven(lock, at: place(7))
        contested.peers.lost(lock, at: place(1), now: start)
        #expect(isTried(contested, place(2), 10), "home has not been heard yet")
        #expect(isTried(contested, place(7), 20))
        #expect(!isTried(contested, place(2), 30) && !isTried(contested, place(3), 31))
        contested.peers.lost(lock, at: place(7), now: after(40))
        #expect(isTried(contested, place(2), 50))
    }

    @Test("A peer that has proven itself is contested no more, nor one whose last link was lost long ago")
    func ends() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        contested.peers.proven(lock, at: place(2))
        #expect(!contested.peers.contains(lock))
        contested.peers.lost(lock, at: place(1), now: start)
        contested.peers.expire(now: after(ContestedPeers.lifeMilliseconds - 1))
        #expect(contested.peers.contains(lock) && contested.peers.deadline == after(ContestedPeers.lifeMilliseconds))
        contested.peers.expire(now: after(ContestedPeers.lifeMilliseconds))
        #expect(contested.peers.isEmpty)
    }

    @Test("A peer is given up as contested when the controller cannot do what that takes")
    func givenUp() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        contested.peers.giveUp(lock)
        #expect(contested.peers.isEmpty)
    }

    @Test("As many addresses as may be are told apart; of one more, the one heard longest ago is forgotten")
    func addresses() {
        let contested = Contested()
        for number in 0..<ContestedPeers.addressesMaximum {
            contested.peers.lost(lock, at: place(number), now: after(UInt64(number)))
        }
        let now: UInt64 = 900
        #expect(isTried(contested, place(0), now), "it failed longest ago, and is known to have")
        #expect(!isTried(contested, place(1), now))
        // One more: place(2) is the one that was not heard for longest.
        contested.peers.lost(lock, at: place(99), now: after(now))
        #expect(isTried(contested, place(2), now + 1), "as if it had never failed")
    }

    @Test("As many peers as may be are contested; of one more, the one whose link was lost longest ago is not")
    func peers() {
        let contested = Contested()
        for number in 0...ContestedPeers.peersMaximum {
            contested.peers.lost(place(number), at: place(number), now: after(UInt64(number)))
        }
        let known = (0...ContestedPeers.peersMaximum).filter { contested.peers.contains(place($0)) }
        #expect(known.count == ContestedPeers.peersMaximum)
        #expect(!contested.peers.contains(place(0)) && contested.peers.contains(place(ContestedPeers.peersMaximum)))
    }
}
