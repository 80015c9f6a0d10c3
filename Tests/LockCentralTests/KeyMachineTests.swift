import BluetoothCore
import LockCentral
import LockProtocol
import MemoryStores
import Testing

@Suite("The key's exchange with a lock")
struct KeyExchangeTests {
    @Test("Ask, connect, challenge, signed command, receipt: on disk before on the air, one packet each way")
    func exchange() throws {
        var bench = KeyBench()
        bench.ask()
        let id = KeyRequestID(rawValue: 1)
        #expect(bench.acts == [.took(door, id), .connect(door)])
        #expect(bench.known?.request?.sent == nil)
        bench.connect()
        #expect(bench.acts.isEmpty)
        bench.challenge(5)
        #expect(
            bench.acts == [
                .writeSigned(
                    door, LockCommand(operation: .unlock, challenge: ChallengeID(bits: 5)).encoded,
                    until: bench.now.advanced(byMilliseconds: 30_000))
            ]
        )
        guard case .persist = bench.outputs.first else {
            Issue.record("sent before it was written down")
            return
        }
        #expect(bench.known?.request?.sent == ChallengeID(bits: 5))
        bench.receipt(.accepted, 5, counter: 0)
        #expect(bench.verdicts == [.accepted])
        #expect(bench.known?.receiptCounter == 0 && bench.known?.request == nil)
        bench.receipt(.done, 5, counter: 1)
        #expect(bench.acts == [.stateKnown(door, .unlocking, .closed), .outcome(door, id, .done), .disconnect(door)])
    }

    @Test("No challenge within 300 ms: encrypt, and command over encryption")
    func noChallenge() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.run(milliseconds: 299)
        #expect(bench.acts.isEmpty)
        bench.run(milliseconds: 1)
        #expect(bench.acts == [.encrypt(door)])
        bench.put(.encrypted(door))
        bench.run(milliseconds: 300)
        #expect(bench.acts == [.readChallenge(door)])
        bench.challenge(6, [])
        #expect(
            bench.acts == [
                .writeEncrypted(
                    door, LockCommand(operation: .unlock, challenge: ChallengeID(bits: 6)).encoded,
                    until: bench.known?.request?.deadline ?? bench.now)
            ])
        let state = LockState(bolt: .unlocking, door: .closed, result: .accepted, answered: ChallengeID(bits: 6).prefix)
        bench.put(.lockState(door, state.encoded))
        #expect(bench.verdicts == [.accepted])
    }

    @Test("A lock that wants encryption, and a key that cannot sign, encrypt")
    func encryptionRequired() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5, .encryptionRequired)
        #expect(bench.acts == [.encrypt(door)])
        var unsigned = KeyBench()
        unsigned.ask()
        unsigned.connect(signed: false)
        #expect(unsigned.acts == [.encrypt(door)])
    }

    @Test("An expired challenge is not answered")
    func expiredChallenge() {
        var bench = KeyBench()
        bench.connect()
        bench.challenge(5, life: 1)
        bench.run(milliseconds: 100)
        bench.ask()
        #expect(bench.writes.isEmpty)
        bench.challenge(6)
        #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 6)])
    }

    @Test(
        "No receipt: the lock is asked over encryption, and nothing is sent again",
        arguments: [
            (CommandPhase.accepted, LockResult.accepted, KeyVerdict.accepted), (.done, .done, .done),
            (.aborted, .aborted, .aborted), (.unknown, .accepted, .unknown),
            (.refused, .notPermitted, .refused(.notPermitted)),
        ])
    func noReceipt(phase: CommandPhase, result: LockResult, verdict: KeyVerdict) {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        bench.challenge(6)
        #expect(bench.writes.isEmpty)
        bench.run(milliseconds: KeyMachine.answerWaitMilliseconds)
        #expect(bench.acts == [.encrypt(door)])
        bench.challenge(7)
        bench.put(.encrypted(door))
        #expect(bench.acts == [.writeControlPoint(door, [0x01])])
        bench.status(5, result, phase)
        #expect(bench.verdicts == [verdict] && bench.writes.isEmpty)
        #expect(bench.known?.request == nil)
    }

    @Test("A challenge that was issued in clear, and comes behind the encryption, is not answered")
    func clearChallenge() {
        var bench = KeyBench()
        bench.ask()
        bench.connect(signed: false)
        bench.put(.proven(door))
        bench.put(.encrypted(door))
        for flags in [.signedAccepted, .encryptionRequired] as [Challenge.Flags] {
            bench.challenge(5, flags)
            #expect(bench.writes.isEmpty)
        }
        bench.challenge(6, [])
        #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 6)])
    }

    @Test("A name that another lock has gets a number, and keeps its bounds and its characters whole")
    func freeName() {
        var bench = KeyBench()
        let octets = LockRecord.nameOctetsMaximum
        let long = String(repeating: "ü", count: 40)
        #expect(bench.machine.freeName(like: "Latch") == "Latch")
        #expect(bench.machine.freeName(like: long) == String(repeating: "ü", count: octets / 2))
        for (number, name) in ["Latch", "Latch 2", "Latch 4", String(repeating: "ü", count: octets / 2)].enumerated() {
            bench.put(.lock(LockRecord(peer: PeerIdentifier(bits: UInt128(number + 50)), name: name)))
        }
        #expect(bench.machine.freeName(like: "Latch") == "Latch 3")
        #expect(bench.machine.freeName(like: long) == String(repeating: "ü", count: 31) + " 2")
    }

    @Test("A key whose signed command the lock never took may sign with counters that it has used before: it goes on")
    func behind() {
        for (last, signCounter, isSigned, advances) in [
            (4, 900, true, .some(.some(900))), (4, nil, true, .some(nil)), (nil, nil, true, nil), (5, 1, true, nil),
            (4, 900, false, nil),
        ] as [(UInt64?, UInt32?, Bool, UInt32??)] {
            var bench = KeyBench()
            bench.ask()
            bench.connect(signed: isSigned)
            if isSigned {
                bench.challenge(5)
                bench.run(milliseconds: KeyMachine.answerWaitMilliseconds)
            }
            bench.put(.encrypted(door))
            if !isSigned {
                bench.challenge(5, [])
                bench.run(milliseconds: KeyMachine.answerWaitMilliseconds)
            }
            bench.status(last, .done, .done, signCounter: signCounter)
            let told = bench.outputs.compactMap { output -> UInt32?? in
                if case .advanceSignCounter(door, let counter) = output { .some(counter) } else { nil }
            }
            #expect(told == (advances.map { [$0] } ?? []), "\(String(describing: last)) \(isSigned)")
        }
    }

    @Test("The lock never took it: asked anew, with another challenge, while there is time")
    func neverTaken() {
        for inTime in [true, false] {
            var bench = KeyBench()
            bench.ask(lifeMilliseconds: 5_000)
            bench.connect()
            bench.challenge(5)
            bench.put(.disconnected(door))
            #expect(bench.acts == [.connect(door)])
            if !inTime { bench.run(milliseconds: 5_000) }
            bench.connect()
            #expect(bench.acts == [.encrypt(door)])
            bench.put(.encrypted(door))
            bench.status(4, .done, .done)
            if inTime {
                #expect(bench.verdicts.isEmpty && bench.known?.request?.sent == nil)
                bench.challenge(8, [])
                #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 8)])
            } else {
                #expect(bench.verdicts == [.expired] && bench.writes.isEmpty)
            }
        }
    }

    @Test("A dead challenge resyncs in one round trip, and not for ever")
    func deadChallenge() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        bench.receipt(.challengeDead, 5, counter: 1)
        #expect(bench.verdicts.isEmpty)
        bench.challenge(6)
        #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 6)])
        bench.receipt(.challengeDead, 6, counter: 2)
        // Somebody in between may have exchanged the challenges: the last word is the lock's, over encryption.
        #expect(bench.acts.contains(.encrypt(door)) && bench.verdicts.isEmpty)
        bench.put(.encrypted(door))
        bench.challenge(7, [])
        #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 7)])
        let dead = LockState(
            bolt: .unknown, door: .unknown, result: .challengeDead, answered: ChallengeID(bits: 7).prefix)
        bench.put(.lockState(door, dead.encoded))
        #expect(bench.verdicts == [.refused(.challengeDead)])
    }

    @Test("Challenges that crossed a command are as dead as the one that it answers: the next is waited for")
    func crossedChallenges() {
        for isEncrypted in [false, true] {
            var bench = KeyBench()
            bench.ask()
            bench.connect()
            let flags: Challenge.Flags = isEncrypted ? [] : .signedAccepted
            if isEncrypted { bench.put(.encrypted(door)) }
            bench.challenge(5, flags)
            #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 5)])
            // Issued before the lock has looked at the command: at half-life, or because it was slow.
            bench.challenge(6, flags)
            bench.challenge(7, flags)
            if isEncrypted {
                let dead = LockState(
                    bolt: .unknown, door: .unknown, result: .challengeDead, answered: ChallengeID(bits: 5).prefix)
                bench.put(.lockState(door, dead.encoded))
            } else {
                bench.receipt(.challengeDead, 5, counter: 1)
            }
            #expect(bench.writes.isEmpty && bench.verdicts.isEmpty)
            bench.challenge(8, flags)
            #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 8)])
        }
    }

    @Test("A request ends once: expired, cancelled, replaced, declined")
    func ends() {
        var bench = KeyBench()
        bench.ask(lifeMilliseconds: 1_000)
        bench.run(milliseconds: 999)
        #expect(bench.verdicts.isEmpty)
        bench.run(milliseconds: 1)
        #expect(bench.verdicts == [.expired])
        bench.ask()
        bench.put(.cancel(door))
        #expect(bench.verdicts == [.cancelled])
        bench.ask()
        bench.ask(.lock)
        #expect(bench.verdicts == [.cancelled])
        bench.connect()
        bench.challenge(5)
        bench.ask()
        #expect(bench.verdicts == [.declined])
        bench.put(.cancel(door))
        #expect(bench.verdicts == [.unknown])
        bench.put(.ask(PeerIdentifier(bits: 1), .unlock, .setting, lifeMilliseconds: 1))
        #expect(bench.verdicts == [.declined])
    }
}

