import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import SecurityManager
import Simulation
import Testing
import WorldSupport

@testable import BluetoothHost

/// Pairing for apps that know nothing of it: by rules, with or without somebody to ask.
@Suite(.capturesFailures) struct PairingAgentTests {
    /// A user who writes down what is asked, and answers when told.
    final class Agent: PairingAgent {
        let host: Host
        let ioCapability: IOCapability
        private(set) var consents: [(link: LinkInfo, model: AssociationModel?)] = []
        private(set) var numbers: [(link: LinkInfo, value: UInt32)] = []
        private(set) var shown: UInt32?
        private(set) var typing: LinkInfo?
        private(set) var ended: [Result<BondID, HostError>] = []
        var isWilling = true
        /// Answers later, or never.
        var isSilent = false

        init(_ host: Host, _ ioCapability: IOCapability) {
            self.host = host
            self.ioCapability = ioCapability
        }

        func consentRequested(_ link: LinkInfo, model: AssociationModel?) {
            consents.append((link, model))
            guard !isSilent else { return }
            host.answerPairing(link.link, .consent(isWilling))
        }
        func numericComparisonRequested(_ link: LinkInfo, value: UInt32) { numbers.append((link, value)) }
        func displayPasskey(_ link: LinkInfo, passkey: UInt32) { shown = passkey }
        func passkeyRequested(_ link: LinkInfo) { typing = link }
        func pairingEnded(_ link: LinkInfo, result: Result<BondID, HostError>) { ended.append(result) }
    }

    /// A service whose value is read only on an encrypted link, and one only on an authenticated one.
    static let definition = ServiceDefinition(
        uuid: 0xFFE0,
        characteristics: [
            CharacteristicDefinition(uuid: 0xFFE1, properties: .read, access: AttributeAccess(read: .encrypted)),
            CharacteristicDefinition(
                uuid: 0xFFE2, properties: .read, access: AttributeAccess(read: .encryptedAuthenticated)),
        ])

    /// A connected pair of generic hosts.
    final class Pair {
        let scene = HostScenarioTests.Scene()
        private(set) var service: PublishedService?
        var lockAgent: Agent?
        var keyAgent: Agent?

        init(
            lock: PairingRules = .justWorks, key: PairingRules = .justWorks, lockCapability: IOCapability? = nil,
            keyCapability: IOCapability? = nil, definition: ServiceDefinition = PairingAgentTests.definition
        ) throws {
            scene.lock.configuration.pairing = lock
            scene.key.configuration.pairing = key
            scene.start()
            let app = try #require(scene.peripheral)
            scene.lock.call { host in
                service = try? host.publish(app.manager, definition)
                lockAgent = lockCapability.map { Agent(host, $0) }
                host.setPairingAgent(lockAgent)
            }
            scene.key.call { host in
                keyAgent = keyCapability.map { Agent(host, $0) }
                host.setPairingAgent(keyAgent)
            }
            try scene.connect()
        }

        func handle(_ index: Int = 0) throws -> AttributeHandle { try #require(service).characteristics[index].value }

        /// Asks to read; the answer may wait for users.
        func read(_ index: Int = 0) throws -> OperationToken {
            let (app, door, handle) = (
                try #require(scene.central), try #require(scene.door), try handle(index)
            )
            var token: OperationToken?
            scene.key.call { token = $0.perform(app.manager, door, .read(handle)) }
            return try #require(token)
        }

        func answer(to token: OperationToken) -> Result<OperationValue, HostError>? {
            scene.world.run(forMilliseconds: 5_000) { scene.central?.results[token] != nil }
            return scene.central?.results[token]
        }

        func run(until condition: () -> Bool) { scene.world.run(forMilliseconds: 5_000, until: condition) }
    }

    private func expectValue(_ result: Result<OperationValue, HostError>?) {
        guard case .success(.gatt(.value(let value))) = result else {
            Issue.record("\(String(describing: result))")
            return
        }
        #expect(value == [1, 2, 3])
    }

    private func expectRefused(_ result: Result<OperationValue, HostError>?, _ code: ATTErrorCode) {
        guard case .failure(.gatt(.refused(code, _))) = result else {
            Issue.record("\(String(describing: result))")
            return
        }
    }

