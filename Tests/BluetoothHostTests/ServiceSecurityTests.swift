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

/// What becomes of a request that the link is not secure enough for, at either end and in either role.
@Suite("Core 5.4, Vol 3, Part C, 10.3: service requests and the security that they want", .capturesFailures)
struct ServiceSecurityTests {
    private func expectValue(_ result: Result<OperationValue, HostError>?) {
        guard case .success(.gatt(.value([1, 2, 3]))) = result else {
            Issue.record("\(String(describing: result))")
            return
        }
    }

    private func expectRefused(_ result: Result<OperationValue, HostError>?, _ code: ATTErrorCode) {
        guard case .failure(.gatt(.refused(code, _))) = result else {
            Issue.record("\(String(describing: result))")
            return
        }
    }

    /// The client asked twice, and the server refused the first time with `code`.
    private func expectRepeated(_ duo: Duo, _ client: Duo.Side, _ index: Int = 0, refusedWith code: UInt8) throws {
        let handle = try #require(duo[client.other].service).characteristics[index].value.rawValue
        let octets = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        let asked = duo[client].node.serviceRequests.filter { $0[0] == 0x0A }.suffix(2)
        #expect(asked == [[0x0A] + octets, [0x0A] + octets])
        let answered = duo[client.other].node.serviceRequests.filter { $0[0] != 0x0A }.suffix(2)
        #expect(answered == [[0x01, 0x0A] + octets + [code], [0x0B, 1, 2, 3]])
    }

    // MARK: A stranger

    @Test(
        "10.3.1: no key: Insufficient Authentication. The client pairs, with protection where both can, and asks again",
        arguments: Duo.Side.allCases)
    func unauthenticated(_ client: Duo.Side) throws {
        let duo = try Duo(capability: .displayYesNo)
        expectValue(duo.answer(to: try duo.read(by: client, 1), of: client))
        try expectRepeated(duo, client, 1, refusedWith: 0x05)
        for side in Duo.Side.allCases { #expect(duo[side].bonds.map(\.securityLevel) == [4]) }
        #expect(duo[.peripheral].node.securityRequests.count == (client == .peripheral ? 1 : 0))
        #expect(duo[.central].node.pairingRequests.count == 1)
    }

    @Test(
        "10.3.2: a peer that can show and type nothing: paired with where Just Works will do, refused where it will not",
        arguments: Duo.Side.allCases)
    func withoutCapabilities(_ client: Duo.Side) throws {
        let strict = PairingRules(.anybody, minimumLevel: 3)
        for rules in [PairingRules.justWorks, strict] {
            let duo = try Duo(
                rules: [client: rules], capability: .displayYesNo, capabilities: [client.other: .noInputNoOutput])
            let result = duo.answer(to: try duo.read(by: client), of: client)
            if rules.minimumLevel == 2 {
                expectValue(result)
                try expectRepeated(duo, client, refusedWith: 0x05)
                #expect(duo[client].bonds.map(\.securityLevel) == [2])
            } else {
                expectRefused(result, .insufficientAuthentication)
                #expect(duo[client].bonds.isEmpty && duo[client.other].bonds.isEmpty)
            }
            #expect(duo[.central].node.pairingRequests.count == 1)
            // As peripheral it says what it mandates.
            let asked = duo[.peripheral].node.securityRequests
            #expect(asked == (client == .central ? [] : [[0x0B, rules.minimumLevel == 2 ? 0x09 : 0x0D]]))
        }
    }

    @Test("10.3.2: a central that leaves a Security Request unanswered is waited for no longer than a pairing may take")
    func silentCentral() throws {
        let duo = try Duo(rules: [.central: .refused])
        let token = try duo.read(by: .peripheral)
        let client = try #require(duo[.peripheral].client)
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds - 1_000)
        #expect(client.results[token] == nil && duo[.peripheral].node.securityRequests.count == 1)
        duo.world.run(forMilliseconds: 2_000)
        expectRefused(client.results[token], .insufficientAuthentication)
        #expect(client.answers[token] == 1)
    }

    // MARK: A bonded peer

