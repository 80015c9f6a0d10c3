import BluetoothCore
import Testing

@testable import ATT

/// One PDU of each kind: its octets as Core 5.4, Vol 3, Part F, 3.4 lays them out, and how many of them are fixed.
struct Sample: CustomTestStringConvertible, Sendable {
    let title: String
    let hex: String
    let pdu: ATTPDU
    /// Every strict prefix shorter than this must be refused; behind it a value of any length may follow.
    let fixedOctets: Int
    /// A PDU of fixed length: octets behind it must be refused, too.
    var isExact = false

    var testDescription: String { title }
    var octets: [UInt8] { HexText.decode(hex) ?? [] }

    static let long = BluetoothUUID(bits: 0xFD51_0000_D1DB_463D_86FD_15EF_B821_60A8)
    static let range = ATTHandleRange(start: AttributeHandle(0x0001), end: AttributeHandle(0xFFFF))
    static let handle = AttributeHandle(0x1234)

    static let all: [Sample] = [
        Sample(
            title: "3.4.1.1 Error Response", hex: "010A34120F",
            pdu: .response(.error(.init(requestOpcode: .readRequest, handle: handle, code: .insufficientEncryption))),
            fixedOctets: 5, isExact: true),
        Sample(
            title: "3.4.2.1 Exchange MTU Request", hex: "020502",
            pdu: .request(.exchangeMTU(.init(clientRxMTU: 517))), fixedOctets: 3, isExact: true),
        Sample(
            title: "3.4.2.2 Exchange MTU Response", hex: "031700",
            pdu: .response(.exchangeMTU(.init(serverRxMTU: 23))), fixedOctets: 3, isExact: true),
        Sample(
            title: "3.4.3.1 Find Information Request", hex: "040100FFFF",
            pdu: .request(.findInformation(.init(range: range))), fixedOctets: 5, isExact: true),
        Sample(
            title: "3.4.3.2 Find Information Response, 16-bit", hex: "050134120229",
            pdu: .response(
                .findInformation(.init(format: .short, information: [.init(handle: handle, uuid: 0x2902)]))),
            fixedOctets: 6, isExact: true),
        Sample(
            title: "3.4.3.2 Find Information Response, 128-bit", hex: "05023412A86021B8EF15FD863D46DBD1000051FD",
            pdu: .response(.findInformation(.init(format: .long, information: [.init(handle: handle, uuid: long)]))),
            fixedOctets: 20, isExact: true),
        Sample(
            title: "3.4.3.3 Find By Type Value Request", hex: "060100FFFF00280F18",
            pdu: .request(.findByTypeValue(.init(range: range, type: 0x2800, value: [0x0F, 0x18]))), fixedOctets: 7),
        Sample(
            title: "3.4.3.4 Find By Type Value Response", hex: "070100FFFF",
            pdu: .response(.findByTypeValue(.init(groups: [range]))), fixedOctets: 5, isExact: true),
        Sample(
            title: "3.4.4.1 Read By Type Request, 16-bit", hex: "080100FFFF0328",
            pdu: .request(.readByType(.init(range: range, type: .init(0x2803)))), fixedOctets: 7, isExact: true),
        Sample(
            title: "3.4.4.2 Read By Type Response", hex: "09043412AABB",
            pdu: .response(.readByType(.init(entries: [.init(handle: handle, value: [0xAA, 0xBB])]))), fixedOctets: 6,
            isExact: true),
        Sample(
            title: "3.4.4.3 Read Request", hex: "0A3412", pdu: .request(.read(.init(handle: handle))), fixedOctets: 3,
            isExact: true),
        Sample(
            title: "3.4.4.4 Read Response", hex: "0B010203", pdu: .response(.read(.init(value: [1, 2, 3]))),
            fixedOctets: 1),
        Sample(
            title: "3.4.4.5 Read Blob Request", hex: "0C34121600",
            pdu: .request(.readBlob(.init(handle: handle, offset: 22))), fixedOctets: 5, isExact: true),
        Sample(
            title: "3.4.4.6 Read Blob Response", hex: "0D01", pdu: .response(.readBlob(.init(value: [1]))),
            fixedOctets: 1),
        Sample(
            title: "3.4.4.7 Read Multiple Request", hex: "0E34120100",
            pdu: .request(.readMultiple(.init(handles: [handle, .first]))), fixedOctets: 5),
        Sample(
            title: "3.4.4.8 Read Multiple Response", hex: "0F0102",
            pdu: .response(.readMultiple(.init(values: [1, 2]))), fixedOctets: 1),
        Sample(
            title: "3.4.4.9 Read By Group Type Request", hex: "100100FFFF0028",
            pdu: .request(.readByGroupType(.init(range: range, type: .init(0x2800)))), fixedOctets: 7, isExact: true),
        Sample(
            title: "3.4.4.10 Read By Group Type Response", hex: "11060100FFFF0018",
            pdu: .response(.readByGroupType(.init(entries: [.init(group: range, value: [0x00, 0x18])]))),
            fixedOctets: 8, isExact: true),
        Sample(
            title: "3.4.4.11 Read Multiple Variable Request", hex: "2034120100",
            pdu: .request(.readMultipleVariable(.init(handles: [handle, .first]))), fixedOctets: 5),
        Sample(
            title: "3.4.4.12 Read Multiple Variable Response, the last cut", hex: "210100AA0500BBCC",
            pdu: .response(
                .readMultipleVariable(
                    .init(entries: [.init(length: 1, value: [0xAA]), .init(length: 5, value: [0xBB, 0xCC])]))),
            fixedOctets: 3),
        Sample(
            title: "3.4.5.1 Write Request", hex: "1234120100",
            pdu: .request(.write(.init(handle: handle, value: [1, 0]))), fixedOctets: 3),
        Sample(
            title: "3.4.5.2 Write Response", hex: "13", pdu: .response(.write(.init())), fixedOctets: 1,
            isExact: true),
        Sample(
            title: "3.4.5.3 Write Command", hex: "523412AA",
            pdu: .command(.write(.init(handle: handle, value: [0xAA]))), fixedOctets: 3),
        Sample(
            title: "3.4.5.4 Signed Write Command", hex: "D212001337" + "01000000" + "F1871E933C900FF2",
            pdu: .command(
                .signedWrite(
                    .init(
                        handle: AttributeHandle(0x0012), value: [0x13, 0x37],
                        authenticationSignature: [1, 0, 0, 0, 0xF1, 0x87, 0x1E, 0x93, 0x3C, 0x90, 0x0F, 0xF2]))),
            fixedOctets: 15),
        Sample(
            title: "3.4.6.1 Prepare Write Request", hex: "1634121200AABB",
            pdu: .request(.prepareWrite(.init(handle: handle, offset: 18, value: [0xAA, 0xBB]))), fixedOctets: 5),
        Sample(
            title: "3.4.6.2 Prepare Write Response", hex: "1734121200AABB",
            pdu: .response(.prepareWrite(.init(handle: handle, offset: 18, value: [0xAA, 0xBB]))), fixedOctets: 5),
        Sample(
            title: "3.4.6.3 Execute Write Request", hex: "1801",
            pdu: .request(.executeWrite(.init(flags: .write))), fixedOctets: 2, isExact: true),
        Sample(
            title: "3.4.6.4 Execute Write Response", hex: "19", pdu: .response(.executeWrite(.init())), fixedOctets: 1,
            isExact: true),
        Sample(
            title: "3.4.7.1 Handle Value Notification", hex: "1B3412AA",
            pdu: .notification(.handleValue(.init(handle: handle, value: [0xAA]))), fixedOctets: 3),
        Sample(
            title: "3.4.7.2 Handle Value Indication", hex: "1D3412AA",
            pdu: .indication(.init(handle: handle, value: [0xAA])), fixedOctets: 3),
        Sample(
            title: "3.4.7.3 Handle Value Confirmation", hex: "1E", pdu: .confirmation, fixedOctets: 1, isExact: true),
        Sample(
            title: "3.4.7.4 Multiple Handle Value Notification", hex: "2334120100AA01000000",
            pdu: .notification(
                .multipleHandleValue(
                    .init(notifications: [.init(handle: handle, value: [0xAA]), .init(handle: .first, value: [])]))),
            fixedOctets: 6, isExact: true),
        Sample(
            title: "3.4.7.4 Multiple Handle Value Notification of one value, as BlueZ sends it", hex: "2334120100AA",
            pdu: .notification(
                .multipleHandleValue(.init(notifications: [.init(handle: handle, value: [0xAA])]))),
            fixedOctets: 6, isExact: true),
    ]
}

