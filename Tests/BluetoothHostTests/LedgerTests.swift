import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager
import Testing

@Suite struct LedgerTests {
    let peer = PeerIdentifier(bits: 7)

    /// Applies facts to a store and gives what a relaunch would read.
    func relaunch(_ facts: [HostMutation]) -> [RestoreKey: RestorationRecord] {
        let store = MemoryHostStore()
        for fact in facts { store.append(fact) }
        store.didCommit()
        return store.load().restorations
    }

    @Test("What a named manager asks for is the same in memory and after a relaunch")
    func sameAfterRelaunch() {
        var ledger = RestorationLedger([:])
        var facts: [HostMutation] = []
        let (owner, restored) = ledger.register(role: .central, identifier: "pocket")
        #expect(!restored)
        ledger.connect(owner, PendingConnection(peer: peer, options: 1, askedAtSeconds: 2), &facts)
        ledger.scan(owner, ScanRecord(services: [0x180A], allowDuplicates: true), &facts)
        let subscription = SubscriptionRecord(
            peer: peer, valueHandle: AttributeHandle(3), cccHandle: AttributeHandle(4), kind: .notify)
        ledger.subscribe(owner, subscription, &facts)
        let key = RestoreKey(role: .central, identifier: "pocket")
        #expect(relaunch(facts)[key] == ledger.record(owner))

        ledger.connectionEnded(owner, peer, &facts)
        ledger.unsubscribe(owner, peer, AttributeHandle(3), &facts)
        ledger.scan(owner, nil, &facts)
        #expect(ledger.record(owner) == RestorationRecord())
        #expect(relaunch(facts)[key] == nil)
    }

    @Test("A manager without a name keeps nothing on disk")
    func unnamed() {
        var ledger = RestorationLedger([:])
        var facts: [HostMutation] = []
        let (owner, _) = ledger.register(role: .central, identifier: nil)
        ledger.connect(owner, PendingConnection(peer: peer, options: 0, askedAtSeconds: 0), &facts)
        #expect(facts.isEmpty)
        #expect(ledger.record(owner).pendingConnections.count == 1)
        ledger.release(owner)
        #expect(ledger.record(owner) == RestorationRecord())
    }

    @Test("A named manager finds what was kept, and its release keeps it")
    func named() {
        var record = RestorationRecord()
        record.advertising = AdvertisingRecord(localName: "Door", services: [])
        var ledger = RestorationLedger([RestoreKey(role: .peripheral, identifier: "door"): record])
        let (owner, restored) = ledger.register(role: .peripheral, identifier: "door")
        #expect(restored)
        #expect(ledger.record(owner) == record)
        ledger.release(owner)
        #expect(ledger.record(owner) == record)
        #expect(!ledger.register(role: .central, identifier: "door").restored, "a role of its own")
    }

    @Test("A newer notification takes the place of the older one; indications are all kept")
    func replaced() {
        var ledger = RestorationLedger([:])
        var facts: [HostMutation] = []
        let (owner, _) = ledger.register(role: .peripheral, identifier: "door")
        func queue(_ value: UInt8, indication: Bool) {
            ledger.queue(
                owner, bond: BondID(1), handle: AttributeHandle(9), isIndication: indication, value: [value], &facts)
        }
        queue(1, indication: false)
        queue(2, indication: false)
        queue(3, indication: true)
        queue(4, indication: true)
        #expect(ledger.record(owner).queuedUpdates.map(\.value) == [[2], [3], [4]])
        ledger.forget(bond: BondID(1), &facts)
        #expect(ledger.record(owner).queuedUpdates.isEmpty)
    }

    @Test(
        "One update past those that one central may have waiting displaces its oldest, on the disk too, and nobody else's"
    )
    func bound() {
        var ledger = RestorationLedger([:])
        var facts: [HostMutation] = []
        let (owner, _) = ledger.register(role: .peripheral, identifier: "door")
        func queue(_ bond: BondID, _ index: Int) -> UInt64 {
            ledger.queue(
                owner, bond: bond, handle: AttributeHandle(9), isIndication: true,
                value: [UInt8(truncatingIfNeeded: index)], &facts)
        }
        let other = queue(BondID(2), 0)
        let sequences = (0..<RestorationLedger.queuedUpdatesOfCentralMaximum).map { queue(BondID(1), $0) }
        #expect(ledger.isQueueFull(owner, BondID(1)) && !ledger.isQueueFull(owner, BondID(2)))
        #expect(ledger.record(owner).queuedUpdates.map(\.sequence) == [other] + sequences)
        facts = []
        let oneMore = queue(BondID(1), 0)
        #expect(ledger.record(owner).queuedUpdates.map(\.sequence) == [other] + sequences.dropFirst() + [oneMore])
        #expect(facts.count == 2)
        guard case .updateDelivered(_, sequence: sequences[0]) = facts.first else {
            Issue.record("\(facts)")
            return
        }
        ledger.delivered(owner, sequence: sequences[1], &facts)
        #expect(!ledger.isQueueFull(owner, BondID(1)))
    }
}

/// One step for each that is kept and each that is told would be as many as nobody waits for.
@Suite struct LedgerOfManyTests {
    private let bonds = 2_000
    private let kept = RestorationLedger.queuedUpdatesOfCentralMaximum
    private let key = RestoreKey(role: .peripheral, identifier: "door")

