import BluetoothCore
import Testing

@testable import L2CAP

private func signal(_ hex: String) -> LELogicalLinkOutput { .signal(HexText.decode(hex) ?? []) }
private func channel(_ number: UInt64) -> ChannelNumber { ChannelNumber(rawValue: number) }

/// A request for SPSM 0x80 from `cid`.
private func request(_ cid: UInt16, identifier: UInt8 = 9) -> String {
    let cid = String(UInt16(cid).byteSwapped, radix: 16)
    let identifier = String(identifier, radix: 16)
    return "14" + String(repeating: "0", count: 2 - identifier.count) + identifier + "0A00" + "8000"
        + String(repeating: "0", count: 4 - cid.count) + cid + "4000" + "1700" + "0100"
}

private func refusal(_ result: String) -> [LELogicalLinkOutput] {
    [signal("15090A00" + "0000000000000000" + result)]
}

@Suite("Vol 3, Part A, 4.22, 4.23: the channels of one link")
struct ChannelTableTests {
    private static let encrypted = ChannelSecurity(encrypted: true, keySize: 16, hasKey: true)
    private static let accepted = [
        signal("15090A00" + "4000" + "0008" + "F700" + "4200" + "0000"), .opened(channel(1)),
    ]

    private static let requests: [(String, ChannelSecurity, ChannelRequirement?, [LELogicalLinkOutput])] = [
        (request(0x40), .open, .open, accepted),
        (request(0x7F), .open, .open, accepted),
        (request(0x40), .open, nil, refusal("0200")),
        ("14090A00" + "0000" + "4000" + "4000" + "1700" + "0100", .open, .open, refusal("0200")),
        ("14090A00" + "0001" + "4000" + "4000" + "1700" + "0100", .open, .open, refusal("0200")),
        (request(0x40), .open, .init(encrypted: true), refusal("0500")),
        (request(0x40), .init(hasKey: true), .init(encrypted: true), refusal("0800")),
        (request(0x40), encrypted, .init(encrypted: true), accepted),
        (request(0x40), encrypted, .init(encrypted: true, authenticated: true), refusal("0500")),
        (request(0x40), .open, .init(authorized: true), refusal("0600")),
        (request(0x40), encrypted, .init(minimumKeySize: 17), refusal("0700")),
        (request(0x3F), .open, .open, refusal("0900")),
        (request(0x80), .open, .open, refusal("0900")),
        ("14090A00" + "8000" + "4000" + "1600" + "1700" + "0100", .open, .open, refusal("0B00")),
        ("14090A00" + "8000" + "4000" + "1700" + "1600" + "0100", .open, .open, refusal("0B00")),
        ("14090A00" + "8000" + "4000" + "1700" + "FEFF" + "0100", .open, .open, refusal("0B00")),
        ("14090A00" + "8000" + "4000" + "1700" + "FDFF" + "0000", .open, .open, accepted),
        // A length that the command does not have.
        ("14090B00" + "8000" + "4000" + "4000" + "1700" + "0100" + "00", .open, .open, [signal("010902000000")]),
        ("14090900" + "8000" + "4000" + "4000" + "1700" + "01", .open, .open, [signal("010902000000")]),
        // Two commands in one frame.
        (request(0x40) + "0609040040004000", .open, .open, [signal("010902000000")]),
    ]

    @Test("a request is answered with the result that it deserves", arguments: requests)
    func answers(_ row: (String, ChannelSecurity, ChannelRequirement?, [LELogicalLinkOutput])) throws {
        var bench = ChannelBench()
        #expect(try bench.receive(row.0, security: row.1, requirement: row.2) == row.3)
    }