    @Test("Refused by default: an encrypted characteristic says so, nobody pairs, and no Pairing Request leaves")
    func refusedByDefault() throws {
        let pair = try Pair(lock: .refused, key: .refused)
        expectRefused(pair.answer(to: try pair.read()), .insufficientAuthentication)
        #expect(pair.scene.key.host?.bonds.isEmpty == true && pair.scene.lock.host?.bonds.isEmpty == true)
        // A central that pairs on demand meets a peripheral that refuses.
        let other = try Pair(lock: .refused, key: .justWorks)
        expectRefused(other.answer(to: try other.read()), .insufficientAuthentication)
        #expect(other.scene.central?.paired.count == 1 && other.scene.lock.host?.bonds.isEmpty == true)
    }

    @Test("Reading an encrypted characteristic pairs by Just Works where the rules allow it, and answers the read")
    func justWorks() throws {
        let pair = try Pair()
        expectValue(pair.answer(to: try pair.read()))
        #expect(pair.scene.key.host?.bonds.map(\.securityLevel) == [2])
        #expect(pair.scene.central?.link?.security.encrypted == false, "the link as it was when it came")
        // What wants more than Just Works makes is refused, after one more try at most.
        expectRefused(pair.answer(to: try pair.read(1)), .insufficientAuthentication)
        #expect(pair.scene.key.host?.bonds.count == 1)
    }

    @Test("As needed, a value that wants an encrypted link works between two hosts that nobody has told anything")
    func asNeeded() throws {
        let pair = try Pair(lock: .asNeeded, key: .asNeeded)
        expectValue(pair.answer(to: try pair.read()))
        #expect(pair.scene.key.host?.bonds.map(\.securityLevel) == [2])
    }

