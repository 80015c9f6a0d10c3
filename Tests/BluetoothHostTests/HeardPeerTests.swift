import BluetoothCore
import BluetoothHost
import HCI
import Simulation
import Testing
import WorldSupport

/// Peers that are connected because a scan heard them: more than the accept list holds, and those that strangers answer for.
@Suite struct HeardPeerTests: InitiatorSuite {
    // MARK: More than the accept list holds

    private func crowded() -> Initiator {
        var initiator = Initiator(acceptListCapacity: 2)
        initiator.want([alice, bob, carol])
        #expect(initiator.needsScan)
        _ = accept(&initiator)
        return initiator
    }

    @Test("0x0B for one who was heard: the list has its turn at once, and the others after it, as if time had run out")
    func heardAndRefused() {
        for isAnswered in [true, false] {
            var initiator = crowded()
            let isHeard = initiator.heard(carol, at: carol, now: start)
            #expect(isHeard && accept(&initiator) == [.cancel])
            initiator.connectionComplete(.unknownConnectionIdentifier)
            #expect(initiator.next() == .connect(carol))
            initiator.completed(isAnswered ? .success : .connectionAlreadyExists, now: start)
            if isAnswered { initiator.connectionComplete(.connectionAlreadyExists) }
            #expect(initiator.failure == nil)
            #expect(accept(&initiator) == [.connectByAcceptList])
            let turn = start.advanced(byMilliseconds: Initiator.heardAttemptMilliseconds)
            let isHeardInTurn = initiator.heard(carol, at: carol, now: turn)
            let again = turn.advanced(byMilliseconds: Initiator.heardAgainMilliseconds)
            let isHeardAgain = initiator.heard(carol, at: carol, now: again)
            #expect(!isHeardInTurn && isHeardAgain)
        }
    }

