import BluetoothCore
import Testing

@testable import L2CAP

private let start = Instant(nanoseconds: 5)
private let parameters = ConnectionParameters(intervalMin: 24, intervalMax: 40, latency: 3, timeout: 420)
private let parametersHex = "180028000300A401"

extension LESignallingChannel {
    fileprivate mutating func receive(_ hex: String) throws -> [LESignallingOutput] {
        var outputs: [LESignallingOutput] = []
        receive(try #require(HexText.decode(hex)), into: &outputs)
        return outputs
    }

    fileprivate mutating func request(_ parameters: ConnectionParameters) throws -> [LESignallingOutput] {
        var outputs: [LESignallingOutput] = []
        try requestUpdate(parameters, now: start, into: &outputs)
        return outputs
    }

    fileprivate mutating func fire(_ now: Instant) -> [LESignallingOutput] {
        var outputs: [LESignallingOutput] = []
        timerFired(now: now, into: &outputs)
        return outputs
    }
}

private func send(_ hex: String) -> LESignallingOutput { .send(HexText.decode(hex) ?? []) }

@Suite("Vol 3, Part A, 4: LE signalling")
struct LESignallingChannelTests {
    private static let pdus: [(String, SignallingPDU.Command)] = [
        ("010702000000", .commandReject(.init(reason: .commandNotUnderstood))),
        ("0107040001001700", .commandReject(.init(reason: .signallingMTUExceeded(actualMTU: 23)))),
        ("01070600020040004100", .commandReject(.init(reason: .invalidCID(local: 0x40, remote: 0x41)))),
        ("010703000900AA", .commandReject(.init(reason: .unknown(9, data: [0xAA])))),
        ("12070800" + parametersHex, .connectionParameterUpdateRequest(parameters)),
        ("130702000100", .connectionParameterUpdateResponse(.init(result: .rejected))),
        ("17070100AA", .unknown(SignallingCode(rawValue: 0x17), data: [0xAA])),
    ]

    @Test("round trip, strict prefixes, trailing octets", arguments: pdus)
    func codec(_ hex: String, _ command: SignallingPDU.Command) throws {
        let octets = try #require(HexText.decode(hex))
        let pdu = SignallingPDU(identifier: try #require(SignallingIdentifier(7)), command: command)
        #expect(pdu.encoded == octets)
        #expect(try SignallingPDU(exactly: octets) == pdu)
        for length in 0..<octets.count {
            #expect(throws: DecodingError.self) { try SignallingPDU(exactly: Array(octets.prefix(length))) }
        }
        #expect(throws: DecodingError.self) { try SignallingPDU(exactly: octets + [0]) }
    }

    @Test("identifiers go round without 0")
    func identifiers() {
        var identifier = SignallingIdentifier.first
        var seen: [UInt8] = []
        for _ in 0..<256 {
            seen.append(identifier.rawValue)
            identifier = identifier.next
        }
        #expect(seen == Array(1...255) + [1])
        #expect(SignallingIdentifier(0) == nil)
    }

    @Test("4.20: a central says yes and starts the update; no to what is out of range")
    func centralAnswers() throws {
        var central = LESignallingChannel(role: .central)
        #expect(
            try central.receive("12070800" + parametersHex) == [send("130702000000"), .updateConnection(parameters)])
        #expect(try central.receive("12080800" + "050028000300A401") == [send("130802000100")])
    }

    private static let ranges: [(UInt16, UInt16, UInt16, UInt16, Bool)] = [
        (6, 6, 0, 10, true), (5, 6, 0, 10, false), (6, 5, 0, 10, false), (3200, 3200, 0, 3200, true),
        (3200, 3201, 0, 3200, false), (6, 6, 499, 3200, true), (6, 6, 500, 3200, false), (6, 6, 0, 9, false),
        (6, 6, 0, 3201, false),
        // (1 + 4) × 8 = 40 = 10 × 4: not longer than two intervals. One latency less is.
        (8, 8, 4, 10, false), (8, 8, 3, 10, true),
    ]

    @Test("4.20: the ranges, and one past each", arguments: ranges)
    func checksRanges(_ row: (UInt16, UInt16, UInt16, UInt16, Bool)) {
        let parameters = ConnectionParameters(intervalMin: row.0, intervalMax: row.1, latency: row.2, timeout: row.3)
        #expect(parameters.isValid == row.4)
    }