    @Test(
        "10.3.1: a key, and no encryption: a central is refused, encrypts and asks again; a peripheral has it encrypted first",
        arguments: Duo.Side.allCases)
    func unencrypted(_ client: Duo.Side) throws {
        let duo = try Duo(capability: .displayYesNo)
        expectValue(duo.answer(to: try duo.read(by: .central, 1), of: .central))
        let (encryptions, pairings) = (duo[.central].node.encryptions, duo[.central].node.pairingRequests.count)
        let requests = duo[client].node.serviceRequests.count
        try duo.reconnect(for: [client])
        // Nothing is asked of a central in a bonded peer's name before it has proved to be that.
        #expect(duo[.peripheral].node.securityRequests.count == (client == .peripheral ? 1 : 0))
        #expect(duo[client].node.serviceRequests.count == requests)
        #expect(duo[client].client?.link?.isProven == (client == .peripheral))
        expectValue(duo.answer(to: try duo.read(by: client, 1), of: client))
        if client == .central { try expectRepeated(duo, client, 1, refusedWith: 0x0F) }
        #expect(duo[client].node.serviceRequests.count == requests + (client == .central ? 2 : 1))
        #expect(duo[.central].node.encryptions == encryptions + 1)
        #expect(duo[.central].node.pairingRequests.count == pairings, "nobody pairs")
        #expect(duo[client].agent?.consents.count ?? 0 <= 1, "and nobody is asked")
    }

