import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
package struct HCILECreateConnection: HCICommand {
    package static let opcode = HCIOpcode(0x200D)

    /// Units of 0.625 ms.
    package var scanInterval: UInt16
    /// Units of 0.625 ms.
    package var scanWindow: UInt16
    /// The peer is then whichever of the list comes first, and `peerAddress` is ignored.
    package var usesFilterAcceptList: Bool
    package var peerAddress: LEPeerAddress
    package var ownAddressType: LEOwnAddressType
    package var connection: LEConnectionIntervals

    package init(
        scanInterval: UInt16, scanWindow: UInt16, usesFilterAcceptList: Bool, peerAddress: LEPeerAddress,
        ownAddressType: LEOwnAddressType, connection: LEConnectionIntervals
    ) {
        self.scanInterval = scanInterval
        self.scanWindow = scanWindow
        self.usesFilterAcceptList = usesFilterAcceptList
        self.peerAddress = peerAddress
        self.ownAddressType = ownAddressType
        self.connection = connection
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        scanInterval = try reader.readUInt16()
        scanWindow = try reader.readUInt16()
        usesFilterAcceptList = try reader.readBool("usesFilterAcceptList")
        peerAddress = try LEPeerAddress(decoding: &reader)
        ownAddressType = try reader.readCase("Own_Address_Type")
        connection = try LEConnectionIntervals(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(scanInterval)
        writer.write(scanWindow)
        writer.write(usesFilterAcceptList)
        peerAddress.encode(into: &writer)
        writer.write(ownAddressType.rawValue)
        connection.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.13 (LE Create Connection Cancel command)
package struct HCILECreateConnectionCancel: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x200E)

    package init() {}
}

/// Core 5.4, Vol 4, Part E, 7.8.18 (LE Connection Update command)
package struct HCILEConnectionUpdate: HCICommand {
    package static let opcode = HCIOpcode(0x2013)

    package var handle: ConnectionHandle
    package var connection: LEConnectionIntervals

    package init(handle: ConnectionHandle, connection: LEConnectionIntervals) {
        self.handle = handle
        self.connection = connection
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        connection = try LEConnectionIntervals(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        connection.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.21 (LE Read Remote Features command)
package struct HCILEReadRemoteFeatures: HCICommand, HCIOneHandle {
    package static let opcode = HCIOpcode(0x2016)

    package var handle: ConnectionHandle

    package init(handle: ConnectionHandle) { self.handle = handle }
}

/// Core 5.4, Vol 4, Part E, 7.8.31 (LE Remote Connection Parameter Request Reply command)
package struct HCILERemoteConnectionParameterRequestReply: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2020)
    package typealias ReturnParameters = HCIConnectionHandleReturn

    package var handle: ConnectionHandle
    package var connection: LEConnectionIntervals

    package init(handle: ConnectionHandle, connection: LEConnectionIntervals) {
        self.handle = handle
        self.connection = connection
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        connection = try LEConnectionIntervals(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        connection.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.32 (LE Remote Connection Parameter Request Negative Reply command)
package struct HCILERemoteConnectionParameterRequestNegativeReply: HCICompletingCommand, HCIHandleAndReason {
    package static let opcode = HCIOpcode(0x2021)
    package typealias ReturnParameters = HCIConnectionHandleReturn

    package var handle: ConnectionHandle
    package var reason: HCIErrorCode

    package init(handle: ConnectionHandle, reason: HCIErrorCode) {
        self.handle = handle
        self.reason = reason
    }
}

/// What a connection is to be like, in the six fields that four commands share.
///
/// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
package struct LEConnectionIntervals: WireCodable, Hashable {
    /// Units of 1.25 ms, 6–3200.
    package var intervalMin: UInt16
    /// Units of 1.25 ms, 6–3200.
    package var intervalMax: UInt16
    /// Connection events that the peripheral may skip, 0–499.
    package var maxLatency: UInt16
    /// Units of 10 ms, 10–3200; longer than (1 + latency) × interval × 2.
    package var supervisionTimeout: UInt16
    /// Units of 0.625 ms.
    package var minCELength: UInt16
    /// Units of 0.625 ms.
    package var maxCELength: UInt16

    package init(
        intervalMin: UInt16, intervalMax: UInt16, maxLatency: UInt16, supervisionTimeout: UInt16,
        minCELength: UInt16 = 0, maxCELength: UInt16 = 0
    ) {
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.maxLatency = maxLatency
        self.supervisionTimeout = supervisionTimeout
        self.minCELength = minCELength
        self.maxCELength = maxCELength
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        intervalMin = try reader.readUInt16()
        intervalMax = try reader.readUInt16()
        maxLatency = try reader.readUInt16()
        supervisionTimeout = try reader.readUInt16()
        minCELength = try reader.readUInt16()
        maxCELength = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(intervalMin)
        writer.write(intervalMax)
        writer.write(maxLatency)
        writer.write(supervisionTimeout)
        writer.write(minCELength)
        writer.write(maxCELength)
    }
}