    @Test("Who is heard and is not in the list is connected to by address, and then the list again")
    func heard() {
        var initiator = crowded()
        let onAir = DeviceAddress(kind: .random, bits: 0x4000_0000_0003)
        #expect(initiator.heard(carol, at: onAir, now: start) == true)
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connect(onAir)], "under the address that it has now")
        initiator.want([alice, bob])
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connectByAcceptList])
        #expect(!initiator.needsScan)
    }

    @Test("Whoever is in the list, or wanted by nobody, is no reason to give up the standing attempt")
    func heardInList() {
        var initiator = crowded()
        for address in [alice, bob, DeviceAddress(kind: .random, bits: 7)] {
            #expect(initiator.heard(address, at: address, now: start) == false)
        }
        #expect(accept(&initiator) == [])
    }

    @Test("Attack: a peer that is heard and takes no connection keeps neither the list nor others from theirs")
    func heardInVain() {
        var initiator = crowded()
        let dave = DeviceAddress(kind: .random, bits: 0xC000_0000_0004)
        initiator.want([alice, bob, carol, dave])
        #expect(initiator.heard(carol, at: carol, now: start) == true)
        _ = accept(&initiator)
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connect(carol)])
        let over = start.advanced(byMilliseconds: Initiator.heardAttemptMilliseconds)
        #expect(initiator.deadline == over)
        initiator.timerFired(now: over)
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connectByAcceptList])
        #expect(initiator.heard(carol, at: carol, now: over) == false)
        #expect(initiator.heard(dave, at: dave, now: over) == false)
        #expect(accept(&initiator) == [], "it is the list's turn")
        let next = over.advanced(byMilliseconds: Initiator.heardAttemptMilliseconds)
        #expect(initiator.heard(carol, at: carol, now: next) == false)
        #expect(accept(&initiator) == [], "carol was tried")
        #expect(initiator.heard(dave, at: dave, now: next) == true)
        #expect(accept(&initiator) == [.cancel])
        let again = over.advanced(byMilliseconds: Initiator.heardAgainMilliseconds)
        initiator.want([alice, bob, carol])
        initiator.connectionComplete()
        #expect(initiator.heard(carol, at: carol, now: again) == true)
        #expect(accept(&initiator) == [.connect(carol)])
    }

    @Test(
        "Attack: a peer that is heard and lost again and again keeps the list from its turn no longer than so many times",
        arguments: [HCIErrorCode.connectionFailedToBeEstablished, .success])
    func heardAndLost(_ status: HCIErrorCode) {
        var initiator = crowded()
        for _ in 0..<Initiator.heardInARowMaximum {
            #expect(initiator.heard(carol, at: carol, now: start) == true)
            #expect(accept(&initiator) == [.cancel])
            initiator.connectionComplete(.unknownConnectionIdentifier)
            #expect(accept(&initiator) == [.connect(carol)])
            initiator.connectionComplete(status)
            #expect(accept(&initiator) == [.connectByAcceptList])
        }
        let turn = start.advanced(byMilliseconds: 2 * Initiator.heardAttemptMilliseconds)
        #expect(initiator.heard(carol, at: carol, now: start) == false)
        #expect(accept(&initiator) == [], "it is the list's turn")
        #expect(initiator.heard(carol, at: carol, now: turn) == true)
        #expect(accept(&initiator) == [.cancel])
    }

    @Test("Of a crowd that advertises all the time, one advertisement is worth a look at what is wanted")
    func crowdAdvertises() {
        var initiator = Initiator(acceptListCapacity: 2)
        let crowd = (0..<40).map { DeviceAddress(kind: .random, bits: 0xC000_0000_0100 + UInt64($0)) }
        initiator.want(crowd)
        _ = accept(&initiator)
        let worth = (0..<1_000).count { initiator.heard(crowd[$0 % 40], at: crowd[$0 % 40], now: start) }
        #expect(worth == 1, "until the attempt that it began is over")
    }

    // MARK: Contested peers

    func isTried(_ initiator: inout Initiator, _ onAir: DeviceAddress, _ now: Instant) -> Bool {
        initiator.heard(alice, at: onAir, now: now)
    }

    @Test(
        "A contested peer is in no list: it is listened for, and connected where it was heard, by a link soon given up")
    func contested() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice, bob, carol])
        initiator.resolvedPeers = [alice]
        initiator.contested = [alice]
        #expect(initiator.needsScan)
        #expect(accept(&initiator) == [.addToAcceptList(bob), .addToAcceptList(carol), .connectByAcceptList])
        let onAir = DeviceAddress(kind: .random, bits: 0x4000_0000_0001)
        #expect(isTried(&initiator, onAir, Instant(nanoseconds: 0)))
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete(.unknownConnectionIdentifier)
        #expect(accept(&initiator) == [.connectBriefly(onAir)])
    }

    @Test(
        "Attack: a contested peer that is heard and takes no connection is missed in half the time, and heard elsewhere"
    )
    func contestedInVain() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        initiator.contested = [alice]
        let start = Instant(nanoseconds: 0)
        let places = (1...2).map { DeviceAddress(kind: .random, bits: 0x4000_0000_0000 + UInt64($0)) }
        #expect(isTried(&initiator, places[0], start))
        #expect(accept(&initiator) == [.connectBriefly(places[0])])
        #expect(!isTried(&initiator, places[1], start), "one at a time")
        let end = start.advanced(byMilliseconds: Initiator.contestedAttemptMilliseconds)
        #expect(initiator.deadline == end)
        initiator.timerFired(now: end)
        let missed = (initiator.takeMissed(), initiator.takeMissed())
        #expect(missed.0?.onAir == places[0] && missed.1 == nil)
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete(.unknownConnectionIdentifier)
        // There is nobody in the list whose turn it would be.
        #expect(isTried(&initiator, places[1], end))
        #expect(accept(&initiator) == [.connectBriefly(places[1])])
        initiator.connectionComplete(.connectionFailedToBeEstablished)
        let lost = initiator.takeMissed()
        #expect(lost?.onAir == places[1])
    }

    @Test("A controller that refuses to connect to a contested peer has said nothing of the peer")
    func contestedRefused() {
        for status in [HCIErrorCode.commandDisallowed, .connectionAlreadyExists] {
            var initiator = Initiator(acceptListCapacity: 8)
            initiator.want([alice])
            initiator.contested = [alice]
            #expect(isTried(&initiator, alice, Instant(nanoseconds: 0)))
            let action = initiator.next()
            #expect(action == .connectBriefly(alice))
            initiator.completed(status, now: start)
            let missed = initiator.takeMissed()
            #expect(missed?.isRefused == (status == .commandDisallowed))
            #expect(initiator.failure == nil)
        }
    }

    /// Heard in a contested peer's name, at an address of the moment.
    private func isHeard(_ initiator: inout Initiator, _ peer: DeviceAddress, _ milliseconds: UInt64) -> Bool {
        let onAir = DeviceAddress(kind: .random, bits: peer.bits & 0xFF | 0x4000_0000_0000)
        return initiator.heard(peer, at: onAir, now: start.advanced(byMilliseconds: milliseconds))
    }

    /// What it tries is given the time that it has, and takes no connection.
    private func tryInVain(_ initiator: inout Initiator) throws {
        if accept(&initiator) == [.cancel] {
            initiator.connectionComplete(.unknownConnectionIdentifier)
            _ = accept(&initiator)
        }
        initiator.timerFired(now: try #require(initiator.deadline))
        #expect(initiator.next() == .cancel)
        initiator.completed(.success, now: start)
        initiator.connectionComplete(.unknownConnectionIdentifier)
    }

    @Test(
        "Attack: a contested peer that is heard all the time, and takes no connection, leaves its turn to one heard seldom"
    )
    func contestedAndPrivate() throws {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice, bob])
        initiator.privatePeers = [bob]
        initiator.contested = [alice]
        #expect(isHeard(&initiator, alice, 0))
        #expect(!isHeard(&initiator, bob, 10), "one at a time")
        try tryInVain(&initiator)
        _ = accept(&initiator)
        #expect(!isHeard(&initiator, bob, 1_900), "it is the list's turn")
        #expect(!isHeard(&initiator, alice, 2_000), "the other one has never had a turn")
        #expect(isHeard(&initiator, bob, 2_010))
    }

    @Test(
        "Attack: of contested peers that are all heard all the time each is tried once in as many attempts as there are"
    )
    func contestedAll() throws {
        var initiator = Initiator(acceptListCapacity: 8)
        let peers = (0..<5).map { DeviceAddress(kind: .random, bits: 0xC000_0000_0010 + UInt64($0)) }
        initiator.want(peers)
        initiator.contested = Set(peers)
        var tried: [DeviceAddress] = []
        for attempt in 0..<15 as Range<UInt64> {
            // The first is heard most, and first.
            for peer in [peers[0], peers[0]] + peers + [peers[0]] + peers
            where isHeard(&initiator, peer, attempt * 1_000) {
                tried.append(peer)
            }
            try tryInVain(&initiator)
        }
        #expect(tried.count == 15)
        for round in 0..<3 { #expect(Set(tried[round * 5..<round * 5 + 5]) == Set(peers)) }
    }

    @Test("One who is not heard any more keeps nobody from a turn")
    func contestedAndGone() throws {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice, bob])
        initiator.contested = [alice, bob]
        #expect(isHeard(&initiator, alice, 0))
        #expect(!isHeard(&initiator, bob, 900))
        try tryInVain(&initiator)
        #expect(!isHeard(&initiator, alice, 900 + Initiator.heardFreshMilliseconds))
        #expect(isHeard(&initiator, alice, 901 + Initiator.heardFreshMilliseconds))
        #expect(!isHeard(&initiator, alice, 2_900))
        // Nor does one who is wanted no more.
        try tryInVain(&initiator)
        #expect(isHeard(&initiator, bob, 2_901))
        #expect(!isHeard(&initiator, alice, 3_500))
        try tryInVain(&initiator)
        #expect(!isHeard(&initiator, bob, 3_902), "it is the other's turn")
        initiator.want([bob])
        #expect(isHeard(&initiator, bob, 3_903))
    }

    @Test("Between attempts for a contested peer the accept list has as long as each of them had, and no longer")
    func contestedBesideList() throws {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice, bob])
        initiator.contested = [alice]
        #expect(isHeard(&initiator, alice, 0))
        try tryInVain(&initiator)
        #expect(accept(&initiator).last == .connect(bob))
        let turn = 2 * Initiator.contestedAttemptMilliseconds
        #expect(!isHeard(&initiator, alice, turn - 1))
        #expect(isHeard(&initiator, alice, turn))
    }

    @Test("A peer that was tried in vain is tried at once when it becomes contested, and when it is so no more")
    func contestedNoRoom() throws {
        for isLeaving in [false, true] {
            var initiator = crowded()
            if isLeaving { initiator.contested = [carol] }
            #expect(isHeard(&initiator, carol, 0))
            try tryInVain(&initiator)
            let again = isLeaving ? Initiator.contestedAttemptMilliseconds : Initiator.heardAttemptMilliseconds
            if !isLeaving { #expect(!isHeard(&initiator, carol, 2 * again)) }
            initiator.contested = isLeaving ? [] : [carol]
            #expect(!isHeard(&initiator, carol, 2 * again - 1), "it is the list's turn")
            #expect(isHeard(&initiator, carol, 2 * again))
        }
    }
}
