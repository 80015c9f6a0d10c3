import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Nobody is told why a key is refused, and "key missing" is said in clear by whoever answers at the lock's address. What
/// is said in clear may delay a bond's confirmation, and never costs the bond.
///
/// Core 5.4, Vol 6, Part B, 5.1.3.1 (Encryption Start procedure)
@Suite("Attacks on an enrolment, and deaths in the middle of it: who had a key goes on having one", .capturesFailures)
struct ReenrolmentAttackTests {
    @Test("Forged key missing: a stranger at the lock's address takes no bond from an owner who enrols anew")
    func keyMissing() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try household.pairOnBothSides()
        let links = household.links.count
        household.beginImpersonation()
        household.world.run(forMilliseconds: 120_000)
        #expect(household.links.count > links + 2, "the stranger was asked, and asked again")
        household.endImpersonation()
        household.world.run(forMilliseconds: 90_000)
        household.expectSettled()
    }

    @Test("A stranger who answers and says nothing keeps no link that is to confirm a bond")
    func silentStranger() throws {
        let household = try Household()
        try household.pairOnBothSides()
        household.world.cut(household.door, household.pocket)
        let stranger = try household.addStranger(.silent, at: household.door.host?.identity.address.address)
        #expect(household.world.run(forMilliseconds: 15_000) { household.failure != nil })
        #expect(stranger.connections == KeyEnrolmentMachine.confirmationsLostMaximum)
        household.world.remove(stranger)
        household.world.join(household.door, household.pocket)
        household.world.run(forMilliseconds: 90_000)
        household.expectSettled()
    }

    @Test("Forged key missing, from a stranger whom a key meets that was killed with its new bond unconfirmed")
    func keyMissingAfterRelaunch() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try household.pairOnBothSides()
        household.killKey()
        household.beginImpersonation()
        household.launchKey()
        household.world.run(forMilliseconds: 120_000)
        household.endImpersonation()
        household.world.run(forMilliseconds: 90_000)
        household.expectSettled()
    }

    @Test("The lock dies before it has the key's half: the new bond gives way to the old one, which opens")
    func lockKeepsOld() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        let old = household.pocket.host?.bonds.map(\.id)
        try household.beginEnrolment()
        try household.loseKeysHalf()
        #expect(household.world.run(forMilliseconds: 300_000) { household.pocket.host?.bonds.map(\.id) == old })
        #expect(household.failure != nil && !household.isEnrolled)
        household.expectSettled()
    }

    @Test("A first bond that the lock never had does not stand in the way of the second")
    func neverHad() throws {
        let household = try Household()
        try household.beginEnrolment()
        try household.loseKeysHalf()
        #expect(household.world.run(forMilliseconds: 60_000) { household.failure != nil })
        #expect(household.key?.status.unconfirmed.count == 1)
        let first = household.pocket.host?.bonds.map(\.id)
        try household.enrollToTheEnd("alice")
        let second = household.pocket.host?.bonds ?? []
        #expect(second.count == 1 && second.map(\.id) != first && second.first?.state == .confirmed)
        household.expectSettled()
    }

    @Test(
        "A bond whose confirmation never reached the key, and a pairing that the lock did not end: the lock's bond counts"
    )
    func confirmationNeverHeard() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try household.beginEnrolment()
        household.door.wire.loses = Household.isIndication
        #expect(
            household.world.run(forMilliseconds: 30_000) {
                household.isLocksBondUnconfirmedAtKey
            })
        let known = household.door.host?.bonds.map(\.ltk)
        household.call(household.pocket) { household.key?.cancelEnrolment() }
        try household.beginEnrolment()
        try household.loseKeysHalf()
        household.door.wire.loses = { _ in false }
        #expect(household.world.run(forMilliseconds: 300_000) { household.pocket.host?.bonds.map(\.ltk) == known })
        #expect(household.failure != nil && !household.isEnrolled)
        household.expectSettled()
    }

    @Test("The link is lost as soon as the two are paired: the key confirms its bond when it hears the lock again")
    func lostWhilePreparing() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try household.pairOnBothSides()
        household.world.cut(household.door, household.pocket)
        household.world.run(forMilliseconds: 60_000)
        household.world.join(household.door, household.pocket)
        household.world.run(forMilliseconds: 120_000)
        #expect(household.key?.status.unconfirmed.isEmpty == true)
        #expect(household.isObeyed())
    }

    @Test("Attack: who paired with a code and stayed away takes no credential from the key that was enrolled after it")
    func latecomer() throws {
        let household = try Household()
        try household.pairAndStayAway()
        try household.openWindow("alice")
        let pocket = household.world.add("owner", seed: 53)
        let key = launchKey(pocket, MemoryKeyStore())
        household.world.run(forMilliseconds: 1_000)
        let code = try #require(household.code)
        var isEnrolled = false
        household.call(pocket) {
            key?.enroll(code, waitMilliseconds: 60_000) { if case .enrolled = $0 { isEnrolled = true } }
        }
        try #require(household.world.run(forMilliseconds: 60_000) { isEnrolled })
        household.world.run(forMilliseconds: 2_000)
        let owner = try #require(household.lock?.status.credentials.first?.bond)
        household.launchKey()
        household.world.run(forMilliseconds: 120_000)
        #expect(household.lock?.status.credentials.map(\.bond) == [owner])
        #expect(household.door.host?.bonds.map(\.id) == [owner])
        #expect(!household.isObeyed())
    }

    /// Another key than the household's.
    private func launchKey(_ pocket: Node, _ store: MemoryKeyStore) -> KeyDaemon? {
        var key: KeyDaemon?
        pocket.launchApp { bluetooth in
            guard let host = pocket.host else { return }
            key = try? KeyDaemon(
                .init(restoreIdentifier: "key", boot: BootID(bits: 1), unlocksWhenNear: false), host: host,
                bluetooth: bluetooth, store: store, observe: { _ in })
        }
        return key
    }

    @Test("Who paired with an earlier code, and is confirmed first, does not keep the credential from the window's key")
    func overtaken() throws {
        let household = try Household()
        try household.pairAndStayAway()
        let former = household.door.host?.bonds.map(\.id) ?? []
        try household.openWindow("alice")
        let (pocket, store) = (household.world.add("owner", seed: 53), MemoryKeyStore())
        var key = launchKey(pocket, store)
        household.world.run(forMilliseconds: 1_000)
        let code = try #require(household.code)
        household.call(pocket) { key?.enroll(code, waitMilliseconds: 60_000) { _ in } }
        try #require(household.world.run(forMilliseconds: 30_000) { household.door.host?.bonds.count == 2 })
        key = nil
        pocket.kill()
        household.launchKey()
        #expect(
            household.world.run(forMilliseconds: 30_000) {
                household.lock?.status.credentials.map(\.bond) == former
            })
        key = launchKey(pocket, store)
        let owner = household.door.host?.bonds.map(\.id).first { !former.contains($0) }
        #expect(
            household.world.run(forMilliseconds: 60_000) {
                owner != nil && household.lock?.status.credentials.map(\.bond) == [owner]
            })
        #expect(household.world.run(forMilliseconds: 5_000) { key?.status.unconfirmed.isEmpty == true })
        #expect(!household.isObeyed())
    }

    @Test("A lock that has confirmed the bond, and permits its key nothing just now, has confirmed the bond")
    func nothingPermitted() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try household.openWindow("alice")
        // Handle Value Indication of a response of the control point: its result.
        household.door.wire.outgoing = { packet in
            guard packet.count > 14, packet[0] == 2, packet[7...9] == [4, 0, 0x1D], packet[12...13] == [0x20, 0x01]
            else { return packet }
            var changed = packet
            changed[14] = ControlPointResult.notPermitted.rawValue
            return changed
        }
        try household.enroll()
        household.world.run(forMilliseconds: 30_000)
        #expect(household.isEnrolled)
        household.door.wire.outgoing = { $0 }
        #expect(household.door.sent.contains { $0.count > 13 && $0[12...13] == [0x20, 0x01] })
        household.expectSettled()
    }

    @Test(
        "As many links as may be lost are made at once, and of one more the operator does not wait: it has a pause before it"
    )
    func pause() throws {
        let household = try Household()
        try household.pairOnBothSides()
        let before = household.links.count
        household.beginImpersonation()
        #expect(household.world.run(forMilliseconds: 60_000) { household.failure != nil })
        guard case .notConfirmed = household.failure else {
            Issue.record("\(String(describing: household.failure))"); return
        }
        #expect(household.links.count == before + KeyEnrolmentMachine.confirmationsLostMaximum)
        let waiting = try #require(household.key?.status.unconfirmed.first)
        #expect(waiting.linksLost == KeyEnrolmentMachine.confirmationsLostMaximum && waiting.isResting)
        household.world.run(forMilliseconds: KeyEnrolmentMachine.confirmationPauseMilliseconds - 1_000)
        #expect(household.links.count == before + KeyEnrolmentMachine.confirmationsLostMaximum)
        household.world.run(forMilliseconds: 10_000)
        #expect(household.links.count == before + KeyEnrolmentMachine.confirmationsLostMaximum + 1)
        household.endImpersonation()
        household.world.run(forMilliseconds: KeyEnrolmentMachine.confirmationPauseMilliseconds + 10_000)
        #expect(household.key?.status.unconfirmed.isEmpty == true)
        #expect(household.isObeyed())
    }

    @Test("What the owner asks of the lock does not wait for the pause to end")
    func askedInThePause() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try household.pairOnBothSides()
        household.beginImpersonation()
        #expect(household.world.run(forMilliseconds: 60_000) { household.failure != nil })
        household.endImpersonation()
        let asked = household.world.now
        #expect(household.key?.status.unconfirmed.first?.isResting == true)
        #expect(household.isObeyed())
        #expect(household.world.now.milliseconds(since: asked) < KeyEnrolmentMachine.confirmationPauseMilliseconds)
    }

    enum Fault: CaseIterable { case stranger, deadKey, deadLock, strangerAndDeadKey, closedWindow }

    @Test(
        "At every packet of an enrolment that renews a bond, a stranger takes the lock's place, or one of the two dies",
        arguments: Fault.allCases)
    func everywhere(_ fault: Fault) throws {
        var step = 0
        var isOver = false
        while !isOver {
            let household = try Household()
            try household.enrollToTheEnd("alice")
            try household.beginEnrolment()
            isOver = household.runToPacket(step)
            household.befall(fault)
            household.world.run(forMilliseconds: 150_000)
            household.expectSettled("\(fault) behind packet \(step)")
            step += 3
        }
    }
}

