import ATT
import BluetoothCore
import Testing

@testable import GATT

/// Whole cases of the test suite of the Generic Attribute Profile that the procedures' exchanges do not hold.
@Suite("Core 5.4, Vol 3, Part G, 4 (GATT feature requirements): the client, case by case")
struct ClientCaseTests {
    @Test("GATT/CL/GAI/BI-01-C: a second indication before the first is confirmed: each is heard and confirmed")
    func twoIndications() {
        var bench = Bench()
        #expect(bench.reply("1D1200AA") == "indicated 0x12=AA, 1E")
        #expect(bench.reply("1D1B00BB") == "indicated 0x1b=BB, 1E")
    }

    @Test("GATT/CL/GAW/BI-32-C: reliable writes of which one comes back different are cancelled, all of them")
    func cancelledReliableWrites() {
        var bench = Bench()
        let writes = [
            AttributeWrite(handle: Exchange.attribute, value: [1]),
            AttributeWrite(handle: Exchange.handle(0x1B), value: [2]),
        ]
        #expect(Bench.text(bench.perform(.reliableWrites(writes))) == "161200000001")
        #expect(bench.reply("171200000001") == "161B00000002")
        #expect(bench.reply("171B00000003") == "1800")
        #expect(bench.reply("19") == "completed 1 malformed echoDiffers")
    }

    @Test(
        "GATT/CL/GAT/BV-03-C: Read Multiple Variable Length that is never answered ends after 30 s, and is not repeated"
    )
    func silence() throws {
        var bench = Bench()
        _ = bench.perform(.readMultipleVariable([Exchange.attribute, Exchange.handle(0x1B)]))
        let deadline = try #require(bench.endpoint.deadline)
        #expect(deadline.milliseconds(since: bench.now) == 30_000)
        var outputs: [GATTOutput] = []
        bench.endpoint.timerFired(now: deadline, outputs: &outputs)
        #expect(Bench.text(outputs) == "completed 1 bearerClosed, failed requestTimedOut")
    }

    @Test("GATT/CL/GPA/BV-12-C: a presentation format is read as it was written, and not from fewer octets")
    func presentationFormat() throws {
        let octets: [UInt8] = [0x06, 0xFE, 0x2F, 0x27, 0x01, 0x02, 0x01]
        let format = try CharacteristicPresentationFormat(exactly: octets)
        #expect(format.format == 6)
        #expect(format.exponent == -2)
        #expect(format.unit == 0x272F)
        #expect(format.namespace == 1)
        #expect(format.description == 0x0102)
        #expect(format.encoded == octets)
        for count in 0..<octets.count {
            #expect(throws: DecodingError.self) {
                try CharacteristicPresentationFormat(exactly: Array(octets.prefix(count)))
            }
        }
    }

    @Test("GATT/CL/GPA/BV-11-C: the descriptors of a characteristic are found and read, an aggregate format among them")
    func aggregateFormat() {
        var bench = Bench()
        _ = bench.perform(
            .discoverDescriptors(ATTHandleRange(start: Exchange.handle(0x22), end: Exchange.handle(0x24))))
        #expect(
            bench.reply("0501" + "22000429" + "23000429" + "24000529")
                == "completed 1 2904@0x22 2904@0x23 2905@0x24")
        _ = bench.perform(.read(Exchange.handle(0x24)))
        #expect(bench.reply("0B22002300") == "completed 1 value 22002300")
    }
}
