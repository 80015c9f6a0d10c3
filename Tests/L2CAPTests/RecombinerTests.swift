import BluetoothCore
import Testing

@testable import L2CAP

extension Recombiner {
    fileprivate mutating func receive(_ fragment: Fragment, _ octets: [UInt8]) throws -> BasicFrame? {
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
            var frames: [BasicFrame] = []
            for (index, fragment) in fragments.enumerated() {
                #expect(recombiner.isMidPDU == (index > 0))
                if let frame = try recombiner.receive(index == 0 ? .start : .continuation, fragment) {
                    frames.append(frame)
                    #expect(index == fragments.count - 1)
                }
            }
            #expect(frames == [frame], "cuts \(String(cuts, radix: 2))")
        }
        #expect(try recombiner.receive(.start, []) == nil)
        #expect(try recombiner.receive(.continuation, []) == nil)
        #expect(try recombiner.receive(.continuation, octets) == frame)
    }

    @Test("an empty payload is a PDU too")
    func emptyPayload() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        #expect(
            try recombiner.receive(.start, [0, 0, 4, 0]) == BasicFrame(channel: .attributeProtocol, payload: []))
    }

    @Test("a PDU that somebody keeps is not changed by the next one")
    func keptPDU() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        let first = try recombiner.receive(.start, [2, 0, 4, 0, 1, 1])
        let second = try recombiner.receive(.start, [2, 0, 4, 0, 2, 2])
        #expect(first?.payload == [1, 1])
        #expect(second?.payload == [2, 2])
    }

    @Test("Attack: a PDU one octet longer than any channel takes is refused at its header")
    func tooLong() throws {
        var recombiner = Recombiner(maximumPayloadOctets: 23)
        #expect(try recombiner.receive(.start, [23, 0, 4, 0]) == nil)
        recombiner = Recombiner(maximumPayloadOctets: 23)
        #expect(throws: RecombinationError.tooLong(octets: 24)) { try recombiner.receive(.start, [24, 0, 4, 0]) }
        #expect(throws: RecombinationError.tooLong(octets: 0xFFFF)) {
            _ = try recombiner.receive(.start, [0xFF])
            _ = try recombiner.receive(.continuation, [0xFF, 4, 0])
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
        #expect(try recombiner.receive(.start, octets) == frame)
    }
}
