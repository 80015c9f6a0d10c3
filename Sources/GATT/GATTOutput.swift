import ATT
import BluetoothCore

/// The name of a request that waits for the app's answer; unique in a server's lifetime.
package struct GATTRequestID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// What an endpoint wants done, in this order. All of an iteration's `persist` are committed before any other output
/// is let go.
package enum GATTOutput: Hashable, Sendable {
    /// An ATT PDU for the fixed channel 0x0004.
    case send([UInt8])
    case persist(GATTMutation)

    /// A peer reads a dynamic value from `offset` on. Answer once with ``GATTEndpoint/respond(toRead:with:security:server:outputs:)``.
    case serverRead(GATTRequestID, handle: AttributeHandle, offset: Int)
    /// A peer writes dynamic values, all of them or none. Answer once with
    /// ``GATTEndpoint/respond(toWrite:with:at:outputs:)``.
    case serverWrite(GATTRequestID, [AttributeWrite])
    /// A peer wrote a dynamic value and expects no answer.
    case serverWriteCommand(AttributeWrite)
    /// A Signed Write Command that passed every check but that of its signature and counter. `pdu` is all of its octets
    /// as they arrived, MAC last.
    case signedWrite(handle: AttributeHandle, value: [UInt8], pdu: [UInt8], needsAuthentication: Bool)
    /// A peer's subscription to the characteristic with this value handle is now this, on this link.
    case subscriptionChanged(AttributeHandle, ClientCharacteristicConfiguration)
    /// An indication given with this token is over: confirmed, or lost with its bearer.
    case indicationEnded(token: UInt64, confirmed: Bool)

    case clientCompleted(token: UInt64, Result<GATTClientResult, GATTClientError>)
    /// The host appends SignCounter and MAC to `message` (a Signed Write Command up to its value) and sends it.
    case sign(token: UInt64, message: [UInt8])
    case notification(AttributeHandle, [UInt8])
    /// Followed by the confirmation's `send`, which therefore leaves after the host's commit.
    case indication(AttributeHandle, [UInt8])

    /// Nothing more is sent or heard on this bearer: the host disconnects the link.
    case bearerFailed(ATTBearerFailure)
}
