import ATT
import BluetoothCore
import Testing

@testable import GATT

/// A procedure, and the peer's answers with what the client sends next or ends with.
struct Exchange: CustomTestStringConvertible, Sendable {
    let title: String
    let operation: GATTClientOperation
    let first: String
    let steps: [(String, String)]
    var testDescription: String { title }

    init(_ title: String, _ operation: GATTClientOperation, _ first: String, _ steps: [(String, String)] = []) {
        self.title = title
        self.operation = operation
        self.first = first
        self.steps = steps
    }

    func run() {
        var bench = Bench()
        #expect(Bench.text(bench.perform(operation)) == first)
        for (answer, expected) in steps { #expect(bench.reply(answer) == expected, "after \(answer)") }
    }

    static func handle(_ value: UInt16) -> AttributeHandle { AttributeHandle(value) }
    static let service = ATTHandleRange(start: handle(0x10), end: handle(0x1B))
    static let backwards = ATTHandleRange(start: handle(9), end: handle(8))
    static let attribute = handle(0x12)
    static let full = HexText.encode(0..<22)
}

@Suite("Core 5.4, Vol 3, Part G, 4 (GATT feature requirements): the client")
struct ClientProcedureTests {
    static let exchanges: [Exchange] = [
        Exchange("4.3.1 Exchange MTU", .exchangeMTU, "020502", [("036400", "completed 1 mtu 100")]),
        Exchange(
            "4.3.1 Exchange MTU with a server that does not know it", .exchangeMTU, "020502",
            [("0102000006", "completed 1 mtu 23")]),
        Exchange(
            "4.4.1 Discover All Primary Services", .discoverPrimaryServices, "100100FFFF0028",
            [
                ("1106" + "010007000018" + "08000F000118", "101000FFFF0028"),
                ("1114" + "10001B00A86021B8EF15FD863D46DBD1000051FD", "101C00FFFF0028"),
                (
                    "01101C000A",
                    "completed 1 1800@0x1-0x7 1801@0x8-0xf FD510000-D1DB-463D-86FD-15EFB82160A8@0x10-0x1b"
                ),
            ]),
        Exchange(
            "4.4.1: a service up to the last handle is the last", .discoverPrimaryServices, "100100FFFF0028",
            [("11060100FFFF0018", "completed 1 1800@0x1-0xffff")]),
        Exchange(
            "4.4.2 Discover Primary Service by Service UUID", .discoverPrimaryServicesByUUID(0xAA00),
            "060100FFFF002800AA",
            [("0710001B00", "061C00FFFF002800AA"), ("01061C000A", "completed 1 AA00@0x10-0x1b")]),
        Exchange(
            "4.5.1 Find Included Services, one of 128 bits", .findIncludedServices(Exchange.service), "0810001B000228",
            [
                ("0908" + "1100200022000F18", "0812001B000228"),
                ("0906" + "120030003200", "0A3000"),
                ("0BA86021B8EF15FD863D46DBD1000051FD", "0813001B000228"),
                (
                    "010813000A",
                    "completed 1 0x11:180F@0x20-0x22 0x12:FD510000-D1DB-463D-86FD-15EFB82160A8@0x30-0x32"
                ),
            ]),
        Exchange(
            "4.6.1 Discover All Characteristics of a Service",
            .discoverCharacteristics(Exchange.service, uuid: nil), "0810001B000328",
            [
                ("0907" + "11003E120001AA" + "150002160002AA", "0817001B000328"),
                ("010817000A", "completed 1 AA01@0x11,0x12-0x14 AA02@0x15,0x16-0x1b"),
            ]),
        Exchange(
            "4.6.2 Discover Characteristics by UUID", .discoverCharacteristics(Exchange.service, uuid: 0xAA01),
            "0810001B000328",
            [
                ("0907" + "11003E120001AA" + "150002160002AA", "0817001B000328"),
                ("010817000A", "completed 1 AA01@0x11,0x12-0x14"),
            ]),
        Exchange(
            "4.7.1 Discover All Characteristic Descriptors",
            .discoverDescriptors(ATTHandleRange(start: Exchange.handle(0x13), end: Exchange.handle(0x15))),
            "0413001500",
            [("0501" + "13000229" + "14000129", "0415001500"), ("010415000A", "completed 1 2902@0x13 2901@0x14")]),
        Exchange(
            "4.8.1 Read Characteristic Value", .read(Exchange.attribute), "0A1200",
            [("0BAABB", "completed 1 value AABB")]),
        Exchange(
            "4.8.1: refused", .read(Exchange.attribute), "0A1200",
            [("010A120005", "completed 1 refused Insufficient Authentication 0x12")]),
        Exchange(
            "4.8.2 Read Using Characteristic UUID", .readByUUID(.databaseHash), "080100FFFF2A2B",
            [("09040F00ABCD", "completed 1 0xf=ABCD")]),
        Exchange(
            "4.8.3 Read Long Characteristic Values", .read(Exchange.attribute), "0A1200",
            [
                ("0B" + Exchange.full, "0C12001600"), ("0D" + Exchange.full, "0C12002C00"),
                ("0DAA", "completed 1 value " + Exchange.full + Exchange.full + "AA"),
            ]),
        Exchange(
            "4.8.3: a server that says Attribute Not Long at the end",
            .read(Exchange.attribute), "0A1200",
            [("0B" + Exchange.full, "0C12001600"), ("010C12000B", "completed 1 value " + Exchange.full)]),
        Exchange(
            "4.8.3: from an offset", .read(Exchange.attribute, offset: 5), "0C12000500",
            [("0DAA", "completed 1 value AA")]),
        Exchange(
            "4.8.4 Read Multiple Characteristic Values",
            .readMultiple([Exchange.attribute, Exchange.handle(0x1B)]), "0E12001B00",
            [("0F0102", "completed 1 value 0102")]),
        Exchange(
            "4.8.5 Read Multiple Variable Length Characteristic Values",
            .readMultipleVariable([Exchange.attribute, Exchange.handle(0x1B)]), "2012001B00",
            [("210100AA0200BBCC", "completed 1 0x12=AA 0x1b=BBCC")]),
        Exchange(
            "4.9.1 Write Without Response", .writeWithoutResponse(Exchange.attribute, [1]),
            "52120001, completed 1 done"),
        Exchange(
            "4.9.2 Signed Write Without Response: the host signs",
            .signedWriteWithoutResponse(Exchange.attribute, [0x13, 0x37]), "sign 1 D212001337, completed 1 done"),
        Exchange(
            "4.9.3 Write Characteristic Value", .write(Exchange.attribute, [1]), "12120001",
            [("13", "completed 1 done")]),
        Exchange(
            "4.9.4 Write Long Characteristic Values, for a value longer than a Write Request takes",
            .write(Exchange.attribute, Array(0..<21)), "1612000000" + HexText.encode(0..<18),
            [
                ("1712000000" + HexText.encode(0..<18), "1612001200121314"), ("1712001200121314", "1801"),
                ("19", "completed 1 done"),
            ]),
        Exchange(
            "4.9.4: refused on the way, what was prepared is cancelled",
            .writeLong(Exchange.attribute, offset: 0, [1]), "161200000001",
            [("0116120009", "1800"), ("19", "completed 1 refused Prepare Queue Full 0x12")]),
        Exchange(
            "4.9.5 Reliable Writes",
            .reliableWrites([
                AttributeWrite(handle: Exchange.attribute, value: [1]),
                AttributeWrite(handle: Exchange.handle(0x1B), offset: 2, value: [2]),
            ]), "161200000001",
            [("171200000001", "161B00020002"), ("171B00020002", "1801"), ("19", "completed 1 done")]),
        Exchange(
            "4.10, 3.3.3.3: subscribe", .configure(Exchange.handle(0x13), .notification), "1213000100",
            [("13", "completed 1 done"), ("1B1200AA", "notified 0x12=AA")]),
        Exchange(
            "4.10.2 Multiple Variable Length Notifications", .configure(Exchange.handle(0x13), .notification),
            "1213000100", [("2312000100AA1B000000", "notified 0x12=AA, notified 0x1b=")]),
        Exchange(
            "4.11.1 Indications: confirmed behind the event, also while a request is under way",
            .read(Exchange.attribute), "0A1200",
            [("1D1200AA", "indicated 0x12=AA, 1E"), ("0BBB", "completed 1 value BB")]),
    ]

