import ATT
import BluetoothCore
import Testing

@testable import GATT

/// A procedure that the server refuses at its first request.
struct RefusedOperation: CustomTestStringConvertible, Sendable {
    let title: String
    let operation: GATTClientOperation
    let first: String
    var testDescription: String { title }

    init(_ title: String, _ operation: GATTClientOperation, _ first: String) {
        self.title = title
        self.operation = operation
        self.first = first
    }

    var opcode: String { String(first.prefix(2)) }
}

/// Core 5.4, Vol 3, Part F, 3.4.1.1 (Error Response), Table 3.4
@Suite("Core 5.4, Vol 3, Part G, 4 and 8.1: the client tells its app what the server refused")
struct ClientErrorTests {
    /// What any of the procedures may be refused with, an application's error among them.
    private static let common: [ATTErrorCode] = [
        .invalidHandle, .insufficientAuthorization, .insufficientAuthentication, .encryptionKeySizeTooShort,
        .insufficientEncryption, ATTErrorCode(rawValue: 0x80),
    ]

    private static let reads = [
        RefusedOperation("4.8.1, 4.12.1", .read(Exchange.attribute), "0A1200"),
        RefusedOperation("4.8.2", .readByUUID(.databaseHash, Exchange.service), "0810001B002A2B"),
        RefusedOperation("4.8.3, 4.12.2: the first part", .read(Exchange.attribute), "0A1200"),
        RefusedOperation("4.8.3, 4.12.2: a later part", .read(Exchange.attribute, offset: 5), "0C12000500"),
        RefusedOperation("4.8.4", .readMultiple([Exchange.attribute, Exchange.handle(0x1B)]), "0E12001B00"),
        RefusedOperation("4.8.5", .readMultipleVariable([Exchange.attribute, Exchange.handle(0x1B)]), "2012001B00"),
    ]

    private static let writes = [
        RefusedOperation("4.9.3, 4.12.3", .write(Exchange.attribute, [1]), "12120001"),
        RefusedOperation("3.3.3.3", .configure(Exchange.attribute, .notification), "1212000100"),
    ]

    private static let preparedWrites = [
        RefusedOperation("4.9.4, 4.12.4", .writeLong(Exchange.attribute, offset: 0, [1]), "161200000001"),
        RefusedOperation(
            "4.9.5",
            .reliableWrites([
                AttributeWrite(handle: Exchange.attribute, value: [1]),
                AttributeWrite(handle: Exchange.handle(0x1B), value: [2]),
            ]), "161200000001"),
    ]

    /// The error comes; `cleaning` is what the client then exchanges before it tells its app.
    private func expectRefused(_ refused: RefusedOperation, _ code: ATTErrorCode, cleaning: [(String, String)] = []) {
        var bench = Bench()
        #expect(Bench.text(bench.perform(refused.operation)) == refused.first)
        var answer = "01" + refused.opcode + "1200" + HexText.encode([code.rawValue])
        for (request, next) in cleaning {
            #expect(bench.reply(answer) == request)
            answer = next
        }
        #expect(bench.reply(answer) == "completed 1 refused \(code) 0x12")
        #expect(Bench.text(bench.perform(.read(Exchange.attribute), token: 2)) == "0A1200")
    }

    @Test("a refused read ends with the server's error", arguments: reads, common + [.readNotPermitted])
    func read(_ refused: RefusedOperation, _ code: ATTErrorCode) { expectRefused(refused, code) }

    @Test("4.8.3: an offset that the server does not have ends with its error")
    func invalidOffset() {
        expectRefused(
            RefusedOperation("offset", .read(Exchange.attribute, offset: 5), "0C12000500"), .invalidOffset)
    }

    @Test("4.8.2: a UUID that nobody has")
    func notFound() {
        var bench = Bench()
        _ = bench.perform(.readByUUID(.databaseHash, Exchange.service))
        #expect(bench.reply("010810000A") == "completed 1 refused Attribute Not Found 0x10")
    }

    @Test(
        "a refused write ends with the server's error", arguments: writes,
        common + [.writeNotPermitted, .invalidAttributeValueLength])
    func write(_ refused: RefusedOperation, _ code: ATTErrorCode) { expectRefused(refused, code) }

    @Test(
        "a refused Prepare Write: what was prepared is cancelled, then the server's error", arguments: preparedWrites,
        common + [.writeNotPermitted, .invalidOffset, .prepareQueueFull])
    func prepareWrite(_ refused: RefusedOperation, _ code: ATTErrorCode) {
        expectRefused(refused, code, cleaning: [("1800", "19")])
    }

    @Test(
        "4.9.4: refused at Execute Write, the server has thrown the parts away itself",
        arguments: preparedWrites.prefix(1),
        [.invalidOffset, .invalidAttributeValueLength] as [ATTErrorCode])
    func executeWrite(_ refused: RefusedOperation, _ code: ATTErrorCode) {
        var bench = Bench()
        _ = bench.perform(refused.operation)
        #expect(bench.reply("171200000001") == "1801")
        let error = "01181200" + HexText.encode([code.rawValue])
        #expect(bench.reply(error) == "completed 1 refused \(code) 0x12")
    }

    @Test("3.3.3: a write that is never answered ends the bearer after 30 s")
    func silence() throws {
        var bench = Bench()
        _ = bench.perform(.write(Exchange.attribute, [1]))
        let deadline = try #require(bench.endpoint.deadline)
        #expect(deadline.milliseconds(since: bench.now) == 30_000)
        var outputs: [GATTOutput] = []
        bench.endpoint.timerFired(now: deadline, outputs: &outputs)
        #expect(Bench.text(outputs) == "completed 1 bearerClosed, failed requestTimedOut")
    }
}
