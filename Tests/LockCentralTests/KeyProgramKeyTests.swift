import BluetoothCore
import BluetoothCrypto
import LockCentral
import LockProtocol
import SecurityManager
import Testing

/// A program that agrees with a lock on a key of its own, and then commands by it.
@Suite("A program's key at the key")
struct KeyProgramKeyTests {
    private let lock: IdentityAddress
    private let pairs: [P256KeyPair]
    private let random = setupData.random

    init() throws {
        lock = try #require(IdentityAddress(setupData.address))
        pairs = try (1...3).map { try #require(P256KeyPair(scalar: Secret([UInt8](repeating: $0, count: 32)))) }
    }

    private func offer(_ pair: Int = 0) throws -> ProgramKeyOffer {
        try #require(ProgramKeyOffer(random: random, lock: lock, keyPair: pairs[pair]))
    }

    /// The lock's side of it.
    private func agreed(_ offered: Int = 0, _ answered: Int = 1) throws -> (answer: [UInt8], key: ProgramKey) {
        let agreement = try #require(ProgramKeyAgreement(random: random, lock: lock))
        let (program, own) = (pairs[offered].publicKey, pairs[answered])
        let key = agreement.programKey(own: own, peer: program, offered: program, answered: own.publicKey)
        let response = ControlPointResponse(
            request: .agreeOnKey, result: .success, parameters: agreement.answer(own.publicKey, to: program))
        return (response.encoded, try #require(key))
    }

    private func confirmation(_ result: ControlPointResult) -> [UInt8] {
        ControlPointResponse(request: .confirmKey, result: result).encoded
    }

    private func proof(_ state: BondProgramKey, _ offer: ProgramKeyOffer? = nil) -> KeyEnrolmentMachine.Proof {
        .init(
            bond: bondID(7), record: LockRecord(peer: door, name: "Front door"), offer: offer, programKey: state)
    }

    /// Paired by a code for a program, and encrypted with the new bond.
    private func paired() -> KeyEnrolmentBench {
        var bench = KeyEnrolmentBench()
        bench.put(
            .enrol(
                door, setupData, wantsProgramKey: true, waitMilliseconds: KeyEnrolmentBench.waitMilliseconds,
                bench.register))
        bench.connect()
        #expect(
            bench.pair(7).first == .keepProgramKey(bondID(7), .awaited(random: random)), "before anything rests on it")
        bench.prepare()
        bench.disconnect()
        bench.connect()
        bench.encrypt()
        return bench
    }

    private func prepare(_ bench: inout KeyEnrolmentBench, _ state: BondProgramKey) -> [EnrolmentOutput] {
        bench.put(.prepared(door, isTreeKnown: true, state))
    }

    @Test("Agreed on, kept, confirmed, kept, and only then enrolled")
    func whole() throws {
        var bench = paired()
        #expect(prepare(&bench, .awaited(random: random)) == [.agreeOnKey(door)])
        let (answer, key) = try agreed()
        let keeping = EnrolmentOutput.keepProgramKey(bondID(7), .agreed(random: random, key))
        #expect(
            bench.answer(proof(.awaited(random: random), try offer()), door, answer) == [keeping, .confirmKey(door)])
        #expect(bench.promoted.isEmpty)
        let outputs = bench.answer(proof(.agreed(random: random, key)), door, confirmation(.success))
        #expect(outputs.prefix(2) == [.keepProgramKey(bondID(7), .confirmed(key)), .promoteBond(bondID(7))])
        #expect(outputs.contains(.progress(.enrolled(door, name: "Front door"))) && bench.promoted == [bondID(7)])
    }

    @Test("Key Status, or an answer to another offer, enrols no such bond")
    func others() throws {
        let (answer, key) = try agreed()
        for state in [.awaited(random: random), .agreed(random: random, key), .unreadable] as [BondProgramKey] {
            var bench = paired()
            _ = prepare(&bench, state)
            #expect(bench.answer(proof(state)).isEmpty && bench.promoted.isEmpty, "\(state)")
        }
        var bench = paired()
        _ = prepare(&bench, .awaited(random: random))
        #expect(bench.answer(proof(.awaited(random: random)), door, confirmation(.success)).isEmpty)
        let outputs = bench.answer(proof(.awaited(random: random), try offer(2)), door, answer)
        guard case .progress(.failed(.notConfirmed))? = outputs.first else {
            Issue.record("\(outputs)")
            return
        }
        #expect(bench.promoted.isEmpty && bench.programKeys[bondID(7)] == .awaited(random: random))
    }

    @Test(
        "An answer that was lost: confirmed again by whoever has a key, and agreed on anew where the lock has another")
    func lost() throws {
        let (_, key) = try agreed()
        var bench = paired()
        let state = BondProgramKey.agreed(random: random, key)
        #expect(prepare(&bench, state) == [.confirmKey(door)])
        #expect(bench.answer(proof(state), door, confirmation(.notPermitted)) == [.agreeOnKey(door)])
        let (second, other) = try agreed(2, 1)
        #expect(
            bench.answer(proof(state, try offer(2)), door, second) == [
                .keepProgramKey(bondID(7), .agreed(random: random, other)), .confirmKey(door),
            ])
        #expect(key != other && bench.promoted.isEmpty)
    }

    // MARK: Commands

    private func key() throws -> ProgramKey { try agreed().key }

    @Test("A command goes under the key, over encryption alone, and its receipts count there")
    func command() throws {
        let key = try key()
        var bench = KeyBench()
        let until = bench.now.advanced(byMilliseconds: 30_000)
        bench.ask(lifeMilliseconds: 30_000)
        bench.connect(signed: false)
        #expect(bench.acts == [.encrypt(door)])
        bench.put(.proven(door))
        bench.put(.encrypted(door, key))
        bench.challenge(5, [])
        let expected = LockCommand(operation: .unlock, challenge: ChallengeID(bits: 5))
        #expect(bench.acts == [.writeProgram(door, expected, until: until)])
        // What others may hear is no answer.
        let state = LockState(bolt: .unlocked, door: .closed, result: .done, answered: ChallengeID(bits: 5).prefix)
        #expect(bench.put(.lockState(door, state.encoded)).isEmpty)
        func receipt(_ key: ReceiptKey, _ handle: AttributeHandle, counter: UInt32) {
            let receipt = key.seal(state, lockCounter: counter, answering: ChallengeID(bits: 5), handle: handle)
            bench.put(.receipt(door, receipt.encoded))
        }
        receipt(lockKey, receiptHandle, counter: 1)
        receipt(key.receipts, receiptHandle, counter: 1)
        #expect(bench.verdicts.isEmpty)
        receipt(key.receipts, ProgramKey.receiptHandle, counter: 1)
        #expect(bench.verdicts == [.done] && bench.known?.receiptCounter == 1)
    }
}
