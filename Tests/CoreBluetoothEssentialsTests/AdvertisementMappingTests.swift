import BluetoothCore
import BluetoothHost
import FoundationEssentials
import Testing

@testable import CoreBluetoothEssentials

@Suite("Advertisements and scans")
struct AdvertisementMappingTests {
    static func report(
        peer: UInt128 = 1, name: String? = nil, services: [BluetoothUUID] = [], manufacturer: [UInt8]? = nil
    ) -> AdvertisementReport {
        var data = AdvertisingData()
        data.localName = name
        data.services = services
        data.manufacturerData = manufacturer
        return report(peer: peer, data)
    }

    static func report(peer: UInt128 = 1, _ data: AdvertisingData) -> AdvertisementReport {
        AdvertisementReport(
            peer: PeerIdentifier(bits: peer), address: DeviceAddress(kind: .random, bits: 0xC000_0000_0001), rssi: -40,
            isConnectable: true, data: data)
    }

    @Test("A report says what was heard under Apple's keys, and nothing else")
    func dictionary() {
        let full = Self.report(name: "Door", services: [0x180D], manufacturer: [0x4C, 0, 1]).advertisementData
        #expect(full[CBAdvertisementDataLocalNameKey] as? String == "Door")
        #expect(full[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "180D")])
        #expect(full[CBAdvertisementDataManufacturerDataKey] as? Data == Data([0x4C, 0, 1]))
        #expect(full[CBAdvertisementDataIsConnectable] as? Bool == true)
        #expect(Self.report().advertisementData.keys.sorted() == [CBAdvertisementDataIsConnectable])
    }

    @Test("Transmit power, service data and the services that an advertiser looks for are under Apple's keys too")
    func moreKeys() {
        var data = AdvertisingData()
        data.txPowerLevel = -4
        data.serviceData = [
            AdvertisedServiceData(service: 0x180F, octets: [1]), AdvertisedServiceData(service: 0x180A, octets: []),
            AdvertisedServiceData(service: 0x180F, octets: [99]),
        ]
        data.solicitedServices = [0x1805]
        data.flags = AdvertisingFlags(.general)
        data.appearance = 7
        let told = Self.report(data).advertisementData
        #expect(told.count == 4, "Apple has no keys for flags and appearance")
        #expect(told[CBAdvertisementDataTxPowerLevelKey] as? Int == -4)
        let expected = [CBUUID(string: "180F"): Data([99]), CBUUID(string: "180A"): Data()]
        #expect(told[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data] == expected)
        #expect(told[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "1805")])
    }

    @Test("A peripheral advertises its name and its services, and gets the same dictionary back")
    func advertising() {
        let record = AdvertisingRecord([
            CBAdvertisementDataLocalNameKey: "Door", CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")],
            CBAdvertisementDataTxPowerLevelKey: 4,
        ])
        #expect(record == AdvertisingRecord(localName: "Door", services: [0xFFF0]))
        #expect(AdvertisingRecord(record.advertisementData) == record)
        #expect(AdvertisingRecord(nil) == AdvertisingRecord(localName: nil, services: []))
        #expect(record.discoverability == .general && record.connectability == .connectable, "Apple has no other")
    }

    @Test("A list of optional UUIDs is advertised without those that are nil")
    func optionalServices() {
        let services: [CBUUID?] = [CBUUID(string: "FFF0"), nil, CBUUID(string: "FFF1")]
        let record = AdvertisingRecord([CBAdvertisementDataServiceUUIDsKey: services])
        #expect(record == AdvertisingRecord(localName: nil, services: [0xFFF0, 0xFFF1]))
    }