@Suite("Core 5.4, Vol 3, Part F, 3.4 (Attribute protocol PDUs)")
struct ATTPDUTests {
    @Test("encodes and decodes", arguments: Sample.all)
    func roundTrip(_ sample: Sample) throws {
        #expect(HexText.encode(sample.pdu.pdu) == sample.hex)
        #expect(try ATTPDU(sample.octets) == sample.pdu)
    }

    @Test("every strict prefix of the fixed part is refused", arguments: Sample.all)
    func prefixes(_ sample: Sample) {
        for length in 0..<sample.fixedOctets {
            #expect(throws: DecodingError.self, "\(length) octets") { try ATTPDU(Array(sample.octets.prefix(length))) }
        }
    }

    @Test("octets behind a fixed length are refused", arguments: Sample.all.filter(\.isExact))
    func trailing(_ sample: Sample) {
        #expect(throws: DecodingError.self) { try ATTPDU(sample.octets + [0x00]) }
    }

    @Test(
        "values outside what is allowed are refused",
        arguments: [
            ("05033412022900", "Find Information Response of an unknown format"),
            ("0501", "an empty Find Information Response"),
            ("07", "an empty Find By Type Value Response"),
            ("0901AA", "a Read By Type Response whose entries have no room for a handle"),
            ("0900", "a Read By Type Response whose entries have no length"),
            ("0904", "an empty Read By Type Response"),
            ("11030100FF", "a Read By Group Type Response whose entries have no room for a group"),
            ("1106", "an empty Read By Group Type Response"),
            ("0E3412", "Read Multiple of one handle"),
            ("203412", "Read Multiple Variable of one handle"),
            ("1802", "Execute Write with unknown flags"),
            ("0801000200000102", "a type of 3 octets"),
            ("2334120100AA01", "Multiple Handle Value Notification with half a handle at its end"),
            ("2334120100AA010000", "Multiple Handle Value Notification with half a length at its end"),
            ("2334120200AA01000000", "Multiple Handle Value Notification whose lengths run past its end"),
        ])
    func refused(hex: String, why: String) {
        #expect(throws: DecodingError.self, "\(why)") { try ATTPDU(HexText.decode(hex) ?? []) }
    }

    @Test("3.3.1: an unknown opcode keeps its octets")
    func unknown() throws {
        let octets: [UInt8] = [0x7F, 1, 2, 3]
        let pdu = try ATTPDU(octets)
        #expect(pdu == .unknown(ATTOpcode(rawValue: 0x7F), parameters: [1, 2, 3]))
        #expect(pdu.pdu == octets)
    }

    @Test("3.4.1.1: every error code of the specification has a name")
    func errorNames() {
        for code in 0x01...0x13 {
            #expect(!ATTErrorCode(rawValue: UInt8(code)).description.hasPrefix("Error 0x"))
        }
        #expect(ATTErrorCode(rawValue: 0x80).description == "Application Error 0x80")
        #expect(ATTErrorCode(rawValue: 0x9F).isApplicationError)
        #expect(ATTErrorCode(rawValue: 0xA0).description == "Error 0xA0")
    }
}
