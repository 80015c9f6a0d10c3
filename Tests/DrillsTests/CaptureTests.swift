import Testing

@testable import Drills

/// Makes a btsnoop file as the radio's captures are.
struct Snoop {
    static let header = Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 0x03, 0xEA]

    static func record(_ packet: [UInt8], fromHost: Bool, unixMicroseconds: UInt64 = 1_000) -> [UInt8] {
        func big(_ value: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
        }
        let length = big(UInt64(packet.count), 4)
        return length + length + big(fromHost ? 0 : 1, 4) + big(0, 4)
            + big(unixMicroseconds + 0x00DC_DDB3_0F2F_8000, 8) + packet
    }

    /// A PDU of the attribute protocol in ACL packets of at most `fragment` octets.
    static func attribute(_ pdu: [UInt8], handle: UInt16 = 0x0040, fragment: Int = 27, fromHost: Bool = true)
        -> [[UInt8]]
    {
        var rest = (Array(littleEndian: UInt16(pdu.count), count: 2) + [4, 0] + pdu)[...]
        var packets: [[UInt8]] = []
        while !rest.isEmpty {
            let body = rest.prefix(fragment)
            rest = rest.dropFirst(fragment)
            let boundary: UInt16 = packets.isEmpty ? (fromHost ? 0b00 : 0b10) : 0b01
            packets.append(
                [0x02] + Array(littleEndian: handle | boundary << 12, count: 2)
                    + Array(littleEndian: UInt16(body.count), count: 2) + body)
        }
        return packets
    }

    /// Core 6.2's known answer has another handle and value; the drill looks at the frame only.
    static func signedWrite(counter: UInt32, challenge: [UInt8] = [1, 2, 3, 4, 5, 6]) -> [UInt8] {
        [0xD2, 0x12, 0x00, 0x12, 0x00] + challenge + Array(littleEndian: counter, count: 4) + [9, 8, 7, 6, 5, 4, 3, 2]
    }
}

@Suite("Reading captures") struct CaptureTests {
    @Test("A growing file gives each packet once, however it is cut")
    func growing() throws {
        let packets: [[UInt8]] = [[0x01, 0x03, 0x0C, 0], [0x04, 0x0E, 4, 1, 3, 0x0C, 0], [0x02, 0x40, 0, 1, 0, 7]]
        let file = packets.reduce(Snoop.header) { $0 + Snoop.record($1, fromHost: true) }
        for size in 1...file.count {
            var reader = BTSnoopReader()
            var read: [[UInt8]] = []
            for start in stride(from: 0, to: file.count, by: size) {
                read += try reader.read(file[start..<min(start + size, file.count)]).map(\.octets)
            }
            #expect(read == packets)
        }
    }

    @Test("Another format and an impossible length are refused")
    func malformed() {
        var reader = BTSnoopReader()
        #expect(throws: BTSnoopReader.Malformed.self) { try reader.read([UInt8](repeating: 7, count: 16)) }
        var other = BTSnoopReader()
        var record = Snoop.record([0x01], fromHost: true)
        record[4] = 0xFF
        #expect(throws: BTSnoopReader.Malformed.self) { try other.read(Snoop.header + record) }
    }

