import BluetoothCore
import BluetoothHost
import FoundationEssentials

extension AdvertisementReport {
    /// Apple's dictionary.
    var advertisementData: [String: Any] {
        var data: [String: Any] = [CBAdvertisementDataIsConnectable: isConnectable]
        if let localName { data[CBAdvertisementDataLocalNameKey] = localName }
        if !services.isEmpty { data[CBAdvertisementDataServiceUUIDsKey] = services.map { CBUUID($0) } }
        if let octets = self.data.manufacturerData { data[CBAdvertisementDataManufacturerDataKey] = Data(octets) }
        if let level = self.data.txPowerLevel { data[CBAdvertisementDataTxPowerLevelKey] = Int(level) }
        if !self.data.serviceData.isEmpty {
            data[CBAdvertisementDataServiceDataKey] = Dictionary(
                self.data.serviceData.map { (CBUUID($0.service), Data($0.octets)) }, uniquingKeysWith: { $1 })
        }
        if !self.data.solicitedServices.isEmpty {
            data[CBAdvertisementDataSolicitedServiceUUIDsKey] = self.data.solicitedServices.map { CBUUID($0) }
        }
        return data
    }
}

extension AdvertisingRecord {
    /// Of Apple's dictionary a peripheral may advertise its name and its services; every other key is ignored. It is in the
    /// general discoverable mode, and whoever hears it may connect.
    init(_ advertisementData: [String: Any]?) {
        // Apps that read UUIDs from their settings put optional ones there.
        let services = advertisementData?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID?] ?? []
        self.init(
            localName: advertisementData?[CBAdvertisementDataLocalNameKey] as? String,
            services: services.compactMap { $0?.bluetoothUUID })
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
    static let autoReconnect = Self(rawValue: PendingConnection.reconnectsOption)
}

extension ConnectionOptions {
    init(_ options: [String: Any]?) {
        self = []
        if options?[CBConnectPeripheralOptionNotifyOnConnectionKey] as? Bool == true { insert(.notifyOnConnection) }
        if options?[CBConnectPeripheralOptionNotifyOnDisconnectionKey] as? Bool == true {
            insert(.notifyOnDisconnection)
        }
        if options?[CBConnectPeripheralOptionNotifyOnNotificationKey] as? Bool == true { insert(.notifyOnNotification) }
        if options?[CBConnectPeripheralOptionEnableAutoReconnect] as? Bool == true { insert(.autoReconnect) }
        let delay = Self.seconds(options?[CBConnectPeripheralOptionStartDelayKey])
        formUnion(Self(rawValue: UInt32(delay) << PendingConnection.delayShift))
    }

    /// Whole seconds, rounded up: an app that wants a delay gets one. Foundation's numbers are `Int` and `Double` to this module.
    private static func seconds(_ value: Any?) -> UInt16 {
        let seconds = (value as? Double) ?? (value as? Int).map(Double.init) ?? 0
        return seconds > 0 ? UInt16(min(seconds.rounded(.up), Double(UInt16.max))) : 0
    }
}

/// What was heard of the advertisers since a scan began: Apple reports a peripheral once, and again when it says
/// something new, its scan response for one. Bounded; when it is full, everybody counts as unheard again.
struct Discoveries {
    static let maximumPeers = 1024
    /// Services of one advertiser, in all that it has said, and as many whose data it advertises, and that it looks for.
    /// One that goes on naming others counts for what it said last.
    static let maximumServicesOfPeer = 64

    private var heard: [PeerIdentifier: AdvertisementReport] = [:]

    /// The report with everything that the peer said before, or nil when it says nothing new.
    mutating func merge(_ report: AdvertisementReport) -> AdvertisementReport? {
        guard var known = heard[report.peer] else {
            if heard.count >= Self.maximumPeers { heard.removeAll() }
            heard[report.peer] = report
            return report
        }
        let before = known.data
        known.rssi = report.rssi
        known.isConnectable = report.isConnectable
        known.data.add(report.data)
        heard[report.peer] = known
        return known.data != before ? known : nil
    }
}

extension AdvertisingData {
    /// What an advertiser says beside what it said before, of what Apple's dictionary has a key for.
    fileprivate mutating func add(_ new: AdvertisingData) {
        if let name = new.localName { (localName, isNameShortened) = (name, new.isNameShortened) }
        txPowerLevel = new.txPowerLevel ?? txPowerLevel
        manufacturerData = new.manufacturerData ?? manufacturerData
        services = Self.bounded(services, with: new.services) { $0 }
        solicitedServices = Self.bounded(solicitedServices, with: new.solicitedServices) { $0 }
        serviceData = Self.bounded(serviceData, with: new.serviceData) { $0.service }
    }

    /// The new ones each in the place of the old one of its name; the new ones alone when all would be too many.
    private static func bounded<Element>(
        _ old: [Element], with new: [Element], by name: (Element) -> BluetoothUUID
    ) -> [Element] {
        var all = old
        for element in new {
            if let index = all.firstIndex(where: { name($0) == name(element) }) {
                all[index] = element
            } else if all.count < Discoveries.maximumServicesOfPeer {
                all.append(element)
            } else {
                return Array(new.prefix(Discoveries.maximumServicesOfPeer))
            }
        }
        return all
    }
}