    @Test("exchange", arguments: exchanges)
    func exchange(_ exchange: Exchange) { exchange.run() }

    /// Every one of these ends the procedure with a typed error, and the bearer serves the next.
    static let attacks: [Exchange] = [
        Exchange(
            "services that go backwards", .discoverPrimaryServices, "100100FFFF0028",
            [
                ("1106" + "10001B000018", "101C00FFFF0028"),
                ("1106" + "10001B000018", "completed 1 malformed handleOutOfOrder"),
            ]),
        Exchange(
            "a service that ends before it begins", .discoverPrimaryServices, "100100FFFF0028",
            [("1106" + "100001000018", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "services that overlap in one answer", .discoverPrimaryServices, "100100FFFF0028",
            [("1106" + "010010000018" + "100020000118", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "a service at handle 0", .discoverPrimaryServices, "100100FFFF0028",
            [("1106" + "000010000018", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "a service whose UUID has 3 octets", .discoverPrimaryServices, "100100FFFF0028",
            [("1107" + "01001000001800", "completed 1 malformed wrongLength")]),
        Exchange(
            "an empty list of services", .discoverPrimaryServices, "100100FFFF0028",
            [("1106", "completed 1 malformed undecodable")]),
        Exchange(
            "a found service outside the range", .discoverPrimaryServicesByUUID(0xAA00), "060100FFFF002800AA",
            [("0710001B00", "061C00FFFF002800AA"), ("0701001B00", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "an included service of the wrong length", .findIncludedServices(Exchange.service), "0810001B000228",
            [("0907" + "11002000220000", "completed 1 malformed wrongLength")]),
        Exchange(
            "an included service whose declaration is no UUID", .findIncludedServices(Exchange.service),
            "0810001B000228",
            [("0906" + "120030003200", "0A3000"), ("0BAABBCC", "completed 1 malformed wrongLength")]),
        Exchange(
            "a characteristic outside its service", .discoverCharacteristics(Exchange.service, uuid: nil),
            "0810001B000328", [("0907" + "1C00021D0001AA", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "a characteristic whose value lies before it", .discoverCharacteristics(Exchange.service, uuid: nil),
            "0810001B000328", [("0907" + "110002100001AA", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "a characteristic that is its own value", .discoverCharacteristics(Exchange.service, uuid: nil),
            "0810001B000328", [("0907" + "110002110001AA", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "a characteristic whose value lies behind its service",
            .discoverCharacteristics(Exchange.service, uuid: nil), "0810001B000328",
            [("0907" + "1100021C0001AA", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "a characteristic without UUID", .discoverCharacteristics(Exchange.service, uuid: nil), "0810001B000328",
            [("0905" + "1100021200", "completed 1 malformed wrongLength")]),
        Exchange(
            "endless descriptors", .discoverDescriptors(Exchange.service), "0410001B00",
            [("0501" + "13000229" + "13000229", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "a value read by UUID outside the range", .readByUUID(.databaseHash, Exchange.service), "0810001B002A2B",
            [("09040F00ABCD", "completed 1 malformed handleOutOfOrder")]),
        Exchange(
            "more values than were asked for",
            .readMultipleVariable([Exchange.attribute, Exchange.handle(0x1B)]), "2012001B00",
            [("210000" + "0000" + "0000", "completed 1 malformed wrongLength")]),
        Exchange(
            "a prepared write that comes back different", .writeLong(Exchange.attribute, offset: 0, [1]),
            "161200000001", [("171200000002", "1800"), ("19", "completed 1 malformed echoDiffers")]),
        Exchange(
            "an Exchange MTU Response cut short", .exchangeMTU, "020502",
            [("0317", "completed 1 malformed undecodable")]),
    ]

    @Test("attack", arguments: attacks)
    func attack(_ attack: Exchange) {
        attack.run()
        var bench = Bench()
        _ = bench.perform(attack.operation)
        for (answer, _) in attack.steps { _ = bench.receive(answer) }
        #expect(Bench.text(bench.perform(.read(Exchange.attribute), token: 2)) == "0A1200")
    }

    @Test("attack: a long value that never ends stops at 512 octets")
    func endlessValue() {
        var bench = Bench()
        _ = bench.perform(.read(Exchange.attribute))
        var outputs = bench.receive("0B" + Exchange.full)
        var rounds = 1
        while case .send = outputs.first, rounds < 100 {
            outputs = bench.receive("0D" + Exchange.full)
            rounds += 1
        }
        #expect(Bench.text(outputs) == "completed 1 malformed tooMuch")
        #expect(rounds == 24)
    }

    @Test("attack: a tree of more services than the bound")
    func endlessServices() {
        var bench = Bench()
        var outputs = bench.perform(.discoverPrimaryServices)
        var handle: UInt16 = 1
        while case .send = outputs.first, handle < .max {
            let low = UInt8(truncatingIfNeeded: handle)
            let high = UInt8(handle >> 8)
            outputs = bench.receive([0x11, 0x06, low, high, low, high, 0, 0x18])
            handle += 1
        }
        #expect(Bench.text(outputs) == "completed 1 malformed tooMuch")
        #expect(Int(handle) == ClientBound.discoveredCapacityCount + 2)
    }

    @Test("attack: an answer to another request than was asked ends the bearer and everything asked on it")
    func wrongAnswer() {
        var bench = Bench()
        _ = bench.perform(.read(Exchange.attribute))
        _ = bench.perform(.exchangeMTU, token: 2)
        #expect(
            bench.reply("13") == "completed 1 bearerClosed, completed 2 bearerClosed, failed mismatchedResponse")
        #expect(Bench.text(bench.perform(.read(Exchange.attribute), token: 3)) == "completed 3 bearerClosed")
    }

    @Test("attack: silence ends the bearer after 30 s")
    func silence() throws {
        var bench = Bench()
        _ = bench.perform(.read(Exchange.attribute))
        let deadline = try #require(bench.endpoint.deadline)
        var outputs: [GATTOutput] = []
        bench.endpoint.timerFired(now: Instant(nanoseconds: deadline.nanoseconds - 1), outputs: &outputs)
        #expect(outputs.isEmpty)
        bench.endpoint.timerFired(now: deadline, outputs: &outputs)
        #expect(Bench.text(outputs) == "completed 1 bearerClosed, failed requestTimedOut")
    }

    @Test("operations run one at a time, in the order asked; one past the queue is refused")
    func queue() {
        var bench = Bench()
        #expect(Bench.text(bench.perform(.read(Exchange.attribute), token: 0)) == "0A1200")
        for token in 1...UInt64(ClientBound.operationQueueCapacityCount) {
            #expect(bench.perform(.read(Exchange.attribute), token: token) == [])
        }
        #expect(Bench.text(bench.perform(.read(Exchange.attribute), token: 999)) == "completed 999 queueFull")
        for token in 0..<ClientBound.operationQueueCapacityCount {
            #expect(bench.reply("0B") == "completed \(token) value , 0A1200")
        }
    }

    @Test("4.3.1: the MTU is exchanged once; asked again, the client says what it is")
    func secondMTU() {
        var bench = Bench()
        _ = bench.perform(.exchangeMTU)
        _ = bench.receive("036400")
        #expect(Bench.text(bench.perform(.exchangeMTU, token: 2)) == "completed 2 mtu 100")
        #expect(bench.endpoint.mtu == 100)
    }

    @Test(
        "what cannot be sent is refused before anything is",
        arguments: [
            GATTClientOperation.writeWithoutResponse(Exchange.attribute, Array(0..<21)),
            .signedWriteWithoutResponse(Exchange.attribute, Array(0..<9)),
            .writeLong(Exchange.attribute, offset: 512, [1]), .writeLong(Exchange.attribute, offset: -1, [1]),
            .write(Exchange.attribute, Array(repeating: 0, count: 513)),
            .writeLong(Exchange.attribute, offset: .max, [1]), .reliableWrites([]),
            .readMultiple([Exchange.attribute]), .readMultiple(Array(repeating: Exchange.attribute, count: 12)),
            .read(Exchange.attribute, offset: 513), .read(Exchange.attribute, offset: -1),
            .findIncludedServices(Exchange.backwards), .discoverCharacteristics(Exchange.backwards),
            .discoverDescriptors(Exchange.backwards), .readByUUID(.databaseHash, Exchange.backwards),
            .discoverDescriptors(ATTHandleRange(start: Exchange.handle(0), end: .last)),
        ])
    func invalid(_ operation: GATTClientOperation) {
        var bench = Bench()
        #expect(Bench.text(bench.perform(operation)) == "completed 1 invalidOperation")
        #expect(Bench.text(bench.perform(.read(Exchange.attribute), token: 2)) == "0A1200")
    }
}