    @Test("4.23: a source that has a channel already gets no second one, until the first is gone")
    func sourceCIDAllocated() throws {
        var bench = ChannelBench()
        #expect(try bench.receive(request(0x40)) == Self.accepted)
        #expect(try bench.receive(request(0x40)) == refusal("0A00"))
        #expect(
            try bench.receive("06090400" + "40004000") == [signal("07090400" + "40004000"), .closed(channel(1), .peer)])
        #expect(
            try bench.receive(request(0x40)) == [
                signal("15090A00" + "4100" + "0008" + "F700" + "4200" + "0000"), .opened(channel(2)),
            ])
    }

    @Test("as many channels as a link may have, and one past them, from either side")
    func channelsMaximum() throws {
        var bench = ChannelBench()
        for index in 0..<ChannelTable.channelsMaximum - 1 {
            #expect(try bench.receive(request(0x40 + UInt16(index))).count == 2)
        }
        _ = try bench.open()
        #expect(throws: ChannelOpenError.noResources) { try bench.open() }
        #expect(try bench.receive(request(0x60)) == refusal("0400"))
        #expect(bench.close(1).count == 2)
        // The end is taken until the peer has said yes.
        #expect(try bench.receive(request(0x60)) == refusal("0400"))
        #expect(try bench.receive("07020400" + "40004000") == [])
        #expect(try bench.receive(request(0x60)).count == 2)
    }

    @Test("every result that refuses is what the app hears, and nothing is sent on the channel", arguments: 1...0xC)
    func refused(_ result: UInt16) throws {
        var bench = ChannelBench()
        _ = try bench.open()
        let hex = "0" + String(result, radix: 16) + "00"
        #expect(
            try bench.receive("15010A00" + "5000" + "4000" + "1700" + "0100" + hex)
                == [.closed(channel(1), .refused(LECreditBasedConnectionResult(rawValue: result)))])
        #expect(throws: ChannelSendError.notOpen) { try bench.link.send([1], on: channel(1)) }
        #expect(bench.frames() == [])
        #expect(try bench.receive("15010A00" + "5000" + "4000" + "1700" + "0100" + "0000") == [])
    }

    @Test("4.23: an end that another channel has already makes both useless")
    func destinationCIDAllocated() throws {
        var bench = ChannelBench()
        _ = try bench.open()
        _ = try bench.open()
        #expect(try bench.receive("15010A00" + "5000" + "4000" + "1700" + "0100" + "0000") == [.opened(channel(1))])
        let outputs = try bench.receive("15020A00" + "5000" + "4000" + "1700" + "0100" + "0000")
        let violation = ChannelCloseReason.violation(.destinationCIDAlreadyAllocated)
        #expect(outputs == [.closed(channel(2), violation), .closed(channel(1), violation)])
        #expect(bench.link.channels.count == 0)
    }

    @Test("4.22: ends are within 0x0040 and 0x007F, and none is given twice; identifiers go all the way round")
    func sourceCIDs() throws {
        var bench = ChannelBench()
        var identifiers: [UInt8] = []
        var cids: Set<UInt16> = []
        for _ in 0..<255 {
            guard case .signal(let octets)? = try bench.open().first else {
                Issue.record("no request")
                return
            }
            let pdu = try SignallingPDU(exactly: octets)
            guard case .leCreditBasedConnectionRequest(let request) = pdu.command else {
                Issue.record("no request")
                return
            }
            #expect(request.sourceCID.isDynamic)
            cids.insert(request.sourceCID.rawValue)
            identifiers.append(pdu.identifier.rawValue)
            // An answer with no identifier, one with another's, and the refusal.
            #expect(try bench.receive("15000A00" + "5000" + "4000" + "1700" + "0100" + "0000") == [])
            #expect(bench.link.channels.count == 1)
            let refusal = SignallingPDU(
                identifier: pdu.identifier,
                command: .leCreditBasedConnectionResponse(.init(refusing: .spsmNotSupported)))
            #expect(try bench.receive(HexText.encode(refusal.encoded)).count == 1)
        }
        #expect(identifiers == Array(1...255))
        #expect(cids.count == 64)
        #expect(throws: ChannelOpenError.invalidSPSM) {
            var outputs: [LELogicalLinkOutput] = []
            _ = try bench.link.open(SPSM(rawValue: 0x100), now: bench.now, into: &outputs)
        }
    }

    @Test("2.1: frames, credits and disconnections of channels that are not there change nothing")
    func unknownCIDs() throws {
        var bench = ChannelBench()
        _ = try bench.receive(request(0x50))
        for cid in [0, 1, 0x07, 0x3F, 0x41, 0x50, 0x7F, 0x80, 0xFFFF] as [UInt16] {
            #expect(bench.receive(frame: [1, 0, 1], on: cid) == [])
        }
        #expect(try bench.receive("16090400" + "4000FFFF") == [])
        #expect(try bench.receive("06090400" + "50004000") == [signal("01090600" + "0200" + "50004000")])
        #expect(try bench.receive("07090400" + "50004000") == [])
        #expect(bench.receive(frame: [1, 0, 1], on: 0x40) == [.received(channel(1), [1])])
    }

    @Test("each channel that has frames gets its turn")
    func fairness() throws {
        var bench = ChannelBench()
        for cid in 0x50...0x52 as ClosedRange<UInt16> { _ = try bench.receive(request(cid)) }
        for cid in ["5000", "5100", "5200"] { _ = try bench.receive("16090400" + cid + "0500") }
        for number in 1...3 as ClosedRange<UInt64> {
            for _ in 0..<(number == 1 ? 5 : 1) { try bench.link.send([UInt8(number)], on: channel(number)) }
        }
        #expect(bench.frames().map(\.channel.rawValue) == [0x50, 0x51, 0x52, 0x50, 0x50, 0x50, 0x50])
    }

    @Test("a lost link ends every channel once, and only those that are not closed yet")
    func linkLost() throws {
        var bench = ChannelBench()
        _ = try bench.receive(request(0x50))
        _ = try bench.receive(request(0x51))
        _ = try bench.open()
        _ = bench.close(2)
        let outputs = bench.perform { $0.linkLost(into: &$1) }
        #expect(outputs == [.closed(channel(1), .linkLost), .closed(channel(3), .linkLost)])
        #expect(bench.perform { $0.linkLost(into: &$1) } == [])
    }
}
