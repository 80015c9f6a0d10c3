import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import SecurityManager
import Testing

/// A bond whose program agrees with the lock on a key: no other proof confirms it.
@Suite("A program's key at the lock")
struct LockProgramKeyTests {
    private let lock: IdentityAddress
    private let random = Secret([UInt8](repeating: 2, count: SetupCode.randomOctets))
    private let pairs: [P256KeyPair]
    private let agreement: ProgramKeyAgreement

    init() throws {
        lock = try #require(IdentityAddress(DeviceAddress(kind: .public, bits: 0x1234)))
        pairs = try (1...4).map { try #require(P256KeyPair(scalar: Secret([UInt8](repeating: $0, count: 32)))) }
        agreement = try #require(ProgramKeyAgreement(random: random, lock: lock))
    }

    /// Paired in a window for a program. The pairing's link is 1.
    private func paired() throws -> EnrolmentBench {
        var bench = EnrolmentBench()
        let code = SetupCode(
            lock: lock, confirm: [UInt8](repeating: 3, count: SetupCode.confirmOctets), random: random,
            wantsProgramKey: true)
        bench.open("Alice", .owner, .outOfBand(keyPair: pairs[0], random: random, code: code))
        bench.pair(7, on: 1)
        #expect(bench.bonds[bondID(7)]?.programKey == .awaited(random: random), "before anything rests on it")
        return bench
    }

    private func ask(
        _ procedure: ControlPointProcedure, on link: UInt64 = 2, _ bench: inout EnrolmentBench, with pair: Int = 1
    ) -> [Output] {
        bench.put(
            .controlPoint(
                LockLink(rawValue: link), bondID(7), procedure.encoded, bench.register,
                LockEnrolment.Agreement(lock: lock, keyPair: pairs[pair])))
    }

    private func key(_ program: Int, _ own: Int) throws -> ProgramKey {
        try #require(
            agreement.programKey(
                own: pairs[program], peer: pairs[own].publicKey, offered: pairs[program].publicKey,
                answered: pairs[own].publicKey))
    }

    private func refusal(_ opcode: ControlPointOpcode) -> [Output] {
        [.answer(ControlPointResponse(request: opcode, result: .notPermitted))]
    }

    @Test("Key Status, an offer without r, a key that nobody agreed on, and the pairing's own link confirm nothing")
    func others() throws {
        var bench = try paired()
        let before = bench.bonds
        #expect(ask(.keyStatus, &bench).isEmpty)
        #expect(ask(.getTime, &bench).isEmpty)
        let stranger = try #require(ProgramKeyAgreement(random: Secret([UInt8](repeating: 9, count: 16)), lock: lock))
        #expect(ask(.agreeOnKey(stranger.offer(pairs[2].publicKey)), &bench) == refusal(.agreeOnKey))
        // Whoever sends back the lock's own public key knows no private one.
        #expect(ask(.agreeOnKey(agreement.offer(pairs[1].publicKey)), &bench) == refusal(.agreeOnKey))
        #expect(ask(.confirmKey(try key(2, 1).confirmation), &bench) == refusal(.confirmKey))
        #expect(ask(.agreeOnKey(agreement.offer(pairs[2].publicKey)), on: 1, &bench).isEmpty)
        #expect(bench.bonds == before && bench.machine.credential == "Alice")
    }

    @Test("The last agreement counts until its key is confirmed, and then none does; a lost answer is given again")
    func agreed() throws {
        var bench = try paired()
        let (first, second) = (try key(2, 1), try key(3, 1))
        for (program, key) in [(2, first), (3, second)] {
            let outputs = ask(.agreeOnKey(agreement.offer(pairs[program].publicKey)), &bench)
            let answer = agreement.answer(pairs[1].publicKey, to: pairs[program].publicKey)
            #expect(
                outputs == [
                    .keepProgramKey(bondID(7), .agreed(random: random, key)),
                    .answer(ControlPointResponse(request: .agreeOnKey, result: .success, parameters: answer)),
                ])
        }
        #expect(ask(.keyStatus, &bench).isEmpty)
        #expect(ask(.confirmKey(first.confirmation), &bench) == refusal(.confirmKey))
        #expect(bench.bonds[bondID(7)]?.state == .unconfirmed)

        let confirmed = Output.answer(
            ControlPointResponse(request: .confirmKey, result: .success, parameters: second.acceptance))
        let outputs = ask(.confirmKey(second.confirmation), &bench)
        #expect(outputs.contains(.promoteBond(bondID(7))) && outputs.contains(.progress(.ended(.enrolled(bondID(7))))))
        #expect(outputs.suffix(2) == [.keepProgramKey(bondID(7), .confirmed(second)), confirmed])
        #expect(bench.named.map(\.bond) == [7] && bench.bonds[bondID(7)]?.programKey == .confirmed(second))
        #expect(ask(.confirmKey(second.confirmation), &bench) == [confirmed])
        // What comes now is the machine's to answer.
        for procedure in [
            .keyStatus, .confirmKey(first.confirmation), .agreeOnKey(agreement.offer(pairs[2].publicKey)),
        ] as [ControlPointProcedure] { #expect(ask(procedure, &bench) == [.admit]) }
        #expect(bench.bonds[bondID(7)]?.programKey == .confirmed(second))
    }

