import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import MemoryStores
import Testing

@Suite("What the lock does with a command")
struct CommandTests {
    @Test("Signed unlock: audit, intent and relock are persisted before the bolt moves, the bolt before the receipt")
    func order() throws {
        var bench = LockBench()
        bench.connect(1)
        let challenge = try bench.challenge(1)
        #expect(challenge.flags == .signedAccepted && challenge.remainingLife == 50)
        bench.signed(1, unlock(challenge), counter: 0)
        let kinds = bench.outputs.map { output in
            switch output {
            case .persist: "persist"
            case .actuate: "actuate"
            case .notifyReceipt: "receipt"
            case .notifyChallenge: "challenge"
            case .stateChanged: "state"
            default: "other"
            }
        }
        let persists = kinds.prefix { $0 == "persist" }.count
        #expect(Array(kinds[persists...]) == ["actuate", "receipt", "state", "challenge"])
        let state = try bench.receipt(1, answering: challenge.id)
        #expect(state == LockState(bolt: .unlocking, door: .closed, result: .accepted, answered: challenge.id.prefix))
        let order = try #require(bench.orders.first)
        #expect(order.command == challenge.id && order.movement == .unlock)
        #expect(order.notAfter == bench.now.advanced(byMilliseconds: Intent.openingLifeMilliseconds))
        #expect(bench.store.committed.intent?.id == order.intent)
        #expect(bench.store.committed.lastCommands[alice]?.signCounter == 0)

        bench.put(.actuator(.ended(order.intent, .unlocked)))
        #expect(bench.events == [.outcome(of: order.intent.rawValue, .done)])
        #expect(bench.store.committed.intent == nil)
        #expect(try bench.receipt(1, answering: challenge.id).result == .done)
        #expect(bench.store.committed.lastCommands[alice]?.phase == .done)
    }

