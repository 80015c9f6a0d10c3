import BluetoothCore

/// A command's parameters in wire order. The controller answers it with Command Status, and what it started ends in
/// an event of its own, unless it is an ``HCICompletingCommand``.
package protocol HCICommand: WireCodable {
    static var opcode: HCIOpcode { get }
}

/// A command that the controller answers with Command Complete.
package protocol HCICompletingCommand: HCICommand {
    /// What follows the Status, which is always the first return parameter.
    associatedtype ReturnParameters: WireCodable = NoParameters
}

/// No octets at all.
package struct NoParameters: WireCodable {
    package init() {}
    package init(decoding reader: inout ByteReader) throws(DecodingError) {}
    package func encode(into writer: inout ByteWriter) {}
}

/// Most commands about one link return which link that was.
package struct HCIConnectionHandleReturn: WireCodable {
    package var handle: ConnectionHandle
    package init(handle: ConnectionHandle) { self.handle = handle }
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
    }
    package func encode(into writer: inout ByteWriter) { writer.write(handle) }
}

/// Why a command's return parameters are not to be had.
package enum HCICommandFailure: Error, Equatable, Sendable {
    /// The controller refused.
    case status(HCIErrorCode)
    /// The controller's answer does not decode.
    case malformed(DecodingError)
    /// No answer in time, or the controller was reset before one came.
    case noAnswer
}
