import BluetoothCore
import Testing

@testable import GATT

/// What is remembered of clients, when it is written down, and what an unproven link is worth.
@Suite("Core 5.4, Vol 3, Part G, 2.5.2 (Attribute caching) and 3.3.3.3: what is remembered of clients")
struct ClientStateTests {
    private static func proven(records: [GATTClientRecord] = []) throws -> Bench {
        var bench = try Tree.bench(records: records)
        bench.security = .level4
        _ = bench.identify(bond: 9, proven: true)
        return bench
    }

    private static func record(
        _ bench: Bench, _ configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:],
        features: [UInt8] = []
    ) -> GATTClientRecord {
        GATTClientRecord(
            bond: 9, configurations: configurations, supportedFeatures: features,
            awareDatabaseHash: bench.server.databaseHash)
    }

    @Test("a subscription is persisted before its Write Response, and told after it")
    func persistBeforeSend() throws {
        var bench = try Self.proven()
        #expect(bench.reply("1219000100") == "persist ccc 9 0x19 1, 13, subscribed 0x18 1")
        #expect(bench.reply("1219000100") == "13", "nothing new, nothing to write")
        #expect(bench.reply("1219000000") == "persist ccc 9 0x19 0, 13, subscribed 0x18 0")
        #expect(bench.reply("120D0001") == "persist features 9 01, 13")
    }

    @Test("every mutation, replayed into records, is what the server holds")
    func mutationsAreTheRecord() throws {
        var bench = try Tree.bench()
        bench.security = .level4
        var outputs = bench.identify(bond: 9, proven: true)
        for request in ["1219000100", "1213000300", "120D0001", "1219000000"] { outputs += bench.receive(request) }
        var replayed: [UInt64: GATTClientRecord] = [:]
        for case .persist(let mutation) in outputs { mutation.apply(to: &replayed) }
        #expect(replayed == bench.server.records)
        #expect(replayed[9]?.configurations == [Tree.openConfiguration: [.notification, .indication]])
        #expect(replayed[9]?.awareDatabaseHash == bench.server.databaseHash)
    }

    @Test("a proven client has its subscriptions again without asking")
    func restored() throws {
        let plain = try Tree.bench()
        let record = Self.record(plain, [Tree.secretConfiguration: .notification])
        var bench = try Tree.bench(records: [record])
        bench.security = .level4
        #expect(Bench.text(bench.identify(bond: 9, proven: true)) == "subscribed 0x18 1")
        #expect(bench.notify(Tree.secret, [1]).0 == .sent)
        #expect(Bench.text(bench.identify(bond: 9, proven: true)) == "", "told once")
    }

    @Test("attack: a replayed address writes subscriptions, features and confirmations of somebody else's bond")
    func replayedAddress() throws {
        let plain = try Tree.bench()
        let record = Self.record(
            plain, [Tree.openConfiguration: .notification, Tree.secretConfiguration: .notification])
        var bench = try Tree.bench(records: [record])
        bench.security = LinkSecurity(bonded: true)
        #expect(
            Bench.text(bench.identify(bond: 9, proven: false)) == "subscribed 0x12 1", "only what anybody may have")
        #expect(bench.reply("1213000000") == "13, subscribed 0x12 0")
        #expect(bench.reply("120D0001") == "13")
        #expect(bench.reply("1219000000") == "011219000F")
        #expect(bench.notify(Tree.secret, [1]).0 == .insufficientSecurity)
        #expect(bench.server.records == [9: record])

        bench.security = .level4
        #expect(Bench.text(bench.identify(bond: 9, proven: true)) == "subscribed 0x12 1, subscribed 0x18 1")
        #expect(bench.server.records == [9: record], "the durable state took over")
    }

    @Test("what was written before a first bond lasts as long as the link, and is not persisted")
    func firstBond() throws {
        var bench = try Tree.bench()
        _ = bench.receive("1213000100")
        bench.security = .level4
        #expect(Bench.text(bench.identify(bond: 9, proven: true)) == "persist aware 9")
        #expect(bench.notify(Tree.open, [1]).0 == .sent)
        #expect(bench.server.records[9]?.configurations == [:])
    }

    @Test("two links, two clients: neither sees the other's subscription")
    func twoLinks() throws {
        var bench = try Self.proven()
        _ = bench.receive("1213000100")
        var other = GATTEndpoint()
        var outputs: [GATTOutput] = []
        #expect(
            other.notify(Tree.open, [1], security: .level4, server: bench.server, outputs: &outputs) == .notSubscribed)
        other.identify(bond: 10, proven: true, now: bench.now, server: &bench.server, outputs: &outputs)
        #expect(
            other.notify(Tree.open, [1], security: .level4, server: bench.server, outputs: &outputs) == .notSubscribed)
    }

    @Test("a forgotten bond leaves nothing")
    func forgotten() throws {
        var bench = try Self.proven()
        _ = bench.receive("1213000100")
        bench.server.forget(bond: 9)
        #expect(bench.notify(Tree.open, [1]).0 == .notSubscribed)
    }
}

