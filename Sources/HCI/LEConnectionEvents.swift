import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.7.65.1 (LE Connection Complete event)
package struct HCILEConnectionComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var role: LERole
    package var peerAddress: LEPeerAddress
    package var parameters: LELinkParameters
    package var centralClockAccuracy: UInt8

    package init(
        status: HCIErrorCode, handle: ConnectionHandle, role: LERole, peerAddress: LEPeerAddress,
        connectionInterval: UInt16, peripheralLatency: UInt16, supervisionTimeout: UInt16, centralClockAccuracy: UInt8
    ) {
        self.status = status
        self.handle = handle
        self.role = role
        self.peerAddress = peerAddress
        parameters = LELinkParameters(
            connectionInterval: connectionInterval, peripheralLatency: peripheralLatency,
            supervisionTimeout: supervisionTimeout)
        self.centralClockAccuracy = centralClockAccuracy
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        role = LERole(rawValue: try reader.readUInt8())
        peerAddress = try LEPeerAddress(decoding: &reader)
        parameters = try LELinkParameters(decoding: &reader)
        centralClockAccuracy = try reader.readUInt8()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        writer.write(role.rawValue)
        peerAddress.encode(into: &writer)
        parameters.encode(into: &writer)
        writer.write(centralClockAccuracy)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.3 (LE Connection Update Complete event)
package struct HCILEConnectionUpdateComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var parameters: LELinkParameters

    package init(
        status: HCIErrorCode, handle: ConnectionHandle, connectionInterval: UInt16, peripheralLatency: UInt16,
        supervisionTimeout: UInt16
    ) {
        self.status = status
        self.handle = handle
        parameters = LELinkParameters(
            connectionInterval: connectionInterval, peripheralLatency: peripheralLatency,
            supervisionTimeout: supervisionTimeout)
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        parameters = try LELinkParameters(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        parameters.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.4 (LE Read Remote Features Complete event)
package struct HCILEReadRemoteFeaturesComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var features: LEFeatures

    package init(status: HCIErrorCode, handle: ConnectionHandle, features: LEFeatures) {
        self.status = status
        self.handle = handle
        self.features = features
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        features = try LEFeatures(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        features.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.5 (LE Long Term Key Request event)
package struct HCILELongTermKeyRequest: WireCodable {
    package var handle: ConnectionHandle
    /// 0 for a key of LE Secure Connections.
    package var randomNumber: UInt64
    /// 0 for a key of LE Secure Connections.
    package var encryptedDiversifier: UInt16

    package init(handle: ConnectionHandle, randomNumber: UInt64, encryptedDiversifier: UInt16) {
        self.handle = handle
        self.randomNumber = randomNumber
        self.encryptedDiversifier = encryptedDiversifier
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        randomNumber = try reader.readUInt64()
        encryptedDiversifier = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(randomNumber)
        writer.write(encryptedDiversifier)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.6 (LE Remote Connection Parameter Request event)
package struct HCILERemoteConnectionParameterRequest: WireCodable {
    package var handle: ConnectionHandle
    /// Units of 1.25 ms.
    package var intervalMin: UInt16
    /// Units of 1.25 ms.
    package var intervalMax: UInt16
    package var maxLatency: UInt16
    /// Units of 10 ms.
    package var supervisionTimeout: UInt16

    package init(
        handle: ConnectionHandle, intervalMin: UInt16, intervalMax: UInt16, maxLatency: UInt16,
        supervisionTimeout: UInt16
    ) {
        self.handle = handle
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.maxLatency = maxLatency
        self.supervisionTimeout = supervisionTimeout
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        intervalMin = try reader.readUInt16()
        intervalMax = try reader.readUInt16()
        maxLatency = try reader.readUInt16()
        supervisionTimeout = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(intervalMin)
        writer.write(intervalMax)
        writer.write(maxLatency)
        writer.write(supervisionTimeout)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.7 (LE Data Length Change event)
package struct HCILEDataLengthChange: WireCodable {
    package var handle: ConnectionHandle
    package var maxTxOctets: UInt16
    /// Microseconds.
    package var maxTxTime: UInt16
    package var maxRxOctets: UInt16
    /// Microseconds.
    package var maxRxTime: UInt16

    package init(
        handle: ConnectionHandle, maxTxOctets: UInt16, maxTxTime: UInt16, maxRxOctets: UInt16, maxRxTime: UInt16
    ) {
        self.handle = handle
        self.maxTxOctets = maxTxOctets
        self.maxTxTime = maxTxTime
        self.maxRxOctets = maxRxOctets
        self.maxRxTime = maxRxTime
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        maxTxOctets = try reader.readUInt16()
        maxTxTime = try reader.readUInt16()
        maxRxOctets = try reader.readUInt16()
        maxRxTime = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(maxTxOctets)
        writer.write(maxTxTime)
        writer.write(maxRxOctets)
        writer.write(maxRxTime)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.10 (LE Enhanced Connection Complete event, version 1)
package struct HCILEEnhancedConnectionComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var role: LERole
    package var peerAddress: LEPeerAddress
    /// 0 when this side used none.
    package var localResolvablePrivateAddress: UInt64
    /// 0 when the peer used none, and when the controller has not resolved it.
    package var peerResolvablePrivateAddress: UInt64
    package var parameters: LELinkParameters
    package var centralClockAccuracy: UInt8

    package init(
        status: HCIErrorCode, handle: ConnectionHandle, role: LERole, peerAddress: LEPeerAddress,
        localResolvablePrivateAddress: UInt64, peerResolvablePrivateAddress: UInt64, connectionInterval: UInt16,
        peripheralLatency: UInt16, supervisionTimeout: UInt16, centralClockAccuracy: UInt8
    ) {
        self.status = status
        self.handle = handle
        self.role = role
        self.peerAddress = peerAddress
        self.localResolvablePrivateAddress = localResolvablePrivateAddress
        self.peerResolvablePrivateAddress = peerResolvablePrivateAddress
        parameters = LELinkParameters(
            connectionInterval: connectionInterval, peripheralLatency: peripheralLatency,
            supervisionTimeout: supervisionTimeout)
        self.centralClockAccuracy = centralClockAccuracy
    }

    /// What the peer connected under: unlike the identity that a controller resolves it to, what is computed from the
    /// addresses of a link is computed from this one. nil for a kind that is not an address's.
    package var peerAddressOnAir: DeviceAddress? {
        guard peerResolvablePrivateAddress != 0 else { return peerAddress.address }
        return DeviceAddress(kind: .random, bits: peerResolvablePrivateAddress)
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        role = LERole(rawValue: try reader.readUInt8())
        peerAddress = try LEPeerAddress(decoding: &reader)
        localResolvablePrivateAddress = try reader.readUInt48()
        peerResolvablePrivateAddress = try reader.readUInt48()
        parameters = try LELinkParameters(decoding: &reader)
        centralClockAccuracy = try reader.readUInt8()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        writer.write(role.rawValue)
        peerAddress.encode(into: &writer)
        writer.writeUInt48(localResolvablePrivateAddress)
        writer.writeUInt48(peerResolvablePrivateAddress)
        parameters.encode(into: &writer)
        writer.write(centralClockAccuracy)
    }
}