    @Test("A scan's options survive")
    func scan() {
        let record = ScanRecord([CBUUID(string: "FFF0")], [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        #expect(record == ScanRecord(services: [0xFFF0], allowDuplicates: true))
        #expect(ScanRecord(nil, record.options) == ScanRecord(services: [], allowDuplicates: true))
        #expect(ScanRecord(nil, nil) == ScanRecord(services: [], allowDuplicates: false))
    }

    @Test("A peer is reported once, and again with everything when it says something new")
    func discoveries() {
        var discoveries = Discoveries()
        func merge(_ report: AdvertisementReport) -> AdvertisementReport? { discoveries.merge(report) }
        #expect(merge(Self.report(services: [0xFFF0])) != nil)
        #expect(merge(Self.report(services: [0xFFF0])) == nil)
        let second = discoveries.merge(Self.report(name: "Door"))
        #expect(second?.localName == "Door")
        #expect(second?.services == [0xFFF0])
        #expect(merge(Self.report(services: [0xFFF0])) == nil)
        #expect(merge(Self.report(peer: 2)) != nil)
    }

    @Test("Service data that changes is something new, and stands beside that of other services; a mode is nothing new")
    func serviceData() {
        var discoveries = Discoveries()
        func merge(_ data: [AdvertisedServiceData], _ flags: AdvertisingFlags = []) -> AdvertisementReport? {
            var said = AdvertisingData()
            said.serviceData = data
            said.flags = flags
            return discoveries.merge(Self.report(said))
        }
        let (battery, level) = (
            AdvertisedServiceData(service: 0x180F, octets: [99]), AdvertisedServiceData(service: 0x180F, octets: [98])
        )
        let other = AdvertisedServiceData(service: 0x180A, octets: [1])
        #expect(merge([battery]) != nil)
        #expect(merge([battery], AdvertisingFlags(.limited)) == nil)
        #expect(merge([other])?.data.serviceData == [battery, other])
        #expect(merge([level])?.data.serviceData == [level, other])
        #expect(merge([level, other]) == nil)
    }

    @Test("An advertiser that takes no connections any more is told as such with its next news")
    func noLongerConnectable() {
        var discoveries = Discoveries()
        _ = discoveries.merge(Self.report(name: "Bell"))
        var report = Self.report(name: "Doorbell")
        report.isConnectable = false
        #expect(discoveries.merge(report)?.isConnectable == false)
    }

    @Test("Flood of advertisers: one past the bound everybody counts as unheard")
    func bound() {
        var discoveries = Discoveries()
        func merge(_ report: AdvertisementReport) -> AdvertisementReport? { discoveries.merge(report) }
        for peer in 1...UInt128(Discoveries.maximumPeers) { _ = discoveries.merge(Self.report(peer: peer)) }
        #expect(merge(Self.report(peer: 1)) == nil)
        #expect(merge(Self.report(peer: UInt128(Discoveries.maximumPeers) + 1)) != nil)
        #expect(merge(Self.report(peer: 1)) != nil)
    }

    @Test("Attack: an advertiser that names another service each time counts, past the bound, for what it said last")
    func servicesWithoutEnd() {
        var discoveries = Discoveries()
        let bound = Discoveries.maximumServicesOfPeer
        var heard: AdvertisementReport?
        for number in 1...UInt16(bound) {
            heard = discoveries.merge(Self.report(services: [BluetoothUUID(number)]))
        }
        #expect(heard?.services.count == bound)
        heard = discoveries.merge(Self.report(services: [BluetoothUUID(UInt16(bound) + 1)]))
        #expect(heard?.services == [BluetoothUUID(UInt16(bound) + 1)])
        let many = (1...UInt16(bound) + 9).map { BluetoothUUID($0) }
        #expect(discoveries.merge(Self.report(services: many))?.services.count == bound)
    }

    @Test(
        "Attack: data of another service each time, and another solicited one, count past the bound for what came last")
    func serviceDataWithoutEnd() {
        var discoveries = Discoveries()
        let bound = Discoveries.maximumServicesOfPeer
        var heard: AdvertisementReport?
        for number in 1...UInt16(bound) + 1 {
            var data = AdvertisingData()
            data.serviceData = [AdvertisedServiceData(service: BluetoothUUID(number), octets: [1])]
            data.solicitedServices = [BluetoothUUID(number)]
            heard = discoveries.merge(Self.report(data))
            let expected = number > bound ? 1 : Int(number)
            #expect(heard?.data.serviceData.count == expected && heard?.data.solicitedServices.count == expected)
        }
        #expect(heard?.data.solicitedServices == [BluetoothUUID(UInt16(bound) + 1)])
    }

    @Test("Connection options are kept as bits")
    func connectionOptions() {
        #expect(ConnectionOptions(nil) == [])
        let all: [String: Any] = [
            CBConnectPeripheralOptionNotifyOnConnectionKey: true,
            CBConnectPeripheralOptionNotifyOnDisconnectionKey: true,
            CBConnectPeripheralOptionNotifyOnNotificationKey: true,
        ]
        #expect(ConnectionOptions(all).rawValue == 7)
    }
}
