import ATT
import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// Two generic hosts on one link, each of them a GATT server and a GATT client, whichever made the link.
final class Duo {
    enum Side: CaseIterable { case peripheral, central }

    final class Party {
        let node: Node
        fileprivate(set) var server: PeripheralApp?
        fileprivate(set) var client: CentralApp?
        fileprivate(set) var service: PublishedService?
        fileprivate(set) var agent: PairingAgentTests.Agent?

        init(_ node: Node) { self.node = node }

        var bonds: [Bond] { node.host?.bonds ?? [] }
    }

    let world = World()
    let parties: [Side: Party]

    /// With the same rules and users at both ends, but for what `rules` and `capabilities` say of one, and with what the
    /// central's store keeps already.
    init(
        _ common: PairingRules = .justWorks, rules: [Side: PairingRules] = [:], capability: IOCapability? = nil,
        capabilities: [Side: IOCapability?] = [:], centralStore: MemoryHostStore = MemoryHostStore(),
        hardware: ControllerConfiguration = ControllerConfiguration(), hasPrivatePeripheral: Bool = false
    ) throws {
        parties = [
            .peripheral: Party(world.add("peripheral", seed: 31, hardware: hardware)),
            .central: Party(world.add("central", seed: 32, store: centralStore, hardware: hardware)),
        ]
        for side in Side.allCases {
            self[side].node.configuration.pairing = rules[side] ?? common
            // Whoever has lost a bond finds the other side by its identity address.
            self[side].node.configuration.privacy = side == .peripheral && hasPrivatePeripheral
        }
        for side in Side.allCases { launch(side) }
        for side in Side.allCases { setAgent(side, capabilities[side] ?? capability) }
        world.run(forMilliseconds: 500) { self[.central].client?.states.last == .poweredOn }
        try connect()
    }

    subscript(side: Side) -> Party {
        guard let party = parties[side] else { preconditionFailure("every side has a party") }
        return party
    }

    private func launch(_ side: Side) {
        let party = self[side]
        party.node.launch { host in
            let server = PeripheralApp(host, restoreIdentifier: "server")
            party.server = server
            party.client = CentralApp(host, restoreIdentifier: "client")
            party.service = try? host.publish(server.manager, PairingAgentTests.definition)
            if side == .peripheral {
                host.startAdvertising(server.manager, AdvertisingRecord(localName: nil, services: [0xFFE0]))
            }
        }
    }

    /// nil leaves nobody to ask.
    func setAgent(_ side: Side, _ capability: IOCapability?) {
        let party = self[side]
        party.node.call { host in
            party.agent = capability.map { PairingAgentTests.Agent(host, $0) }
            host.setPairingAgent(party.agent)
        }
    }

    /// The central connects, and where the peripheral has a client, that asks for the link that then stands: it has it once
    /// the central has proved itself, if the two are bonded.
    func connect(for clients: [Side] = Side.allCases) throws {
        let (peripheral, central) = (self[.peripheral], self[.central])
        let server = try #require(peripheral.server)
        let address = try #require(peripheral.node.host?.identity.address.address)
        let initiator = try #require(central.client)
        central.node.call { host in
            host.connect(initiator.manager, host.peer(at: address), options: 0, askedAtSeconds: 0)
        }
        #expect(world.run(forMilliseconds: 5_000) { initiator.link != nil && !server.links.isEmpty })
        guard clients.contains(.peripheral) else { return }
        try wait()
        #expect(world.run(forMilliseconds: 5_000) { peripheral.client?.link != nil })
    }

    /// The peripheral's client asks for the link that the central made.
    func wait() throws {
        let client = try #require(self[.peripheral].client)
        let peer = try #require(self[.peripheral].server?.links.first?.peer)
        self[.peripheral].node.call { $0.connect(client.manager, peer, options: 0, askedAtSeconds: 0) }
    }

    func reconnect(for clients: [Side] = Side.allCases) throws {
        try disconnect()
        try connect(for: clients)
    }

    func disconnect() throws {
        let (server, client) = (try #require(self[.peripheral].server), try #require(self[.central].client))
        let peer = try #require(client.link?.peer)
        self[.central].node.call { $0.cancelConnection(client.manager, peer) }
        #expect(world.run(forMilliseconds: 5_000) { server.links.isEmpty && self[.peripheral].client?.link == nil })
    }

    // MARK: Service requests

    /// The client of `side` reads the other side's value that wants encryption (0) or authentication (1).
    func read(by side: Side, _ index: Int = 0) throws -> OperationToken {
        let (client, service) = (try #require(self[side].client), try #require(self[side.other].service))
        let peer = try #require(client.link?.peer)
        var token: OperationToken?
        self[side].node.call { token = $0.perform(client.manager, peer, .read(service.characteristics[index].value)) }
        return try #require(token)
    }

    func answer(to token: OperationToken, of side: Side) -> Result<OperationValue, HostError>? {
        run { self[side].client?.results[token] != nil }
        return self[side].client?.results[token]
    }

    /// Runs with users who find equal what they are to compare.
    func run(until condition: () -> Bool) {
        var answered = [0, 0]
        world.run(forMilliseconds: 5_000) {
            for (index, side) in Side.allCases.enumerated() {
                guard let agent = self[side].agent, agent.numbers.count > answered[index] else { continue }
                answered[index] = agent.numbers.count
                let link = agent.numbers[answered[index] - 1].link.link
                self[side].node.call { $0.answerPairing(link, .numbersAreEqual(true)) }
            }
            return condition()
        }
    }

    /// Bonds the two by the client's read of what wants no more than encryption.
    func bond() throws {
        let token = try read(by: .central)
        guard case .success = answer(to: token, of: .central) else {
            Issue.record("not bonded: \(String(describing: self[.central].client?.results[token]))")
            return
        }
        #expect(Side.allCases.allSatisfy { self[$0].bonds.count == 1 })
    }

    func lose(bondOf side: Side) {
        self[side].node.call { host in for bond in host.bonds { host.deleteBond(bond.id) } }
        world.run(forMilliseconds: 2_000)
    }
}

extension Duo.Side {
    var other: Self { self == .peripheral ? .central : .peripheral }
}

extension Node {
    /// What left on a fixed channel, each PDU in one packet.
    private func sent(on channel: UInt8) -> [[UInt8]] {
        sent.filter { $0.count > 9 && $0[0] == 2 && $0[2] >> 4 & 0b11 != 1 && $0[7] == channel && $0[8] == 0 }
            .map { Array($0[9...]) }
    }

    /// Read Requests, Read Responses and Error Responses.
    var serviceRequests: [[UInt8]] { sent(on: 4).filter { [0x01, 0x0A, 0x0B].contains($0[0]) } }
    var pairingRequests: [[UInt8]] { sent(on: 6).filter { $0[0] == 0x01 } }
    var pairingResponses: [[UInt8]] { sent(on: 6).filter { $0[0] == 0x02 } }
    var securityRequests: [[UInt8]] { sent(on: 6).filter { $0[0] == 0x0B } }
    /// Of the ATT PDUs that left.
    var attributeOpcodes: [UInt8] { sent(on: 4).compactMap(\.first) }
    /// LE Enable Encryption commands.
    var encryptions: Int { sent.count { $0.starts(with: [1, 0x19, 0x20]) } }
}
