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

    // MARK: Attacks with many addresses

    /// Runs attempts until one is at `address`, which advertises every 100 ms, while `strangers` says who else is heard at
    /// a millisecond. Each attempt lasts a second and comes to nothing. The number of attempts at others before it; nil
    /// when there were more than there may be.
    private func attempts(
        before address: DeviceAddress, _ contested: Contested, _ strangers: (UInt64) -> [DeviceAddress]
    ) -> Int? {
        var count = 0
        var attempt: (address: DeviceAddress, end: UInt64)?
        for millisecond in 1...UInt64(ContestedPeers.attemptsMaximum + 2) * 2_000 {
            if let over = attempt, over.end == millisecond {
                contested.peers.lost(lock, at: over.address, now: after(millisecond))
                attempt = nil
            }
            for heard in strangers(millisecond) + (millisecond % 100 == 0 ? [address] : []) {
                guard isTried(contested, heard, millisecond), attempt == nil else { continue }
                contested.peers.tried(lock)
                if heard == address { return count }
                count += 1
                attempt = (heard, millisecond + 1_000)
            }
            if count > ContestedPeers.attemptsMaximum { return nil }
        }
        return nil
    }

    @Test(
        "Attack: addresses that are heard once each, without end, keep one that goes on advertising waiting for one attempt"
    )
    func onceHeard() {
        for isHome in [false, true] {
            let contested = Contested()
            if isHome { contested.peers.proven(lock, at: place(7)) }
            contested.peers.lost(lock, at: place(7), now: start)
            // It failed once, by chance; now there is always one that was never tried.
            let before = attempts(before: place(7), contested) {
                isHome || $0 % 20 == 0 ? [self.place(1_000 + Int($0))] : []
            }
            #expect(before == 1)
        }
    }

    @Test(
        "Attack: new addresses without end, each heard a few times, keep a new one that goes on waiting for a bounded time"
    )
    func neverTried() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        // One at a time, 20 ms apart for 200 ms.
        let before = attempts(before: place(7), contested) { $0 % 20 == 0 ? [self.place(1_000 + Int($0 / 200))] : [] }
        #expect(before.map { $0 <= ContestedPeers.attemptsMaximum } == true, "\(String(describing: before))")
    }

    @Test("Attack: as many addresses as are told apart, all of them steady: each has its turn within the bound")
    func steady() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        contested.peers.lost(lock, at: place(7), now: start)
        let others = (1..<ContestedPeers.addressesMaximum).map { place(100 + $0) }
        let before = attempts(before: place(7), contested) { $0 % 20 == 0 ? others : [] }
        #expect(before.map { $0 <= ContestedPeers.attemptsMaximum } == true, "\(String(describing: before))")
    }

    @Test("Attack: more addresses than are told apart: where the peer itself was met last has every third attempt")
    func homeAmongMany() {
        let contested = Contested()
        contested.peers.proven(lock, at: place(7))
        contested.peers.lost(lock, at: place(7), now: start)
        let others = (0..<3 * ContestedPeers.addressesMaximum).map { place(100 + $0) }
        for _ in 0..<3 {
            let before = attempts(before: place(7), contested) { $0 % 20 == 0 ? others : [] }
            #expect(before.map { $0 <= 2 } == true, "\(String(describing: before))")
            contested.peers.lost(lock, at: place(7), now: start)
        }
    }

    @Test(
        "An address that was heard once keeps nobody waiting once its time is over, be there as many as are told apart")
    func silent() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        #expect(isTried(contested, place(1), 299))
        for number in 2..<ContestedPeers.addressesMaximum { _ = isTried(contested, place(100 + number), 300) }
        #expect(!isTried(contested, place(1), 400))
        #expect(isTried(contested, place(1), 301 + ContestedPeers.freshMilliseconds))
    }

    @Test("Where so many peers were met last is known; of one more, the one that was met longest ago is forgotten")
    func homes() {
        let contested = Contested()
        func isHomeKnown(_ number: Int) -> Bool {
            contested.peers.lost(place(number), at: place(1), now: start)
            defer { contested.peers.giveUp(place(number)) }
            func isTried(_ address: DeviceAddress) -> Bool {
                contested.peers.heard(place(number), at: address, now: after(10)) { _ in false }
            }
            #expect(isTried(place(500 + number)))
            return !isTried(place(2))
        }
        for number in 0..<ContestedPeers.knownPeersMaximum {
            contested.peers.proven(place(number), at: place(500 + number))
        }
        contested.peers.proven(place(0), at: place(500))
        #expect((0..<ContestedPeers.knownPeersMaximum).allSatisfy(isHomeKnown))
        contested.peers.proven(place(400), at: place(900))
        let known = (0..<ContestedPeers.knownPeersMaximum).filter(isHomeKnown)
        #expect(known == [0] + (2..<ContestedPeers.knownPeersMaximum))
        #expect(isHomeKnown(400))
    }

    @Test("A controller that cannot scan beside connecting contests nobody for a while, or until another one is there")
    func paused() {
        let contested = Contested()
        contested.peers.lost(lock, at: place(1), now: start)
        contested.peers.pause(now: start)
        #expect(contested.peers.isEmpty)
        contested.peers.lost(lock, at: place(1), now: after(ContestedPeers.lifeMilliseconds - 1))
        #expect(contested.peers.isEmpty)
        contested.peers.lost(lock, at: place(1), now: after(ContestedPeers.lifeMilliseconds))
        #expect(contested.peers.contains(lock))
        contested.peers.pause(now: start)
        contested.peers.resume()
        contested.peers.lost(lock, at: place(1), now: start)
        #expect(contested.peers.contains(lock))
    }
}
