import BlueZ
import BlueZSupport
import BluetoothCore
import BluetoothCrypto
import DBus
import GATT
import HCI
import SecurityManager
import Simulation
import TestSupport
import Testing
import WorldSupport

@testable import BluetoothHost

/// The host on an adapter that bluetoothd keeps: the same managers, the same ledger, the same restoration.
@Suite("A host beside bluetoothd")
struct BlueZHostTests {
    private typealias Script = BlueZScript

    /// One life of a host, with a bluetoothd that is asked for what a test wants answered.
    private final class Life: TransactionCoordinator {
        let host: Host
        /// Those that had something to write.
        private(set) var commits = 0
        private let store: MemoryHostStore
        private(set) var calls: [(id: DBusCallID, call: DBusCall)] = []
        private(set) var codes: [OutOfBandData] = []
        private(set) var strengths: [(peer: DeviceAddress, adapter: UInt16)] = []
        var now = Instant(nanoseconds: 1_000_000_000)
        /// What the clock says as acts are let go.
        var lateMilliseconds: UInt64 = 0

        init(_ store: MemoryHostStore) {
            self.store = store
            var configuration = HostConfiguration(deviceName: "key")
            configuration.besideBlueZ = .any
            host = Host(
                configuration: configuration, boot: BootID(bits: 1), snapshot: store.launch(), rows: store.rows,
                store: store, random: SeededRandom(seed: 1), makeKeyPair: P256KeyPair.generate)
        }

        func commit(_ participants: [any CommitParticipant]) throws {
            if participants.contains(where: \.hasPending) { commits += 1 }
            try MemoryTransactionCoordinator().commit(participants)
        }

        /// One iteration and all that it asks for.
        func turn(_ body: (Host) -> Void = { _ in }) throws {
            host.beginIteration(now: now)
            body(host)
            repeat {
                try host.settleRound(
                    self,
                    clock: { now.advanced(byMilliseconds: lateMilliseconds) }
                ) { act in
                    switch act {
                    case .packet: Issue.record("a packet for a controller")
                    case .bus(.call(let id, let call)): calls.append((id, call))
                    case .code(let data, _): codes.append(data)
                    case .strength(let peer, let adapter): strengths.append((peer, adapter))
                    case .bus, .controllerFailed: break
                    case .call(let call): call()
                    }
                }
            } while host.hasWork
        }

        func hear(_ event: DBusEvent) throws { try turn { $0.heard(event) } }

        func answer(_ member: String, _ body: [DBusValue] = []) throws {
            let place = try #require(calls.firstIndex { $0.call.member == member }, "\(members)")
            try hear(.answered(calls.remove(at: place).id, .success(body)))
        }

        var members: [String] { calls.map(\.call.member) }

        func launch(lock changes: [String: DBusValue] = [:]) throws {
            try hear(.opened)
            try answer("GetNameOwner", [.string(Script.daemon)])
            try answer("GetManagedObjects", [Script.objects(lock: changes)])
        }

        func lock(_ properties: [String: DBusValue]) throws {
            try hear(Script.changed(Script.lock, "Device1", properties))
        }

        func comesUp() throws {
            try lock(["Connected": .boolean(true)])
            try lock(["ServicesResolved": .boolean(true)])
        }
    }

    /// A store that knows the lock's bond, which bluetoothd keeps.
    private static func bonded() throws -> MemoryHostStore { store([try bond(5, keys: [])]) }

    private static func store(_ bonds: [Bond]) -> MemoryHostStore {
        let store = MemoryHostStore()
        for bond in bonds { store.append(.bond(.upsert(bond))) }
        store.didCommit()
        return store
    }

    private static func bond(_ id: Int64, keys: [UInt8], _ state: BondState = .confirmed) throws -> Bond {
        let identity = try #require(IdentityAddress(Script.lockAddress))
        return Bond(
            id: BondID(id), identity: identity, ltk: Secret(keys), model: .outOfBand, state: state, credential: "key")
    }

