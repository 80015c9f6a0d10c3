import BluetoothCore
import BluetoothHost
import FoundationEssentials

extension AdvertisementReport {
    /// Apple's dictionary.
    var advertisementData: [String: Any] {
        var data: [String: Any] = [CBAdvertisementDataIsConnectable: isConnectable]
        if let localName { data[CBAdvertisementDataLocalNameKey] = localName }
        if !services.isEmpty { data[CBAdvertisementDataServiceUUIDsKey] = services.map { CBUUID($0) } }
        if let manufacturerData { data[CBAdvertisementDataManufacturerDataKey] = Data(manufacturerData) }
        return data
    }
}

extension AdvertisingRecord {
    /// Of Apple's dictionary a peripheral may advertise its name and its services; every other key is ignored.
    init(_ advertisementData: [String: Any]?) {
        let services = advertisementData?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
        self.init(
            localName: advertisementData?[CBAdvertisementDataLocalNameKey] as? String,
            services: services.map(\.bluetoothUUID))
    }

    var advertisementData: [String: Any] {
        var data: [String: Any] = [:]
        if let localName { data[CBAdvertisementDataLocalNameKey] = localName }
        if !services.isEmpty { data[CBAdvertisementDataServiceUUIDsKey] = services.map { CBUUID($0) } }
        return data
    }
}

extension ScanRecord {
    init(_ services: [CBUUID]?, _ options: [String: Any]?) {
        self.init(
            services: services?.map(\.bluetoothUUID) ?? [],
            allowDuplicates: options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool ?? false)
    }

    var options: [String: Any] { [CBCentralManagerScanOptionAllowDuplicatesKey: allowDuplicates] }
}

/// Apple's options of a connection, as the bits in which the host keeps them.
struct ConnectionOptions: OptionSet, Sendable {
    let rawValue: UInt32
    static let notifyOnConnection = Self(rawValue: 1 << 0)
    static let notifyOnDisconnection = Self(rawValue: 1 << 1)
    static let notifyOnNotification = Self(rawValue: 1 << 2)
}

extension ConnectionOptions {
    init(_ options: [String: Any]?) {
        self = []
        if options?[CBConnectPeripheralOptionNotifyOnConnectionKey] as? Bool == true { insert(.notifyOnConnection) }
        if options?[CBConnectPeripheralOptionNotifyOnDisconnectionKey] as? Bool == true {
            insert(.notifyOnDisconnection)
        }
        if options?[CBConnectPeripheralOptionNotifyOnNotificationKey] as? Bool == true { insert(.notifyOnNotification) }
    }
}

/// What was heard of the advertisers since a scan began: Apple reports a peripheral once, and again when it says
/// something new, its scan response for one. Bounded; when it is full, everybody counts as unheard again.
struct Discoveries {
    static let maximumPeers = 1024
    /// Services of one advertiser, in all that it has said. One that goes on naming others counts for what it said last.
    static let maximumServicesOfPeer = 64

    private var heard: [PeerIdentifier: AdvertisementReport] = [:]

    /// The report with everything that the peer said before, or nil when it says nothing new.
    mutating func merge(_ report: AdvertisementReport) -> AdvertisementReport? {
        guard var known = heard[report.peer] else {
            if heard.count >= Self.maximumPeers { heard.removeAll() }
            heard[report.peer] = report
            return report
        }
        let before = known
        known.rssi = report.rssi
        known.isConnectable = known.isConnectable || report.isConnectable
        known.localName = report.localName ?? known.localName
        known.services += report.services.filter { !known.services.contains($0) }
        if known.services.count > Self.maximumServicesOfPeer {
            known.services = Array(report.services.prefix(Self.maximumServicesOfPeer))
        }
        known.manufacturerData = report.manufacturerData ?? known.manufacturerData
        heard[report.peer] = known
        let isNews =
            known.localName != before.localName || known.services != before.services
            || known.manufacturerData != before.manufacturerData
        return isNews ? known : nil
    }
}