@Suite("Core 5.4, Vol 3, Part G, 2.5.2.1 (Robust Caching)")
struct RobustCachingTests {
    /// A client with robust caching on a link, and then another service.
    private static func changed(_ writes: [String] = ["120D0001"]) throws -> (Bench, [GATTOutput]) {
        var bench = try Tree.bench()
        bench.security = .level4
        _ = bench.identify(bond: 9, proven: true)
        for write in writes { _ = bench.receive(write) }
        let service = try bench.server.publish(.init(uuid: 0xBB00))
        let outputs = bench.databaseChanged(service.declaration...service.end)
        return (bench, outputs)
    }

    @Test("a change-unaware client is told once, by the error; its next request shows that it knows")
    func outOfSync() throws {
        var (bench, outputs) = try Self.changed()
        #expect(outputs.isEmpty, "it did not ask for Service Changed")
        #expect(bench.reply("0A1B00") == "010A1B0012")
        #expect(bench.reply("0A1B00") == "persist aware 9, 0BABCD")
    }

    @Test(
        "every request by handle is refused, no discovery is",
        arguments: [
            ("0A1B00", true), ("0C1B000000", true), ("0E1B001B00", true), ("201B001B00", true), ("121200AA", true),
            ("1612000000AA", true), ("100100FFFF0028", false), ("040100FFFF", false), ("080100FFFF0328", false),
            ("060100FFFF002800AA", false), ("024000", false),
        ])
    func whichRequests(_ request: String, _ isRefused: Bool) throws {
        var (bench, _) = try Self.changed()
        #expect((bench.reply(request).suffix(2) == "12") == isRefused)
    }

    @Test("commands of a change-unaware client are ignored, signed or not")
    func commands() throws {
        var (bench, _) = try Self.changed()
        #expect(bench.reply("521200AA") == "")
        bench.security = LinkSecurity(bonded: true)
        #expect(bench.reply("D21800AA0102030405060708090A0B0C") == "")
    }

    @Test("reading the Database Hash and then anything else makes it aware")
    func byHash() throws {
        var (bench, _) = try Self.changed()
        #expect(bench.reply("080100FFFF2A2B").hasPrefix("0912"))
        #expect(bench.reply("0A1B00") == "persist aware 9, 0BABCD")
    }

    @Test("confirming Service Changed makes it aware; until then it is sent nothing else")
    func byConfirmation() throws {
        var (bench, outputs) = try Self.changed(["120D0001", "120B000200", "1213000100"])
        #expect(Bench.text(outputs) == "1D0A001C001C00")
        #expect(bench.notify(Tree.open, [1]).0 == .changeUnaware)
        #expect(bench.reply("1E") == "persist aware 9")
        #expect(bench.notify(Tree.open, [1]).0 == .sent)
    }

    @Test("a confirmation of one change does not cover the next")
    func twoChanges() throws {
        var (bench, _) = try Self.changed(["120D0001", "120B000200"])
        let second = try bench.server.publish(.init(uuid: 0xBB01))
        #expect(bench.databaseChanged(second.declaration...second.end).isEmpty, "it waits for the first")
        #expect(bench.reply("1E") == "1D0A001D001D00")
        #expect(bench.reply("0A1B00") == "010A1B0012")
    }

    @Test("a client without robust caching goes on")
    func without() throws {
        var (bench, _) = try Self.changed([])
        #expect(bench.reply("0A1B00") == "0BABCD")
    }

    @Test("a tree that changed while the client was away: Service Changed once it has proven itself, not before")
    func whileAway() throws {
        let record = GATTClientRecord(
            bond: 9, configurations: [AttributeHandle(0x0B): .indication], supportedFeatures: [1],
            awareDatabaseHash: Array(repeating: 7, count: 16))
        var bench = try Tree.bench(records: [record])
        bench.security = LinkSecurity(bonded: true)
        #expect(Bench.text(bench.identify(bond: 9, proven: false)) == "subscribed 0xa 2")
        #expect(bench.reply("0A1B00") == "010A1B0012")
        #expect(bench.reply("0A1B00") == "0BABCD", "aware on this link")
        #expect(bench.server.records == [9: record], "and nowhere else")
        bench.security = .level4
        #expect(Bench.text(bench.identify(bond: 9, proven: true)) == "1D0A000100FFFF")
        #expect(bench.reply("1E") == "persist aware 9")
        #expect(bench.server.records[9]?.awareDatabaseHash == bench.server.databaseHash)
    }

    @Test("a tree that did not change while the client was away: nothing is said")
    func unchanged() throws {
        let hash = try Tree.bench().server.databaseHash
        let record = GATTClientRecord(
            bond: 9, configurations: [AttributeHandle(0x0B): .indication], supportedFeatures: [1],
            awareDatabaseHash: hash)
        var bench = try Tree.bench(records: [record])
        bench.security = .level4
        #expect(Bench.text(bench.identify(bond: 9, proven: true)) == "subscribed 0xa 2")
        #expect(bench.reply("0A1B00") == "0BABCD")
    }
}
