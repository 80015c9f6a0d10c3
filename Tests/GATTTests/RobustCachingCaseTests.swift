import ATT
import BluetoothCore
import Testing

@testable import GATT

/// Whole cases of the test suite of the Generic Attribute Profile, step by step, from the tester's side.
@Suite("Core 5.4, Vol 3, Part G, 2.5.2, 7.1 to 7.3: caching, case by case")
struct RobustCachingCaseTests {
    private static let outOfSync = "12"
    private static let readHash = "080100FFFF2A2B"

    /// Another service at the end of the tree; nothing that the tester knows moves.
    private static func change(_ bench: inout Bench) throws -> [GATTOutput] {
        let service = try bench.server.publish(.init(uuid: 0xBB00))
        return bench.databaseChanged(service.declaration...service.end)
    }

    /// The link is gone and comes back; a bonded tester encrypts again.
    private static func reconnected(_ bench: Bench, bond: UInt64? = nil) -> (Bench, [GATTOutput]) {
        var next = Bench(server: bench.server, endpoint: GATTEndpoint())
        guard let bond else { return (next, []) }
        next.security = .level4
        let told = next.identify(bond: bond, proven: true)
        return (next, told)
    }

    @Test("GATT/SR/GAS/BV-01-C: Service Changed is indicated to who asked for it, and to nobody else")
    func serviceChanged() throws {
        var (bench, _) = Self.reconnected(try Tree.bench(), bond: 9)
        #expect(try Self.change(&bench).isEmpty)
        #expect(bench.reply("120B000200").hasSuffix("13, subscribed 0xa 2"))
        #expect(Bench.text(try Self.change(&bench)) == "1D0A001D001D00")
        #expect(bench.reply("1E") == "persist aware 9")
    }

    @Test("GATT/SR/GAS/BV-02-C: the Database Hash is that of the tree, and changes with it")
    func databaseHash() throws {
        var bench = try Tree.bench()
        for _ in 0..<2 {
            let expected = HexText.encode(bench.server.database.hash)
            #expect(bench.reply(Self.readHash) == "09120F00" + expected)
            _ = try Self.change(&bench)
        }
        #expect(bench.reply(Self.readHash) != "09120F00" + HexText.encode(try Tree.bench().server.databaseHash))
    }

    @Test("GATT/SR/GAS/BV-03-C: features are each client's own, and reserved bits are ignored")
    func featuresOfEach() throws {
        var first = try Tree.bench()
        #expect(first.reply("120D00F9") == "13")
        #expect(first.reply("0A0D00") == "0B01")
        var (second, _) = Self.reconnected(first)
        #expect(second.reply("0A0D00") == "0B00")
    }

    @Test("GATT/SR/GAS/BV-04-C: a bonded client's features are there when it comes back")
    func featuresOfBonded() throws {
        var (bench, _) = Self.reconnected(try Tree.bench(), bond: 9)
        #expect(bench.reply("120D0001") == "persist features 9 01, 13")
        (bench, _) = Self.reconnected(bench, bond: 9)
        #expect(bench.reply("0A0D00") == "0B01")
    }

    @Test("GATT/SR/GAS/BV-05-C: requests of a client whose tree is old")
    func unsynchronized() throws {
        var bench = try Tree.bench()
        _ = try Self.change(&bench)
        #expect(bench.reply("0A1B00") == "0BABCD", "without robust caching")
        #expect(bench.reply("120D0001") == "13")
        _ = try Self.change(&bench)
        #expect(bench.reply("0A1B00") == "010A1B00" + Self.outOfSync)
        #expect(bench.reply("0A1B00") == "0BABCD")
        _ = try Self.change(&bench)
        #expect(bench.reply("0A1B00") == "010A1B00" + Self.outOfSync)
        _ = try Self.change(&bench)
        #expect(bench.reply("521200AA") == "", "ignored")
        #expect(bench.reply("120D0000") == "01120D00" + Self.outOfSync)
        #expect(bench.reply("120D0000") == "01120D0013")
        #expect(bench.reply("0A0D00") == "0B01")
        _ = try Self.change(&bench)
        #expect(bench.reply("0A0F00") == "010A0F00" + Self.outOfSync, "the hash by its handle is no discovery")
        _ = try Self.change(&bench)
        #expect(bench.reply("0802000E002A2B") == "01080200" + Self.outOfSync, "nor by its type in a part of the tree")
    }

