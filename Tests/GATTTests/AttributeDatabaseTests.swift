import BluetoothCore
import Testing

@testable import GATT

@Suite("Core 5.4, Vol 3, Part G, 2.5 and 7.3: the attribute database")
struct AttributeDatabaseTests {
    private static func characteristic(
        _ uuid: BluetoothUUID, _ properties: UInt8
    ) -> CharacteristicDefinition {
        CharacteristicDefinition(uuid: uuid, properties: .init(rawValue: properties), access: .readOnly)
    }

    /// Core 5.4, Vol 3, Part G, Appendix B (Example Database Hash)
    private static func exampleOfTheSpecification() throws -> AttributeDatabase {
        var database = AttributeDatabase()
        _ = try database.publish(
            .init(uuid: 0x1800, characteristics: [characteristic(0x2A00, 0x0A), characteristic(0x2A01, 0x02)]))
        _ = try database.publish(
            .init(
                uuid: 0x1801,
                characteristics: [
                    characteristic(0x2A05, 0x20), characteristic(0x2B29, 0x0A), characteristic(0x2B2A, 0x02),
                ]))
        let battery = AttributeHandle(0x14)
        _ = try database.publish(
            .init(uuid: 0x180F, isPrimary: false, characteristics: [characteristic(0x2A19, 0x02)]), at: battery)
        _ = try database.publish(
            .init(uuid: 0x1808, includedServices: [battery], characteristics: [characteristic(0x2A18, 0xA2)]),
            at: AttributeHandle(0x0E))
        return database
    }

    @Test("Appendix B: the message and the hash of the example")
    func databaseHash() throws {
        let database = try Self.exampleOfTheSpecification()
        let message =
            "010000280018" + "020003280A0300002A" + "04000328020500012A" + "060000280118" + "07000328200800052A"
            + "09000229" + "0A0003280A0B00292B" + "0C000328020D002A2B" + "0E0000280818" + "0F00022814001600" + "0F18"
            + "10000328A21100182A" + "12000229" + "130000290000" + "140001280F18" + "15000328021600192A"
        #expect(HexText.encode(database.hashedMessage) == message)
        #expect(HexText.encode(database.hash.reversed()) == "F1CA2D48ECF58BAC8A8830BBB9FBA990")
    }

    @Test("7.3: the hash is what its characteristic says, and changes with the tree only")
    func hashCharacteristic() throws {
        var bench = try Tree.bench()
        let first = bench.server.databaseHash
        #expect(bench.reply("080100FFFF2A2B") == "09120F00" + HexText.encode(first))
        let extra = try bench.server.publish(.init(uuid: 0xBB00))
        #expect(bench.server.databaseHash != first)
        #expect(bench.server.remove(serviceAt: extra.declaration) == .handlesRemoved(extra.declaration...extra.end))
        #expect(bench.server.databaseHash == first)
    }

    @Test("a definition published again where it was has the same handles and the same hash")
    func republished() throws {
        let definitions = [Tree.service, ServiceDefinition(uuid: 0xBB00), Tree.service]
        var first = AttributeDatabase()
        let published = try definitions.map { try first.publish($0) }
        var second = AttributeDatabase()
        for service in published.reversed() {
            #expect(try second.publish(service.definition, at: service.declaration) == service)
        }
        #expect(second.hash == first.hash)
        #expect(second.services == first.services)
    }

    @Test("the hole of a removed service is not filled while there are fresh handles, and is when there are none")
    func holes() throws {
        var database = AttributeDatabase()
        let small = ServiceDefinition(uuid: 0xAA00)
        let first = try database.publish(small)
        let second = try database.publish(small)
        #expect(database.remove(serviceAt: first.declaration) == first.declaration...first.end)
        #expect(database.remove(serviceAt: first.declaration) == nil)
        #expect(try database.publish(small).declaration > second.declaration)
        _ = try database.publish(small, at: .last)
        #expect(try database.publish(small).declaration == first.declaration)
        #expect(try database.publish(small).declaration == AttributeHandle(4))
    }

    @Test("one handle past the last there is is refused")
    func outOfHandles() throws {
        var database = AttributeDatabase()
        let half = ServiceDefinition(
            uuid: 0xAA00, characteristics: Array(repeating: Self.characteristic(0xAA01, 0x02), count: 0x3FFF))
        #expect(try database.publish(half).end == AttributeHandle(0x7FFF))
        #expect(try database.publish(half).end == AttributeHandle(0xFFFE))
        #expect(throws: AttributeDatabaseError.outOfHandles) {
            try database.publish(.init(uuid: 0xAA00, characteristics: [Self.characteristic(0xAA01, 0x02)]))
        }
        #expect(try database.publish(.init(uuid: 0xAA00)).end == .last)
        #expect(throws: AttributeDatabaseError.outOfHandles) { try database.publish(.init(uuid: 0xAA00)) }
    }

    @Test("handles in use, services unknown, values too long are refused, and change nothing")
    func refused() throws {
        var database = AttributeDatabase()
        let first = try database.publish(Tree.service)
        let hash = database.hash
        for handle in [AttributeHandle(0), first.declaration, first.end] {
            #expect(throws: AttributeDatabaseError.handlesInUse) {
                try database.publish(.init(uuid: 0xAA00), at: handle)
            }
        }
        #expect(throws: AttributeDatabaseError.unknownIncludedService) {
            try database.publish(.init(uuid: 0xAA00, includedServices: [AttributeHandle(2)]))
        }
        let long = CharacteristicDefinition(
            uuid: 0xAA01, properties: .read, access: .readOnly, value: .static(Array(repeating: 0, count: 513)))
        #expect(throws: AttributeDatabaseError.valueTooLong) {
            try database.publish(.init(uuid: 0xAA00, characteristics: [long]))
        }
        #expect(database.hash == hash)
        #expect(try database.publish(.init(uuid: 0xAA00)).declaration == first.end.next)
    }

    @Test("GAP and GATT stay")
    func builtIn() throws {
        var bench = try Tree.bench()
        #expect(bench.server.remove(serviceAt: AttributeHandle(1)) == nil)
        #expect(bench.server.remove(serviceAt: AttributeHandle(8)) == nil)
        #expect(bench.reply("0A0300") == "0B" + HexText.encode(Array("Latch".utf8)))
        #expect(bench.reply("0A0500") == "0B0807")
        #expect(bench.reply("0A0700") == "0B00")
    }

    @Test("a service that takes over handles does not inherit their subscribers")
    func noInheritedSubscribers() throws {
        var bench = try Tree.bench(records: [
            GATTClientRecord(bond: 1, configurations: [Tree.openConfiguration: .notification])
        ])
        _ = bench.identify(bond: 1, proven: true)
        #expect(bench.notify(Tree.open, [1]).0 == .sent)
        guard case .handlesRemoved(let range) = bench.server.remove(serviceAt: AttributeHandle(0x10)) else {
            throw Tree.Surprise()
        }
        _ = bench.databaseChanged(range)
        _ = try bench.server.publish(Tree.service, at: AttributeHandle(0x10))
        #expect(bench.notify(Tree.open, [1]).0 == .notSubscribed)
    }
}
