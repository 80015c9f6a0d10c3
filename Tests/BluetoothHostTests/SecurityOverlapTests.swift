import ATT
import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Encryption, pairings and users' answers that overlap on one link: each thing asked for ends once.
@Suite(.capturesFailures) struct SecurityOverlapTests {
    private static let renewing = PairingRules(.anybody, renewsBonds: true)

    /// Bonded, and connected again since the peripheral lost its bond.
    private func bondLost(_ capability: IOCapability = .displayYesNo) throws -> Duo {
        let duo = try Duo(Self.renewing, capability: capability)
        try duo.bond()
        try duo.disconnect()
        duo.lose(bondOf: .peripheral)
        try duo.connect()
        return duo
    }

    private func isValue(_ result: Result<OperationValue, HostError>?) -> Bool {
        if case .success(.gatt(.value([1, 2, 3]))) = result { true } else { false }
    }

    @Test("A pairing that the app begins while its user is still asked about a lost bond gets the user's answers")
    func pairedWhileAsked() throws {
        let duo = try bondLost()
        let central = duo[.central]
        let (agent, client) = (try #require(central.agent), try #require(central.client))
        agent.isSilent = true
        let questions = agent.consents.count
        let token = try duo.read(by: .central)
        duo.run { agent.consents.count > questions }
        #expect(client.results[token] == nil)
        let peer = try #require(client.link?.peer)
        central.node.call { $0.pair(client.manager, peer) }
        // The numbers are compared by both users.
        #expect(isValue(duo.answer(to: token, of: .central)))
        #expect(client.answers[token] == 1)
        // What the first question's answer would have been is of no use any more.
        let question = try #require(agent.consents.last)
        let pairings = central.node.pairingRequests.count
        central.node.call { $0.answerPairing(question.link.link, .consent(true)) }
        duo.world.run(forMilliseconds: 1_000)
        #expect(central.node.pairingRequests.count == pairings)
    }

    @Test(
        "A key that the peer does not know any more ends no pairing that has begun since, and asks nobody about the bond"
    )
    func lostWhilePairing() throws {
        let duo = try bondLost()
        let central = duo[.central]
        let (agent, client) = (try #require(central.agent), try #require(central.client))
        let (questions, encryptions) = (agent.consents.count, central.node.encryptions)
        let token = try duo.read(by: .central)
        duo.world.run(forMilliseconds: 5_000) { central.node.encryptions > encryptions }
        #expect(client.securityErrors.isEmpty)
        let peer = try #require(client.link?.peer)
        central.node.call { $0.pair(client.manager, peer) }
        #expect(isValue(duo.answer(to: token, of: .central)))
        #expect(client.securityErrors == [.encryptionFailed(.pinOrKeyMissing)])
        #expect(client.answers.values.allSatisfy { $0 == 1 })
        #expect(agent.consents.count == questions)
        #expect(agent.ended.filter { if case .failure = $0 { true } else { false } }.isEmpty)
    }

    @Test("A second pairing is refused to whoever asked for it, and the first goes on as if nobody had")
    func pairedTwice() throws {
        let duo = try Duo(capability: .displayYesNo)
        let central = duo[.central]
        let (agent, client) = (try #require(central.agent), try #require(central.client))
        let token = try duo.read(by: .central)
        duo.world.run(forMilliseconds: 5_000) { !agent.numbers.isEmpty }
        let peer = try #require(client.link?.peer)
        central.node.call { $0.pair(client.manager, peer) }
        #expect(client.paired == [.failure(.pairing(.notPossibleNow))])
        #expect(agent.ended.isEmpty && client.results[token] == nil)
        #expect(isValue(duo.answer(to: token, of: .central)))
        #expect(agent.ended.count == 1 && client.answers[token] == 1)
    }

    @Test("An operation whose pairing ends where it begins is answered once")
    func pairingWithoutRoom() throws {
        let store = MemoryHostStore()
        for number in 1...Int64(BondBook.unnamedBondsMaximum) {
            let address = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0000 | UInt64(number))
            let identity = try #require(IdentityAddress(address))
            let ltk = Secret(Array(repeating: UInt8(truncatingIfNeeded: number) | 1, count: 16))
            store.append(
                .bond(
                    .upsert(
                        Bond(id: BondID(number), identity: identity, ltk: ltk, model: .justWorks, state: .confirmed))))
        }
        store.didCommit()
        let duo = try Duo(centralStore: store)
        let token = try duo.read(by: .central)
        guard case .failure(.gatt(.refused(.insufficientAuthentication, _))) = duo.answer(to: token, of: .central)
        else {
            Issue.record("\(String(describing: duo[.central].client?.results[token]))")
            return
        }
        duo.world.run(forMilliseconds: 1_000)
        #expect(duo[.central].client?.answers[token] == 1)
        #expect(duo[.central].client?.paired == [.failure(.pairing(.identityTaken))])
        #expect(duo[.central].node.pairingRequests.isEmpty)
    }

    @Test("A client whose peer made the link hears that the peer did not encrypt it, when a pairing's time is over")
    func unanswered() throws {
        let duo = try Duo(rules: [.central: .refused])
        let client = try #require(duo[.peripheral].client)
        let peer = try #require(client.link?.peer)
        duo[.peripheral].node.call { $0.encrypt(peer) }
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds - 1_000)
        #expect(client.secured.isEmpty && duo[.peripheral].node.securityRequests.count == 1)
        duo.world.run(forMilliseconds: 2_000)
        #expect(client.securityErrors == [.pairing(.timedOut)])
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds)
        #expect(client.securityErrors.count == 1 && client.link != nil)
    }

    @Test("Who asks for encryption once more when it hears that nobody answered hears what becomes of that, too")
    func askedAgain() throws {
        let duo = try Duo(rules: [.central: .refused])
        let client = try #require(duo[.peripheral].client)
        let peer = try #require(client.link?.peer)
        client.onInsecurity = { [unowned client] peer in
            if client.securityErrors.count == 1 { client.host.encrypt(peer) }
        }
        duo[.peripheral].node.call { $0.encrypt(peer) }
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds + 1_000)
        #expect(client.securityErrors == [.pairing(.timedOut)])
        #expect(duo[.peripheral].node.securityRequests.count == 2)
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds)
        #expect(client.securityErrors == [.pairing(.timedOut), .pairing(.timedOut)])
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds)
        #expect(client.securityErrors.count == 2)
    }

    @Test("Who asks for encryption when it hears that a pairing failed hears what becomes of that")
    func askedAfterPairing() throws {
        let duo = try Duo(capability: .displayYesNo)
        let peripheral = duo[.peripheral]
        let (agent, client) = (try #require(peripheral.agent), try #require(peripheral.client))
        let token = try duo.read(by: .peripheral)
        duo.world.run(forMilliseconds: 5_000) { !agent.numbers.isEmpty }
        let link = try #require(agent.numbers.last).link.link
        client.onInsecurity = { [unowned client] peer in
            if client.securityErrors.isEmpty { client.host.encrypt(peer) }
        }
        peripheral.node.call { $0.answerPairing(link, .numbersAreEqual(false)) }
        duo.world.run(forMilliseconds: 1_000)
        #expect(client.paired.count == 1 && client.results[token] == nil)
        #expect(peripheral.node.securityRequests.count == 2)
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds)
        #expect(client.securityErrors == [.pairing(.timedOut)])
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds)
        #expect(client.answers[token] == 1 && client.securityErrors.count == 1)
    }
}
