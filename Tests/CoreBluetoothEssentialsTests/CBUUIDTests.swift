import BluetoothCore
import CoreBluetoothEssentials
import FoundationEssentials
import Testing

@Suite("CBUUID")
struct CBUUIDTests {
    @Test(
        "Core 5.4, Vol 3, Part B, 2.5.1: each form prints as it was written, and has its octets",
        arguments: [
            ("180D", "180D", [0x18, 0x0D] as [UInt8]),
            ("180d", "180D", [0x18, 0x0D]),
            ("0x180D", "180D", [0x18, 0x0D]),
            ("0X180d", "180D", [0x18, 0x0D]),
            ("0x12345678", "12345678", [0x12, 0x34, 0x56, 0x78]),
            ("0000180D", "0000180D", [0, 0, 0x18, 0x0D]),
            ("12345678", "12345678", [0x12, 0x34, 0x56, 0x78]),
            (
                "0000180d-0000-1000-8000-00805f9b34fb", "0000180D-0000-1000-8000-00805F9B34FB",
                [0, 0, 0x18, 0x0D, 0, 0, 0x10, 0, 0x80, 0, 0, 0x80, 0x5F, 0x9B, 0x34, 0xFB]
            ),
        ])
    func text(written: String, printed: String, octets: [UInt8]) {
        let uuid = CBUUID(string: written)
        #expect(uuid.uuidString == printed)
        #expect(uuid.description == printed)
        #expect(uuid.data == Data(octets))
        #expect(CBUUID(data: Data(octets)).uuidString == printed)
    }

    @Test("Forms of the same 128 bits are equal and hash alike; others are not")
    func equality() {
        let forms = ["180D", "0000180D", "0000180D-0000-1000-8000-00805F9B34FB"].map { CBUUID(string: $0) }
        #expect(Set(forms).count == 1)
        #expect(CBUUID(string: "180D") != CBUUID(string: "180E"))
        #expect(CBUUID(string: "180D") != CBUUID(string: "1000180D"))
    }

    @Test("What discovery found has 16 or 128 bits")
    func discovered() throws {
        #expect(CBUUID(BluetoothUUID(0x2A00)).uuidString == "2A00")
        let long = try #require(BluetoothUUID("FD510001-D1DB-463D-86FD-15EFB82160A8"))
        #expect(CBUUID(long).uuidString == "FD510001-D1DB-463D-86FD-15EFB82160A8")
        #expect(CBUUID(long).data.count == 16)
    }

    @Test("Peer names and UUIDs are the same 128 bits")
    func peers() throws {
        let uuid = try #require(UUID(uuidString: "68753A44-4D6F-1226-9C60-0050E4C00067"))
        #expect(PeerIdentifier(uuid).description == uuid.uuidString)
        #expect(UUID(PeerIdentifier(uuid)) == uuid)
        #expect(CBUUID(nsuuid: uuid).uuidString == uuid.uuidString)
    }

    @Test("Apple's names stand for Apple's strings")
    func keys() {
        let values = [
            CBCentralManagerOptionRestoreIdentifierKey: "kCBInitOptionRestoreIdentifier",
            CBCentralManagerRestoredStatePeripheralsKey: "kCBRestoredPeripherals",
            CBCentralManagerRestoredStateScanServicesKey: "kCBRestoredScanServices",
            CBCentralManagerRestoredStateScanOptionsKey: "kCBRestoredScanOptions",
            CBPeripheralManagerRestoredStateServicesKey: "kCBRestoredServices",
            CBPeripheralManagerRestoredStateAdvertisementDataKey: "kCBRestoredAdvertisement",
            CBCentralManagerScanOptionAllowDuplicatesKey: "kCBScanOptionAllowDuplicates",
            CBConnectPeripheralOptionNotifyOnConnectionKey: "kCBConnectOptionNotifyOnConnection",
            CBAdvertisementDataLocalNameKey: "kCBAdvDataLocalName",
            CBAdvertisementDataServiceUUIDsKey: "kCBAdvDataServiceUUIDs",
            CBAdvertisementDataManufacturerDataKey: "kCBAdvDataManufacturerData",
            CBAdvertisementDataIsConnectable: "kCBAdvDataIsConnectable",
            CBUUIDClientCharacteristicConfigurationString: "2902",
        ]
        for (name, value) in values { #expect(name == value) }
        #expect(CBPeripheralManagerOptionRestoreIdentifierKey == CBCentralManagerOptionRestoreIdentifierKey)
    }
}
