import BluetoothCore

// Commands, events and return parameters whose fields are the same have one codec.

/// A command that says nothing but its opcode.
package protocol HCIParameterlessCommand: HCICompletingCommand {
    init()
}

extension HCIParameterlessCommand {
    package init(decoding reader: inout ByteReader) throws(DecodingError) { self.init() }
    package func encode(into writer: inout ByteWriter) {}
}

/// A command about one link.
package protocol HCIOneHandle: WireCodable {
    var handle: ConnectionHandle { get }
    init(handle: ConnectionHandle)
}

extension HCIOneHandle {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        self.init(handle: try reader.readConnectionHandle())
    }

    package func encode(into writer: inout ByteWriter) { writer.write(handle) }
}

/// A link that is ended, or a request on it that is refused, and why.
package protocol HCIHandleAndReason: WireCodable {
    var handle: ConnectionHandle { get }
    var reason: HCIErrorCode { get }
    init(handle: ConnectionHandle, reason: HCIErrorCode)
}

extension HCIHandleAndReason {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        self.init(handle: try reader.readConnectionHandle(), reason: try reader.readErrorCode())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(reason)
    }
}

/// A command about one peer of the resolving list.
package protocol LEIdentityCommand: WireCodable {
    var peerIdentityAddress: LEPeerAddress { get }
    init(peerIdentityAddress: LEPeerAddress)
}

extension LEIdentityCommand {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        self.init(peerIdentityAddress: try LEPeerAddress(decoding: &reader))
    }

    package func encode(into writer: inout ByteWriter) { peerIdentityAddress.encode(into: &writer) }
}

/// A command about one entry of the filter accept list.
package protocol LEFilterAcceptListEntry: WireCodable {
    var address: LEPeerAddress { get }
    init(address: LEPeerAddress)
}

extension LEFilterAcceptListEntry {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        self.init(address: try LEPeerAddress(decoding: &reader))
    }

    package func encode(into writer: inout ByteWriter) { address.encode(into: &writer) }
}

/// How many entries a list of the controller's takes.
package struct LEListSize: WireCodable {
    package var size: UInt8
    package init(size: UInt8) { self.size = size }
    package init(decoding reader: inout ByteReader) throws(DecodingError) { size = try reader.readUInt8() }
    package func encode(into writer: inout ByteWriter) { writer.write(size) }
}

/// The resolvable private address that one side uses towards the other; 0 for none.
package struct LEResolvableAddress: WireCodable {
    package var address: UInt64
    package init(address: UInt64) { self.address = address }
    package init(decoding reader: inout ByteReader) throws(DecodingError) { address = try reader.readUInt48() }
    package func encode(into writer: inout ByteWriter) { writer.writeUInt48(address) }
}

/// What a link's events follow each other by, as connection events report it.
package struct LELinkParameters: WireCodable {
    /// Units of 1.25 ms.
    package var connectionInterval: UInt16
    /// Connection events that the peripheral may skip.
    package var peripheralLatency: UInt16
    /// Units of 10 ms.
    package var supervisionTimeout: UInt16

    package init(connectionInterval: UInt16, peripheralLatency: UInt16, supervisionTimeout: UInt16) {
        self.connectionInterval = connectionInterval
        self.peripheralLatency = peripheralLatency
        self.supervisionTimeout = supervisionTimeout
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        connectionInterval = try reader.readUInt16()
        peripheralLatency = try reader.readUInt16()
        supervisionTimeout = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(connectionInterval)
        writer.write(peripheralLatency)
        writer.write(supervisionTimeout)
    }
}
