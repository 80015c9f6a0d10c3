import ATT
import BluetoothCore
import Testing

@testable import GATT

/// What goes in and what must come out, line by line: octets in hexadecimal, an answer of the app after `>`.
struct Transcript: CustomTestStringConvertible, Sendable {
    let title: String
    let steps: [(String, String)]
    var testDescription: String { title }

    init(_ title: String, _ steps: [(String, String)]) {
        self.title = title
        self.steps = steps
    }
}

@Suite("Core 5.4, Vol 3, Part G, 4 (GATT feature requirements): the server")
struct ServerProcedureTests {
    static let transcripts: [Transcript] = [
        Transcript(
            "4.3.1 Exchange MTU: the larger one holds from the next PDU on",
            [
                ("024000", "030502"),
                ("0C16000000", "0D" + HexText.encode(0..<60)),
                ("021700", "0102000006"),
            ]),
        Transcript(
            "4.4.1 Discover All Primary Services",
            [
                ("100100FFFF0028", "1106" + "010007000018" + "08000F000118" + "10001B0000AA"),
                ("101C00FFFF0028", "01101C000A"),
                ("100000FFFF0028", "0110000001"),
                ("10100001000028", "0110100001"),
                ("100100FFFF0328", "0110010010"),
            ]),
        Transcript(
            "4.4.2 Discover Primary Service by Service UUID",
            [
                ("060100FFFF002800AA", "0710001B00"),
                ("060100FFFF002899AA", "010601000A"),
                ("060000FFFF002800AA", "0106000001"),
            ]),
        Transcript("4.5.1 Find Included Services: there are none", [("080100FFFF0228", "010801000A")]),
        Transcript(
            "4.6.1 Discover All Characteristics of a Service",
            [
                ("0810001B000328", "0907" + "11003E120001AA" + "150002160002AA" + "17005A180003AA"),
                ("0819001B000328", "0907" + "1A00021B0004AA"),
                ("081B001B000328", "01081B000A"),
            ]),
        Transcript(
            "4.7.1 Discover All Characteristic Descriptors",
            [
                ("0413001400", "0501" + "13000229" + "14000129"), ("041C00FFFF", "01041C000A"),
                ("0400000000", "0104000001"),
            ]),
        Transcript(
            "4.8.1 Read Characteristic Value",
            [
                ("0A1B00", "0BABCD"), ("0A1600", "0B" + HexText.encode(0..<22)), ("0A1C00", "010A1C0001"),
                ("0A0000", "010A000001"), ("0A1800", "010A180005"), ("0A1200", "read 0x12+0"), (">AA55", "0BAA55"),
                ("0A1200", "read 0x12+0"), (">!80", "010A120080"), ("0A0A00", "010A0A0002"),
            ]),
        Transcript(
            "4.8.2 Read Using Characteristic UUID",
            [
                ("080100FFFF04AA", "09041B00ABCD"), ("080100FFFF03AA", "0108180005"),
                ("080100FFFF99AA", "010801000A"), ("080100FFFF01AA", "read 0x12+0"), (">010203", "09051200010203"),
                ("080100FFFF02AA", "0915" + "1600" + HexText.encode(0..<19)),
            ]),
        Transcript(
            "4.8.3 Read Long Characteristic Values",
            [
                ("0C16001600", "0D" + HexText.encode(22..<44)), ("0C16002C00", "0D" + HexText.encode(44..<60)),
                ("0C16003C00", "0D"), ("0C16003D00", "010C160007"), ("0C12000500", "read 0x12+5"), (">AA", "0DAA"),
            ]),
        Transcript(
            "4.8.4 Read Multiple Characteristic Values",
            [
                ("0E1B001B00", "0FABCDABCD"), ("0E1B0012001B00", "read 0x12+0"), (">EE", "0FABCDEEABCD"),
                ("0E1B001200", "read 0x12+0"), (">!81", "010E120081"), ("0E1B001800", "010E180005"),
                ("0E1B00FF00", "010EFF0001"), ("0E16001B00", "0F" + HexText.encode(0..<22)),
            ]),
        Transcript(
            "4.8.5 Read Multiple Variable Length Characteristic Values",
            [
                ("201B001B00", "210200ABCD0200ABCD"), ("2012001B00", "read 0x12+0"), (">", "2100000200ABCD"),
                ("201B001600", "210200ABCD3C00" + HexText.encode(0..<16)), ("201B000000", "0120000001"),
            ]),
        Transcript(
            "4.9.1 Write Without Response", [("52120001", "command 0x12+0=01"), ("52160001", ""), ("52990001", "")]),
        Transcript(
            "4.9.2 Signed Write Without Response",
            [
                (
                    "D21800AA0102030405060708090A0B0C",
                    "signed 0x18=AA of D21800AA0102030405060708090A0B0C"
                ), ("D21200AA0102030405060708090A0B0C", ""), ("D29900AA0102030405060708090A0B0C", ""),
            ]),
        Transcript(
            "4.9.3 Write Characteristic Value",
            [
                ("121200AA", "write 0x12+0=AA"), (">", "13"), ("121200AA", "write 0x12+0=AA"), (">!84", "0112120084"),
                ("121600AA", "0112160003"), ("12FF00AA", "0112FF0001"), ("121800AA", "0112180005"),
            ]),
        Transcript(
            "4.9.4 Write Long Characteristic Values",
            [
                ("1612000000AABB", "1712000000AABB"), ("1612000200CC", "1712000200CC"),
                ("1801", "write 0x12+0=AABBCC"), (">", "19"), ("1801", "19"), ("1612000000AA", "1712000000AA"),
                ("1800", "19"), ("1801", "19"), ("1616000000AA", "0116160003"), ("1613000000AA", "011613000B"),
                ("1618000000AA", "0116180005"), ("1612000102AA", "1712000102AA"), ("1801", "0118120007"),
                ("1612000002AA", "1712000002AA"), ("1801", "011812000D"), ("1801", "19"),
            ]),
        Transcript(
            "4.9.5 Reliable Writes: the parts stay apart and in order",
            [
                ("1612000000AA", "1712000000AA"), ("1612000500BB", "1712000500BB"),
                ("1801", "write 0x12+0=AA 0x12+5=BB"), (">!80", "0118120080"),
            ]),
        Transcript(
            "3.3.3.3 Client Characteristic Configuration",
            [
                ("0A1300", "0B0000"), ("1213000100", "13, subscribed 0x12 1"), ("0A1300", "0B0100"),
                ("1213000100", "13"), ("1213000400", "0112130013"), ("12130001", "011213000D"),
                ("1219000100", "0112190005"), ("1213000000", "13, subscribed 0x12 0"),
            ]),
        Transcript(
            "7.2 Client Supported Features: what was claimed cannot be taken back",
            [
                ("0A0D00", "0B00"), ("120D0001", "13"), ("0A0D00", "0B01"), ("120D0000", "01120D0013"),
                ("120D00", "01120D000D"), ("120D0005", "13"), ("0A0D00", "0B05"),
            ]),
    ]