    private func update(_ sequence: Int, _ bond: Int, _ handle: UInt16) -> QueuedUpdate {
        QueuedUpdate(
            sequence: UInt64(sequence), bond: BondID(Int64(bond)), valueHandle: AttributeHandle(handle),
            isIndication: true, value: [UInt8(truncatingIfNeeded: bond)])
    }

    @Test("One update to two thousand centrals that are all away costs what is kept for each, and not for all")
    func oneUpdate() {
        var record = RestorationRecord()
        for index in 0..<bonds * kept { record.queuedUpdates.append(update(index + 1, index % bonds, 9)) }
        var ledger = RestorationLedger([key: record])
        let owner = ledger.owners(of: .peripheral)[0]
        var facts: [HostMutation] = []
        for bond in 0..<bonds {
            #expect(ledger.isQueueFull(owner, BondID(Int64(bond))))
            ledger.queue(
                owner, bond: BondID(Int64(bond)), handle: AttributeHandle(9), isIndication: true, value: [7], &facts)
        }
        // The oldest of each goes, and one comes.
        #expect(facts.count == 2 * bonds)
        let left = ledger.record(owner).queuedUpdates
        #expect(left.count == bonds * kept)
        #expect(left.map(\.sequence) == (bonds + 1...bonds * (kept + 1)).map { UInt64($0) })
        ledger.forget(bond: BondID(3), &facts)
        #expect(facts.count == 2 * bonds + kept)
    }
}

@Suite struct PeerDirectoryTests {
    func address(_ bits: UInt64) -> DeviceAddress { DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | bits) }

    @Test("A stranger that was only heard is not written to the disk, one that an app connects to is")
    func kept() {
        var directory = PeerDirectory([])
        var facts: [HostMutation] = []
        let peer = directory.identifier(at: address(1), fresh: 5)
        directory.update(peer, &facts) { $0.name = "Door" }
        #expect(facts.isEmpty)
        directory.keep(peer, &facts)
        #expect(facts.count == 1)
        directory.update(peer, &facts) { $0.name = "Gate" }
        #expect(facts.count == 2)
        directory.update(peer, &facts) { $0.name = "Gate" }
        #expect(facts.count == 2, "nothing changed")
    }

    @Test("A flood of addresses forgets the strangers heard first, and nobody that is kept")
    func flood() {
        var directory = PeerDirectory([])
        var facts: [HostMutation] = []
        let friend = directory.identifier(at: address(0), fresh: 1)
        directory.keep(friend, &facts)
        let first = directory.identifier(at: address(1), fresh: 2)
        let most = PeerDirectory.Announcement.servicesMaximum
        for count in [most, most + 1] {
            let services = (0..<UInt16(count)).map { BluetoothUUID($0) }
            directory.announced(first, .init(mode: .limited, isConnectable: true, services: services))
            #expect(directory.announcement(of: first)?.services.count == most)
        }
        directory.announced(PeerIdentifier(bits: 77), .init(mode: .limited, isConnectable: true, services: []))
        #expect(directory.announcement(of: first)?.mode == .limited)
        #expect(directory.announcement(of: PeerIdentifier(bits: 77)) == nil, "of nobody")
        for index in 2..<UInt64(3 * PeerDirectory.strangersMaximum) {
            _ = directory.identifier(at: address(index), fresh: UInt128(index) + 2)
        }
        #expect(directory[first] == nil)
        #expect(directory.announcement(of: first) == nil)
        #expect(directory.identifier(at: address(1)) == nil)
        #expect(directory[friend] != nil)
    }

    @Test("A bonded peer's name moves to its identity address, and a name that was there already stays")
    func bonded() throws {
        var directory = PeerDirectory([])
        var facts: [HostMutation] = []
        let private1 = DeviceAddress(kind: .random, bits: 0x4000_0000_0001)
        let identity = try #require(IdentityAddress(address(9)))
        let peer = directory.identifier(at: private1, fresh: 1)
        #expect(directory.bonded(peer, identity: identity, &facts) == peer)
        #expect(directory.identifier(at: address(9)) == peer)
        #expect(directory.identifier(at: private1) == nil)
        let again = directory.identifier(at: DeviceAddress(kind: .random, bits: 0x4000_0000_0002), fresh: 2)
        #expect(directory.bonded(again, identity: identity, &facts) == peer)
    }

    @Test("A name that the identity address had for being heard gives way to that of whoever pairs")
    func bondedBesideHeard() throws {
        var directory = PeerDirectory([])
        var facts: [HostMutation] = []
        let identity = try #require(IdentityAddress(address(9)))
        let heard = directory.identifier(at: address(9), fresh: 1)
        let linked = directory.identifier(at: DeviceAddress(kind: .random, bits: 0x4000_0000_0001), fresh: 2)
        directory.keep(linked, &facts)
        #expect(directory.bonded(linked, identity: identity, &facts) == linked)
        #expect(directory.identifier(at: address(9)) == linked && directory[heard] == nil)
        guard case .peer(let record)? = facts.last else {
            Issue.record("\(facts)")
            return
        }
        #expect(record == PeerRecord(identifier: linked, address: address(9)))
    }
}