    @Test("Attack: as needed, a central pairs with nobody who publishes nothing that asks for it, until something does")
    func uninvitedCentral() throws {
        let open = ServiceDefinition(
            uuid: 0xFFE0,
            characteristics: [CharacteristicDefinition(uuid: 0xFFE1, properties: .read, access: .readOnly)])
        let pair = try Pair(lock: .asNeeded, key: .justWorks, definition: open)
        let (app, door) = (try #require(pair.scene.central), try #require(pair.scene.door))
        pair.scene.key.call { $0.pair(app.manager, door) }
        pair.run { !app.paired.isEmpty }
        #expect(app.paired.count == 1 && pair.scene.lock.host?.bonds.isEmpty == true)
        let server = try #require(pair.scene.peripheral)
        pair.scene.lock.call {
            _ = try? $0.publishChannel(server.manager, encrypted: true, delegate: NobodysChannels())
        }
        // The wait behind a failure is over.
        pair.scene.world.run(forMilliseconds: 3_000)
        pair.scene.key.call { $0.pair(app.manager, door) }
        pair.run { app.paired.count == 2 }
        #expect(pair.scene.lock.host?.bonds.count == 1)
    }

    @Test(
        "As needed, a peripheral that asks for security by itself gets none without a user, and asks one where there is one"
    )
    func uninvitedPeripheral() throws {
        let pair = try Pair(key: .asNeeded)
        let link = try #require(pair.scene.peripheral?.links.first)
        pair.scene.lock.call { $0.requestSecurity(link.link) }
        pair.scene.world.run(forMilliseconds: 2_000)
        #expect(pair.scene.key.host?.bonds.isEmpty == true)
        for isWilling in [false, true] {
            let asked = try Pair(key: .asNeeded, keyCapability: .noInputNoOutput)
            asked.keyAgent?.isWilling = isWilling
            let link = try #require(asked.scene.peripheral?.links.first)
            asked.scene.lock.call { $0.requestSecurity(link.link) }
            asked.run { asked.keyAgent?.ended.isEmpty == false }
            #expect(asked.keyAgent?.consents.map(\.model) == [.justWorks])
            #expect(asked.scene.key.host?.bonds.isEmpty == !isWilling)
        }
    }

    @Test("Just Works shows the user who begins nothing: he is asked whether to pair at all, and his no ends it")
    func consentOfInitiator() throws {
        for isWilling in [true, false] {
            let pair = try Pair(keyCapability: .noInputNoOutput)
            pair.keyAgent?.isWilling = isWilling
            let answer = pair.answer(to: try pair.read())
            if isWilling { expectValue(answer) } else { expectRefused(answer, .insufficientAuthentication) }
            #expect(pair.keyAgent?.consents.map(\.model) == [.justWorks])
            #expect(pair.scene.lock.host?.bonds.isEmpty == !isWilling)
        }
    }

    @Test("A bonded peer is encrypted with on demand, and its bond counts as confirmed from then on")
    func reconnection() throws {
        let pair = try Pair()
        expectValue(pair.answer(to: try pair.read()))
        #expect(pair.scene.key.host?.bonds.first?.state == .unconfirmed)
        pair.scene.dropLink()
        try pair.scene.connect()
        expectValue(pair.answer(to: try pair.read()))
        #expect(pair.scene.central?.paired.count == 1, "no second pairing")
        pair.run { pair.scene.lock.host?.bonds.first?.state == .confirmed }
        #expect(pair.scene.key.host?.bonds.first?.state == .confirmed)
        #expect(pair.scene.lock.store.load().bonds.first?.state == .confirmed)
    }

    @Test("Numeric comparison: both users see the same six digits, and the read waits for both")
    func numericComparison() throws {
        let pair = try Pair(lockCapability: .displayYesNo, keyCapability: .keyboardDisplay)
        let token = try pair.read(1)
        pair.run { pair.keyAgent?.numbers.isEmpty == false && pair.lockAgent?.numbers.isEmpty == false }
        let (mine, theirs) = (try #require(pair.keyAgent?.numbers.first), try #require(pair.lockAgent?.numbers.first))
        #expect(mine.value == theirs.value)
        #expect(pair.lockAgent?.consents.map(\.model) == [.numericComparison])
        pair.scene.key.call { $0.answerPairing(mine.link.link, .numbersAreEqual(true)) }
        #expect(pair.scene.central?.results[token] == nil)
        pair.scene.lock.call { $0.answerPairing(theirs.link.link, .numbersAreEqual(true)) }
        expectValue(pair.answer(to: token))
        #expect(pair.scene.key.host?.bonds.map(\.securityLevel) == [4])
        #expect(pair.keyAgent?.ended.count == 1 && pair.lockAgent?.ended.count == 1)
    }

    @Test(
        "Passkey entry either way, and by two keyboards",
        arguments: [
            (IOCapability.displayOnly, IOCapability.keyboardOnly), (.keyboardOnly, .displayOnly),
            (.keyboardOnly, .keyboardOnly),
        ])
    func passkey(_ lock: IOCapability, _ key: IOCapability) throws {
        let pair = try Pair(lockCapability: lock, keyCapability: key)
        let token = try pair.read(1)
        pair.run { pair.keyAgent?.typing != nil || pair.lockAgent?.typing != nil }
        pair.scene.world.run(forMilliseconds: 500)
        let passkey = pair.keyAgent?.shown ?? pair.lockAgent?.shown ?? 123_456
        if let link = pair.keyAgent?.typing {
            pair.scene.key.call { $0.answerPairing(link.link, .passkey(passkey)) }
        }
        if let link = pair.lockAgent?.typing {
            pair.scene.lock.call { $0.answerPairing(link.link, .passkey(passkey)) }
        }
        expectValue(pair.answer(to: token))
        #expect(pair.scene.lock.host?.bonds.map(\.model) == [.passkeyEntry])
    }

    @Test(
        "A user who does not consent, finds the numbers unequal or gives up: the read is refused, and nobody is bonded")
    func refusals() throws {
        var pair = try Pair(lockCapability: .displayYesNo, keyCapability: .displayYesNo)
        pair.lockAgent?.isWilling = false
        expectRefused(pair.answer(to: try pair.read()), .insufficientAuthentication)
        #expect(pair.scene.lock.host?.bonds.isEmpty == true)
        for answer in [PairingAnswer.numbersAreEqual(false), .refusal] {
            pair = try Pair(lockCapability: .displayYesNo, keyCapability: .displayYesNo)
            let token = try pair.read()
            pair.run { pair.lockAgent?.numbers.isEmpty == false }
            let link = try #require(pair.lockAgent?.numbers.first?.link)
            pair.scene.lock.call { $0.answerPairing(link.link, answer) }
            expectRefused(pair.answer(to: token), .insufficientAuthentication)
            #expect(pair.scene.lock.host?.bonds.isEmpty == true && pair.scene.key.host?.bonds.isEmpty == true)
        }
    }

    @Test("A peripheral's Security Request: a stranger pairs where the rules allow it, a bonded central encrypts")
    func securityRequest() throws {
        let pair = try Pair()
        let link = try #require(pair.scene.peripheral?.links.first)
        pair.scene.lock.call { $0.requestSecurity(link.link) }
        pair.run { pair.scene.peripheral?.paired.isEmpty == false }
        #expect(pair.scene.lock.host?.bonds.count == 1)
        pair.scene.dropLink()
        try pair.scene.connect()
        let again = try #require(pair.scene.peripheral?.links.first)
        pair.scene.lock.call { $0.requestSecurity(again.link) }
        pair.run { pair.scene.peripheral?.secured.count == 2 }
        #expect(pair.scene.peripheral?.secured.count == 2 && pair.scene.peripheral?.paired.count == 1)
        let refusing = try Pair(key: .refused)
        let third = try #require(refusing.scene.peripheral?.links.first)
        refusing.scene.lock.call { $0.requestSecurity(third.link) }
        refusing.scene.world.run(forMilliseconds: 2_000)
        #expect(refusing.scene.key.host?.bonds.isEmpty == true)
    }

    @Test("An open window is the only way in: what the rules would allow does not stand beside it")
    func windowFirst() throws {
        let pair = try Pair()
        pair.scene.lock.call {
            $0.setPairingWindow(PairingWindow(method: .passkeyDisplay, credential: "bob"))
        }
        expectRefused(pair.answer(to: try pair.read()), .insufficientAuthentication)
        #expect(pair.scene.lock.host?.bonds.isEmpty == true)
    }

    @Test("Legacy pairing needs a word of both hosts' rules, and encrypts again with EDIV and Rand")
    func legacy() throws {
        let alone = PairingRules(.anybody, legacy: LegacyPairing(isAlone: true))
        let refused = try Pair(key: alone)
        expectRefused(refused.answer(to: try refused.read()), .insufficientAuthentication)
        let pair = try Pair(lock: alone, key: PairingRules(.anybody, legacy: LegacyPairing()))
        expectValue(pair.answer(to: try pair.read()))
        let bond = try #require(pair.scene.key.host?.bonds.first)
        #expect(!bond.secureConnections && bond.ediv != 0 && bond.rand != 0)
        pair.scene.dropLink()
        try pair.scene.connect()
        expectValue(pair.answer(to: try pair.read()))
        #expect(pair.scene.central?.paired.count == 1)
    }

    @Test(
        "One read past those that may wait for security has its refusal for an answer; the others have theirs in the end"
    )
    func operationsWaiting() throws {
        let pair = try Pair(
            lock: .justWorks, key: .justWorks, lockCapability: .displayYesNo, keyCapability: .displayYesNo)
        let tokens = try (0...ClientSession.awaitingSecurityMaximum).map { _ in try pair.read() }
        let last = try #require(tokens.last)
        expectRefused(pair.answer(to: last), .insufficientAuthentication)
        #expect(pair.scene.central?.results.count == 1)
        pair.run { pair.keyAgent?.numbers.isEmpty == false && pair.lockAgent?.numbers.isEmpty == false }
        for (node, agent) in [(pair.scene.key, pair.keyAgent), (pair.scene.lock, pair.lockAgent)] {
            let link = try #require(agent?.numbers.first).link.link
            node.call { $0.answerPairing(link, .numbersAreEqual(true)) }
        }
        for token in tokens.dropLast() { expectValue(pair.answer(to: token)) }
        expectValue(pair.answer(to: try pair.read()))
    }

    @Test("The link goes while a read waits for a user: it is answered once, and nobody is asked again")
    func linkLost() throws {
        let pair = try Pair(lockCapability: .displayYesNo, keyCapability: .displayYesNo)
        let token = try pair.read()
        pair.run { pair.lockAgent?.numbers.isEmpty == false }
        let link = try #require(pair.scene.peripheral?.links.first)
        pair.scene.lock.call { $0.disconnect(link.link) }
        guard case .failure = pair.answer(to: token) else {
            Issue.record("answered without a link")
            return
        }
        #expect(pair.scene.central?.answers[token] == 1)
        #expect(pair.keyAgent?.ended.count == 1 && pair.lockAgent?.ended.count == 1)
    }
}

/// Takes no channel.
private final class NobodysChannels: ChannelDelegate {
    func channelOpened(_ channel: ChannelInfo) {}
    func channelFailed(_ channel: HostChannelID, reason: ChannelEnd) {}
    func received(_ sdu: [UInt8], on channel: HostChannelID) {}
    func channelHasRoom(_ channel: HostChannelID) {}
    func channelClosed(_ channel: HostChannelID, reason: ChannelEnd) {}
}