extension Household {
    fileprivate func beginEnrolment() throws {
        try openWindow("alice")
        try enroll()
    }

    /// Both have the new bond, and the key has yet to prove that it does.
    fileprivate func pairOnBothSides() throws {
        try beginEnrolment()
        try #require(world.run(forMilliseconds: 30_000) { isPairedOnBothSides })
    }

    /// The same, and then the key is away and the window closed.
    fileprivate func pairAndStayAway() throws {
        try pairOnBothSides()
        killKey()
        call(door) { lock?.cancelEnrolment() }
        world.run(forMilliseconds: 10_000)
    }

    /// The owner's key opens and locks, and no bond of it waits for anything.
    fileprivate func expectSettled(_ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(isObeyed(), comment, sourceLocation: sourceLocation)
        #expect(key?.status.unconfirmed.isEmpty == true, comment, sourceLocation: sourceLocation)
    }

    /// Until so many packets have left either machine. Says whether the key was enrolled before.
    fileprivate func runToPacket(_ number: Int) -> Bool {
        let packets = { [pocket, door] in pocket.sent.count + door.sent.count }
        let end = packets() + number
        return world.run(forMilliseconds: 60_000) { packets() >= end || isEnrolled } && isEnrolled
    }

    /// Handle Value Indication, on the attribute channel.
    fileprivate static func isIndication(_ packet: [UInt8]) -> Bool {
        packet.count > 9 && packet[0] == 2 && packet[7...9] == [4, 0, 0x1D]
    }

