import BluetoothCore
import StrikeControl
import TestSupport
import Testing

@Suite("docs/PROTOCOL.md, the strike's keeper")
struct StrikeMessageTests {
    private static let requests: [String: StrikeRequest] = [
        "hello": .hello(version: 2),
        "order to lock": .order(
            StrikeOrder(intent: 0x0102_0304, movement: .lock, pulseMilliseconds: 3_000, notAfter: nil)),
        "order to unlock": .order(
            StrikeOrder(
                intent: 0x0102_0305, movement: .unlock, pulseMilliseconds: 3_000,
                notAfter: Instant(nanoseconds: 0x1122_3344_5566_7788))),
        "order to unlatch": .order(
            StrikeOrder(
                intent: 0x0102_0306, movement: .unlatch, pulseMilliseconds: 500,
                notAfter: Instant(nanoseconds: 1_000_000_000))),
    ]

    private static let reports: [String: StrikeReport] = [
        "status of a new keeper": .status(StrikeStatus(position: .unknown, hasChip: false)),
        "status under way": .status(
            StrikeStatus(
                position: .unknown, contact: .closed, last: StrikeStatus.Last(intent: 0x0102_0305, result: nil))),
        "status of a released door": .status(
            StrikeStatus(
                position: .unlocked, contact: .open, isTampered: true, isFire: true,
                last: StrikeStatus.Last(intent: 0x0102_0305, result: .unlocked))),
        "ended": .ended(intent: 0x0102_0305, .unlocked),
        "jammed": .ended(intent: 0x0102_0306, .jammed),
        "exit": .exit,
        "welcome": .welcome(began: Instant(nanoseconds: 0x1122_3344_5566_7788)),
        "unsupported": .unsupported(version: 2),
    ]

    @Test("Each vector of the page is what the codec writes, and reads back as that")
    func vectors() throws {
        let vectors = try DocumentVectors("strike")
        #expect(Set(vectors.names) == Set(Self.requests.keys).union(Self.reports.keys))
        for (name, request) in Self.requests {
            #expect(vectors[name] == HexText.encode(request.encoded), "\(name)")
            #expect(try StrikeRequest(exactly: request.encoded) == request, "\(name)")
        }
        for (name, report) in Self.reports {
            #expect(vectors[name] == HexText.encode(report.encoded), "\(name)")
            #expect(try StrikeReport(exactly: report.encoded) == report, "\(name)")
        }
    }

    @Test("Every strict prefix is refused, and every octet more; no message is longer than the longest")
    func lengths() {
        func check<Message: WireCodable>(_ message: Message) {
            let octets = message.encoded
            #expect(octets.count <= StrikeProtocol.messageMaximumOctets)
            for length in octets.indices {
                #expect(throws: DecodingError.self, "\(message)") { try Message(exactly: Array(octets[..<length])) }
            }
            #expect(throws: DecodingError.trailingOctets(count: 1)) { try Message(exactly: octets + [0]) }
        }
        for request in Self.requests.values { check(request) }
        for report in Self.reports.values { check(report) }
        let longest = Self.requests.values.map(\.encoded.count).max()
        #expect(longest == StrikeProtocol.messageMaximumOctets)
    }

    @Test("A number that stands for nothing is refused, in each place")
    func invalid() {
        let order = Self.requests["order to lock"]?.encoded ?? []
        let status = Self.reports["status under way"]?.encoded ?? []
        let ended = Self.reports["ended"]?.encoded ?? []
        func with(_ octets: [UInt8], _ index: Int, _ value: UInt8) -> [UInt8] {
            var octets = octets
            octets[index] = value
            return octets
        }
        for octets in [with(order, 0, 0), with(order, 0, 3), with(order, 1, 0), with(order, 1, 4)] {
            #expect(throws: DecodingError.self, "\(octets)") { try StrikeRequest(exactly: octets) }
        }
        let bad = [
            with(status, 0, 0x80), with(status, 0, 0x86), with(status, 1, 4), with(status, 2, 3), with(status, 3, 8),
            with(status, 12, 7), with(status, 12, 0), with(ended, 9, 0), with(ended, 9, 1), with(ended, 9, 7),
        ]
        for octets in bad {
            #expect(throws: DecodingError.self, "\(octets)") { try StrikeReport(exactly: octets) }
        }
    }
}