@Suite("Attacks on the key")
struct KeyAttackTests {
    private func sent() -> KeyBench {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        return bench
    }

    @Test("Replayed receipt: a counter that is not strictly greater counts for nothing")
    func replayedCounter() {
        for (last, next) in [(0, 0), (7, 7), (7, 6), (UInt32.max, UInt32.max)] as [(UInt32, UInt32)] {
            var bench = sent()
            bench.receipt(.challengeDead, 5, counter: last)
            bench.challenge(6)
            bench.receipt(.accepted, 6, counter: next)
            #expect(bench.outputs.isEmpty)
            #expect(bench.known?.receiptCounter == last)
        }
    }

    @Test("Replayed receipt after a restart of the key: the counter was on disk")
    func replayedAfterRestart() {
        var bench = sent()
        bench.receipt(.accepted, 5, counter: 7)
        var restarted = KeyBench(bench.store.committed)
        restarted.ask()
        restarted.connect()
        restarted.challenge(5)
        restarted.receipt(.accepted, 5, counter: 7)
        #expect(restarted.verdicts.isEmpty)
        restarted.receipt(.accepted, 5, counter: 8)
        #expect(restarted.verdicts == [.accepted])
    }

    @Test("A flip of any bit of a receipt changes nothing that is remembered", arguments: 0..<Receipt.octets * 8)
    func bitFlips(bit: Int) {
        var bench = sent()
        let id = ChallengeID(bits: 5)
        let state = LockState(bolt: .unlocking, door: .closed, result: .accepted, answered: id.prefix)
        var octets = lockKey.seal(state, lockCounter: 3, answering: id, handle: receiptHandle).encoded
        octets[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(bench.put(.receipt(door, octets)).isEmpty)
    }

    @Test("A receipt for another challenge or another handle is no answer")
    func strangers() {
        var bench = sent()
        bench.receipt(.accepted, 6, counter: 1)
        #expect(bench.outputs.isEmpty)
        bench.receipt(.accepted, 5, counter: 1, handle: AttributeHandle(0x1D))
        #expect(bench.outputs.isEmpty)
    }

    @Test("In clear, Lock State and Key Status count for nothing")
    func clearAnswers() {
        var bench = sent()
        let state = LockState(bolt: .unlocked, door: .closed, result: .done, answered: ChallengeID(bits: 5).prefix)
        #expect(bench.put(.lockState(door, state.encoded)).isEmpty)
        bench.status(5, .done, .done)
        #expect(bench.outputs.isEmpty)
    }

    @Test(
        "Lock that was asked nothing: it gets no signature and no command, whatever it says", arguments: [false, true])
    func unasked(isProven: Bool) {
        var bench = KeyBench()
        bench.connect()
        if isProven {
            bench.put(.proven(door))
            bench.put(.encrypted(door))
        }
        let before = bench.store.committed
        for bits in 1...5 as ClosedRange<UInt64> {
            for flags in [.signedAccepted, []] as [Challenge.Flags] {
                bench.challenge(bits, flags)
                #expect(bench.writes.isEmpty)
            }
            bench.receipt(.challengeDead, bits, counter: 9)
            #expect(bench.writes.isEmpty && bench.verdicts.isEmpty)
            bench.status(bits, .done, .done)
            #expect(bench.writes.isEmpty && bench.verdicts.isEmpty)
        }
        #expect(bench.store.committed == before)
    }

    @Test("A jammer that eats every receipt gets one command and one question, not a second movement")
    func eatenReceipts() {
        var bench = sent()
        var writes = bench.writes.count
        for _ in 0..<5 {
            bench.run(milliseconds: KeyMachine.answerWaitMilliseconds)
            writes += bench.writes.count
            bench.put(.disconnected(door))
            bench.connect()
            bench.challenge(9)
            writes += bench.writes.count
        }
        #expect(writes == 1 && bench.known?.request?.sent == ChallengeID(bits: 5))
    }
}

@Suite("What a key keeps of a lock")
struct LockRecordTests {
    @Test("A name as long as may be is kept whole; of a longer one what fits, and no half of a character")
    func cut() {
        let longest = String(repeating: "a", count: LockRecord.nameOctetsMaximum)
        #expect(LockRecord.cut(longest) == longest)
        #expect(LockRecord.cut(longest + "b") == longest)
        #expect(LockRecord.cut(longest.dropLast() + "ä") == String(longest.dropLast()))
    }
}

@Suite("How long a key waits")
struct KeyWaitTests {
    enum Wait: CaseIterable {
        case challenge, receipt, encryption, preparation, status, outcome

