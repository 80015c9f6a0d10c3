import ATT
import BluetoothCore

/// GATT on one link: the bearer, the client and this link's share of the server, all in one value that the host feeds
/// and drains. The server is the identity's, handed in by the host.
///
/// Outputs are appended to the caller's array, which it reuses from iteration to iteration.
package struct GATTEndpoint: Sendable {
    package init(maximumMTU: Int = 517) {}

    /// Octets of the largest PDU, either way.
    package var mtu: Int { 23 }
    /// When ``timerFired(now:outputs:)`` wants to be called.
    package var deadline: Instant? { nil }

    /// A PDU arrived on the fixed channel 0x0004.
    package mutating func receive(
        _ bytes: [UInt8], now: Instant, security: LinkSecurity, server: inout GATTServer, outputs: inout [GATTOutput]
    ) {}

    package mutating func timerFired(now: Instant, outputs: inout [GATTOutput]) {}

    /// Says who the client is: resolved from its address (`proven` false: what it writes stays in memory for this link) or
    /// proven by encryption with the bond's key.
    package mutating func identify(
        bond: UInt64, proven: Bool, now: Instant, server: inout GATTServer, outputs: inout [GATTOutput]
    ) {}

    /// The link is gone: every operation that was asked ends, every request that waits for the app is dropped.
    package mutating func disconnected(outputs: inout [GATTOutput]) {}

    /// Starts or queues a client procedure; it ends in exactly one `clientCompleted` with this token.
    package mutating func perform(
        _ operation: GATTClientOperation, token: UInt64, now: Instant, outputs: inout [GATTOutput]
    ) {}

    /// Answers a `serverRead` with the value from the asked offset on. False when the request is no longer there.
    @discardableResult
    package mutating func respond(
        toRead id: GATTRequestID, with result: Result<[UInt8], ATTErrorCode>, now: Instant, security: LinkSecurity,
        server: inout GATTServer, outputs: inout [GATTOutput]
    ) -> Bool { false }

    /// Answers a `serverWrite`; nil says that it was taken. False when the request is no longer there.
    @discardableResult
    package mutating func respond(
        toWrite id: GATTRequestID, with error: ATTErrorCode?, now: Instant, outputs: inout [GATTOutput]
    ) -> Bool { false }

    /// Sends a Handle Value Notification of the characteristic with this value handle to a client that wants one. A value
    /// longer than the MTU takes is cut.
    package mutating func notify(
        _ handle: AttributeHandle, _ value: [UInt8], security: LinkSecurity, server: GATTServer,
        outputs: inout [GATTOutput]
    ) -> GATTSendOutcome { .bearerClosed }

    /// Sends or queues a Handle Value Indication, which ends in exactly one `indicationEnded` with this token if the
    /// outcome is `sent` or `queued`.
    package mutating func indicate(
        _ handle: AttributeHandle, _ value: [UInt8], token: UInt64, now: Instant, security: LinkSecurity,
        server: GATTServer, outputs: inout [GATTOutput]
    ) -> GATTSendOutcome { .bearerClosed }

    /// What this client subscribed to at the characteristic with this value handle, as it counts on this link now.
    package func subscription(to handle: AttributeHandle, server: GATTServer) -> ClientCharacteristicConfiguration {
        []
    }

    /// The tree changed in this range of handles: call for every link after ``GATTServer/publish(_:at:)`` or
    /// ``GATTServer/remove(serviceAt:)``.
    package mutating func databaseChanged(
        _ range: ClosedRange<AttributeHandle>, now: Instant, server: inout GATTServer, outputs: inout [GATTOutput]
    ) {}
}