    @Test(
        "a peripheral asks, and learns what became of it",
        arguments: [
            ("130102000000", ConnectionParameterUpdateOutcome.accepted), ("130102000100", .rejected),
            ("010102000000", .notUnderstood),
        ])
    func peripheralAsks(_ answer: String, _ outcome: ConnectionParameterUpdateOutcome) throws {
        var peripheral = LESignallingChannel(role: .peripheral)
        #expect(try peripheral.request(parameters) == [send("12010800" + parametersHex)])
        #expect(try peripheral.receive(answer) == [.updateFinished(outcome)])
        #expect(peripheral.deadline == nil)
        #expect(try peripheral.request(parameters) == [send("12020800" + parametersHex)])
    }

    @Test("Vol 3, Part C, Appendix A: an answer is awaited for 30 s and not a nanosecond longer")
    func timeout() throws {
        var peripheral = LESignallingChannel(role: .peripheral)
        _ = try peripheral.request(parameters)
        let deadline = try #require(peripheral.deadline)
        #expect(deadline.milliseconds(since: start) == 30_000)
        #expect(peripheral.fire(Instant(nanoseconds: deadline.nanoseconds - 1)) == [])
        #expect(peripheral.fire(deadline) == [.updateFinished(.timedOut)])
        #expect(try peripheral.receive("130102000000") == [])
    }

    @Test("what may not be asked is not")
    func localErrors() throws {
        var central = LESignallingChannel(role: .central)
        #expect(throws: LESignallingError.notPeripheral) { try central.request(parameters) }
        var peripheral = LESignallingChannel(role: .peripheral)
        var invalid = parameters
        invalid.latency = 500
        #expect(throws: LESignallingError.invalidParameters) { try peripheral.request(invalid) }
        _ = try peripheral.request(parameters)
        #expect(throws: LESignallingError.requestPending) { try peripheral.request(parameters) }
    }

    /// What a received payload leads to, alike in every state and role unless said.
    private static let inputs: [(hex: String, outputs: [LESignallingOutput])] = [
        ("", []), ("14", []), ("1400", []), ("14000000", []),
        // Unknown requests, whole or mangled: 4.1, not understood.
        ("14090100AA", [send("010902000000")]), ("1409", [send("010902000000")]),
        ("14090200AA", [send("010902000000")]),
        ("7F090000", [send("010902000000")]), ("1209020000", [send("010902000000")]),
        // Enhanced credit based flow control mode: its requests are not understood, its responses answer nothing.
        ("17090A00" + "2500" + "4000" + "4000" + "0100" + "4000", [send("010902000000")]),
        ("19090600" + "4000" + "4000" + "4000", [send("010902000000")]),
        ("18090A00" + "4000" + "4000" + "0100" + "0000" + "4000", []), ("1A0902000000", []),
        // What only BR/EDR has.
        ("0209040001004000", [send("010902000000")]), ("080900", [send("010902000000")]),
        ("0A0902000200", [send("010902000000")]),
        // Longer than MTU_sig.
        ("14091400" + String(repeating: "00", count: 20), [send("0109040001001700")]),
        ("14091300" + String(repeating: "00", count: 19), [send("010902000000")]),
        // Answers to nothing that was asked (identifier 9 never is), and what wants no answer.
        ("130902000000", []), ("150900000000", []), ("16090400", []), ("130902000900", []),
        ("13091400" + String(repeating: "00", count: 20), []),
    ]

    @Test("every input in every state and role", arguments: inputs)
    func stateTimesInput(_ row: (hex: String, outputs: [LESignallingOutput])) throws {
        for role in LESignallingChannel.Role.allCases {
            var idle = LESignallingChannel(role: role)
            #expect(try idle.receive(row.hex) == row.outputs)
            #expect(idle.fire(Instant(nanoseconds: .max)) == [])
        }
        var waiting = LESignallingChannel(role: .peripheral)
        _ = try waiting.request(parameters)
        #expect(try waiting.receive(row.hex) == row.outputs)
        #expect(waiting.deadline != nil)
    }

    @Test("4.20: a peripheral rejects the request that only a central may get, whatever it waits for")
    func peripheralRejects() throws {
        var peripheral = LESignallingChannel(role: .peripheral)
        #expect(try peripheral.receive("12070800" + parametersHex) == [send("010702000000")])
        _ = try peripheral.request(parameters)
        #expect(try peripheral.receive("12070800" + parametersHex) == [send("010702000000")])
    }
}