    /// The key has a bond, and the lock dies before it has the key's half of it.
    fileprivate func loseKeysHalf() throws {
        // Signing Information of the Security Manager.
        pocket.wire.loses = { $0.count > 9 && $0[0] == 2 && $0[7...9] == [6, 0, 0x0A] }
        try #require(world.run(forMilliseconds: 30_000) { isPaired })
        killLock()
        pocket.wire.loses = { _ in false }
        launchLock()
    }

    /// The lock has confirmed a bond that its key has not.
    fileprivate var isLocksBondUnconfirmedAtKey: Bool {
        let confirmed = (door.host?.bonds ?? []).filter { $0.state == .confirmed }.map(\.ltk)
        return (pocket.host?.bonds ?? []).contains { $0.state == .unconfirmed && confirmed.contains($0.ltk) }
    }

    fileprivate func befall(_ fault: ReenrolmentAttackTests.Fault) {
        switch fault {
        case .stranger:
            beginImpersonation()
            world.run(forMilliseconds: 30_000)
            endImpersonation()
        case .strangerAndDeadKey:
            beginImpersonation()
            killKey()
            launchKey()
            world.run(forMilliseconds: 30_000)
            endImpersonation()
        case .deadKey:
            killKey()
            launchKey()
        case .deadLock:
            killLock()
            launchLock()
        case .closedWindow: call(door) { lock?.cancelEnrolment() }
        }
    }
}
