import BluetoothCore
import BluetoothCrypto
import LockProtocol
import TestSupport
import Testing

/// Their figures come from Python's `cryptography`; the key pairs are those of the Core Specification's sample data.
@Suite("Program keys")
struct ProgramKeyTests {
    private let vectors: DocumentVectors

    init() throws { vectors = try DocumentVectors("vectors") }

    private func text(_ name: String) throws -> String { try #require(vectors[name], "no vector “\(name)”") }
    private func value(_ name: String) throws -> [UInt8] { try #require(HexText.decode(try text(name))) }

    private func agreement() throws -> ProgramKeyAgreement {
        let lock = try #require(DeviceAddress(try text("lock address")).flatMap { IdentityAddress($0) })
        return try #require(ProgramKeyAgreement(random: Secret(try value("r")), lock: lock))
    }

    private func pair(_ name: String) throws -> P256KeyPair {
        try #require(P256KeyPair(scalar: Secret(try value("\(name) scalar"))))
    }

    private func key() throws -> ProgramKey { try #require(ProgramKey(Secret(try value("program key")))) }

    @Test("Agreement: both messages, and the key that both sides derive")
    func agreed() throws {
        let (agreement, program, lock) = (try agreement(), try pair("program"), try pair("lock"))
        let offer = try value("agreement offer")
        #expect(agreement.offer(program.publicKey) == offer && offer.count == ProgramKeyAgreement.messageOctets)
        let offered = try #require(agreement.key(ofOffer: offer))
        #expect(offered == program.publicKey)
        let answer = try value("agreement answer")
        #expect(agreement.answer(lock.publicKey, to: offered) == answer)
        let answered = try #require(agreement.key(ofAnswer: answer, to: program.publicKey))
        #expect(answered == lock.publicKey)
        let derived = [
            agreement.programKey(own: program, peer: answered, offered: offered, answered: answered),
            agreement.programKey(own: lock, peer: offered, offered: offered, answered: answered),
        ]
        #expect(derived == [try key(), try key()])
    }

    @Test("Agreement: whoever has another code, is another lock, or changes one bit of a message is refused")
    func refused() throws {
        let (agreement, program, lock) = (try agreement(), try pair("program"), try pair("lock"))
        let (offer, answer) = (try value("agreement offer"), try value("agreement answer"))
        for bit in 0..<offer.count * 8 {
            var changed = offer
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(agreement.key(ofOffer: changed) == nil, "offer, bit \(bit)")
            changed = answer
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(agreement.key(ofAnswer: changed, to: program.publicKey) == nil, "answer, bit \(bit)")
        }
        for message in [[], Array(offer.dropLast()), offer + [0], answer] {
            #expect(agreement.key(ofOffer: message) == nil, "\(message.count) octets")
        }
        // What answers one offer answers no other, and nobody's own offer is an answer.
        #expect(agreement.key(ofAnswer: answer, to: lock.publicKey) == nil)
        #expect(agreement.key(ofAnswer: offer, to: program.publicKey) == nil)
        let reflected = agreement.answer(program.publicKey, to: program.publicKey)
        #expect(agreement.key(ofAnswer: reflected, to: program.publicKey) == nil)

        let address = try #require(IdentityAddress(DeviceAddress(kind: .public, bits: 0xC011_2233_4455)))
        let others = [
            ProgramKeyAgreement(random: Secret([UInt8](repeating: 1, count: 16)), lock: address),
            ProgramKeyAgreement(random: Secret(try value("r")), lock: address),
        ]
        for other in others {
            #expect(try #require(other).key(ofOffer: offer) == nil)
            #expect(try #require(other).key(ofAnswer: answer, to: program.publicKey) == nil)
        }
        #expect(ProgramKeyAgreement(random: Secret([1, 2]), lock: address) == nil)
    }

    @Test("Agreement: a point that is not on the curve is no key, whatever authenticates it")
    func offCurve() throws {
        let agreement = try agreement()
        let wire = try pair("program").publicKey.wire
        var wrong = wire
        wrong[0] ^= 1
        // Its authenticator, from the same r: an offer of a known key, with the other octets in the place of its own.
        let lock = try #require(DeviceAddress(try text("lock address")))
        let octets = stride(from: 0, through: 40, by: 8).map { UInt8(truncatingIfNeeded: lock.bits >> UInt64($0)) }
        let key = CMAC(key: Secret(try value("r"))).derive(Array("latch agreement 1".utf8))
        func offer(_ wire: [UInt8]) -> [UInt8] {
            let mac = CMAC(key: key).authenticate([1, lock.kind.rawValue] + octets + wire)
            return wire + withUnsafeBytes(of: mac.bigEndian) { Array($0) }
        }
        #expect(agreement.key(ofOffer: offer(wire)) != nil && agreement.key(ofOffer: offer(wrong)) == nil)
    }

    @Test("Command: 20 octets, of which each bit is under the authenticator, and the counter too")
    func command() throws {
        let (key, octets) = (try key(), try value("program command"))
        let command = LockCommand(
            operation: .unlock, bound: try #require(CommandBound(within: 4_000)),
            challenge: try ChallengeID(exactly: try value("challenge")))
        let counter = try #require(UInt32(try text("program counter")))
        let made = key.authenticate(command, counter: counter)
        #expect(made.encoded == octets && octets.count == 20 && ProgramCommand.octets == 20)
        #expect(try ProgramCommand(exactly: octets) == made && key.verifies(made))
        for bit in 0..<octets.count * 8 {
            var changed = octets
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            guard let received = try? ProgramCommand(exactly: changed) else { continue }
            #expect(!key.verifies(received), "bit \(bit)")
        }
        let other = try #require(ProgramKey(Secret([UInt8](repeating: 7, count: 32))))
        #expect(!other.verifies(made) && other != key && ProgramKey(Secret([UInt8](repeating: 7, count: 31))) == nil)
    }

    @Test("Receipt: sealed under the key's other half")
    func receipt() throws {
        let key = try key()
        let half = key.secret.part(16..<32)
        #expect(CMAC(key: half).derive(ReceiptKey.label) == Secret(try value("program receipt key")))
        let challenge = try ChallengeID(exactly: try value("challenge"))
        let expected = try Receipt(exactly: try value("program receipt"))
        let handle = ProgramKey.receiptHandle
        #expect(ReceiptKey.nonce(expected.lockCounter, challenge, handle) == (try value("program nonce")))
        let state = try LockState(exactly: try value("accepted state"))
        #expect(
            key.receipts.seal(state, lockCounter: expected.lockCounter, answering: challenge, handle: handle)
                == expected)
        #expect(key.receipts.open(expected, answering: challenge, handle: handle) == state)
    }

    // MARK: What the lock answers

    private func question() throws -> (octets: [UInt8], question: StatusQuestion) {
        let octets = try value("program status question")
        guard case .questionKeyStatus(let question) = try ControlPointProcedure(exactly: octets) else {
            throw DecodingError.invalidValue(field: "question")
        }
        #expect(ControlPointProcedure.questionKeyStatus(question).encoded == octets && octets.count == 15)
        // One octet is the procedure without operands.
        for octets in (2..<15).map({ Array(octets.prefix($0)) }) + [octets + [0]] {
            #expect(throws: DecodingError.self) { try ControlPointProcedure(exactly: octets) }
        }
        return (octets, question)
    }

    @Test(
        "Key Status: the question, and the answers of the lock to it, which the smallest ATT_MTU carries",
        arguments: [("done", CommandPhase.done, 9), ("not taken", .none, 8)] as [(String, CommandPhase, UInt32)])
    func status(name: String, phase: CommandPhase, counter: UInt32) throws {
        let (key, (octets, question)) = (try key(), try question())
        let derived = CMAC(key: key.secret.part(16..<32)).derive(Array("latch status 1".utf8))
        #expect(derived == Secret(try value("program status key")))
        #expect(question.challenge == (try ChallengeID(exactly: try value("challenge"))))
        let last = LastCommand(
            challenge: phase == .none ? ChallengeID(bits: 1) : question.challenge, signCounter: counter, result: .done,
            phase: .done)
        let status = KeyStatus(role: 1, rights: .programs, lastCommand: last)
        let said = QuestionedStatus(status, asked: question)
        #expect((said.phase, said.lastCounter) == (phase, counter) && said.encoded.count == QuestionedStatus.octets)
        let bare = ControlPointResponse(request: .keyStatus, result: .success, parameters: said.encoded)
        let answer = try value("program status \(name)")
        #expect(key.authenticated(bare, asked: octets).encoded == answer && answer.count == 20)
        #expect(key.answer(answer, asked: octets) == bare)
    }

    @Test("Key Status: no bit of the answer or of the question may be another, and no other answer counts")
    func forgedStatus() throws {
        let (key, (question, _)) = (try key(), try question())
        let refusal = ControlPointResponse(request: .keyStatus, result: .notPermitted)
        #expect(key.authenticated(refusal, asked: question).encoded == (try value("program status refused")))
        #expect(key.answer(try value("program status refused"), asked: question) == refusal)
        let answer = try value("program status done")
        for bit in 0..<answer.count * 8 {
            var changed = answer
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(key.answer(changed, asked: question) == nil, "answer, bit \(bit)")
        }
        for bit in 0..<question.count * 8 {
            var changed = question
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(key.answer(answer, asked: changed) == nil, "question, bit \(bit)")
        }
        for count in 0..<answer.count { #expect(key.answer(Array(answer.prefix(count)), asked: question) == nil) }
        // What the same key says elsewhere is no answer.
        let other = try #require(ProgramKey(Secret([UInt8](repeating: 7, count: ProgramKey.octets))))
        #expect(other.answer(answer, asked: question) == nil)
        #expect(key.answer(answer + [0], asked: question) == nil)
    }

    @Test("Confirmation: the lock shows that it has the key, and not by what the program has shown")
    func acceptance() throws {
        let (key, octets) = (try key(), try value("program acceptance"))
        #expect(key.acceptance == octets && key.isAccepted(by: octets) && !key.isAccepted(by: key.confirmation))
        for bit in 0..<octets.count * 8 {
            var changed = octets
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.isAccepted(by: changed), "bit \(bit)")
        }
        #expect(!key.isAccepted(by: []))
    }
}
