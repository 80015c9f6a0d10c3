import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.1.6 (Disconnect command)
package struct HCIDisconnect: HCICommand, HCIHandleAndReason {
    package static let opcode = HCIOpcode(0x0406)

    package var handle: ConnectionHandle
    package var reason: HCIErrorCode

    package init(handle: ConnectionHandle, reason: HCIErrorCode) {
        self.handle = handle
        self.reason = reason
    }
}

/// Core 5.4, Vol 4, Part E, 7.1.23 (Read Remote Version Information command)
package struct HCIReadRemoteVersionInformation: HCICommand, HCIOneHandle {
    package static let opcode = HCIOpcode(0x041D)

    package var handle: ConnectionHandle

    package init(handle: ConnectionHandle) { self.handle = handle }
}
