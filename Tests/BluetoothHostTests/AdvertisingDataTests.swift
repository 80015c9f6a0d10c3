import BluetoothCore
import BluetoothHost
import HCI
import Testing

@Suite struct AdvertisingDataTests {
    @Test("Core 5.4, Vol 3, Part C, 11: flags and services are advertised, the name is in the scan response")
    func payload() {
        let record = AdvertisingRecord(localName: "Door", services: [0x180A])
        let payload = AdvertisingData.payload(for: record)
        #expect(payload.data == [2, 1, 6, 3, 3, 0x0A, 0x18])
        #expect(payload.scanResponse == [5, 9] + Array("Door".utf8))
    }

    @Test("What does not fit is left out and said to be incomplete")
    func overflow() {
        let services = (0..<20).map { BluetoothUUID(UInt16($0)) }
        let payload = AdvertisingData.payload(
            for: AdvertisingRecord(localName: String(repeating: "é", count: 20), services: services))
        #expect(payload.data.count <= AdvertisingData.maximumOctets)
        #expect(payload.data[4] == 2)
        #expect(payload.scanResponse.count <= AdvertisingData.maximumOctets)
        #expect(payload.scanResponse[1] == 8)
        #expect(String(decoding: payload.scanResponse.dropFirst(2), as: UTF8.self) == String(repeating: "é", count: 14))
    }

    @Test("What is written is read")
    func roundTrip() {
        let uuid = BluetoothUUID(bits: 0xFD51_0000_D1DB_463D_86FD_15EF_B821_60A8)
        let payload = AdvertisingData.payload(for: AdvertisingRecord(localName: "A", services: [uuid]))
        let read = AdvertisingData(parsing: payload.data)
        #expect(read.services == [uuid])
        #expect(read.flags == AdvertisingFlags(.general))
        #expect(AdvertisingData(parsing: payload.scanResponse).localName == "A")
    }

    @Test(
        "Structures that reach beyond the end, are empty or nonsense end the reading",
        arguments: [
            [], [0], [5], [5, 9], [2, 1], [3, 9, 0x41], [0xFF, 0xFF], [1, 9, 0xFF, 9],
        ] as [[UInt8]])
    func malformed(octets: [UInt8]) {
        let data = AdvertisingData(parsing: octets)
        #expect(data.services.isEmpty)
        #expect(data.flags == nil)
    }

    // MARK: What only the host's own API can ask for

    /// Everything that a record can say, and room for it only in an extended advertisement.
    static let full: AdvertisingRecord = {
        var record = AdvertisingRecord(localName: "Bell", services: [0x180A, long])
        record.txPowerLevel = -4
        record.includesAppearance = true
        record.manufacturerData = [0x4C, 0x00, 1, 2]
        record.serviceData = [
            AdvertisedServiceData(service: 0x180F, octets: [99]), AdvertisedServiceData(service: long, octets: [1, 2]),
        ]
        record.solicitedServices = [0x1805, long, 0x1806]
        return record
    }()
    static let long = BluetoothUUID(bits: 0xFD51_0000_D1DB_463D_86FD_15EF_B821_60A8)

    /// A record that says one thing alone, and the structure that this is on the air.
    static let structures: [(id: String, record: AdvertisingRecord, structure: [UInt8])] = {
        func alone(_ change: (inout AdvertisingRecord) -> Void) -> AdvertisingRecord {
            var record = AdvertisingRecord(localName: nil, services: [])
            change(&record)
            return record
        }
        var long: [UInt8] = []
        for index in 0..<16 { long.append(UInt8(truncatingIfNeeded: Self.long.bits >> UInt128(8 * index))) }
        return [
            ("BV-01-C, 16 bits", alone { $0.services = [0x180A, 0x180F] }, [5, 3, 0x0A, 0x18, 0x0F, 0x18]),
            ("BV-01-C, 128 bits", alone { $0.services = [Self.long] }, [17, 7] + long),
            ("BV-03-C", alone { $0.discoverability = .general }, []),
            ("BV-04-C", alone { $0.manufacturerData = [0x4C, 0, 7] }, [4, 0xFF, 0x4C, 0, 7]),
            ("BV-05-C, least", alone { $0.txPowerLevel = -127 }, [2, 0x0A, 0x81]),
            ("BV-05-C, most", alone { $0.txPowerLevel = 127 }, [2, 0x0A, 0x7F]),
            ("BV-09-C, 16 bits", alone { $0.solicitedServices = [0x1805, 0x1806] }, [5, 0x14, 5, 0x18, 6, 0x18]),
            ("BV-09-C, 128 bits", alone { $0.solicitedServices = [Self.long] }, [17, 0x15] + long),
            (
                "BV-10-C, 16 bits",
                alone { $0.serviceData = [AdvertisedServiceData(service: 0x180F, octets: [99])] },
                [4, 0x16, 0x0F, 0x18, 99]
            ),
            (
                "BV-10-C, 128 bits",
                alone { $0.serviceData = [AdvertisedServiceData(service: Self.long, octets: [1])] },
                [18, 0x21] + long + [1]
            ),
            ("BV-11-C", alone { $0.includesAppearance = true }, [3, 0x19, 0x08, 0x07]),
        ]
    }()

    @Test(
        "GAP/ADV/BV-01-C, 03 to 05, 09 to 11: each structure as the Supplement has it, with the flags before it once",
        arguments: structures)
    func structure(id: String, record: AdvertisingRecord, structure: [UInt8]) {
        let payload = AdvertisingData.payload(for: record, appearance: 0x0708)
        #expect(payload.data == [2, 1, 6] + structure)
        #expect(payload.scanResponse.isEmpty)
    }

