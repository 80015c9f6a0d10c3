import BluetoothCore

/// What an ATT PDU is. Bit 6 marks commands, bit 7 PDUs that carry an authentication signature.
///
/// Core 5.4, Vol 3, Part F, 3.3.1 (Attribute PDU format); 3.4.8 (Attribute opcode summary)
package struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let errorResponse = Self(rawValue: 0x01)
    package static let exchangeMTURequest = Self(rawValue: 0x02)
    package static let exchangeMTUResponse = Self(rawValue: 0x03)
    package static let findInformationRequest = Self(rawValue: 0x04)
    package static let findInformationResponse = Self(rawValue: 0x05)
    package static let findByTypeValueRequest = Self(rawValue: 0x06)
    package static let findByTypeValueResponse = Self(rawValue: 0x07)
    package static let readByTypeRequest = Self(rawValue: 0x08)
    package static let readByTypeResponse = Self(rawValue: 0x09)
    package static let readRequest = Self(rawValue: 0x0A)
    package static let readResponse = Self(rawValue: 0x0B)
    package static let readBlobRequest = Self(rawValue: 0x0C)
    package static let readBlobResponse = Self(rawValue: 0x0D)
    package static let readMultipleRequest = Self(rawValue: 0x0E)
    package static let readMultipleResponse = Self(rawValue: 0x0F)
    package static let readByGroupTypeRequest = Self(rawValue: 0x10)
    package static let readByGroupTypeResponse = Self(rawValue: 0x11)
    package static let writeRequest = Self(rawValue: 0x12)
    package static let writeResponse = Self(rawValue: 0x13)
    package static let prepareWriteRequest = Self(rawValue: 0x16)
    package static let prepareWriteResponse = Self(rawValue: 0x17)
    package static let executeWriteRequest = Self(rawValue: 0x18)
    package static let executeWriteResponse = Self(rawValue: 0x19)
    package static let handleValueNotification = Self(rawValue: 0x1B)
    package static let handleValueIndication = Self(rawValue: 0x1D)
    package static let handleValueConfirmation = Self(rawValue: 0x1E)
    package static let readMultipleVariableRequest = Self(rawValue: 0x20)
    package static let readMultipleVariableResponse = Self(rawValue: 0x21)
    package static let multipleHandleValueNotification = Self(rawValue: 0x23)
    package static let writeCommand = Self(rawValue: 0x52)
    package static let signedWriteCommand = Self(rawValue: 0xD2)

    /// Set: nobody answers it, and a server that does not know it ignores it.
    package var isCommand: Bool { rawValue & 0x40 != 0 }
}

/// The parameters of one kind of ATT PDU, behind its opcode.
package protocol ATTParameters: WireCodable, Hashable {
    static var opcode: ATTOpcode { get }
}

extension ATTParameters {
    /// The whole PDU.
    package var pdu: [UInt8] {
        var writer = ByteWriter(capacity: 32)
        encodePDU(into: &writer)
        return writer.bytes
    }

    /// Appends the whole PDU.
    package func encodePDU(into writer: inout ByteWriter) {
        writer.write(Self.opcode.rawValue)
        encode(into: &writer)
    }
}

extension RecycledOctets {
    package mutating func pdu(_ parameters: some ATTParameters) -> [UInt8] {
        make { parameters.encodePDU(into: &$0) }
    }
}

extension ATTOpcode {
    package enum Kind: Sendable { case request, response, command, notification, indication, confirmation, unknown }

    package var kind: Kind {
        switch self {
        case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
            .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .executeWriteRequest, .readMultipleVariableRequest:
            .request
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse:
            .response
        case .writeCommand, .signedWriteCommand: .command
        case .handleValueNotification, .multipleHandleValueNotification: .notification
        case .handleValueIndication: .indication
        case .handleValueConfirmation: .confirmation
        default: .unknown
        }
    }

    /// The request that a response of this opcode answers; nil for the Error Response, which names it.
    var answers: ATTOpcode? {
        kind == .response && self != .errorResponse ? ATTOpcode(rawValue: rawValue - 1) : nil
    }
}