    @Test("The bolt relocks by itself at its deadline, once, as its own movement")
    func relock() throws {
        var bench = LockBench()
        bench.connect(1)
        bench.signed(1, unlock(try bench.challenge(1), .after(seconds: 3)))
        bench.put(.actuator(.ended(try #require(bench.orders.first).intent, .unlocked)))
        bench.put(.disconnected(LockLink(rawValue: 1)))
        #expect(bench.run(milliseconds: 2_999).isEmpty)
        bench.outputs = bench.run(milliseconds: 1)
        let order = try #require(bench.orders.first)
        #expect(order.movement == .lock && order.command == nil && order.notAfter == nil && bench.orders.count == 1)
        #expect(bench.store.committed.relock == nil)
        bench.put(.actuator(.ended(order.intent, .locked)))
        #expect(bench.machine.deadline == nil)
    }

    @Test("A relock waits for the door to close")
    func relockAtOpenDoor() throws {
        var bench = LockBench()
        bench.connect(1)
        bench.signed(1, unlock(try bench.challenge(1), .after(seconds: 3)))
        bench.put(.actuator(.ended(try #require(bench.orders.first).intent, .unlocked)))
        bench.put(.disconnected(LockLink(rawValue: 1)))
        bench.put(.actuator(.door(.open)))
        #expect(bench.run(milliseconds: 60_000).isEmpty)
        bench.put(.actuator(.door(.closed)))
        #expect(bench.orders.map(\.movement) == [.lock])
    }

    @Test("Hold open needs its own right, and then nothing relocks")
    func holdOpen() throws {
        var snapshot = LockSnapshot.furnished
        snapshot.apply(.credential(Credential(id: CredentialID(rawValue: 3), name: "Guest", role: .guest, bond: 9)))
        var bench = LockBench(snapshot)
        bench.connect(1, 9)
        var challenge = try bench.challenge(1)
        bench.signed(1, unlock(challenge, .holdOpen))
        #expect(try bench.receipt(1, bond: 9, answering: challenge.id).result == .notPermitted)
        bench.connect(2)
        challenge = try bench.challenge(2)
        bench.signed(2, unlock(challenge, .holdOpen))
        bench.put(.actuator(.ended(try #require(bench.orders.first).intent, .unlocked)))
        #expect(bench.store.committed.relock == nil)
    }

    @Test("Unlocking what is unlocked is done at once: one grant, one outcome, no movement")
    func alreadyThere() throws {
        var snapshot = LockSnapshot.furnished
        snapshot.apply(.bolt(BoltRecord(position: .unlocked, door: .closed)))
        var bench = LockBench(snapshot, reading: BoltReading(position: .unlocked, door: .closed))
        bench.connect(1)
        let challenge = try bench.challenge(1)
        bench.signed(1, unlock(challenge))
        #expect(bench.orders.isEmpty)
        #expect(try bench.receipt(1, answering: challenge.id).result == .done)
        guard case .granted = bench.events.first, case .outcome(_, .done) = bench.events.last else {
            Issue.record("grant and outcome expected, got \(bench.events)")
            return
        }
        #expect(bench.events.count == 2)
    }

    @Test("An actuator that comes to an opening too late declines, and that is an abort")
    func lateActuator() throws {
        var bench = LockBench()
        bench.connect(1)
        let challenge = try bench.challenge(1)
        bench.signed(1, unlock(challenge))
        let intent = try #require(bench.orders.first).intent
        bench.put(.actuator(.declined(intent)))
        #expect(bench.events == [.outcome(of: intent.rawValue, .aborted)])
        #expect(try bench.receipt(1, answering: challenge.id).result == .aborted)
        #expect(bench.orders.isEmpty && bench.machine.state.bolt == .locked)
    }

    @Test("A silent actuator: the outcome is unknown, and the bolt is driven to its secure state once")
    func silentActuator() throws {
        var bench = LockBench()
        bench.connect(1)
        bench.signed(1, unlock(try bench.challenge(1)))
        let intent = try #require(bench.orders.first).intent
        bench.outputs = bench.run(milliseconds: 10_000)
        #expect(bench.events.contains(.outcome(of: intent.rawValue, .unknown)))
        #expect(bench.orders.map(\.movement) == [.lock])
        let recovery = try #require(bench.orders.first).intent
        bench.put(.actuator(.ended(recovery, .jammed)))
        #expect(bench.orders.isEmpty)
        #expect(bench.machine.state.bolt == .jammed)
    }

    @Test("Encrypted path: the seven octets go out as Lock State, and other proven links hear of the change")
    func encrypted() throws {
        var bench = LockBench()
        bench.connectEncrypted(2, bob)
        bench.connectEncrypted(1)
        let challenge = try bench.challenge(1)
        #expect(challenge.flags == [])
        bench.encrypted(1, unlock(challenge))
        let states = bench.outputs.compactMap { output -> String? in
            if case .notifyLockState(let link, let octets) = output {
                "\(link.rawValue) " + HexText.encode(octets)
            } else {
                nil
            }
        }
        let prefix = HexText.encode(challenge.id.encoded.prefix(4))
        #expect(states == ["1 020101\(prefix)", "2 02010000000000"])
        #expect(bench.store.committed.lastCommands[alice]?.signCounter == nil)
    }

    @Test("Key Status: who am I, and what became of my last command; never in clear")
    func keyStatus() throws {
        var bench = LockBench()
        bench.connect(1)
        let challenge = try bench.challenge(1)
        bench.put(.controlPoint(LockLink(rawValue: 1), [0x01]))
        #expect(bench.outputs.isEmpty)
        bench.signed(1, unlock(challenge), counter: 9)
        bench.connectEncrypted(2)
        bench.put(.controlPoint(LockLink(rawValue: 2), [0x01]))
        guard case .indicateControlPoint(_, let octets) = bench.outputs.first else {
            Issue.record("no indication")
            return
        }
        let response = try ControlPointResponse(exactly: octets)
        #expect(response.result == .success)
        let status = try KeyStatus(exactly: response.parameters)
        #expect(
            status.lastCommand
                == LastCommand(challenge: challenge.id, signCounter: 9, result: .accepted, phase: .accepted))
        #expect(status.rights == Role.owner.rights)
        bench.put(.controlPoint(LockLink(rawValue: 2), [0x7F]))
        bench.put(.controlPoint(LockLink(rawValue: 2), [0x01, 0x00]))
        #expect(bench.outputs == [.indicateControlPoint(LockLink(rawValue: 2), [0x20, 0x01, 0x03])])
    }

    @Test("Receipt counters come from durable blocks of 64, and never wrap")
    func receiptCounters() throws {
        var snapshot = LockSnapshot.furnished
        snapshot.apply(.receiptCounters(bond: alice, reservedBelow: .max - 1))
        var bench = LockBench(snapshot)
        bench.connect(1)
        var challenge = try bench.challenge(1)
        bench.signed(1, unlock(challenge))
        #expect(try bench.receipt(1, answering: challenge.id).result == .accepted)
        #expect(bench.store.committed.receiptCounters[alice] == .max)
        challenge = try bench.challenge(1)
        #expect(challenge.flags == .encryptionRequired)
        bench.signed(1, unlock(challenge))
        #expect(!bench.outputs.contains { if case .notifyReceipt = $0 { true } else { false } })

        var fresh = LockBench()
        fresh.connect(1)
        fresh.signed(1, unlock(try fresh.challenge(1)))
        #expect(fresh.store.committed.receiptCounters[alice] == 64)
    }

    @Test("The audit is one chain: cutting, swapping or changing a record breaks it")
    func auditChain() throws {
        var bench = LockBench()
        bench.connect(1)
        for _ in 0..<4 { bench.signed(1, unlock(try bench.challenge(1))) }
        let records = bench.store.audit
        #expect(records.count >= 5)
        #expect(AuditHead.empty.firstBreak(in: records) == nil)
        for record in records {
            var read = try AuditRecord(exactly: record.encoded)
            // Not of the chain.
            read.holder = record.holder
            #expect(read == record)
        }
        var cut = records
        cut.remove(at: 2)
        #expect(AuditHead.empty.firstBreak(in: cut) == 4)
        var swapped = records
        swapped.swapAt(1, 2)
        #expect(AuditHead.empty.firstBreak(in: swapped) == 3)
        var changed = records
        changed[2].at = Instant(nanoseconds: 5)
        #expect(AuditHead.empty.firstBreak(in: changed) == 3)
    }
}
