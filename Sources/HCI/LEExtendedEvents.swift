import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.7.65.12 (LE PHY Update Complete event)
package struct HCILEPHYUpdateComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var txPHY: LEPHY
    package var rxPHY: LEPHY

    package init(status: HCIErrorCode, handle: ConnectionHandle, txPHY: LEPHY, rxPHY: LEPHY) {
        self.status = status
        self.handle = handle
        self.txPHY = txPHY
        self.rxPHY = rxPHY
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        txPHY = LEPHY(rawValue: try reader.readUInt8())
        rxPHY = LEPHY(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        writer.write(txPHY.rawValue)
        writer.write(rxPHY.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.18 (LE Advertising Set Terminated event)
package struct HCILEAdvertisingSetTerminated: WireCodable {
    /// Success: a connection was made through the set. Otherwise its time or its events ran out.
    package var status: HCIErrorCode
    package var advertisingHandle: LEAdvertisingHandle
    /// Means nothing unless the status is success.
    package var handle: ConnectionHandle
    package var completedEvents: UInt8

    package init(
        status: HCIErrorCode, advertisingHandle: LEAdvertisingHandle, handle: ConnectionHandle,
        completedEvents:
            UInt8
    ) {
        self.status = status
        self.advertisingHandle = advertisingHandle
        self.handle = handle
        self.completedEvents = completedEvents
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        advertisingHandle = LEAdvertisingHandle(rawValue: try reader.readUInt8())
        handle = try reader.readConnectionHandle()
        completedEvents = try reader.readUInt8()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(advertisingHandle.rawValue)
        writer.write(handle)
        writer.write(completedEvents)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.19 (LE Scan Request Received event)
package struct HCILEScanRequestReceived: WireCodable {
    package var advertisingHandle: LEAdvertisingHandle
    package var scannerAddress: LEPeerAddress

    package init(advertisingHandle: LEAdvertisingHandle, scannerAddress: LEPeerAddress) {
        self.advertisingHandle = advertisingHandle
        self.scannerAddress = scannerAddress
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        advertisingHandle = LEAdvertisingHandle(rawValue: try reader.readUInt8())
        scannerAddress = try LEPeerAddress(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(advertisingHandle.rawValue)
        scannerAddress.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.20 (LE Channel Selection Algorithm event)
package struct HCILEChannelSelectionAlgorithm: WireCodable {
    package var handle: ConnectionHandle
    package var algorithm: LEChannelSelectionAlgorithm

    package init(handle: ConnectionHandle, algorithm: LEChannelSelectionAlgorithm) {
        self.handle = handle
        self.algorithm = algorithm
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        algorithm = LEChannelSelectionAlgorithm(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(algorithm.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.20 (LE Channel Selection Algorithm event)
package struct LEChannelSelectionAlgorithm: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let one = Self(rawValue: 0x00)
    package static let two = Self(rawValue: 0x01)
}
