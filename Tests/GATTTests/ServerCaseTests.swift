import ATT
import BluetoothCore
import Testing

@testable import GATT

/// Whole cases of the test suite of the Generic Attribute Profile that the procedures' transcripts do not hold.
@Suite("Core 5.4, Vol 3, Part G, 4 (GATT feature requirements): the server, case by case")
struct ServerCaseTests {
    /// 0x1D, 0x1E, CCC 0x1F; descriptors 0x20 to 0x24. The app is asked for 0x1E and 0x20.
    private static let described = ServiceDefinition(
        uuid: 0xCC00,
        characteristics: [
            CharacteristicDefinition(
                uuid: 0xCC01, properties: [.read, .write, .notify, .extendedProperties],
                access: AttributeAccess(read: .open, writeRequest: .open, subscribe: .open),
                extendedProperties: [.reliableWrite, .writableAuxiliaries],
                descriptors: [
                    DescriptorDefinition(
                        uuid: .characteristicUserDescription,
                        access: AttributeAccess(read: .open, writeRequest: .open), value: .dynamic),
                    .presentationFormat(
                        CharacteristicPresentationFormat(
                            format: 0x06, exponent: -2, unit: 0x272F, namespace: 1, description: 0x0102)),
                    .presentationFormat(
                        CharacteristicPresentationFormat(
                            format: 0x04, exponent: 0, unit: 0x2700, namespace: 1, description: 0)),
                    DescriptorDefinition(
                        uuid: .characteristicAggregateFormat, value: .static([0x22, 0x00, 0x23, 0x00])),
                ])
        ])

    private static func bench() throws -> Bench {
        var bench = try Tree.bench()
        let service = try bench.server.publish(described)
        guard service.declaration == AttributeHandle(0x1C), service.end == AttributeHandle(0x24) else {
            throw Tree.Surprise()
        }
        return bench
    }

    @Test("GATT/SR/GPA/BV-12-C: presentation formats as they were published")
    func presentationFormat() throws {
        var bench = try Self.bench()
        #expect(bench.reply("041F002400") == "0501" + "1F000229" + "20000029" + "21000129" + "22000429" + "23000429")
        #expect(bench.reply("0A2000") == "0B0300", "reliable writes and writable auxiliaries")
        #expect(bench.reply("0A2200") == "0B06FE2F27010201")
        #expect(bench.reply("0A2300") == "0B04000027010000")
    }

    @Test("GATT/SR/GPA/BV-11-C: an aggregate format lists the handles of its presentation formats")
    func aggregateFormat() throws {
        var bench = try Self.bench()
        #expect(bench.reply("0424002400") == "0501" + "24000529")
        #expect(bench.reply("0A2400") == "0B22002300")
    }

    @Test("GATT/SR/GAW/BV-08-C, BV-09-C: a descriptor that the app lets peers write, short and long")
    func writableDescriptor() throws {
        var bench = try Self.bench()
        #expect(bench.reply("122100AA") == "write 0x21+0=AA")
        bench = try Self.bench()
        #expect(bench.reply("1621000000" + Exchange.full.prefix(36)) == "1721000000" + Exchange.full.prefix(36))
        #expect(bench.reply("1621001200AABB") == "1721001200AABB")
        #expect(bench.reply("1801") == "write 0x21+0=" + Exchange.full.prefix(36) + "AABB")
    }

    @Test("GATT/SR/GAW/BV-06-C, BV-10-C: reliable writes of several values, nested, come to the app in their order")
    func nestedReliableWrites() throws {
        var bench = try Self.bench()
        for part in ["12000000AA", "1E000000BB", "12000100CC", "1E000100DD"] {
            #expect(bench.reply("16" + part) == "17" + part)
        }
        #expect(bench.reply("1801") == "write 0x12+0=AA 0x1e+0=BB 0x12+1=CC 0x1e+1=DD")
    }

    @Test("GATT/SR/GAW/BV-07-C: cancelled reliable writes change nothing")
    func cancelledReliableWrites() throws {
        var bench = try Self.bench()
        #expect(bench.reply("1612000000AA") == "1712000000AA")
        #expect(bench.reply("161E000000BB") == "171E000000BB")
        #expect(bench.reply("1800") == "19")
        #expect(bench.reply("1801") == "19")
    }

    @Test("GATT/SR/GAW/BV-11-C: an execution of nothing", arguments: ["1800", "1801"])
    func executedNothing(_ request: String) throws {
        var bench = try Self.bench()
        #expect(bench.reply(request) == "19")
    }

    @Test("GATT/SR/GAR/BI-45-C: a second request before the first is answered is never served")
    func secondRequest() throws {
        var bench = try Self.bench()
        guard case .serverRead(let id, _, _) = bench.receive("0A1200").last else { throw Tree.Surprise() }
        #expect(bench.reply("0A1B00") == "failed requestOverlap")
        #expect(bench.respond(toRead: id, .success([1])).isEmpty, "the bearer is gone")
    }

    @Test("GATT/SR/GAW/BI-39-C: a command with a value longer than any attribute is ignored")
    func longCommand() throws {
        var bench = try Self.bench()
        _ = bench.receive("020502")
        #expect(bench.receive([0x52, 0x12, 0x00] + [UInt8](repeating: 1, count: 513)).isEmpty)
        #expect(bench.receive([0x52, 0x12, 0x00] + [UInt8](repeating: 1, count: 512)).count == 1)
    }

    @Test("GATT/SR/GAW/BI-40-C: a signed command with a value longer than any attribute is ignored")
    func longSignedCommand() throws {
        var bench = try Self.bench()
        _ = bench.receive("020502")
        let signature = [UInt8](repeating: 2, count: 12)
        #expect(bench.receive([0xD2, 0x18, 0x00] + [UInt8](repeating: 1, count: 512) + signature).isEmpty)
        #expect(bench.receive([0xD2, 0x18, 0x00] + [UInt8](repeating: 1, count: 502) + signature).count == 1)
    }

    /// A subscriber's link is gone, and it comes back.
    private static func resubscribed(_ value: String, bond: UInt64?) throws -> String {
        var bench = try Tree.bench()
        if let bond {
            bench.security = .level4
            _ = bench.identify(bond: bond, proven: true)
        }
        _ = bench.receive("121300" + value)
        var next = Bench(server: bench.server, endpoint: GATTEndpoint())
        if let bond {
            next.security = .level4
            _ = next.identify(bond: bond, proven: true)
        }
        return next.reply("0A1300")
    }

    @Test(
        "GATT/SR/GAN/BV-01-C, GAI/BV-01-C: without a bond a subscription ends with its link",
        arguments: ["0100", "0200"])
    func subscriptionOfStranger(_ value: String) throws {
        #expect(try Self.resubscribed(value, bond: nil) == "0B0000")
    }

    @Test(
        "GATT/SR/GAN/BV-03-C, GAI/BV-02-C: a bonded client's subscription outlives its link",
        arguments: ["0100", "0200"])
    func subscriptionOfBonded(_ value: String) throws {
        #expect(try Self.resubscribed(value, bond: 9) == "0B" + value)
    }

    @Test("GATT/SR/GAN/BV-02-C: a client may claim to take several values in one notification")
    func multipleNotifications() throws {
        var bench = try Tree.bench()
        #expect(bench.reply("120D00FC") == "13")
        #expect(bench.reply("0A0D00") == "0B04")
    }
}
