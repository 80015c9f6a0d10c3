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

    private func confirmation(_ result: ControlPointResult, _ key: ProgramKey? = nil) -> [UInt8] {
        ControlPointResponse(request: .confirmKey, result: result, parameters: key?.acceptance ?? []).encoded
    }

    private func proof(_ state: BondProgramKey, _ offer: ProgramKeyOffer? = nil) -> KeyEnrolmentMachine.Proof {
        .init(
            bond: bondID(7), record: LockRecord(peer: door, name: "Front door"), offer: offer, programKey: state)
    }

    /// Paired by a code for a program, and encrypted with the new bond.
    private func paired() -> KeyEnrolmentBench {
        var bench = KeyEnrolmentBench()
        bench.isForProgram = true
        bench.put(
            .enrol(
                door, setupData, wantsProgramKey: true, waitMilliseconds: KeyEnrolmentBench.waitMilliseconds,
                bench.register))
        bench.connect()
        bench.pair(7)
        #expect(bench.programKeys[bondID(7)] == .awaited(random: random), "before anything rests on it")
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
        let outputs = bench.answer(proof(.agreed(random: random, key)), door, confirmation(.success, key))
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

    @Test("A confirmation that the lock's key does not stand behind enrols nobody, and takes nothing from the true one")
    func forgedConfirmation() throws {
        let (key, other) = (try agreed().key, try agreed(2, 1).key)
        var bench = paired()
        let state = BondProgramKey.agreed(random: random, key)
        _ = prepare(&bench, state)
        for forged in [
            confirmation(.success), confirmation(.success, other),
            ControlPointResponse(request: .confirmKey, result: .success, parameters: key.confirmation).encoded,
        ] { #expect(bench.answer(proof(state), door, forged).isEmpty && bench.promoted.isEmpty) }
        #expect(bench.programKeys[bondID(7)] == .awaited(random: random), "what is kept is not the key's alone yet")
        _ = bench.answer(proof(state), door, confirmation(.success, key))
        #expect(bench.promoted == [bondID(7)] && bench.programKeys[bondID(7)] == .confirmed(key))
    }

    // MARK: Who is not the lock

    private let refusal = ControlPointResponse(request: .agreeOnKey, result: .notPermitted).encoded

    /// A link on which the agreement is refused.
    private func refused(_ bench: inout KeyEnrolmentBench) -> [EnrolmentOutput] {
        bench.connect()
        bench.encrypt()
        _ = prepare(&bench, .awaited(random: random))
        return bench.answer(proof(.awaited(random: random)), door, refusal)
    }

    @Test("An agreement that is refused again and again makes a link a minute, and its operator is told once")
    func refusedAgreements() throws {
        var bench = paired()
        _ = prepare(&bench, .awaited(random: random))
        let told = bench.answer(proof(.awaited(random: random)), door, refusal)
        guard case .progress(.failed(.notConfirmed))? = told.first else {
            Issue.record("\(told)")
            return
        }
        #expect(refused(&bench) == [.release(door), .connect(door)])
        #expect(refused(&bench) == [.release(door)])
        #expect(bench.machine.unattended(bench.register).map(\.isResting) == [true])
        #expect(bench.wait(milliseconds: 59_999) == [] && bench.wait(milliseconds: 1) == [.connect(door)])
        #expect(refused(&bench) == [.release(door)] && bench.bonds.map(\.id) == [bondID(7)])
    }

    @Test("Whoever is silent behind a bond that a program's key has yet to prove gets one link a minute after three")
    func silence() throws {
        for question in [BondProgramKey.awaited(random: random), .agreed(random: random, try agreed().key)] {
            var bench = paired()
            bench.put(.cancelled(bench.register))
            for _ in 0..<3 {
                bench.connect()
                bench.encrypt()
                _ = prepare(&bench, question)
                #expect(bench.wait(milliseconds: 5_000) == [.disconnect(door)])
                bench.disconnect()
            }
            #expect(bench.machine.unattended(bench.register).map(\.isResting) == [true])
        }
        // The tree does not come either.
        var bench = paired()
        bench.put(.cancelled(bench.register))
        for _ in 0..<3 {
            bench.connect()
            bench.encrypt()
            #expect(bench.wait(milliseconds: 10_000) == [.disconnect(door)])
            bench.disconnect()
        }
        #expect(bench.machine.unattended(bench.register).map(\.isResting) == [true])
    }

    @Test("Where nobody has seen how the host has paired, who does not stand by r keeps no bond; who once did, does")
    func unverified() throws {
        let (answer, key) = try agreed()
        for octets in [refusal, answer] {
            var bench = paired()
            bench.isUnverified = true
            _ = prepare(&bench, .awaited(random: random))
            let outputs = bench.answer(proof(.awaited(random: random), try offer(2)), door, octets)
            #expect(outputs.first == .deleteBond(bondID(7)) && outputs.last == .release(door), "\(outputs)")
            #expect(bench.bonds.isEmpty && !bench.machine.holds(door) && bench.deadline == nil)
        }
        for isAttended in [true, false] {
            var bench = paired()
            bench.isUnverified = true
            if !isAttended { bench.put(.cancelled(bench.register)) }
            var last: [EnrolmentOutput] = []
            for _ in 0..<3 {
                #expect(bench.bonds.map(\.id) == [bondID(7)])
                bench.connect()
                bench.encrypt()
                _ = prepare(&bench, .awaited(random: random))
                bench.wait(milliseconds: 5_000)
                last = bench.disconnect()
            }
            #expect(bench.bonds.isEmpty && !bench.machine.holds(door) && last.first == .deleteBond(bondID(7)))
            let isTold = last.contains { if case .progress(.failed(.notConfirmed)) = $0 { true } else { false } }
            #expect(isTold == isAttended)
        }
        var bench = paired()
        _ = prepare(&bench, .agreed(random: random, key))
        bench.answer(proof(.agreed(random: random, key)), door, confirmation(.notPermitted))
        bench.answer(proof(.agreed(random: random, key)), door, refusal)
        #expect(bench.bonds.map(\.id) == [bondID(7)])
    }

    @Test("A lock that agrees and refuses the confirmation by turns has one new agreement on a link")
    func agreesByTurns() throws {
        var bench = paired()
        let (second, other) = try agreed(2, 1)
        let state = BondProgramKey.agreed(random: random, try agreed().key)
        #expect(prepare(&bench, state) == [.confirmKey(door)])
        #expect(bench.answer(proof(state), door, confirmation(.notPermitted)) == [.agreeOnKey(door)])
        #expect(bench.answer(proof(state, try offer(2)), door, second).last == .confirmKey(door))
        let next = BondProgramKey.agreed(random: random, other)
        #expect(bench.answer(proof(next), door, confirmation(.notPermitted)) == [.disconnect(door)])
        #expect(bench.disconnect() == [.connect(door)])
        bench.connect()
        bench.encrypt()
        _ = prepare(&bench, next)
        #expect(bench.answer(proof(next), door, confirmation(.notPermitted)) == [.agreeOnKey(door)])
    }

    @Test("Another lock's refusal is not told to the operator who waits for this one")
    func othersRefusal() throws {
        var bench = paired()
        bench.put(.cancelled(bench.register))
        bench.enrol(shed)
        #expect(refused(&bench) == [.release(door), .connect(door)])
        #expect(bench.machine.enrolling == shed)
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

    // MARK: What became of it

    /// The command that answers challenge 5 has left under this key, and no receipt has come: the key has asked.
    private func asked(_ key: ProgramKey) throws -> (bench: KeyBench, question: StatusQuestion) {
        var bench = KeyBench()
        bench.ask()
        bench.connect(signed: false)
        bench.put(.proven(door))
        bench.put(.encrypted(door, key))
        bench.challenge(5, [])
        bench.run(milliseconds: KeyMachine.answerWaitMilliseconds)
        return (bench, try question(bench))
    }

    /// The one that the last input had asked.
    private func question(_ bench: KeyBench) throws -> StatusQuestion {
        let written = bench.acts.compactMap { act -> [UInt8]? in
            if case .writeControlPoint(door, let octets) = act { octets } else { nil }
        }
        #expect(written.count == 1 && written[0].count == 15)
        guard case .questionKeyStatus(let question) = try ControlPointProcedure(exactly: try #require(written.first))
        else { throw DecodingError.invalidValue(field: "question") }
        #expect(question.challenge == ChallengeID(bits: 5) && question.number == bench.random)
        return question
    }

    private func answer(
        _ question: StatusQuestion, _ key: ProgramKey, _ phase: CommandPhase, result: LockResult = .done,
        counter: UInt32 = 3, says: ControlPointResult = .success
    ) -> [UInt8] {
        let status = QuestionedStatus(
            role: 1, rights: .programs, lastCounter: counter, result: result, phase: phase)
        let bare = ControlPointResponse(
            request: .keyStatus, result: says, parameters: says == .success ? status.encoded : [])
        return key.authenticated(bare, asked: ControlPointProcedure.questionKeyStatus(question).encoded).encoded
    }

    @Test("Key Status without the lock's authenticator says nothing, whoever sends it: the command's end stays unknown")
    func bareStatus() throws {
        let key = try key()
        let other = try #require(ProgramKey(Secret([UInt8](repeating: 7, count: ProgramKey.octets))))
        var (bench, asked) = try asked(key)
        let last = LastCommand(challenge: ChallengeID(bits: 5), signCounter: .max - 1, result: .done, phase: .done)
        let elsewhere = StatusQuestion(number: asked.number, challenge: ChallengeID(bits: 6))
        let earlier = StatusQuestion(number: asked.number &- 1, challenge: asked.challenge)
        for forged in [
            ControlPointResponse(
                request: .keyStatus, result: .success,
                parameters: KeyStatus(role: 1, rights: .programs, lastCommand: last).encoded
            ).encoded,
            ControlPointResponse(
                request: .keyStatus, result: .success,
                parameters: KeyStatus(role: 1, rights: .programs, lastCommand: nil).encoded
            ).encoded,
            Array(answer(asked, key, .done).dropLast(ProgramKey.authenticatorOctets)),
            ControlPointResponse(request: .keyStatus, result: .invalidOperand).encoded,
            answer(asked, other, .done), answer(elsewhere, key, .done), answer(earlier, key, .none),
        ] {
            #expect(bench.put(.controlPoint(door, forged)).isEmpty, "\(HexText.encode(forged))")
        }
        #expect(bench.known?.request?.sent == ChallengeID(bits: 5))
        // Nothing true comes: each link has its time, and then nobody knows.
        bench.run(milliseconds: KeyMachine.statusWaitMilliseconds)
        #expect(bench.acts == [.disconnect(door)])
        bench.now = bench.now.advanced(byMilliseconds: 40_000)
        bench.put(.disconnected(door))
        #expect(bench.verdicts == [.unknown])
    }

    @Test(
        "The lock's own word counts, and each question has a number of its own",
        arguments: [
            (CommandPhase.done, LockResult.done, KeyVerdict.done), (.accepted, .accepted, .accepted),
            (.refused, .busy, .refused(.busy)), (.aborted, .accepted, .aborted), (.unknown, .accepted, .unknown),
        ] as [(CommandPhase, LockResult, KeyVerdict)])
    func trueStatus(phase: CommandPhase, result: LockResult, verdict: KeyVerdict) throws {
        let key = try key()
        var (bench, asked) = try asked(key)
        bench.put(.controlPoint(door, answer(asked, key, phase, result: result)))
        #expect(bench.verdicts == [verdict])
        var (second, next) = try self.asked(key)
        second.put(.disconnected(door))
        second.connect(signed: false)
        second.put(.encrypted(door, key))
        let again = try question(second)
        #expect(again.number != next.number && second.put(.controlPoint(door, answer(next, key, phase))).isEmpty)
        second.put(.controlPoint(door, answer(again, key, phase, result: result)))
        #expect(second.verdicts == [verdict])
    }

    @Test("A tree that changes again and again renews no wait: the question has its time, and so has what was accepted")
    func changingTree() throws {
        let key = try key()
        var (bench, _) = try asked(key)
        for _ in 0..<4 {
            bench.run(milliseconds: KeyMachine.statusWaitMilliseconds / 5)
            bench.put(.encrypted(door, key))
            #expect(bench.acts.isEmpty)
        }
        bench.run(milliseconds: KeyMachine.statusWaitMilliseconds / 5)
        #expect(bench.acts == [.disconnect(door)])

        let question: StatusQuestion
        (bench, question) = try asked(key)
        bench.put(.controlPoint(door, answer(question, key, .accepted, result: .accepted)))
        #expect(bench.verdicts == [.accepted])
        bench.put(.encrypted(door, key))
        bench.run(milliseconds: KeyMachine.outcomeWaitMilliseconds)
        #expect(bench.acts == [.disconnect(door)])
    }

    @Test("A lock that has not taken the command says so by the key: it is asked anew, behind the lock's counter")
    func notTaken() throws {
        let key = try key()
        var (bench, asked) = try asked(key)
        bench.put(.controlPoint(door, answer(asked, key, .none, counter: 40)))
        #expect(bench.acts == [.advanceSignCounter(door, beyond: 40)] && bench.known?.request?.sent == nil)
        bench.challenge(6, [])
        guard case .writeProgram(door, let command, _)? = bench.acts.first else {
            Issue.record("\(bench.acts)")
            return
        }
        #expect(command.challenge == ChallengeID(bits: 6))
        // A refusal to say it is the lock's word too.
        (bench, asked) = try self.asked(key)
        bench.put(.controlPoint(door, answer(asked, key, .none, says: .notPermitted)))
        #expect(bench.verdicts == [.unknown])
    }
}