    @Test("A PDU is put together from any fragments, and links are not mixed up", arguments: [1, 2, 5, 26, 27, 100])
    func fragments(size: Int) {
        var reader = CaptureReader()
        let mine = Snoop.signedWrite(counter: 7)
        let other = Snoop.signedWrite(counter: 8)
        let first = Snoop.attribute(mine, handle: 0x40, fragment: size)
        let second = Snoop.attribute(other, handle: 0x41, fragment: size)
        var found: [CaptureEvent] = []
        for index in 0..<max(first.count, second.count) {
            for packets in [first, second] where index < packets.count {
                let packet = CapturePacket(unixMicroseconds: 0, isFromHost: true, octets: packets[index])
                if let event = reader.read(packet) { found.append(event) }
            }
        }
        #expect(
            found == [
                .attribute(handle: 0x40, isFromHost: true, pdu: mine),
                .attribute(handle: 0x41, isFromHost: true, pdu: other),
            ])
    }

    @Test("A link that ended takes its half PDU with it")
    func halfPDU() {
        var reader = CaptureReader()
        let packets = Snoop.attribute(Snoop.signedWrite(counter: 1), fragment: 20)
        #expect(reader.read(CapturePacket(unixMicroseconds: 0, isFromHost: true, octets: packets[0])) == nil)
        let down = CapturePacket(unixMicroseconds: 0, isFromHost: false, octets: [0x04, 0x05, 4, 0, 0x40, 0, 0x13])
        #expect(reader.read(down) == .linkDown(handle: 0x40))
        #expect(reader.read(CapturePacket(unixMicroseconds: 0, isFromHost: true, octets: packets[1])) == nil)
    }

    @Test("Commands and events that matter, and every prefix of them is nothing or something whole")
    func events() {
        let connected: [UInt8] =
            [0x04, 0x3E, 19, 1, 0, 0x40, 0, 0, 1, 1, 2, 3, 4, 5, 0xC6, 24, 0, 0, 0, 200, 0, 0]
        let enhanced: [UInt8] =
            [0x04, 0x3E, 31, 10, 0, 0x40, 0, 1, 1, 1, 2, 3, 4, 5, 0xC6] + [UInt8](repeating: 0, count: 12)
            + [24, 0, 0, 0, 200, 0, 0]
        let cases: [([UInt8], Bool, CaptureEvent)] = [
            ([0x04, 0x0E, 10, 4, 9, 0x10, 0, 1, 0, 1, 0x41, 0x4C, 2], false, .publicAddress(0x024C_4101_0001)),
            ([0x01, 0x05, 0x20, 6, 1, 2, 3, 4, 5, 0xC6], true, .randomAddress(0xC605_0403_0201)),
            ([0x01, 0x0A, 0x20, 1, 1], true, .advertising(true)),
            ([0x01, 0x39, 0x20, 6, 1, 1, 0, 0, 0, 0], true, .advertising(true)),
            ([0x01, 0x39, 0x20, 2, 0, 0], true, .advertising(false)),
            ([0x01, 0x43, 0x20, 2, 0, 0], true, .createConnection),
            ([0x01, 0x10, 0x20, 0], true, .broughtUp),
            ([0x04, 0x08, 4, 0, 0x40, 0, 1], false, .encrypted(handle: 0x40)),
            (connected, false, .linkUp(handle: 0x40, isCentral: true, peer: 0xC605_0403_0201)),
            (enhanced, false, .linkUp(handle: 0x40, isCentral: false, peer: 0xC605_0403_0201)),
        ]
        for (octets, isFromHost, event) in cases {
            var reader = CaptureReader()
            #expect(
                reader.read(CapturePacket(unixMicroseconds: 0, isFromHost: isFromHost, octets: octets)) == event)
            for count in 0..<octets.count {
                _ = reader.read(
                    CapturePacket(unixMicroseconds: 0, isFromHost: isFromHost, octets: Array(octets.prefix(count))))
            }
        }
    }

    @Test("Signed writes of the Lock profile, and nothing else")
    func signedWrites() throws {
        let octets = Snoop.signedWrite(counter: 0x0102_0304, challenge: [0xA, 0xB, 0xC, 0xD, 0xE, 0xF])
        let write = try #require(SignedWrite(octets, at: 5))
        #expect(write.counter == 0x0102_0304)
        #expect(write.challenge == "0A0B0C0D0E0F")
        #expect(write.handle == 0x12)
        for count in 0..<octets.count { #expect(SignedWrite(Array(octets.prefix(count)), at: 0) == nil) }
        #expect(SignedWrite(octets + [0], at: 0) == nil)
        #expect(SignedWrite([0x52] + octets.dropFirst(), at: 0) == nil)
    }

    @Test("The merged capture has a controller's number and the monitor's opcode in each record")
    func monitor() {
        let packet = CapturePacket(unixMicroseconds: 1, isFromHost: false, octets: [0x02, 0x40, 0x20, 0, 0])
        let octets = BTSnoopReader.monitorCapture([(3, packet)])
        #expect(Array(octets[12..<16]) == [0, 0, 0x07, 0xD1])
        #expect(Array(octets[24..<28]) == [0, 3, 0, 5])
        #expect(octets.suffix(4) == [0x40, 0x20, 0, 0])
    }
}