    @Test("GAP/ADV/BV-02-C: the name once, in the scan response where there is one and else with the rest")
    func name() {
        var record = AdvertisingRecord(localName: "Bell", services: [])
        let name: [UInt8] = [5, 9] + Array("Bell".utf8)
        for mode in [ConnectableMode.connectable, .scannable] {
            record.connectability = mode
            #expect(AdvertisingData.payload(for: record).data == [2, 1, 6])
            #expect(AdvertisingData.payload(for: record).scanResponse == name)
        }
        record.connectability = .nonConnectable
        #expect(AdvertisingData.payload(for: record).data == [2, 1, 6] + name)
        #expect(AdvertisingData.payload(for: record).scanResponse.isEmpty)
        record.localName = String(repeating: "n", count: 40)
        let shortened = AdvertisingData.payload(for: record).data
        #expect(shortened == [2, 1, 6, 27, 8] + [UInt8](repeating: 0x6E, count: 26), "its first octets")
    }

    @Test("What is full goes on in the scan response; what fits into neither is left out whole, and nothing is cut")
    func overflowing() {
        var record = AdvertisingRecord(localName: "Bell", services: [])
        func datum(_ octets: Int) -> AdvertisedServiceData {
            AdvertisedServiceData(service: 0x180F, octets: [UInt8](repeating: 7, count: octets))
        }
        record.serviceData = [datum(24)]
        #expect(AdvertisingData.payload(for: record).data.count == 31, "the last octet is used")
        record.serviceData = [datum(25)]
        let payload = AdvertisingData.payload(for: record)
        #expect(payload.data == [2, 1, 6])
        #expect(AdvertisingData(parsing: payload.scanResponse).serviceData == record.serviceData)
        #expect(AdvertisingData(parsing: payload.scanResponse).localName == nil, "no room is left for it")
        record.serviceData = [datum(28), datum(3)]
        #expect(AdvertisingData(parsing: AdvertisingData.payload(for: record).data).serviceData == [datum(3)])
        #expect(AdvertisingData.extendedPayload(for: record, room: 64) != nil)
    }

    @Test("With room for it everything is in one extended advertisement, and is read as it was asked for")
    func everything() throws {
        let payload = try #require(AdvertisingData.extendedPayload(for: Self.full, appearance: 0x0708, room: 1650))
        let read = AdvertisingData(parsing: payload.data)
        #expect(read.flags == AdvertisingFlags(.general))
        #expect(read.services == Self.full.services)
        #expect(Set(read.solicitedServices) == Set(Self.full.solicitedServices))
        #expect(read.serviceData == Self.full.serviceData)
        #expect(read.manufacturerData == Self.full.manufacturerData)
        #expect(read.txPowerLevel == -4 && read.appearance == 0x0708 && read.localName == "Bell")
        for mode in ConnectableMode.allCases {
            var record = Self.full
            record.connectability = mode
            #expect(AdvertisingData.extendedPayload(for: record, room: 1650)?.mode == mode)
            #expect(AdvertisingData.extendedPayload(for: record, room: 1650)?.scanResponse == [])
        }
    }

    @Test("Flags are in the advertising data once, in no scan response, and never zero", arguments: ModeCase.all)
    func flagsOnce(_ row: ModeCase) {
        var record = Self.full
        record.discoverability = row.mode
        record.connectability = row.connectability
        let payload = AdvertisingData.payload(for: record)
        func flags(_ octets: [UInt8]) -> [[UInt8]] {
            var (found, rest) = ([[UInt8]](), octets[...])
            while let length = rest.first {
                let structure = Array(rest.dropFirst().prefix(Int(length)))
                if structure.first == 1 { found.append(structure) }
                rest = rest.dropFirst(1 + Int(length))
            }
            return found
        }
        #expect(flags(payload.data) == [[1, AdvertisingFlags(row.mode).rawValue]])
        #expect(flags(payload.scanResponse).isEmpty)
        let long = AdvertisingData.extendedPayload(for: record, room: 1650)
        #expect(long.map { flags($0.data) } == [[1, AdvertisingFlags(row.mode).rawValue]])
    }

    @Test("A structure of a length that its type does not have says nothing, and those behind it are read")
    func oddLengths() {
        let data = AdvertisingData(
            parsing: [
                1, 0x0A, 3, 0x0A, 1, 2, 2, 0x19, 1, 4, 0x19, 1, 2, 3, 2, 0xFF, 1, 1, 0xFF, 1, 0x16, 2, 0x16, 1, 4, 0x20,
                1,
                2, 3, 3, 0x21, 1, 2, 1, 1, 3, 0x03, 0x0A, 0x18,
            ])
        #expect(data.txPowerLevel == nil && data.appearance == nil && data.manufacturerData == nil)
        #expect(data.serviceData.isEmpty)
        #expect(data.flags == [], "whose octets are left out are zero")
        #expect(data.services == [0x180A])
    }

    @Test("UUIDs of 32 bits are read as those that they are short for")
    func thirtyTwoBits() {
        let data = AdvertisingData(
            parsing: [9, 5, 0x0A, 0x18, 0, 0, 1, 2, 3, 4, 5, 0x1F, 1, 2, 3, 4, 6, 0x20, 0x0F, 0x18, 0, 0, 99])
        let wide = BluetoothUUID("04030201-0000-1000-8000-00805F9B34FB")
        #expect(data.services == [0x180A, wide])
        #expect(data.solicitedServices == [wide])
        #expect(data.serviceData == [AdvertisedServiceData(service: 0x180F, octets: [99])])
    }
}
