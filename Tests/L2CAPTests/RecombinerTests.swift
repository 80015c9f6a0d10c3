import BluetoothCore
import Testing

@testable import L2CAP

extension Recombiner {
    fileprivate mutating func receive(_ fragment: Fragment, _ octets: [UInt8]) throws -> RecombinedPDU? {
        try receive(fragment, octets.span.bytes)
    }
}

private let frame = BasicFrame(channel: .attributeProtocol, payload: [0x0A, 0x03, 0x00])
private let octets: [UInt8] = [0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00]

@Suite("Vol 3, Part A, 7.2.2: recombination")
struct RecombinerTests {
    @Test("3.1: a basic frame is length, channel, payload; every strict prefix is refused")
    func basicFrame() throws {
        #expect(frame.encoded == octets)
        #expect(try BasicFrame(exactly: octets) == frame)
        for length in 0..<octets.count {
            #expect(throws: DecodingError.self) { try BasicFrame(exactly: Array(octets.prefix(length))) }
        }
        #expect(throws: DecodingError.trailingOctets(count: 1)) { try BasicFrame(exactly: octets + [0]) }
    }

    @Test("the same PDU comes out of every fragmentation, cuts inside the header and empty fragments included")
    func everyFragmentation() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        for cuts in 0..<1 << (octets.count - 1) {
            var fragments: [[UInt8]] = [[]]
            for (index, octet) in octets.enumerated() {
                if index > 0, cuts & 1 << (index - 1) != 0 { fragments.append([]) }
                fragments[fragments.count - 1].append(octet)
            }
            var frames: [RecombinedPDU] = []
            for (index, fragment) in fragments.enumerated() {
                #expect(recombiner.isMidPDU == (index > 0))
                if let frame = try recombiner.receive(index == 0 ? .start : .continuation, fragment) {
                    frames.append(frame)
                    #expect(index == fragments.count - 1)
                }
            }
            #expect(frames == [.whole(frame)], "cuts \(String(cuts, radix: 2))")
        }
        #expect(try recombiner.receive(.start, []) == nil)
        #expect(try recombiner.receive(.continuation, []) == nil)
        #expect(try recombiner.receive(.continuation, octets) == .whole(frame))
    }

    @Test("an empty payload is a PDU too")
    func emptyPayload() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        #expect(
            try recombiner.receive(.start, [0, 0, 4, 0])
                == .whole(BasicFrame(channel: .attributeProtocol, payload: [])))
    }

    @Test("a PDU that somebody keeps is not changed by the next one")
    func keptPDU() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        let first = try recombiner.receive(.start, [2, 0, 4, 0, 1, 1])
        let second = try recombiner.receive(.start, [2, 0, 4, 0, 2, 2])
        #expect(first == .whole(BasicFrame(channel: .attributeProtocol, payload: [1, 1])))
        #expect(second == .whole(BasicFrame(channel: .attributeProtocol, payload: [2, 2])))
    }

    @Test("a PDU as long as the link takes is whole; one octet longer is only said to have been there")
    func oversized() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        let longest = BasicFrame(channel: .leSignalling, payload: [UInt8](1...23))
        #expect(try recombiner.receive(.start, longest.encoded) == .whole(longest))
        let longer = BasicFrame(channel: .leSignalling, payload: [UInt8](1...24))
        let oversized = RecombinedPDU.oversized(.leSignalling, length: 24, head: [UInt8](1...23))
        #expect(try recombiner.receive(.start, longer.encoded) == oversized)
        for cut in 1..<longer.encoded.count {
            #expect(try recombiner.receive(.start, Array(longer.encoded[..<cut])) == nil)
            #expect(try recombiner.receive(.continuation, Array(longer.encoded[cut...])) == oversized)
        }
        #expect(try recombiner.receive(.start, octets) == .whole(frame))
    }

    @Test("Attack: a PDU of 65,535 octets is held to the length that the link takes, and to its own")
    func longestPossible() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        #expect(try recombiner.receive(.start, [0xFF, 0xFF, 0x40, 0]) == nil)
        for _ in 0..<65_534 { #expect(try recombiner.receive(.continuation, [7]) == nil) }
        #expect(
            try recombiner.receive(.continuation, [7])
                == .oversized(
                    ChannelIdentifier(rawValue: 0x40), length: 65_535, head: [UInt8](repeating: 7, count: 23)))
        #expect(try recombiner.receive(.start, [0xFF, 0xFF, 0x40, 0] + [UInt8](repeating: 7, count: 65_534)) == nil)
        #expect(throws: RecombinationError.excessOctets(count: 1)) {
            try recombiner.receive(.continuation, [7, 7])
        }
    }

    /// What has come before, the next fragment, and the violation that it is, if any.
    private static let table: [(before: [UInt8], fragment: Fragment, octets: [UInt8], error: RecombinationError?)] = [
        ([], .start, [3, 0, 4, 0, 1], nil),
        ([], .start, [1, 0, 4, 0, 1, 2], .excessOctets(count: 1)),
        ([], .continuation, [1], .continuationOutsidePDU),
        ([3, 0], .start, octets, .startInsidePDU),
        ([3, 0], .continuation, [4], nil),
        ([3, 0], .continuation, [4, 0, 1, 2, 3, 4], .excessOctets(count: 1)),
        ([3, 0, 4, 0, 1], .start, octets, .startInsidePDU),
        ([3, 0, 4, 0, 1], .continuation, [2], nil),
        ([3, 0, 4, 0, 1], .continuation, [2, 3, 4, 5], .excessOctets(count: 2)),
    ]

    @Test("every fragment in every state; after a violation the next PDU starts afresh", arguments: table)
    func stateTimesInput(
        _ row: (before: [UInt8], fragment: Fragment, octets: [UInt8], error: RecombinationError?)
    ) throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        if !row.before.isEmpty { _ = try recombiner.receive(.start, row.before) }
        guard let error = row.error else {
            #expect(try recombiner.receive(row.fragment, row.octets) == nil)
            #expect(recombiner.isMidPDU)
            return
        }
        #expect(throws: error) { try recombiner.receive(row.fragment, row.octets) }
        #expect(!recombiner.isMidPDU)
        #expect(try recombiner.receive(.start, octets) == .whole(frame))
    }
}