    private static func connect(_ life: Life, _ app: CentralApp) throws -> PeerIdentifier {
        let peer = life.host.peer(at: Script.lockAddress)
        try life.turn { $0.connect(app.manager, peer, options: 0, askedAtSeconds: 1) }
        return peer
    }

    /// A life whose app is connected with the lock.
    private static func linked() throws -> (Life, CentralApp, PeerIdentifier) {
        let life = Life(try bonded())
        let app = CentralApp(life.host, restoreIdentifier: "key")
        try life.launch()
        let peer = try connect(life, app)
        try life.answer("RegisterApplication")
        try life.comesUp()
        return (life, app, peer)
    }

    @Test("An app finds a stranger by a service, is connected with it, and hears what its link can carry")
    func stranger() throws {
        let life = Life(MemoryHostStore())
        let app = CentralApp(life.host, restoreIdentifier: nil)
        try life.launch(lock: ["Paired": .boolean(false)])
        func scan(_ service: BluetoothUUID) throws {
            try life.turn { $0.startScan(app.manager, ScanRecord(services: [service], allowDuplicates: false)) }
        }
        try scan(BluetoothUUID(0x180D))
        let advertised: [String: DBusValue] = [
            "RSSI": .int16(-70), "AdvertisingFlags": .octets([6]), "ServiceData": .properties(["180f": .octets([50])]),
            "ManufacturerData": .array(of: "{qv}", [.entry(.uint16(0x004C), .variant(.octets([2])))]),
        ]
        try life.lock(advertised)
        #expect(app.reports.isEmpty, "it is another service that is looked for")
        try scan(BluetoothUUID(0x180F))
        try life.lock(["RSSI": .int16(-71)])
        let report = try #require(app.reports.first)
        #expect(report.address == Script.lockAddress && report.rssi == -71 && report.isConnectable)
        #expect(report.mode == .general && report.localName == "Latch" && report.data.manufacturerData == [0x4C, 0, 2])
        #expect(report.data.serviceData == [AdvertisedServiceData(service: BluetoothUUID(0x180F), octets: [50])])

        try life.turn { $0.connect(app.manager, report.peer, options: 0, askedAtSeconds: 1) }
        #expect(life.calls.last?.call.member == "Connect" && life.calls.last?.call.path == Script.lock)
        try life.hear(Script.changed(Script.challenge, "GattCharacteristic1", ["MTU": .uint16(247)]))
        try life.comesUp()
        #expect(app.connections == 1 && app.link?.mtu == 247 && app.link?.bond == nil && app.link?.isProven == false)
        #expect(life.host.maximumWriteLength(report.peer) == 244)
        let link = try #require(app.link?.link)
        #expect(throws: HostError.unsupportedByController) {
            _ = try life.host.openChannel(app.manager, on: link, psm: 0x80, delegate: ChannelApp(life.host))
        }
        try life.turn { $0.cancelConnection(app.manager, report.peer) }
        #expect(life.members.last == "Disconnect" && app.disconnections == 1)
    }

    @Test("A stranger whose identity address has a name already goes on under its own until its link ends")
    func knownIdentity() throws {
        let identity = DeviceAddress(kind: .public, bits: 0x0012_3456_789A)
        let known = PeerIdentifier(bits: 77)
        let store = MemoryHostStore()
        store.append(.peer(PeerRecord(identifier: known, address: identity)))
        store.didCommit()
        let life = Life(store)
        let app = CentralApp(life.host, restoreIdentifier: "key")
        try life.launch(lock: ["Paired": .boolean(false), "RSSI": .int16(-50)])
        let peer = try Self.connect(life, app)
        try life.answer("Connect")
        try life.comesUp()
        try life.lock(["Address": .string("00:12:34:56:78:9A"), "AddressType": .string("public")])
        try life.lock(["Paired": .boolean(true)])
        #expect(app.connections == 1 && app.link?.peer == peer && app.disconnections == 0)
        #expect(!life.members.contains("Disconnect") && life.host.peer(at: identity) == known)
        #expect(store.load().restorations.values.allSatisfy { $0.pendingConnections.isEmpty })
        try life.lock(["Connected": .boolean(false)])
        #expect(app.disconnections == 1)
        #expect(!life.members.contains("Connect"))
    }

    @Test(
        "A connection to a stranger whose identity address has a name already fails, and nobody else is connected for it"
    )
    func knownIdentityBeforeTheLink() throws {
        let known = PeerIdentifier(bits: 77)
        let store = MemoryHostStore()
        store.append(
            .peer(PeerRecord(identifier: known, address: DeviceAddress(kind: .public, bits: 0x0012_3456_789A))))
        store.didCommit()
        let life = Life(store)
        let (app, other) = (
            CentralApp(life.host, restoreIdentifier: "key"), CentralApp(life.host, restoreIdentifier: "other")
        )
        try life.launch(lock: ["Paired": .boolean(false), "RSSI": .int16(-50)])
        let peer = try Self.connect(life, app)
        try life.lock(["Address": .string("00:12:34:56:78:9A"), "AddressType": .string("public")])
        try life.lock(["Paired": .boolean(true)])
        #expect(app.failures == [.unknownPeer] && other.failures.isEmpty)
        #expect(store.load().restorations.values.allSatisfy { $0.pendingConnections.isEmpty })
        #expect(life.host.peer(at: Script.lockAddress) != peer)
        try life.comesUp()
        #expect(app.connections == 0)
    }

    @Test("A bonded peer that bluetoothd has forgotten is not called as a stranger: who is there now may be anybody")
    func forgotten() throws {
        let life = Life(try Self.bonded())
        let app = CentralApp(life.host, restoreIdentifier: "key")
        try life.launch(lock: ["Paired": .boolean(false), "RSSI": .int16(-50)])
        _ = try Self.connect(life, app)
        #expect(life.members == [])
    }

    @Test("A peripheral manager hears that there is no such role, whatever the adapter does")
    func peripheral() throws {
        let life = Life(MemoryHostStore())
        let app = CentralApp(life.host, restoreIdentifier: nil)
        let other = PeripheralApp(life.host, restoreIdentifier: nil)
        try life.launch()
        #expect(app.states == [.poweredOn] && Set(other.states) == [.unsupported])
        #expect(life.host.hostState(for: .peripheral) == .unsupported)
        try life.hear(Script.changed(Script.adapter, "Adapter1", ["Powered": .boolean(false)]))
        #expect(app.states == [.poweredOn, .poweredOff] && Set(other.states) == [.unsupported])
    }

    @Test("A bonded peer's link is the app's connection when it is ready, and proven, and its end is told")
    func link() throws {
        let life = Life(try Self.bonded())
        let app = CentralApp(life.host, restoreIdentifier: "key")
        try life.launch()
        #expect(app.states == [.poweredOn])
        let peer = try Self.connect(life, app)
        #expect(life.members == ["RegisterApplication"] && app.connections == 0)
        try life.answer("RegisterApplication")
        try life.lock(["Connected": .boolean(true)])
        #expect(app.connections == 0)
        try life.lock(["ServicesResolved": .boolean(true)])
        #expect(app.connections == 1 && app.link?.peer == peer && app.secured == [true])
        #expect(life.host.connection(to: peer)?.isProven == true && life.host.connection(to: peer)?.bond == BondID(5))
        try life.lock(["Connected": .boolean(false)])
        #expect(app.disconnections == 1 && app.disconnectionErrors == [.disconnected(.connectionTimeout)])
    }

    @Test(
        "A bond that this program's own host made vouches for no link of bluetoothd's: what bluetoothd calls paired is nobody here",
        arguments: [BondState.unconfirmed, .confirmed])
    func ownHostsBond(_ state: BondState) throws {
        let own = try Self.bond(6, keys: [UInt8](repeating: 7, count: 16), state)
        func connected(_ bonds: [Bond]) throws -> (CentralApp, LinkInfo?) {
            let life = Life(Self.store(bonds))
            let app = CentralApp(life.host, restoreIdentifier: "key")
            try life.launch()
            let peer = try Self.connect(life, app)
            try life.answer("RegisterApplication")
            try life.comesUp()
            // Asked to prove itself, it is as unproven as before.
            try life.turn { $0.encrypt(peer) }
            return (app, life.host.connection(to: peer))
        }
        let (stranger, unproven) = try connected([own])
        #expect(unproven?.isProven == false && unproven?.bond == nil && !stranger.secured.contains(true))
        let (_, proven) = try connected([own, try Self.bond(5, keys: [])])
        #expect(proven?.isProven == true && proven?.bond == BondID(5))
    }

    @Test(
        "What was wished and subscribed runs again in the next life, and the wish alone is asked of bluetoothd before")
    func restored() throws {
        let store = try Self.bonded()
        let first = Life(store)
        let app = CentralApp(first.host, restoreIdentifier: "key")
        try first.launch()
        let peer = try Self.connect(first, app)
        try first.answer("RegisterApplication")
        try first.comesUp()
        var token: OperationToken?
        try first.turn {
            token = $0.setNotify(
                app.manager, peer, value: Script.challengeValue, ccc: Script.challengeConfiguration, kind: .notify)
        }
        try first.answer("StartNotify")
        #expect(token.flatMap { app.answers[$0] } == 1)
        try first.hear(Script.notified([1]))
        #expect(app.updates.map(\.value) == [[1]])

        // Killed: nobody says anything more. The link stands.
        let second = Life(store)
        let next = CentralApp(second.host, restoreIdentifier: "key")
        #expect(next.record?.pendingConnections.map(\.peer) == [peer])
        #expect(next.record?.subscriptions.map(\.valueHandle) == [Script.challengeValue])
        try second.launch(lock: ["Connected": .boolean(true), "ServicesResolved": .boolean(true)])
        #expect(next.connections == 1)
        #expect(second.members.sorted() == ["RegisterApplication", "StartNotify"])
        try second.hear(Script.notified([2]))
        #expect(next.updates.map(\.value) == [[2]])
    }

    @Test(
        "What was asked of a peer ends once, before the link does, when the adapter goes or bluetoothd does",
        arguments: [false, true])
    func operationsUnderWay(isDaemonGone: Bool) throws {
        let (life, app, peer) = try Self.linked()
        var tokens: [OperationToken] = []
        try life.turn { host in
            tokens = [
                host.perform(app.manager, peer, .read(Script.challengeValue)),
                host.setNotify(
                    app.manager, peer, value: Script.challengeValue, ccc: Script.challengeConfiguration, kind: .notify),
                host.perform(app.manager, peer, .writeWithoutResponse(Script.commandValue, [1])),
            ]
        }
        #expect(life.members.contains("ReadValue") && life.members.contains("WriteValue") && app.answers.isEmpty)
        let reading = try #require(life.calls.first { $0.call.member == "ReadValue" }).id
        try life.hear(
            isDaemonGone
                ? Script.owner("") : Script.changed(Script.adapter, "Adapter1", ["Powered": .boolean(false)]))
        #expect(app.disconnections == 1 && app.answeredAtEnds == [tokens.count])
        try life.hear(.answered(reading, .success([.octets([1])])))
        for token in tokens {
            #expect(app.answers[token] == 1)
            guard case .failure(.gatt(.bearerClosed)) = app.results[token] else {
                Issue.record("\(String(describing: app.results[token]))")
                continue
            }
        }
    }

    @Test("A bluetoothd that goes takes the links with it, and the next one is asked for the same")
    func daemonRestarted() throws {
        let (life, app, _) = try Self.linked()
        try life.hear(Script.owner(""))
        #expect(app.states == [.poweredOn, .resetting] && app.disconnections == 1)
        try life.hear(Script.owner(Script.daemon, before: ""))
        try life.answer("GetManagedObjects", [Script.objects()])
        #expect(app.states.last == .poweredOn && life.members == ["RegisterApplication"])
        try life.answer("RegisterApplication")
        try life.comesUp()
        #expect(app.connections == 2)
    }

    @Test(
        "A hundred locks that are wanted and not there cost no call, no commit and no timer, whatever bluetoothd tells of others"
    )
    func idle() throws {
        let life = Life(try Self.bonded())
        let app = CentralApp(life.host, restoreIdentifier: "key")
        try life.launch()
        for number in 0..<100 { try life.hear(Script.added(number)) }
        try life.turn { host in
            for number in 0..<100 {
                host.connect(app.manager, host.peer(at: Script.address(number)), options: 0, askedAtSeconds: 1)
            }
        }
        try life.answer("RegisterApplication")
        #expect(life.members == [] && life.host.deadline == nil && life.commits > 0)
        let commits = life.commits
        for number in 0..<1_000 {
            life.now = life.now.advanced(byMilliseconds: 60_000)
            try life.hear(
                Script.changed(Script.headset, "Device1", ["RSSI": .int16(Int16(-40 - number % 50))]))
        }
        try life.turn { $0.timerFired() }
        #expect(life.members == [] && life.host.deadline == nil && life.commits == commits)
        #expect(app.connections == 0)
    }

    @Test("A write that would leave too late does not leave, and its app hears so")
    func late() throws {
        let (life, app, peer) = try Self.linked()
        let write = GATTClientOperation.writeWithoutResponse(Script.commandValue, [1])
        life.lateMilliseconds = 100
        var tokens: [OperationToken] = []
        try life.turn { host in
            for milliseconds: UInt64 in [100, 101] {
                tokens.append(
                    host.perform(
                        app.manager, peer, write, until: life.now.advanced(byMilliseconds: milliseconds)))
            }
        }
        #expect(life.members == ["WriteValue"])
        #expect(tokens.map { app.answers[$0] } == [1, 1] && app.lapsed == [tokens[0]])
    }

    @Test("A connection that is taken back ends the link at bluetoothd, and nobody hears of it after that")
    func takenBack() throws {
        let (life, app, peer) = try Self.linked()
        try life.turn { $0.cancelConnection(app.manager, peer) }
        #expect(app.disconnectionErrors == [nil])
        #expect(life.members.contains("Disconnect") && life.members.contains("UnregisterApplication"))
        try life.lock(["Connected": .boolean(false)])
        #expect(app.disconnections == 1 && life.host.connection(to: peer) == nil)
    }

    @Test("The kernel is asked how strong a link is, and says it, or does not, or the link has ended before")
    func strength() throws {
        let (life, app, peer) = try Self.linked()
        func ask() throws -> OperationToken {
            var token: OperationToken?
            try life.turn { token = $0.read(app.manager, peer, .rssi) }
            return try #require(token)
        }
        let first = try ask()
        #expect(life.strengths.map(\.peer) == [Script.lockAddress] && life.strengths.map(\.adapter) == [0])
        try life.turn { $0.strengthRead(of: Script.lockAddress, -67) }
        guard case .success(.rssi(-67))? = app.results[first] else {
            Issue.record("\(String(describing: app.results[first]))")
            return
        }
        let second = try ask()
        try life.turn { $0.strengthRead(of: Script.lockAddress, nil) }
        #expect(app.results[second]?.error == .unsupportedByController)
        let third = try ask()
        try life.lock(["Connected": .boolean(false)])
        #expect(app.results[third]?.error == .disconnected(.connectionTimeout))
        try life.turn { $0.strengthRead(of: Script.lockAddress, -67) }
        #expect(app.results[third]?.error == .disconnected(.connectionTimeout))
    }

    @Test("A signed write, a channel map and a pairing by this side's own rules are not to be had here")
    func notHere() throws {
        let (life, app, peer) = try Self.linked()
        var tokens: [OperationToken] = []
        try life.turn { host in
            tokens = [
                host.perform(app.manager, peer, .signedWriteWithoutResponse(Script.commandValue, [1])),
                host.read(app.manager, peer, .channelMap),
            ]
        }
        let errors = tokens.map { app.results[$0]?.error }
        #expect(errors == [.cannotSign, .unsupportedByController])
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
