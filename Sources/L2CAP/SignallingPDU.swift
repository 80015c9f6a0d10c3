import BluetoothCore

/// Joins a response with its request; 0 is never used.
///
/// Core 5.4, Vol 3, Part A, 4 (Signaling packet formats)
package struct SignallingIdentifier: Hashable, Sendable {
    package let rawValue: UInt8

    /// nil for 0.
    package init?(_ rawValue: UInt8) {
        guard rawValue != 0 else { return nil }
        self.rawValue = rawValue
    }

    package static let first = Self(nonZero: 1)
    private init(nonZero: UInt8) { rawValue = nonZero }

    /// 0xFF is followed by 0x01.
    package var next: Self { Self(nonZero: rawValue == 0xFF ? 1 : rawValue + 1) }
}

/// Gives out identifiers in their order, but none twice while the first has no answer.
///
/// Core 5.4, Vol 3, Part A, 4 (Signaling packet formats)
package struct SignallingIdentifiers: Sendable {
    private var next = SignallingIdentifier.first
    /// Those of the requests that wait for their answers: far fewer than there are identifiers.
    package var pending: [SignallingIdentifier] = []

    package init() {}

    package mutating func take() -> SignallingIdentifier {
        while pending.contains(next) { next = next.next }
        defer { next = next.next }
        return next
    }
}

/// Core 5.4, Vol 3, Part A, 4 (Signaling packet formats)
package struct SignallingCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let commandReject = Self(rawValue: 0x01)
    package static let disconnectionRequest = Self(rawValue: 0x06)
    package static let disconnectionResponse = Self(rawValue: 0x07)
    package static let connectionParameterUpdateRequest = Self(rawValue: 0x12)
    package static let connectionParameterUpdateResponse = Self(rawValue: 0x13)
    package static let leCreditBasedConnectionRequest = Self(rawValue: 0x14)
    package static let leCreditBasedConnectionResponse = Self(rawValue: 0x15)
    package static let flowControlCreditIndication = Self(rawValue: 0x16)
    package static let creditBasedConnectionResponse = Self(rawValue: 0x18)
    package static let creditBasedReconfigureResponse = Self(rawValue: 0x1A)

    /// Whether it answers something, or wants no answer: rejecting it would be wrong.
    package var wantsNoAnswer: Bool {
        switch self {
        case .commandReject, .disconnectionResponse, .connectionParameterUpdateResponse,
            .leCreditBasedConnectionResponse, .flowControlCreditIndication, .creditBasedConnectionResponse,
            .creditBasedReconfigureResponse:
            true
        default: false
        }
    }
}

/// Core 5.4, Vol 3, Part A, 4.1 (L2CAP_COMMAND_REJECT_RSP)
package struct CommandReject: WireCodable {
    package enum Reason: Equatable, Sendable {
        case commandNotUnderstood
        case signallingMTUExceeded(actualMTU: UInt16)
        case invalidCID(local: UInt16, remote: UInt16)
        /// A reason of a later version.
        case unknown(UInt16, data: [UInt8])
    }

    package var reason: Reason

    package init(reason: Reason) { self.reason = reason }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        switch try reader.readUInt16() {
        case 0x0000: reason = .commandNotUnderstood
        case 0x0001: reason = .signallingMTUExceeded(actualMTU: try reader.readUInt16())
        case 0x0002: reason = .invalidCID(local: try reader.readUInt16(), remote: try reader.readUInt16())
        case let other: reason = .unknown(other, data: reader.readRemaining())
        }
    }

    package func encode(into writer: inout ByteWriter) {
        switch reason {
        case .commandNotUnderstood:
            writer.write(UInt16(0x0000))
        case .signallingMTUExceeded(let actualMTU):
            writer.write(UInt16(0x0001))
            writer.write(actualMTU)
        case .invalidCID(let local, let remote):
            writer.write(UInt16(0x0002))
            writer.write(local)
            writer.write(remote)
        case .unknown(let reason, let data):
            writer.write(reason)
            writer.write(data)
        }
    }
}