        var milliseconds: UInt64 {
            switch self {
            case .challenge: KeyMachine.challengeWaitMilliseconds
            case .receipt: KeyMachine.answerWaitMilliseconds
            case .encryption: KeyMachine.encryptionWaitMilliseconds
            case .preparation: KeyMachine.preparationWaitMilliseconds
            case .status: KeyMachine.statusWaitMilliseconds
            case .outcome: KeyMachine.outcomeWaitMilliseconds
            }
        }

        /// What the key does when it has waited in vain: it asks in another way, or leaves.
        var remedy: KeyOutput {
            switch self {
            case .challenge, .receipt: .encrypt(door)
            case .encryption, .preparation, .status, .outcome: .disconnect(door)
            }
        }

        /// A key that has just begun to wait for it.
        var bench: KeyBench {
            var bench = KeyBench()
            bench.ask()
            bench.connect(signed: self != .encryption && self != .preparation)
            if self == .preparation { bench.put(.proven(door)) }
            if self == .challenge || self == .encryption || self == .preparation { return bench }
            bench.challenge(5)
            if self == .outcome { bench.receipt(.accepted, 5, counter: 1) }
            if self == .status {
                bench.run(milliseconds: KeyMachine.answerWaitMilliseconds)
                bench.put(.encrypted(door))
            }
            return bench
        }
    }