    @Test("transcript", arguments: transcripts)
    func transcript(_ transcript: Transcript) throws {
        var bench = try Tree.bench()
        var last: [GATTOutput] = []
        for (input, expected) in transcript.steps {
            if input.first == ">" {
                last = try answer(String(input.dropFirst()), to: last, &bench)
            } else {
                last = bench.receive(input)
            }
            #expect(Bench.text(last) == expected, "after \(input)")
        }
    }

    private func answer(_ text: String, to outputs: [GATTOutput], _ bench: inout Bench) throws -> [GATTOutput] {
        let code = text.first == "!" ? UInt8(text.dropFirst(), radix: 16).map { ATTErrorCode(rawValue: $0) } : nil
        switch outputs.last {
        case .serverRead(let id, _, _):
            if let code { return bench.respond(toRead: id, .failure(code)) }
            return bench.respond(toRead: id, .success(HexText.decode(text) ?? []))
        case .serverWrite(let id, _): return bench.respond(toWrite: id, code)
        default: throw Tree.Surprise()
        }
    }

    @Test("a request is answered once, and not at all after the link is gone")
    func answeredOnce() throws {
        var bench = try Tree.bench()
        guard case .serverRead(let id, _, _) = bench.receive("0A1200").last else { throw Tree.Surprise() }
        #expect(Bench.text(bench.respond(toRead: id, .success([1]))) == "0B01")
        #expect(bench.respond(toRead: id, .success([2])) == [])
        guard case .serverWrite(let second, _) = bench.receive("12120001").last else { throw Tree.Surprise() }
        #expect(bench.respond(toRead: second, .success([2])) == [], "a write is not a read")
        var outputs: [GATTOutput] = []
        bench.endpoint.disconnected(outputs: &outputs)
        #expect(bench.respond(toWrite: second) == [])
    }

    @Test("3.4.6.1: one prepared octet past the bound of the queue is refused; a queue of empty values ends, too")
    func prepareQueueBound() throws {
        var bench = try Tree.bench()
        let cost = 16
        let room = (PreparedWrites.capacityOctets / cost)
        for _ in 0..<room { #expect(bench.reply("1612000000") == "1712000000") }
        #expect(bench.reply("1612000000") == "0116120009")
        #expect(bench.reply("1800") == "19")
        #expect(bench.reply("1612000000") == "1712000000")
    }

    @Test(
        "4.10, 4.11: a value goes only to who subscribed, is cut to the MTU, and waits for no confirmation but its own")
    func notifyAndIndicate() throws {
        var bench = try Tree.bench()
        #expect(bench.notify(Tree.open, [1]).0 == .notSubscribed)
        #expect(bench.notify(AttributeHandle(0x16), [1]).0 == .invalidCharacteristic)
        #expect(bench.notify(AttributeHandle(0x99), [1]).0 == .invalidCharacteristic)
        _ = bench.receive("1213000300")
        let notified = bench.notify(Tree.open, Array(0..<30))
        #expect(Bench.text(notified.1) == "1B1200" + HexText.encode(0..<20))
        #expect(Bench.text(bench.indicate(Tree.open, [0xAA], token: 7).1) == "1D1200AA")
        let queued = bench.indicate(Tree.open, [0xBB], token: 8)
        #expect(queued.0 == .queued)
        #expect(queued.1.isEmpty)
        #expect(bench.reply("1E") == "1D1200BB, indication 7 true")
        var outputs: [GATTOutput] = []
        bench.endpoint.disconnected(outputs: &outputs)
        #expect(Bench.text(outputs) == "indication 8 false")
        #expect(bench.notify(Tree.open, [1]).0 == .bearerClosed)
    }

    @Test("3.3.3: an app that does not answer within 30 s ends the bearer")
    func unanswered() throws {
        var bench = try Tree.bench()
        _ = bench.receive("0A1200")
        let deadline = try #require(bench.endpoint.deadline)
        var outputs: [GATTOutput] = []
        bench.endpoint.timerFired(now: deadline, outputs: &outputs)
        #expect(Bench.text(outputs) == "failed requestUnanswered")
        #expect(bench.reply("0A1B00") == "")
    }
}