/// Core 5.4, Vol 3, Part A, 4.21 (L2CAP_CONNECTION_PARAMETER_UPDATE_RSP)
package struct ConnectionParameterUpdateResponse: WireCodable {
    package enum Result: UInt16, Sendable, CaseIterable {
        case accepted = 0x0000
        case rejected = 0x0001
    }

    package var result: Result

    package init(result: Result) { self.result = result }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard let result = Result(rawValue: try reader.readUInt16()) else { throw .invalidValue(field: "Result") }
        self.result = result
    }

    package func encode(into writer: inout ByteWriter) { writer.write(result.rawValue) }
}

/// A command of the LE signalling channel, which carries one in each frame.
///
/// Core 5.4, Vol 3, Part A, 4 (Signaling packet formats)
package struct SignallingPDU: WireCodable {
    package enum Command: Equatable, Sendable {
        case commandReject(CommandReject)
        case disconnectionRequest(ChannelEndpoints)
        case disconnectionResponse(ChannelEndpoints)
        case connectionParameterUpdateRequest(ConnectionParameters)
        case connectionParameterUpdateResponse(ConnectionParameterUpdateResponse)
        case leCreditBasedConnectionRequest(LECreditBasedConnectionRequest)
        case leCreditBasedConnectionResponse(LECreditBasedConnectionResponse)
        case flowControlCredit(FlowControlCredit)
        case unknown(SignallingCode, data: [UInt8])
    }

    package var identifier: SignallingIdentifier
    package var command: Command

    package init(identifier: SignallingIdentifier, command: Command) {
        self.identifier = identifier
        self.command = command
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let code = SignallingCode(rawValue: try reader.readUInt8())
        guard let identifier = SignallingIdentifier(try reader.readUInt8()) else {
            throw .invalidValue(field: "Identifier")
        }
        self.identifier = identifier
        let length = Int(try reader.readUInt16())
        var data = ByteReader(try reader.readSpan(length))
        switch code {
        case .commandReject: command = .commandReject(try .init(decoding: &data))
        case .disconnectionRequest: command = .disconnectionRequest(try .init(decoding: &data))
        case .disconnectionResponse: command = .disconnectionResponse(try .init(decoding: &data))
        case .connectionParameterUpdateRequest:
            command = .connectionParameterUpdateRequest(try .init(decoding: &data))
        case .connectionParameterUpdateResponse:
            command = .connectionParameterUpdateResponse(try .init(decoding: &data))
        case .leCreditBasedConnectionRequest:
            command = .leCreditBasedConnectionRequest(try .init(decoding: &data))
        case .leCreditBasedConnectionResponse:
            command = .leCreditBasedConnectionResponse(try .init(decoding: &data))
        case .flowControlCreditIndication: command = .flowControlCredit(try .init(decoding: &data))
        default: command = .unknown(code, data: data.readRemaining())
        }
        try data.expectEnd()
    }

    package func encode(into writer: inout ByteWriter) {
        let (code, data): (SignallingCode, [UInt8]) =
            switch command {
            case .commandReject(let reject): (.commandReject, reject.encoded)
            case .disconnectionRequest(let endpoints): (.disconnectionRequest, endpoints.encoded)
            case .disconnectionResponse(let endpoints): (.disconnectionResponse, endpoints.encoded)
            case .connectionParameterUpdateRequest(let parameters):
                (.connectionParameterUpdateRequest, parameters.encoded)
            case .connectionParameterUpdateResponse(let response):
                (.connectionParameterUpdateResponse, response.encoded)
            case .leCreditBasedConnectionRequest(let request):
                (.leCreditBasedConnectionRequest, request.encoded)
            case .leCreditBasedConnectionResponse(let response):
                (.leCreditBasedConnectionResponse, response.encoded)
            case .flowControlCredit(let credit): (.flowControlCreditIndication, credit.encoded)
            case .unknown(let code, let data): (code, data)
            }
        writer.write(code.rawValue)
        writer.write(identifier.rawValue)
        writer.write(UInt16(truncatingIfNeeded: data.count))
        writer.write(data)
    }
}