    @Test(
        "A lock that is silent: nothing happens a millisecond too early, and then the key goes on",
        arguments: Wait.allCases)
    func waits(_ wait: Wait) {
        var bench = wait.bench
        bench.run(milliseconds: wait.milliseconds - 1)
        #expect(bench.acts.isEmpty)
        bench.run(milliseconds: 1)
        #expect(bench.acts == [wait.remedy])
        // The link that was given up is made anew while something is still owed, and what comes then is as at first.
        bench.put(.disconnected(door))
        #expect(bench.acts == (wait == .outcome ? [] : [.connect(door)]))
    }
}

@Suite("The key across a kill")
struct KeyRestorationTests {
    @Test("Killed before it was sent: sent in the same boot and in time, else it has expired")
    func unsent() {
        var bench = KeyBench()
        bench.ask()
        let kept = bench.store.committed
        var again = KeyBench(kept)
        #expect(again.acts == [.connect(door)])
        again.connect()
        again.challenge(5)
        #expect(again.writes.count == 1)
        #expect(KeyBench(kept, boot: BootID(bits: 2)).verdicts == [.expired])
        #expect(KeyBench(kept, now: bench.now.advanced(byMilliseconds: 30_000)).verdicts == [.expired])
    }

    @Test("Killed when it may have been sent: asked, even in another boot and long after, never repeated")
    func sent() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        var again = KeyBench(bench.store.committed, boot: BootID(bits: 2), now: Instant(nanoseconds: 1))
        #expect(again.acts == [.connect(door)])
        again.connect()
        again.challenge(6)
        #expect(again.writes.isEmpty)
        again.put(.encrypted(door))
        again.status(nil)
        #expect(again.verdicts == [.expired] && again.writes.isEmpty)
    }

    @Test("Request numbers are never used twice")
    func requestNumbers() {
        var bench = KeyBench()
        bench.ask()
        var again = KeyBench(bench.store.committed)
        again.ask()
        #expect(again.acts.first == .took(door, KeyRequestID(rawValue: 65)))
    }

    @Test(
        "What was sent under a bond that a new pairing replaces ends as unknown; what was not sent waits for the new one"
    )
    func replacedBond() {
        var sent = KeyBench()
        sent.ask()
        sent.connect()
        sent.challenge(5)
        #expect(sent.put(.bonded(door)).contains(.ended(door, KeyRequestID(rawValue: 1), .unknown)))
        #expect(sent.known?.request == nil)
        var unsent = KeyBench()
        unsent.ask()
        #expect(!unsent.put(.bonded(door)).contains { if case .ended = $0 { true } else { false } })
        #expect(unsent.known?.request != nil)
    }

    @Test("A new pairing begins the lock's counters anew; a forgotten lock is forgotten")
    func bonds() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        bench.receipt(.accepted, 5, counter: 7)
        bench.put(.bonded(door))
        #expect(bench.known?.receiptCounter == nil)
        bench.put(.forget(door))
        #expect(bench.known == nil)
        #expect(bench.put(.rssi(door, -30)).isEmpty)
    }
}
