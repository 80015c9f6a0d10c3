import BluetoothCore
import Testing

@testable import HCI

/// A packet as the deframer hands it on, copied.
private struct Packet: Equatable {
    var type: HCIPacketType
    var octets: [UInt8]
}

extension H4Deframer {
    fileprivate mutating func packets(_ chunks: [[UInt8]]) throws(H4FramingError) -> [Packet] {
        var packets: [Packet] = []
        for chunk in chunks {
            try receive(chunk.span.bytes) { type, octets in
                packets.append(Packet(type: type, octets: octets.withUnsafeBytes { Array($0) }))
            }
        }
        return packets
    }
}

@Suite("Vol 4, Part A, 2: H4 framing")
struct H4DeframerTests {
    private static let packets: [Packet] = [
        Packet(type: .event, octets: [0x0E, 4, 1, 3, 0x0C, 0]),
        Packet(type: .aclData, octets: [0x40, 0x20, 3, 0, 0xAA, 0xBB, 0xCC]),
        Packet(type: .aclData, octets: [0x40, 0x10, 0, 0]),
        Packet(type: .synchronousData, octets: [1, 0, 2, 9, 9]),
        Packet(type: .isoData, octets: [1, 0, 1, 0xC0, 7]),
        Packet(type: .command, octets: [3, 0x0C, 0]),
        Packet(type: .event, octets: [0x57, 0]),
    ]
    private static let stream = packets.flatMap { [$0.type.rawValue] + $0.octets }

    @Test("the same packets come out of every fragmentation into three, and of single octets")
    func everyFragmentation() throws {
        let stream = Self.stream
        for first in 0...stream.count {
            for second in first...stream.count {
                var deframer = H4Deframer()
                let chunks = [stream[..<first], stream[first..<second], stream[second...]].map { Array($0) }
                #expect(try deframer.packets(chunks) == Self.packets, "cut at \(first) and \(second)")
                #expect(!deframer.isMidPacket)
            }
        }
        var deframer = H4Deframer()
        #expect(try deframer.packets(stream.map { [$0] }) == Self.packets)
    }

    @Test("a stream that stops inside a packet says so")
    func midPacket() throws {
        var boundaries: Set<Int> = [0]
        for packet in Self.packets { boundaries.insert((boundaries.max() ?? 0) + 1 + packet.octets.count) }
        for length in 0...Self.stream.count {
            var deframer = H4Deframer()
            _ = try deframer.packets([Array(Self.stream.prefix(length))])
            #expect(deframer.isMidPacket == !boundaries.contains(length), "after \(length) octets")
        }
    }

    @Test("the longest packet that a header can announce arrives whole")
    func longest() throws {
        let packet = [0x40, 0x20, 0xFF, 0xFF] + [UInt8](repeating: 5, count: 0xFFFF)
        var deframer = H4Deframer()
        let whole = [HCIPacketType.aclData.rawValue] + packet
        let packets = try deframer.packets([Array(whole.prefix(1000)), Array(whole.dropFirst(1000))])
        #expect(packets == [Packet(type: .aclData, octets: packet)])
        #expect(packet.count == H4Deframer.maximumPacketOctets)
    }

    @Test(
        "Attack: an unknown indicator ends the stream, after what came before it and until a reset",
        arguments: [0x00, 0x06, 0x7F, 0xFF] as [UInt8])
    func unknownIndicator(_ indicator: UInt8) throws {
        var deframer = H4Deframer()
        var types: [HCIPacketType] = []
        let octets = [0x04, 0x57, 0x00, indicator, 0x04, 0x57, 0x00]
        #expect(throws: H4FramingError.unknownPacketIndicator(indicator)) {
            try deframer.receive(octets.span.bytes) { type, _ in types.append(type) }
        }
        #expect(types == [.event])
        #expect(throws: H4FramingError.unknownPacketIndicator(indicator)) { try deframer.packets([[0x04]]) }
        deframer.reset()
        #expect(try deframer.packets([[0x04, 0x57, 0x00]]).count == 1)
    }

    @Test("Part E, 5.4.2: an ACL header's twelve, two, two and sixteen bits", arguments: PacketBoundary.allCases)
    func aclHeader(_ boundary: PacketBoundary) throws {
        let header = ACLDataHeader(handle: ConnectionHandle(0x0EFF), boundary: boundary, dataLength: 0x0102)
        #expect(header.encoded == [0xFF, 0x0E | boundary.rawValue << 4, 0x02, 0x01])
        #expect(try ACLDataHeader(exactly: header.encoded) == header)
        for length in 0..<ACLDataHeader.encodedLength {
            #expect(throws: DecodingError.self) { try ACLDataHeader(exactly: Array(header.encoded.prefix(length))) }
        }
    }

    @Test("a packet says what it is, and refuses a length that is not its own")
    func packetKinds() throws {
        let acl: [UInt8] = [0x40, 0x20, 2, 0, 0xAA, 0xBB]
        switch try HCIPacket(type: .aclData, acl.span.bytes) {
        case .aclData(let header, let data):
            #expect(header == ACLDataHeader(handle: ConnectionHandle(0x40), boundary: .first, dataLength: 2))
            #expect(data.withUnsafeBytes { Array($0) } == [0xAA, 0xBB])
        default: Issue.record("not ACL data")
        }
        let short: [UInt8] = [0x40, 0x20, 3, 0, 0xAA, 0xBB]
        #expect(throws: DecodingError.truncated(needed: 3, available: 2)) {
            _ = try HCIPacket(type: .aclData, short.span.bytes)
        }
        let long: [UInt8] = [0x40, 0x20, 1, 0, 0xAA, 0xBB]
        #expect(throws: DecodingError.trailingOctets(count: 1)) {
            _ = try HCIPacket(type: .aclData, long.span.bytes)
        }
        let sync: [UInt8] = [1, 0, 0]
        switch try HCIPacket(type: .synchronousData, sync.span.bytes) {
        case .ignored(let type): #expect(type == .synchronousData)
        default: Issue.record("not ignored")
        }
    }
}
