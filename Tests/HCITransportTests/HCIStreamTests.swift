import CLinux
import Glibc
import HCI
import TestSupport
import Testing

@testable import HCITransport

extension HCIStream {
    /// What is there now, and nothing else.
    func packets() throws(HCIStreamError) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        try readAvailable { input in
            if case .packet(let type, let octets) = input { packets.append(Self.whole(type, octets)) }
        }
        return packets
    }

    static func whole(_ type: HCIPacketType, _ octets: RawSpan) -> [UInt8] {
        [type.rawValue] + octets.withUnsafeBytes { Array($0) }
    }
}

private let event: [UInt8] = [4, 0x0E, 4, 1, 3, 0x0C, 0]
private let reset: [UInt8] = [1, 3, 0x0C, 0]
private let data: [UInt8] = [2, 0x40, 0x20, 2, 0, 0xAA, 0xBB]

@Suite("Packets over a descriptor")
struct HCIStreamTests {
    @Test("a packet in two reads is one packet, two in one read are two, none is none")
    func reading() throws {
        let pair = try Pair()
        #expect(try pair.stream.packets() == [])
        try pair.controller.put(Array(event.prefix(3)))
        #expect(try pair.stream.packets() == [])
        try pair.controller.put(Array(event.dropFirst(3)) + data)
        #expect(try pair.stream.packets() == [event, data])
    }

    @Test("the controller's end is an error, which says whether a packet was cut", arguments: [0, 1, 3, event.count])
    func endOfFile(_ octets: Int) throws {
        var controller: OwnedDescriptor?
        let ends = try makeSocketPair()
        controller = OwnedDescriptor(ends.0)
        let stream = HCIStream(try Transport.open(.inherited(ends.1)))
        if octets > 0 { #expect(write(ends.0, event, octets) == octets) }
        controller = nil
        _ = consume controller
        let error = HCIStreamError.endOfFile(midPacket: octets % event.count != 0)
        var packets = 0
        // What is there comes first; the end is seen at the next look.
        if octets > 0 { try stream.readAvailable { _ in packets += 1 } }
        #expect(packets == octets / event.count)
        #expect(throws: error) { try stream.readAvailable { _ in packets += 1 } }
        #expect(packets == octets / event.count)
        #expect(throws: error) { try stream.packets() }
        #expect(throws: error) { try stream.send(event.span.bytes) }
    }

    @Test("a packet descriptor gives and takes whole packets, one by one")
    func packetDescriptor() throws {
        let pair = try Pair(framing: .packets)
        try pair.controller.put(event)
        try pair.controller.put(data)
        #expect(try pair.stream.packets() == [event, data])
        try pair.stream.send(event.span.bytes)
        try pair.stream.send(data.span.bytes)
        try pair.stream.flush()
        #expect(pair.controller.get() == event)
        #expect(pair.controller.get() == data)
    }

    @Test(
        "what a full descriptor does not take waits, goes out later, and comes out whole",
        arguments: [
            Transport.Framing.stream, .packets,
        ])
    func backPressure(_ framing: Transport.Framing) throws {
        let pair = try Pair(framing: framing)
        var sent: [UInt8] = []
        var number: UInt8 = 0
        while !pair.stream.wantsWrite {
            let packet = [2, 0x40, 0x20, 0xE8, 0x03] + [UInt8](repeating: number, count: 1000)
            number &+= 1
            try pair.stream.send(packet.span.bytes)
            sent += packet
            try pair.stream.flush()
        }
        var received: [UInt8] = []
        while received.count < sent.count {
            received += pair.controller.get()
            try pair.stream.flush()
        }
        #expect(received == sent)
        #expect(!pair.stream.wantsWrite)
    }

    @Test("one octet more than may wait is an error")
    func outputBound() throws {
        let pair = try Pair()
        let oneMore: [UInt8] = [0]
        let most = [UInt8](repeating: 0, count: HCIStream.maximumBufferedOctets)
        try pair.stream.send(most.span.bytes)
        #expect(throws: HCIStreamError.outputFull) { try pair.stream.send(oneMore.span.bytes) }
    }
}