@Suite("Reading journal and audit") struct EvidenceTests {
    /// FIPS 180-4's examples, as NIST publishes them.
    @Test(
        "FIPS 180-4 (SHA-256)",
        arguments: [
            ("", "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"),
            ("abc", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248D6A61D20638B8E5C026930C3E6039A33CE45964FF2167F6ECEDD419DB06C1"
            ),
        ])
    func digest(message: String, expected: String) {
        #expect(hex(SHA256.digest(Array(message.utf8))) == expected)
    }

    @Test("The journal's whole lines, and not the one on its way")
    func journal() throws {
        let text = "1 100 42 7 0A0B0C0D0E0F unlock\n2 200 42 9 - lock\n3 300"
        let movements = try JournalReader.read(Array(text.utf8))
        #expect(movements.map(\.intent) == [7, 9])
        #expect(movements.map(\.command) == ["0A0B0C0D0E0F", nil])
        #expect(throws: JournalReader.Malformed(line: 1)) { try JournalReader.read(Array("nonsense\n".utf8)) }
    }

    /// A granted unlock with credential and counter, and its outcome.
    static let granted: [UInt8] =
        [1, 3] + Array(littleEndian: UInt64(5), count: 8) + Array(littleEndian: UInt64(6), count: 8)
        + [4, 0, 0, 0] + [0x12, 0, 1, 2, 3, 4, 5, 6]
    static let outcome: [UInt8] = [5, 1] + Array(littleEndian: UInt64(1), count: 8)

    static func chain(_ events: [[UInt8]]) -> [AuditReader.Row] {
        var hash = SHA256.digest(Array("latch audit 1".utf8))
        return events.enumerated().map { index, event in
            let boot = [UInt8](repeating: 0, count: 15) + [7]
            let sequence = UInt64(index + 1)
            var octets = hash + Array(littleEndian: sequence, count: 8) + boot.reversed()
            octets += Array(littleEndian: UInt64(50), count: 8) + Array(littleEndian: Int64.min, count: 8) + event
            hash = SHA256.digest(octets)
            return AuditReader.Row(
                sequence: sequence, boot: boot, at: 50, wallClockSeconds: nil, event: event, hash: hash)
        }
    }

    @Test("Records of the audit, and every strict prefix of one is refused")
    func audit() {
        let rows = Self.chain([Self.granted, Self.outcome])
        let command = AuditEntry.Command(counter: 4, operation: 2, challenge: "010203040506")
        #expect(rows.compactMap(AuditReader.entry).map(\.event) == [.granted(command), .outcome(of: 1, .done)])
        for event in [Self.granted, Self.outcome] {
            for count in 0..<event.count {
                var row = rows[0]
                row.event = Array(event.prefix(count))
                #expect(AuditReader.entry(row) == nil)
            }
        }
    }

    @Test("A changed, missing or moved record breaks the chain")
    func chainBreaks() {
        let rows = Self.chain([Self.granted, Self.outcome, [8]])
        #expect(AuditReader.firstBreak(rows) == nil)
        #expect(AuditReader.firstBreak([]) == nil)
        #expect(AuditReader.firstBreak([rows[0], rows[2]]) == 3)
        #expect(AuditReader.firstBreak([rows[1], rows[0]]) == 2)
        var changed = rows
        changed[1].event[1] = 2
        #expect(AuditReader.firstBreak(changed) == 2)
    }
}