    @Test(
        "10.3.1: encrypted without protection, where it is wanted: Insufficient Authentication, and a pairing makes more",
        arguments: Duo.Side.allCases)
    func strengthened(_ client: Duo.Side) throws {
        let duo = try Duo()
        try duo.bond()
        let old = Set(Duo.Side.allCases.flatMap { duo[$0].bonds.map(\.id) })
        for side in Duo.Side.allCases { duo.setAgent(side, .displayYesNo) }
        try duo.reconnect()
        // With the bond that there is.
        expectValue(duo.answer(to: try duo.read(by: client), of: client))
        let pairings = duo[.central].node.pairingRequests.count
        expectValue(duo.answer(to: try duo.read(by: client, 1), of: client))
        try expectRepeated(duo, client, 1, refusedWith: 0x05)
        #expect(duo[.central].node.pairingRequests.count == pairings + 1)
        #expect(duo[.central].node.pairingRequests.last?[3] == 0x0D, "bonding, MITM, Secure Connections")
        if client == .peripheral { #expect(duo[.peripheral].node.securityRequests.last == [0x0B, 0x0D]) }
        // The bond of the next link is the new one.
        try duo.reconnect()
        expectValue(duo.answer(to: try duo.read(by: client, 1), of: client))
        for side in Duo.Side.allCases {
            #expect(duo[side].bonds.map(\.securityLevel) == [4])
            #expect(old.isDisjoint(with: duo[side].bonds.map(\.id)))
        }
    }

    @Test(
        "10.3.2: what no capability of this side can reach is not tried: no Pairing Request, no Security Request",
        arguments: Duo.Side.allCases)
    func outOfReach(_ client: Duo.Side) throws {
        let duo = try Duo()
        try duo.bond()
        let sent = { duo[.central].node.pairingRequests.count + duo[.peripheral].node.securityRequests.count }
        let before = sent()
        expectRefused(duo.answer(to: try duo.read(by: client, 1), of: client), .insufficientAuthentication)
        #expect(sent() == before)
    }

    @Test(
        "Vol 3, Part G, 3.3.3.3: a subscription outlives the bond that it was made under, when a stronger one takes its place",
        arguments: Duo.Side.allCases)
    func subscriptionInherited(_ server: Duo.Side) throws {
        let duo = try Duo()
        try duo.bond()
        try duo.reconnect()
        let (app, client) = (try #require(duo[server].server), try #require(duo[server.other].client))
        let definition = ServiceDefinition(
            uuid: 0xFFD0,
            characteristics: [
                CharacteristicDefinition(
                    uuid: 0xFFD1, properties: .notify, access: AttributeAccess(subscribe: .encrypted))
            ])
        var service: PublishedService?
        duo[server].node.call { service = try? $0.publish(app.manager, definition) }
        let notifying = try #require(service?.characteristics.first)
        let configuration = try #require(notifying.configuration)
        expectValue(duo.answer(to: try duo.read(by: server.other), of: server.other))
        let peer = try #require(client.link?.peer)
        duo[server.other].node.call {
            _ = $0.setNotify(client.manager, peer, value: notifying.value, ccc: configuration, kind: .notify)
        }
        #expect(duo.world.run(forMilliseconds: 2_000) { app.subscriptions[notifying.value] == true })
        for side in Duo.Side.allCases { duo.setAgent(side, .displayYesNo) }
        expectValue(duo.answer(to: try duo.read(by: server.other, 1), of: server.other))
        func update(_ value: UInt8) {
            duo[server].node.call {
                _ = $0.updateValue(app.manager, notifying.value, [value], to: nil, keepForAbsent: false)
            }
            duo.world.run(forMilliseconds: 1_000)
        }
        update(1)
        try duo.reconnect()
        expectValue(duo.answer(to: try duo.read(by: server.other), of: server.other))
        update(2)
        #expect(client.updates.map(\.value) == [[1], [2]])
        #expect(app.subscriptions[notifying.value] == true)
    }

    // MARK: A lost bond

    private static let bondLost = HostError.encryptionFailed(.pinOrKeyMissing)
    private static let renewing = PairingRules(.anybody, renewsBonds: true)

    @Test(
        "10.3.2: the peripheral lost its bond: the app hears it, the bond stands, and without a user's word nobody pairs"
    )
    func lostByPeripheral() throws {
        for (rules, capability) in [(PairingRules.justWorks, IOCapability.displayYesNo), (Self.renewing, nil)] {
            let duo = try Duo(rules, capabilities: [.central: capability])
            try duo.bond()
            let bonds = duo[.central].bonds
            try duo.disconnect()
            duo.lose(bondOf: .peripheral)
            try duo.connect()
            let pairings = duo[.central].node.pairingRequests.count
            expectRefused(duo.answer(to: try duo.read(by: .central), of: .central), .insufficientAuthentication)
            #expect(duo[.central].client?.securityErrors == [Self.bondLost])
            #expect(duo[.central].bonds.map(\.id) == bonds.map(\.id))
            #expect(duo[.central].node.pairingRequests.count == pairings)
            #expect(duo[.central].client?.link != nil, "the link stands")
        }
    }

    @Test(
        "10.3.2: the peripheral lost its bond: the user is asked before the pairing begins, and what was asked for follows",
        arguments: [true, false])
    func renewedByCentral(_ isWilling: Bool) throws {
        let duo = try Duo(Self.renewing, capability: .displayYesNo)
        try duo.bond()
        let old = duo[.central].bonds
        try duo.disconnect()
        duo.lose(bondOf: .peripheral)
        try duo.connect()
        let central = duo[.central]
        let agent = try #require(central.agent)
        agent.isSilent = true
        let (pairings, questions) = (central.node.pairingRequests.count, agent.consents.count)
        let token = try duo.read(by: .central)
        duo.run { agent.consents.count > questions }
        duo.world.run(forMilliseconds: 1_000)
        let question = try #require(agent.consents.last)
        #expect(agent.consents.count == questions + 1 && question.model == nil)
        #expect(question.link.bond == old.first?.id && !question.link.isProven)
        #expect(central.node.pairingRequests.count == pairings, "not before the user has said so")
        #expect(central.client?.results[token] == nil)
        central.node.call { $0.answerPairing(question.link.link, .consent(isWilling)) }
        let result = duo.answer(to: token, of: .central)
        if isWilling {
            expectValue(result)
            // The next link tells that both have it; then the old one goes.
            try duo.reconnect()
            expectValue(duo.answer(to: try duo.read(by: .central), of: .central))
            #expect(central.bonds.count == 1 && central.bonds.first?.id != old.first?.id)
        } else {
            expectRefused(result, .insufficientAuthentication)
            #expect(central.bonds.map(\.id) == old.map(\.id))
            #expect(central.node.pairingRequests.count == pairings)
        }
    }

    @Test("A user who never answers whether a lost bond may be renewed has said no after thirty seconds")
    func unanswered() throws {
        let duo = try Duo(Self.renewing, capability: .displayYesNo)
        try duo.bond()
        try duo.disconnect()
        duo.lose(bondOf: .peripheral)
        try duo.connect()
        duo[.central].agent?.isSilent = true
        let pairings = duo[.central].node.pairingRequests.count
        let (first, second) = (try duo.read(by: .central), try duo.read(by: .central))
        duo.world.run(forMilliseconds: PairingMachine.timeoutMilliseconds + 5_000)
        let client = try #require(duo[.central].client)
        for token in [first, second] {
            expectRefused(client.results[token], .insufficientAuthentication)
            #expect(client.answers[token] == 1)
        }
        #expect(duo[.central].node.pairingRequests.count == pairings)
    }

    @Test(
        "10.3.2: the central lost its bond and answers a Security Request by pairing: the app hears it, and waits on")
    func lostByCentral() throws {
        for (rules, capability) in [(PairingRules.justWorks, IOCapability.displayYesNo), (Self.renewing, nil)] {
            let duo = try Duo(rules, capabilities: [.peripheral: capability])
            try duo.bond()
            let bonds = duo[.peripheral].bonds
            try duo.disconnect()
            duo.lose(bondOf: .central)
            try duo.connect(for: [.central])
            let responses = duo[.peripheral].node.pairingResponses.count
            try duo.wait()
            duo.run { duo[.peripheral].server?.securityErrors.isEmpty == false }
            duo.world.run(forMilliseconds: 2_000)
            #expect(duo[.peripheral].server?.securityErrors == [Self.bondLost])
            #expect(duo[.peripheral].client?.link == nil)
            #expect(duo[.peripheral].bonds.map(\.id) == bonds.map(\.id))
            #expect(duo[.peripheral].node.pairingResponses.count == responses)
        }
    }

    @Test(
        "10.3.2: the central lost its bond and pairs: the user is asked before the answer, and what was asked for follows",
        arguments: [true, false])
    func renewedByPeripheral(_ isWilling: Bool) throws {
        let duo = try Duo(Self.renewing, capability: .displayYesNo)
        try duo.bond()
        let old = duo[.peripheral].bonds
        try duo.disconnect()
        duo.lose(bondOf: .central)
        try duo.connect(for: [.central])
        let peripheral = duo[.peripheral]
        let agent = try #require(peripheral.agent)
        agent.isSilent = true
        let (responses, questions) = (peripheral.node.pairingResponses.count, agent.consents.count)
        try duo.wait()
        duo.run { agent.consents.count > questions }
        let question = try #require(agent.consents.last)
        #expect(question.link.bond == old.first?.id && !question.link.isProven)
        #expect(peripheral.node.pairingResponses.count == responses)
        #expect(peripheral.server?.securityErrors == [Self.bondLost])
        peripheral.node.call { $0.answerPairing(question.link.link, .consent(isWilling)) }
        duo.run { peripheral.client?.link != nil }
        #expect((peripheral.client?.link != nil) == isWilling)
        if isWilling { expectValue(duo.answer(to: try duo.read(by: .peripheral), of: .peripheral)) }
        #expect((peripheral.bonds.map(\.id) == old.map(\.id)) == !isWilling)
        #expect(peripheral.bonds.count == 1)
    }

    // MARK: Somebody else under a bonded peer's address

    /// A script that answers reads with Insufficient Encryption and knows no key.
    private final class Impostor {
        let peer: RawPeer
        private(set) var reads = 0
        private var exchanges = 0

        init(_ duo: Duo, of side: Duo.Side) throws {
            let identity = try #require(duo[side.other].bonds.first?.identity)
            duo[side].node.kill()
            duo.world.run(forMilliseconds: 5_000)
            peer = RawPeer(duo.world, address: identity.address)
        }

        /// Refuses every read, and keeps to the least MTU.
        func run(_ milliseconds: UInt64 = 3_000, until condition: () -> Bool) {
            peer.run(milliseconds) {
                let wanted = peer.att.count { $0.first == 0x02 }
                if wanted > exchanges {
                    exchanges = wanted
                    peer.send([0x03, 23, 0], on: RawPeer.attributeProtocol)
                }
                let asked = peer.att.filter { $0.first == 0x0A }
                if asked.count > reads, let last = asked.last {
                    reads = asked.count
                    peer.send([0x01] + last + [0x0F], on: RawPeer.attributeProtocol)
                }
                return condition()
            }
        }
    }

    @Test(
        "Attack: an impostor of the peripheral refuses the read and the key: the user is asked, and until then nothing leaves"
    )
    func impostorOfPeripheral() throws {
        let duo = try Duo(Self.renewing, capability: .displayYesNo)
        try duo.bond()
        try duo.disconnect()
        let (central, bonds) = (duo[.central], duo[.central].bonds)
        let (client, agent) = (try #require(central.client), try #require(central.agent))
        agent.isSilent = true
        let impostor = try Impostor(duo, of: .peripheral)
        impostor.peer.refusesKeys = true
        impostor.peer.advertise()
        let address = try #require(bonds.first?.identity).address
        central.node.call { $0.connect(client.manager, $0.peer(at: address), options: 0, askedAtSeconds: 0) }
        impostor.run { client.link != nil }
        let pairings = central.node.pairingRequests.count
        let token = try duo.read(by: .central)
        impostor.run { agent.consents.count == 1 }
        impostor.run(1_000) { false }
        #expect(agent.consents.count == 1 && impostor.reads == 1)
        let question = try #require(agent.consents.last)
        #expect(question.model == nil && question.link.bond == bonds.first?.id && !question.link.isProven)
        #expect(central.node.pairingRequests.count == pairings)
        central.node.call { $0.answerPairing(question.link.link, .consent(false)) }
        impostor.run { client.results[token] != nil }
        expectRefused(client.results[token], .insufficientEncryption)
        #expect(central.bonds == bonds && central.node.store.load().bonds == bonds)
    }

    @Test(
        "Attack: an impostor of the central pairs when it is to encrypt: the user is asked, and until then nothing leaves"
    )
    func impostorOfCentral() throws {
        let duo = try Duo(Self.renewing, capability: .displayYesNo)
        try duo.bond()
        try duo.disconnect()
        let (peripheral, bonds) = (duo[.peripheral], duo[.peripheral].bonds)
        let (client, agent) = (try #require(peripheral.client), try #require(peripheral.agent))
        agent.isSilent = true
        let questions = agent.consents.count
        let impostor = try Impostor(duo, of: .central)
        #expect(impostor.peer.connect(to: try #require(peripheral.node.host?.identity.address.address)))
        let name = try #require(peripheral.server?.links.first?.peer)
        peripheral.node.call { $0.connect(client.manager, name, options: 0, askedAtSeconds: 0) }
        let responses = peripheral.node.pairingResponses.count
        impostor.run { impostor.peer.smp.contains { $0.first == 0x0B } }
        // Just Works, with every key.
        impostor.peer.send([0x01, 0x03, 0x00, 0x09, 16, 0x07, 0x07], on: RawPeer.securityManager)
        impostor.run(1_000) { false }
        #expect(peripheral.node.pairingResponses.count == responses)
        // A weaker bond than the one that there is never takes its place: not even the user is asked.
        #expect(agent.consents.count == questions)
        #expect(client.link == nil && impostor.reads == 0)
        // As strong as it, and the user has the last word.
        impostor.run(2_000) { false }
        impostor.peer.send([0x01, 0x01, 0x00, 0x0D, 16, 0x07, 0x07], on: RawPeer.securityManager)
        impostor.run { agent.consents.count > questions }
        #expect(agent.consents.count == questions + 1 && peripheral.node.pairingResponses.count == responses)
        let question = try #require(agent.consents.last)
        peripheral.node.call { $0.answerPairing(question.link.link, .consent(false)) }
        impostor.run(1_000) { false }
        #expect(peripheral.node.pairingResponses.count == responses && client.link == nil)
        #expect(peripheral.bonds == bonds && peripheral.node.store.load().bonds == bonds)
    }

    @Test(
        "Attack: a stranger pairs, and then claims a bonded peer's identity: no user gave that bond up, and it stands")
    func claimedIdentity() throws {
        let duo = try Duo(
            PairingRules(.anybody, renewsBonds: true), capabilities: [.peripheral: .noInputNoOutput])
        try duo.bond()
        try duo.disconnect()
        let bonds = duo[.peripheral].bonds
        let owner = try #require(bonds.first?.identity)
        duo[.central].node.kill()
        let thief = duo.world.add("thief", seed: 77)
        thief.configuration.pairing = .justWorks
        // Its Identity Address Information names the owner.
        thief.wire.outgoing = { packet in
            guard packet.count == 17, packet[0] == 2, packet[7...9] == [6, 0, 0x09] else { return packet }
            return packet.prefix(11) + (0..<6).map { UInt8(truncatingIfNeeded: owner.address.bits >> (8 * UInt64($0))) }
        }
        var app: CentralApp?
        thief.launch { app = CentralApp($0, restoreIdentifier: nil) }
        let central = try #require(app)
        #expect(duo.world.run(forMilliseconds: 500) { central.states.last == .poweredOn })
        let address = try #require(duo[.peripheral].node.host?.identity.address.address)
        thief.call { $0.connect(central.manager, $0.peer(at: address), options: 0, askedAtSeconds: 0) }
        #expect(duo.world.run(forMilliseconds: 3_000) { central.link != nil })
        #expect(duo[.peripheral].server?.links.first?.bond == nil)
        thief.call { $0.pair(central.manager, $0.peer(at: address)) }
        let server = try #require(duo[.peripheral].server)
        #expect(duo.world.run(forMilliseconds: 5_000) { server.paired.count == 2 })
        guard case .failure(.pairing(.identityTaken)) = server.paired.last else {
            Issue.record("\(server.paired)")
            return
        }
        #expect(duo[.peripheral].bonds == bonds && duo[.peripheral].node.store.load().bonds == bonds)
    }
}