    @Test("Nobody is enrolled whose credential is gone, or whose kept key cannot be read")
    func gone() throws {
        var bench = try paired()
        _ = ask(.agreeOnKey(agreement.offer(pairs[2].publicKey)), &bench)
        bench.credentials = [:]
        #expect(ask(.confirmKey(try key(2, 1).confirmation), &bench).isEmpty)
        #expect(bench.bonds[bondID(7)]?.state == .unconfirmed)
        bench = try paired()
        bench.bonds[bondID(7)]?.programKey = .unreadable
        #expect(ask(.agreeOnKey(agreement.offer(pairs[2].publicKey)), &bench).isEmpty)
        #expect(ask(.keyStatus, &bench).isEmpty)
    }

    @Test("What a bond keeps of its program is read back, and anything else is not")
    func kept() throws {
        let key = try key(2, 1)
        for state in [
            .none, .awaited(random: random), .agreed(random: random, key), .confirmed(key),
        ] as [BondProgramKey] { #expect(BondProgramKey(secret: state.secret) == state) }
        for octets in [0, 1, 15, 17, 31, 33, 47, 49, 255] {
            #expect(BondProgramKey(secret: Secret([UInt8](repeating: 1, count: octets))) == .unreadable, "\(octets)")
        }
    }

    // MARK: What the program asks

    private func encrypted(_ key: ProgramKey?) -> LockBench {
        var bench = LockBench()
        let claim = LinkClaim(bond: alice, receiptKey: receiptKey(of: alice), programKey: key)
        bench.put(.connected(LockLink(rawValue: 1), claim, subscriptions: [.challenge, .receipt]))
        bench.put(.encrypted(LockLink(rawValue: 1), claim))
        return bench
    }

    private func command(
        _ challenge: ChallengeID, _ key: ProgramKey, counter: UInt32, _ bench: inout LockBench
    ) {
        let command = key.authenticate(LockCommand(operation: .unlock, challenge: challenge), counter: counter)
        bench.put(.command(LockLink(rawValue: 1), .encrypted, command.encoded))
    }

    private func written(_ procedure: ControlPointProcedure, _ bench: inout LockBench) -> [UInt8]? {
        let outputs = bench.put(.controlPoint(LockLink(rawValue: 1), procedure.encoded))
        for case .indicateControlPoint(_, let octets) in outputs { return octets }
        return nil
    }

    /// What the lock says by the key of this command.
    private func status(
        of challenge: ChallengeID, number: UInt64 = 1, _ key: ProgramKey, _ bench: inout LockBench
    ) throws -> QuestionedStatus {
        let procedure = ControlPointProcedure.questionKeyStatus(StatusQuestion(number: number, challenge: challenge))
        let octets = try #require(written(procedure, &bench))
        #expect(octets.count == 20, "as many as the smallest ATT_MTU carries")
        let response = try #require(key.answer(octets, asked: procedure.encoded))
        return try QuestionedStatus(exactly: response.parameters)
    }

    @Test(
        "A question is answered under the key: of the last command what became of it, of any other that it was not taken"
    )
    func questions() throws {
        let key = try key(2, 1)
        var bench = encrypted(key)
        let first = try bench.challenge(1).id
        let nothing = try status(of: ChallengeID(bits: 99), key, &bench)
        #expect(nothing.phase == .none && nothing.lastCounter == 0 && nothing.rights == .programs)
        command(first, key, counter: 3, &bench)
        let (second, orders) = (try bench.challenge(1).id, bench.orders)
        #expect(try status(of: first, key, &bench).phase == .accepted)
        for order in orders { bench.put(.actuator(.ended(order.intent, order.movement.target))) }
        #expect(try status(of: first, key, &bench).phase == .done)
        // It is there already.
        command(second, key, counter: 4, &bench)
        let last = try status(of: second, key, &bench)
        #expect(last.phase == .done && last.lastCounter == 4 && last.role == Role.owner.rawValue)
        let before = try status(of: first, key, &bench)
        #expect(before.phase == .none && before.lastCounter == 4)
        // Without a question any program is told, as before.
        let bare = try #require(written(.keyStatus, &bench))
        #expect(
            try KeyStatus(exactly: try ControlPointResponse(exactly: bare).parameters).lastCommand?.signCounter == 4)
    }

    @Test("A command that is held back on the very link is dead once the lock has said that it was not taken")
    func heldBackOnTheLink() throws {
        let key = try key(2, 1)
        var bench = encrypted(key)
        let held = try bench.challenge(1).id
        #expect(try status(of: held, key, &bench).phase == .none)
        command(held, key, counter: 3, &bench)
        #expect(bench.orders.isEmpty)
        #expect(try status(of: held, key, &bench).phase == .none, "a dead challenge takes no command's place")
        // A key that asks goes on with the next challenge.
        bench.put(.challengeRead(LockLink(rawValue: 1)))
        command(try bench.challenge(1).id, key, counter: 4, &bench)
        #expect(bench.orders.count == 1)
    }

    @Test("A refusal is under the key too, and a bond without a program's key gets no answer to a question")
    func refusals() throws {
        let key = try key(2, 1)
        var bench = encrypted(key)
        bench.put(.administration(.named("Alice", .disabled)))
        let procedure = ControlPointProcedure.questionKeyStatus(
            StatusQuestion(number: 1, challenge: ChallengeID(bits: 5)))
        let refused = try #require(written(procedure, &bench))
        #expect(
            key.answer(refused, asked: procedure.encoded)
                == ControlPointResponse(request: .keyStatus, result: .notPermitted))
        bench = encrypted(nil)
        let invalid = ControlPointResponse(request: .keyStatus, result: .invalidOperand).encoded
        #expect(written(procedure, &bench) == invalid)
    }
}
