import BluetoothCore

/// Core 5.4, Vol 3, Part G, 3.4 (Summary of GATT profile attribute types)
extension BluetoothUUID {
    package static let gapService: Self = 0x1800
    package static let gattService: Self = 0x1801
    package static let primaryService: Self = 0x2800
    package static let secondaryService: Self = 0x2801
    package static let include: Self = 0x2802
    package static let characteristic: Self = 0x2803
    package static let characteristicExtendedProperties: Self = 0x2900
    package static let characteristicUserDescription: Self = 0x2901
    package static let clientCharacteristicConfiguration: Self = 0x2902
    package static let serverCharacteristicConfiguration: Self = 0x2903
    package static let characteristicPresentationFormat: Self = 0x2904
    package static let characteristicAggregateFormat: Self = 0x2905
    package static let deviceName: Self = 0x2A00
    package static let appearance: Self = 0x2A01
    package static let serviceChanged: Self = 0x2A05
    package static let centralAddressResolution: Self = 0x2AA6
    package static let clientSupportedFeatures: Self = 0x2B29
    package static let databaseHash: Self = 0x2B2A
}
