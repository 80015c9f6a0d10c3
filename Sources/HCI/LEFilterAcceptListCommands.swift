import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.14 (LE Read Filter Accept List Size command)
package struct HCILEReadFilterAcceptListSize: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x200F)

    package init() {}

    package typealias ReturnParameters = LEListSize
}

/// Core 5.4, Vol 4, Part E, 7.8.15 (LE Clear Filter Accept List command)
package struct HCILEClearFilterAcceptList: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x2010)

    package init() {}
}

/// Core 5.4, Vol 4, Part E, 7.8.16 (LE Add Device To Filter Accept List command)
package struct HCILEAddDeviceToFilterAcceptList: HCICompletingCommand, LEFilterAcceptListEntry {
    package static let opcode = HCIOpcode(0x2011)

    package var address: LEPeerAddress

    package init(address: LEPeerAddress) { self.address = address }
}

/// Core 5.4, Vol 4, Part E, 7.8.17 (LE Remove Device From Filter Accept List command)
package struct HCILERemoveDeviceFromFilterAcceptList: HCICompletingCommand, LEFilterAcceptListEntry {
    package static let opcode = HCIOpcode(0x2012)

    package var address: LEPeerAddress

    package init(address: LEPeerAddress) { self.address = address }
}