    @Test("GATT/SR/GAS/BV-06-C: what makes a client aware of a change during its connection")
    func changedDuring() throws {
        var bench = try Tree.bench()
        _ = bench.receive("120D0001")
        _ = try Self.change(&bench)
        #expect(bench.reply(Self.readHash).hasPrefix("09120F00"))
        #expect(bench.reply("0A1B00") == "0BABCD")
        #expect(bench.reply("120B000200").hasPrefix("13"))
        #expect(Bench.text(try Self.change(&bench)).hasPrefix("1D0A00"))
        #expect(bench.reply("1E") == "")
        #expect(bench.reply("0A1B00") == "0BABCD")
        #expect(Bench.text(try Self.change(&bench)).hasPrefix("1D0A00"))
        #expect(bench.reply("0A1B00") == "010A1B00" + Self.outOfSync, "it was told and has not confirmed")
    }

    @Test("GATT/SR/GAS/BV-07-C: what makes a bonded client aware of a change between its connections")
    func changedBetween() throws {
        var (bench, told) = Self.reconnected(try Tree.bench(), bond: 9)
        _ = bench.receive("120D0001")
        _ = try Self.change(&bench)
        (bench, told) = Self.reconnected(bench, bond: 9)
        #expect(told.isEmpty)
        #expect(bench.reply(Self.readHash).hasPrefix("09120F00"))
        #expect(bench.reply("0A1B00") == "persist aware 9, 0BABCD")
        #expect(bench.reply("120B000200") == "persist ccc 9 0xb 2, 13, subscribed 0xa 2")
        _ = try Self.change(&bench)
        (bench, told) = Self.reconnected(bench, bond: 9)
        #expect(Bench.text(told).contains("1D0A000100FFFF"))
        #expect(bench.reply("1E") == "persist aware 9")
        #expect(bench.reply("0A1B00") == "0BABCD")
        (bench, _) = Self.reconnected(bench, bond: 9)
        #expect(bench.reply("120D0000") == "01120D0013")
        #expect(bench.reply("120B000000") == "persist ccc 9 0xb 0, 13, subscribed 0xa 0")
        _ = try Self.change(&bench)
        for _ in 0..<2 {
            (bench, told) = Self.reconnected(bench, bond: 9)
            #expect(told.isEmpty)
            #expect(bench.reply("0A1B00") == "010A1B00" + Self.outOfSync)
        }
    }

    @Test("GATT/SR/GAS/BV-08-C: Read Multiple Variable Length of a client whose tree is old")
    func readMultipleVariable() throws {
        let request = "201B001B00"
        var bench = try Tree.bench()
        _ = try Self.change(&bench)
        #expect(bench.reply(request) == "210200ABCD0200ABCD")
        _ = bench.receive("120D0001")
        _ = try Self.change(&bench)
        #expect(bench.reply(request) == "01201B00" + Self.outOfSync)
        #expect(bench.reply(Self.readHash).hasPrefix("09120F00"))
        #expect(bench.reply(request) == "210200ABCD0200ABCD")
    }

    @Test(
        "GATT/SR/GAW/BI-41-C: parts that were prepared before the tree changed are not written, and the client hears it",
        arguments: [false, true])
    func preparedBeforeChange(_ isRobust: Bool) throws {
        var bench = try Tree.bench()
        if isRobust { _ = bench.receive("120D0001") }
        #expect(bench.reply("1612000000AABB") == "1712000000AABB")
        _ = try Self.change(&bench)
        #expect(bench.reply("1612000200CC") == "01161200" + Self.outOfSync, "the rest alone is not the value")
        #expect(bench.reply("1801") == "01180000" + Self.outOfSync)
        #expect(bench.reply("1801") == "19", "nothing is left of it")
        #expect(bench.reply("1612000000AABB") == "1712000000AABB")
        #expect(bench.reply("1801") == "write 0x12+0=AABB")
    }

    @Test("parts that were prepared before the tree changed can be cancelled")
    func cancelledAfterChange() throws {
        var bench = try Tree.bench()
        _ = bench.receive("1612000000AABB")
        _ = try Self.change(&bench)
        #expect(bench.reply("1800") == "19")
        #expect(bench.reply("1612000000AABB") == "1712000000AABB")
    }
}
