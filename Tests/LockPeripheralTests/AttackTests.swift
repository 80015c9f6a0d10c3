import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Whoever is at the radio can record, hold back, repeat and change. The stack has turned away what is not authenticated;
/// what gets here is a bond's own octets, at the wrong time or in the wrong place.
@Suite("Attacks on the lock")
struct AttackTests {
    /// Refused, told so, and nothing said of the bolt.
    private func expectDead(_ bench: LockBench, _ link: UInt64, _ command: LockCommand) throws {
        #expect(bench.orders.isEmpty)
        #expect(bench.store.committed.intent == nil)
        let refusals = bench.events.filter { if case .refused(_, .challengeDead) = $0 { true } else { false } }
        // A launch that followed a launch at once is told before whatever happens first.
        let others = bench.events.filter { if case .relaunched = $0 { false } else { true } }
        #expect(refusals.count == 1 && others.count == 1)
        let state = try bench.receipt(link, answering: command.challenge)
        #expect(
            state
                == LockState(bolt: .unknown, door: .unknown, result: .challengeDead, answered: command.challenge.prefix)
        )
    }

    /// Brings the bolt to rest so that a refusal can only come from the challenge.
    private func settle(_ bench: inout LockBench) throws {
        for order in bench.orders { bench.put(.actuator(.ended(order.intent, order.movement.target))) }
    }

    @Test("Replay on the same link")
    func replaySameLink() throws {
        var bench = LockBench()
        bench.connect(1)
        let command = unlock(try bench.challenge(1))
        bench.signed(1, command)
        try settle(&bench)
        bench.signed(1, command, counter: 2)
        try expectDead(bench, 1, command)
    }

    @Test("Replay on another link, of the same bond and alive at the same time")
    func replayOtherLink() throws {
        var bench = LockBench()
        bench.connect(1)
        let command = unlock(try bench.challenge(1))
        bench.connect(2)
        bench.signed(2, command)
        try expectDead(bench, 2, command)
    }

    @Test("Replay after a restart of the lock")
    func replayAfterRestart() throws {
        var bench = LockBench()
        bench.connect(1)
        let command = unlock(try bench.challenge(1))
        var restarted = LockBench(bench.store.committed)
        restarted.nextRandom = 0xABCD
        restarted.connect(1)
        restarted.signed(1, command)
        try expectDead(restarted, 1, command)
    }

    @Test(
        "Replay into a restored backup: the file does not know the command yet, and its challenge is dead all the same")
    func replayAfterRestore() throws {
        var bench = LockBench()
        let backup = bench.store.committed
        bench.connect(1)
        let command = unlock(try bench.challenge(1))
        bench.signed(1, command, counter: 9)
        #expect(bench.orders.map(\.movement) == [.unlock])
        try settle(&bench)
        // Of the same boot, and with the same life of its challenge still to go.
        var restored = LockBench(backup)
        restored.nextRandom = 0xABCD
        restored.connect(1)
        restored.signed(1, command, counter: 9)
        try expectDead(restored, 1, command)
    }

    enum Word: CaseIterable { case proof, keyStatus, signedCommand, encryptedCommand, refusedCommand }

    /// Alice speaks on a link of her own while somebody else's link, under her address, has a challenge.
    private func speak(_ word: Word, _ bench: inout LockBench) throws {
        let own = LockLink(rawValue: 2)
        func lock(_ challenge: Challenge) -> LockCommand { LockCommand(operation: .lock, challenge: challenge.id) }
        switch word {
        case .proof: bench.put(.encrypted(own, claim(alice)))
        case .keyStatus: bench.put(.controlPoint(own, ControlPointRequest(opcode: .keyStatus).encoded))
        case .signedCommand: bench.signed(2, lock(try bench.challenge(2)))
        case .encryptedCommand: bench.encrypted(2, lock(try bench.challenge(2)))
        case .refusedCommand: bench.signed(2, lock(Challenge(id: ChallengeID(bits: 1), remainingLife: 1, flags: [])))
        }
    }

    @Test(
        "Held back on another link: dead once the bond's key has spoken on its own, whatever it said",
        arguments: Word.allCases)
    func heldBack(_ word: Word) throws {
        for isHeldAfterProof in [false, true] {
            var bench = LockBench()
            if !isHeldAfterProof { bench.connect(1, to: [.receipt]) }
            if word == .keyStatus || word == .encryptedCommand {
                bench.connectEncrypted(2)
                bench.put(.challengeRead(LockLink(rawValue: 2)))
            } else {
                bench.connect(2, to: [.challenge])
            }
            let own = bench.outputs
            if isHeldAfterProof { bench.connect(1, to: [.receipt]) }
            bench.put(.challengeRead(LockLink(rawValue: 1)))
            let held = unlock(try bench.challenge(1))
            bench.outputs = own
            try speak(word, &bench)
            try settle(&bench)
            bench.signed(1, held, counter: 9)
            try expectDead(bench, 1, held)
        }
    }

    @Test("Held back, and delivered behind the command that took its place: Key Status still tells of that one")
    func heldBackBehindAnother() throws {
        var bench = LockBench()
        bench.connect(1)
        let held = unlock(try bench.challenge(1))
        bench.connectEncrypted(2)
        let taken = unlock(try bench.challenge(2))
        bench.encrypted(2, taken)
        try settle(&bench)
        bench.signed(1, held, counter: 9)
        try expectDead(bench, 1, held)
        let last = bench.store.committed.lastCommands[alice]
        #expect(last?.challenge == taken.challenge && last?.phase == .done)
    }

    @Test("Held back: another bond's challenges live on, and a subscriber whose challenge died gets another at once")
    func heldBackByOthers() throws {
        var bench = LockBench()
        bench.connect(1, bob)
        let command = LockCommand(operation: .lock, challenge: try bench.challenge(1).id)
        bench.connect(2)
        bench.connectEncrypted(3)
        #expect(bench.machine.deadline.map { $0 <= bench.now } == true)
        bench.put(.timerFired)
        let fresh = try bench.challenge(2)
        bench.signed(1, command)
        #expect(try bench.receipt(1, bond: bob, answering: command.challenge).result != .challengeDead)
        bench.signed(2, LockCommand(operation: .lock, challenge: fresh.id))
        #expect(try bench.receipt(2, answering: fresh.id).result != .challengeDead)
    }

    @Test("Delayed: dead at the instant of its expiry, alive one millisecond before")
    func delayed() throws {
        var bench = LockBench()
        bench.connect(1)
        let command = unlock(try bench.challenge(1))
        bench.pass(milliseconds: 5_000)
        bench.signed(1, command)
        try expectDead(bench, 1, command)

        var early = LockBench()
        early.connect(1)
        let inTime = unlock(try early.challenge(1))
        early.pass(milliseconds: 4_999)
        early.signed(1, inTime)
        #expect(early.orders.count == 1)
    }

    @Test("Reordered: the answer to the older challenge kills the newer one, and the other way round")
    func reordered() throws {
        for newerFirst in [false, true] {
            var bench = LockBench()
            bench.connect(1)
            let older = unlock(try bench.challenge(1))
            bench.put(.challengeRead(LockLink(rawValue: 1)))
            let newer = unlock(try bench.challenge(1))
            bench.signed(1, newerFirst ? newer : older)
            #expect(bench.orders.count == 1)
            try settle(&bench)
            let second = newerFirst ? older : newer
            bench.signed(1, second, counter: 2)
            try expectDead(bench, 1, second)
        }
    }

    @Test("Hoarded challenges: of three, the first is dead")
    func hoarded() throws {
        var bench = LockBench()
        bench.connect(1)
        let first = unlock(try bench.challenge(1))
        bench.put(.challengeRead(LockLink(rawValue: 1)))
        bench.put(.challengeRead(LockLink(rawValue: 1)))
        bench.signed(1, first)
        try expectDead(bench, 1, first)
    }

    @Test("Harvested: a challenge guessed or taken elsewhere tells nothing about now")
    func harvested() throws {
        var bench = LockBench()
        bench.connect(1)
        let guess = LockCommand(operation: .unlock, challenge: ChallengeID(bits: 0xDEAD_BEEF))
        bench.signed(1, guess)
        try expectDead(bench, 1, guess)
    }

    @Test("A flip of any bit moves nothing that was not asked", arguments: 0..<64)
    func bitFlips(bit: Int) throws {
        var bench = LockBench()
        // Bob may lock, and the bolt is locked: no grant of his can move it, and no flip may make it one that does.
        bench.connect(1, bob)
        var octets = LockCommand(operation: .lock, challenge: try bench.challenge(1).id).encoded
        octets[bit / 8] ^= 1 << UInt8(bit % 8)
        bench.put(.command(LockLink(rawValue: 1), .signed(counter: 1), octets))
        #expect(bench.orders.isEmpty)
        let granted = bench.events.contains { if case .granted = $0 { true } else { false } }
        // Three of them change the bound and nothing else: the MAC keeps a stranger from that, and Bob has asked for it.
        #expect(granted == (5...7).contains(bit))
    }

    @Test("Truncated and lengthened commands are nothing at all", arguments: [0, 1, 7, 9, 23])
    func lengths(count: Int) throws {
        var bench = LockBench()
        bench.connect(1)
        let octets = unlock(try bench.challenge(1)).encoded + [UInt8](repeating: 0, count: 15)
        bench.put(.command(LockLink(rawValue: 1), .signed(counter: 1), Array(octets.prefix(count))))
        #expect(bench.outputs.isEmpty)
    }

    @Test("Wrong bond: Bob's right to lock does not unlock, and a bond without a credential does nothing")
    func wrongBond() throws {
        var bench = LockBench()
        bench.connect(1, bob)
        let command = unlock(try bench.challenge(1))
        bench.signed(1, command)
        #expect(bench.orders.isEmpty)
        #expect(try bench.receipt(1, bond: bob, answering: command.challenge).result == .notPermitted)
        bench.connect(2, 99)
        bench.signed(2, unlock(try bench.challenge(2)))
        #expect(bench.orders.isEmpty)
        bench.put(.connected(LockLink(rawValue: 3), nil, subscriptions: [.challenge]))
        let nobody = unlock(try bench.challenge(3))
        #expect(bench.signed(3, nobody).isEmpty)
    }

    @Test("A revoked credential opens nothing, on either path")
    func revoked() throws {
        var bench = LockBench()
        bench.connect(1)
        let command = unlock(try bench.challenge(1))
        var credential = try #require(bench.store.committed.credentials[CredentialID(rawValue: 1)])
        credential.isEnabled = false
        bench.put(.administration(.credential(credential)))
        bench.signed(1, command)
        #expect(bench.orders.isEmpty)
        bench.connectEncrypted(2)
        bench.encrypted(2, unlock(try bench.challenge(2)))
        #expect(bench.orders.isEmpty)
    }

    @Test("Crossed paths: a signed command on an encrypted link and an unsigned one in clear are nothing at all")
    func crossedPaths() throws {
        var bench = LockBench()
        bench.connectEncrypted(1)
        let signed = unlock(try bench.challenge(1))
        #expect(bench.signed(1, signed).isEmpty)
        bench.connect(2)
        let plain = unlock(try bench.challenge(2))
        #expect(bench.encrypted(2, plain).isEmpty)
    }

    @Test("A challenge read in clear is not answered under encryption")
    func challengeAcrossEncryption() throws {
        var bench = LockBench()
        bench.connect(1)
        let command = unlock(try bench.challenge(1))
        bench.put(.encrypted(LockLink(rawValue: 1), claim(alice)))
        bench.encrypted(1, command)
        #expect(bench.orders.isEmpty)
    }

    @Test("Signing turned off: a signed command is refused, the challenge says so")
    func signingOff() throws {
        var snapshot = LockSnapshot.furnished
        snapshot.settings.acceptsSigned = false
        var bench = LockBench(snapshot)
        bench.connect(1)
        let challenge = try bench.challenge(1)
        #expect(challenge.flags == .encryptionRequired)
        bench.signed(1, unlock(challenge))
        #expect(bench.orders.isEmpty)
    }

    @Test(
        "Flood of commands that move nothing: five audited, one summary, and each is answered; a movement is audited always"
    )
    func idleFlood() throws {
        var bench = LockBench()
        bench.connect(1)
        let before = bench.store.audit.count
        var counter: UInt32 = 0
        func send(_ operation: LockOperation) throws {
            counter += 1
            let command = LockCommand(operation: operation, challenge: try bench.challenge(1).id)
            bench.signed(1, command, counter: counter)
        }
        for _ in 1...1_000 { try send(.lock) }
        #expect(bench.store.audit.count == before + 5 * 2 + 1)
        #expect(bench.store.audit.last?.event == .idleGrantsSuppressed(bond: alice))
        #expect(bench.store.committed.lastCommands[alice]?.result == .done)
        #expect(!bench.isDisconnecting && bench.orders.isEmpty)

        let quiet = bench.store.audit.count
        try send(.unlock)
        #expect(bench.store.audit.count == quiet + 1)
        guard case .granted? = bench.store.audit.last?.event else {
            Issue.record("a movement is not audited")
            return
        }

        // Another bond's are told one by one.
        bench.connect(2, bob)
        let others = bench.store.audit.count
        bench.signed(2, LockCommand(operation: .unlock, challenge: try bench.challenge(2).id))
        #expect(bench.store.audit.count > others)
    }

    @Test(
        "Flood of movements, for as long as one likes: the owner's records, and other residents', stay where they are")
    func movementFlood() throws {
        var bench = LockBench(auditRecordsMaximum: 200)
        let (owner, resident, guest): (UInt64, UInt64, UInt64) = (11, 12, 13)
        for (bond, role) in [(owner, Role.owner), (resident, .resident), (guest, .guest)] {
            bench.put(
                .administration(
                    .credential(
                        Credential(id: CredentialID(rawValue: bond), name: "\(role)", role: role, bond: bond))))
        }
        var counter: UInt32 = 0
        func move(_ link: UInt64, _ times: Int) throws {
            for time in 0..<times {
                counter += 1
                let operation: LockOperation = time.isMultiple(of: 2) ? .unlock : .lock
                bench.put(.challengeRead(LockLink(rawValue: link)))
                bench.signed(
                    link, LockCommand(operation: operation, challenge: try bench.challenge(link).id), counter: counter)
                bench.finishMovement()
            }
        }
        for (link, bond) in [(1, owner), (2, resident), (3, guest)] as [(UInt64, UInt64)] { bench.connect(link, bond) }
        bench.put(.administration(.settings(LockSettings(relockSeconds: nil))))
        try move(1, 20)
        try move(2, 10)
        func kept(_ bond: UInt64) -> [UInt64] {
            bench.store.audit.compactMap { record in
                guard case .granted(let command) = record.event, command.bond == bond else { return nil }
                return record.sequence
            }
        }
        let (owners, residents) = (kept(owner), kept(resident))
        #expect(owners.count == 20 && residents.count == 10)
        try move(3, 1_000)
        #expect(kept(owner) == owners && kept(resident) == residents)
        #expect(bench.store.audit.count == 200)
        #expect(bench.store.audit.contains { $0.event == .settingsChanged(LockSettings(relockSeconds: nil)) })
        let cuts = try bench.store.auditCuts(after: 0, limit: .max)
        #expect(AuditHead.empty.firstBreak(in: bench.store.audit, cuts: cuts) == nil)
    }

    @Test("Refusal flood: five audited, one summary and a disconnect, then no record until the minute is over")
    func refusalFlood() throws {
        var bench = LockBench()
        let guess = LockCommand(operation: .unlock, challenge: ChallengeID(bits: 0xDEAD_BEEF))
        bench.connect(1)
        let before = bench.store.audit.count
        for counter in 1...5 as ClosedRange<UInt32> {
            bench.signed(1, guess, counter: counter)
            #expect(!bench.isDisconnecting)
        }
        bench.signed(1, guess, counter: 6)
        #expect(bench.events == [.refusalsSuppressed(bond: alice)] && bench.isDisconnecting)
        #expect(bench.signed(1, guess, counter: 7).isEmpty)
        for link in 2...40 as ClosedRange<UInt64> {
            bench.connect(link)
            bench.signed(link, guess, counter: UInt32(link) + 7)
            #expect(bench.events.isEmpty && bench.isDisconnecting)
            // Receipts have numbers, which come from blocks.
            #expect(bench.persists.allSatisfy { if case .receiptCounters = $0 { true } else { false } })
        }
        #expect(bench.store.audit.count == before + 6)
        // Another bond is not made to suffer.
        bench.connect(50, bob)
        bench.signed(50, LockCommand(operation: .lock, challenge: try bench.challenge(50).id))
        #expect(!bench.isDisconnecting)
        bench.pass(milliseconds: 60_000)
        bench.connect(51)
        bench.signed(51, guess, counter: 100)
        #expect(bench.events.count == 1 && !bench.isDisconnecting)
    }

    /// A key that heard nothing would ask again, for as long as its user waits.
    @Test(
        "Refusals that the audit does not tell are told to whoever asked, and by Key Status", arguments: [false, true])
    func untoldRefusals(isSigned: Bool) throws {
        var bench = LockBench()
        for link in 1...9 as ClosedRange<UInt64> {
            isSigned ? bench.connect(link, bob) : bench.connectEncrypted(link, bob)
            let challenge = try bench.challenge(link).id
            let command = LockCommand(operation: .unlock, challenge: challenge)
            if isSigned { bench.signed(link, command, counter: UInt32(link)) } else { bench.encrypted(link, command) }
            let told = isSigned ? try bench.receipt(link, bond: bob, answering: challenge) : bench.lockState(link)
            #expect(told?.result == .notPermitted && told?.answered == challenge.prefix, "\(link)")
            #expect(bench.isDisconnecting == (link > 5) && bench.isLastDisconnect == (link > 5), "\(link)")
            bench.put(.disconnected(LockLink(rawValue: link)))
            bench.connectEncrypted(100 + link, bob)
            let last = try bench.keyStatus(on: 100 + link).lastCommand
            #expect(last?.challenge == challenge && last?.result == .notPermitted && last?.phase == .refused, "\(link)")
        }
    }

    @Test("A dead challenge takes no other command's place in Key Status, also where refusals are not told one by one")
    func untoldDeadChallenge() throws {
        var bench = LockBench()
        bench.connectEncrypted(1, bob)
        let locking = LockCommand(operation: .lock, challenge: try bench.challenge(1).id)
        bench.encrypted(1, locking)
        let guess = LockCommand(operation: .lock, challenge: ChallengeID(bits: 0xDEAD_BEEF))
        for link in 2...9 as ClosedRange<UInt64> {
            bench.connectEncrypted(link, bob)
            bench.encrypted(link, guess)
            #expect(bench.lockState(link)?.result == .challengeDead)
        }
        bench.connectEncrypted(20, bob)
        #expect(try bench.keyStatus(on: 20).lastCommand?.challenge == locking.challenge)
    }

    @Test("Recorded address: an unproven link is dropped after six seconds, with nothing written")
    func unprovenLink() {
        var bench = LockBench()
        bench.connect(1)
        bench.outputs = bench.run(milliseconds: 5_999)
        #expect(!bench.isDisconnecting && bench.persists.isEmpty)
        bench.outputs = bench.run(milliseconds: 1)
        #expect(bench.isDisconnecting && bench.persists.isEmpty)
        bench.connectEncrypted(2)
        bench.connect(3)
        bench.put(.pairing(LockLink(rawValue: 3), isUnderWay: true))
        bench.outputs = bench.run(milliseconds: 20_000)
        #expect(!bench.isDisconnecting)
    }

    @Test("Second credential for a bond, of an owner's role: neither of the two moves the bolt", arguments: [1, 3])
    func secondCredential(number: UInt64) throws {
        var snapshot = LockSnapshot.furnished
        snapshot.apply(.credential(Credential(id: CredentialID(rawValue: 2), name: "Bob", role: .guest, bond: bob)))
        snapshot.apply(
            .credential(Credential(id: CredentialID(rawValue: number), name: "Eve", role: .owner, bond: bob)))
        var bench = LockBench(snapshot)
        bench.connect(1, bob)
        let command = unlock(try bench.challenge(1))
        bench.signed(1, command)
        #expect(bench.orders.isEmpty)
        #expect(try bench.receipt(1, bond: bob, answering: command.challenge).result == .notPermitted)
    }

    @Test(
        "Former user: a proven link without a credential is dropped after a minute; with one it stays, until it is disabled"
    )
    func formerUser() {
        func credential(isEnabled: Bool) -> LockInput {
            var credential = Credential(id: CredentialID(rawValue: 1), name: "Alice", role: .owner, bond: alice)
            credential.isEnabled = isEnabled
            return .administration(.credential(credential))
        }
        var bench = LockBench()
        bench.connectEncrypted(1)
        bench.outputs = bench.run(milliseconds: 10 * LinkState.withoutCredentialMaximumMilliseconds)
        #expect(!bench.isDisconnecting)
        bench.put(credential(isEnabled: false))
        bench.outputs = bench.run(milliseconds: LinkState.withoutCredentialMaximumMilliseconds - 1)
        #expect(!bench.isDisconnecting)
        bench.put(credential(isEnabled: true))
        bench.outputs = bench.run(milliseconds: LinkState.withoutCredentialMaximumMilliseconds)
        #expect(!bench.isDisconnecting)
        bench.put(credential(isEnabled: false))
        bench.outputs = bench.run(milliseconds: LinkState.withoutCredentialMaximumMilliseconds - 1)
        #expect(!bench.isDisconnecting)
        bench.outputs = bench.run(milliseconds: 1)
        #expect(bench.isDisconnecting)
        bench.connectEncrypted(2, 99)
        bench.outputs = bench.run(milliseconds: LinkState.withoutCredentialMaximumMilliseconds)
        #expect(bench.isDisconnecting, "a bond that nobody has given anything")
    }

    @Test("Who has no right any more gains no time by showing his bond's key again")
    func formerUserAgain() {
        var bench = LockBench()
        bench.connectEncrypted(1)
        var credential = Credential(id: CredentialID(rawValue: 1), name: "Alice", role: .owner, bond: alice)
        credential.isEnabled = false
        bench.put(.administration(.credential(credential)))
        bench.outputs = bench.run(milliseconds: LinkState.withoutCredentialMaximumMilliseconds - 1)
        #expect(!bench.isDisconnecting)
        bench.put(.encrypted(LockLink(rawValue: 1), claim(alice)))
        bench.outputs = bench.run(milliseconds: 1)
        #expect(bench.isDisconnecting)
    }

    @Test("Links without end: a bond has one encrypted link, and the last one counts")
    func oneLinkPerBond() {
        var bench = LockBench()
        bench.connectEncrypted(1)
        bench.connectEncrypted(2, bob)
        #expect(!bench.isDisconnecting)
        bench.connect(3)
        #expect(!bench.isDisconnecting, "a link that has not proved itself ends nobody's")
        bench.put(.encrypted(LockLink(rawValue: 3), claim(alice)))
        #expect(bench.outputs.filter { $0 == .disconnect(LockLink(rawValue: 1)) }.count == 1)
        #expect(!bench.outputs.contains(.disconnect(LockLink(rawValue: 2))))
    }

    @Test("A challenge lives as long as the setting says, and no setting makes it live longer than it may")
    func longestChallenge() throws {
        for life in [LockSettings.challengeLifeMaximumMilliseconds, .max] {
            var snapshot = LockSnapshot.furnished
            snapshot.settings.challengeLifeMilliseconds = life
            for late: UInt64 in [0, 1] {
                var bench = LockBench(snapshot)
                bench.connectEncrypted(1)
                let challenge = try bench.challenge(1)
                #expect(challenge.remainingLife == .max)
                bench.pass(milliseconds: LockSettings.challengeLifeMaximumMilliseconds - 1 + late)
                bench.encrypted(1, unlock(challenge))
                #expect(bench.orders.isEmpty == (late == 1))
            }
        }
    }

    @Test("Connecting, reading and subscribing write nothing, whoever does it")
    func unauthenticatedWritesNothing() {
        var bench = LockBench()
        bench.put(.connected(LockLink(rawValue: 1), nil, subscriptions: []))
        bench.put(.challengeRead(LockLink(rawValue: 1)))
        for subscription in LockSubscription.allCases {
            bench.put(.subscription(LockLink(rawValue: 1), subscription, isOn: true))
            #expect(bench.persists.isEmpty)
        }
        bench.put(.controlPoint(LockLink(rawValue: 1), [0x01]))
        #expect(bench.outputs.isEmpty)
    }

    @Test("A challenge is renewed at half-life for a subscriber, and only the last two live")
    func renewal() throws {
        var bench = LockBench()
        bench.connectEncrypted(1)
        let first = try bench.challenge(1)
        bench.outputs = bench.run(milliseconds: 2_500)
        let second = try bench.challenge(1)
        #expect(second.id != first.id)
        bench.run(milliseconds: 2_400)
        bench.encrypted(1, unlock(first))
        #expect(bench.orders.count == 1)
    }
}
