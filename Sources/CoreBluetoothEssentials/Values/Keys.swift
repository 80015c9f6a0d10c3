// Apple's names and Apple's string values: dictionaries written by code that spells the strings out work too.

/// `Bool`. Accepted and ignored: there is nobody to show an alert to.
public let CBCentralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: the name under which everything that the manager is asked for is kept across launches.
public let CBCentralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"

/// `Bool`: every advertising report is a discovery, instead of one for each peripheral.
public let CBCentralManagerScanOptionAllowDuplicatesKey = "kCBScanOptionAllowDuplicates"
/// `[CBUUID]`. Accepted and ignored.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey = "kCBScanOptionSolicitedServiceUUIDs"

/// `Bool`. Kept with the connection and given back; nothing is shown to anybody.
public let CBConnectPeripheralOptionNotifyOnConnectionKey = "kCBConnectOptionNotifyOnConnection"
/// `Bool`. Kept with the connection and given back; nothing is shown to anybody.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey = "kCBConnectOptionNotifyOnDisconnection"
/// `Bool`. Kept with the connection and given back; nothing is shown to anybody.
public let CBConnectPeripheralOptionNotifyOnNotificationKey = "kCBConnectOptionNotifyOnNotification"

/// `Bool`: the wish for the connection outlives the link that comes of it. When that ends, the app hears so with `isReconnecting`, and
/// of the connection again when the peripheral is back.
public let CBConnectPeripheralOptionEnableAutoReconnect = "kCBConnectOptionEnableAutoReconnect"
/// `NSNumber`, seconds: nothing is done about the connection before. Rounded up to whole seconds, at most 65,535. A later process begins
/// at once.
public let CBConnectPeripheralOptionStartDelayKey = "kCBConnectOptionStartDelay"

/// `Bool`, of a central or a peripheral manager; not Apple's. What the manager has asked for ends when the adapter goes, as on Apple's
/// systems. Without it all of that stands, and runs again when the adapter is back.
public let CBManagerOptionEndsWithPowerKey = "latch.EndsWithPower"
/// `Bool`, of a central manager; not Apple's. Discovery without a filter shows the services Generic Access (1800) and Generic Attribute
/// (1801) too, which Apple hides.
public let CBCentralManagerOptionShowsGenericServicesKey = "latch.ShowsGenericServices"

/// `[CBPeripheral]`: connected, or with a pending connection.
public let CBCentralManagerRestoredStatePeripheralsKey = "kCBRestoredPeripherals"
/// `[CBUUID]`: what a scan that is running looks for; absent when it looks for everything.
public let CBCentralManagerRestoredStateScanServicesKey = "kCBRestoredScanServices"
/// `[String: Any]`: the options of a scan that is running.
public let CBCentralManagerRestoredStateScanOptionsKey = "kCBRestoredScanOptions"

/// `Bool`. Accepted and ignored: there is nobody to show an alert to.
public let CBPeripheralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// `String`: the name under which everything that the manager is asked for is kept across launches.
public let CBPeripheralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// `[CBMutableService]`: what is published, with its subscribers.
public let CBPeripheralManagerRestoredStateServicesKey = "kCBRestoredServices"
/// `[String: Any]`: what is being advertised.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey = "kCBRestoredAdvertisement"

/// `String`.
public let CBAdvertisementDataLocalNameKey = "kCBAdvDataLocalName"
/// `Data`: the company identifier, least significant octet first, and what follows it.
public let CBAdvertisementDataManufacturerDataKey = "kCBAdvDataManufacturerData"
/// `[CBUUID: Data]`.
public let CBAdvertisementDataServiceDataKey = "kCBAdvDataServiceData"
/// `[CBUUID]`.
public let CBAdvertisementDataServiceUUIDsKey = "kCBAdvDataServiceUUIDs"
/// `[CBUUID]`. Apple's devices only, which send them as Bloom filters; not reported.
public let CBAdvertisementDataOverflowServiceUUIDsKey = "kCBAdvDataHashedServiceUUIDs"
/// `Int`, dBm.
public let CBAdvertisementDataTxPowerLevelKey = "kCBAdvDataTxPowerLevel"
/// `Bool`.
public let CBAdvertisementDataIsConnectable = "kCBAdvDataIsConnectable"
/// `[CBUUID]`.
public let CBAdvertisementDataSolicitedServiceUUIDsKey = "kCBAdvDataSolicitedServiceUUIDs"
