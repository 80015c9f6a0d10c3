import BluetoothCore

/// What a client asks and a server must answer, one at a time on a bearer.
///
/// Core 5.4, Vol 3, Part F, 3.3 (Attribute PDU)
package enum ATTRequest: Hashable, Sendable {
    case exchangeMTU(ATTExchangeMTURequest)
    case findInformation(ATTFindInformationRequest)
    case findByTypeValue(ATTFindByTypeValueRequest)
    case readByType(ATTReadByTypeRequest)
    case read(ATTReadRequest)
    case readBlob(ATTReadBlobRequest)
    case readMultiple(ATTReadMultipleRequest)
    case readByGroupType(ATTReadByGroupTypeRequest)
    case write(ATTWriteRequest)
    case prepareWrite(ATTPrepareWriteRequest)
    case executeWrite(ATTExecuteWriteRequest)
    case readMultipleVariable(ATTReadMultipleVariableRequest)
}

/// What a server answers.
package enum ATTResponse: Hashable, Sendable {
    case error(ATTErrorResponse)
    case exchangeMTU(ATTExchangeMTUResponse)
    case findInformation(ATTFindInformationResponse)
    case findByTypeValue(ATTFindByTypeValueResponse)
    case readByType(ATTReadByTypeResponse)
    case read(ATTReadResponse)
    case readBlob(ATTReadBlobResponse)
    case readMultiple(ATTReadMultipleResponse)
    case readByGroupType(ATTReadByGroupTypeResponse)
    case write(ATTWriteResponse)
    case prepareWrite(ATTPrepareWriteResponse)
    case executeWrite(ATTExecuteWriteResponse)
    case readMultipleVariable(ATTReadMultipleVariableResponse)
}

/// What a client tells and nobody answers.
package enum ATTCommand: Hashable, Sendable {
    case write(ATTWriteCommand)
    case signedWrite(ATTSignedWriteCommand)
}

/// What a server tells and nobody answers.
package enum ATTNotification: Hashable, Sendable {
    case handleValue(ATTHandleValueNotification)
    case multipleHandleValue(ATTMultipleHandleValueNotification)
}

/// Every PDU of ATT on LE, by direction and kind.
package enum ATTPDU: Hashable, Sendable {
    case request(ATTRequest)
    case response(ATTResponse)
    case command(ATTCommand)
    case notification(ATTNotification)
    case indication(ATTHandleValueIndication)
    case confirmation
    case unknown(ATTOpcode, parameters: [UInt8])
}

extension ATTPDU {
    /// Decodes a PDU that fills `bytes`.
    package init(_ bytes: [UInt8]) throws(DecodingError) {
        var reader = ByteReader(bytes.span.bytes)
        self = try Self(decoding: &reader)
        try reader.expectEnd()
    }

    /// The same, with the octets of a value in `values`.
    package init(_ bytes: [UInt8], values: inout RecycledOctets) throws(DecodingError) {
        var storage = RecycledOctets()
        swap(&storage, &values)
        var reader = ByteReader(bytes.span.bytes, recycling: consume storage)
        defer { values = reader.takeStorage() }
        self = try Self(decoding: &reader)
        try reader.expectEnd()
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let opcode = ATTOpcode(rawValue: try reader.readUInt8())
        switch opcode {
        case .errorResponse: self = .response(.error(try .init(decoding: &reader)))
        case .exchangeMTURequest: self = .request(.exchangeMTU(try .init(decoding: &reader)))
        case .exchangeMTUResponse: self = .response(.exchangeMTU(try .init(decoding: &reader)))
        case .findInformationRequest: self = .request(.findInformation(try .init(decoding: &reader)))
        case .findInformationResponse: self = .response(.findInformation(try .init(decoding: &reader)))
        case .findByTypeValueRequest: self = .request(.findByTypeValue(try .init(decoding: &reader)))
        case .findByTypeValueResponse: self = .response(.findByTypeValue(try .init(decoding: &reader)))
        case .readByTypeRequest: self = .request(.readByType(try .init(decoding: &reader)))
        case .readByTypeResponse: self = .response(.readByType(try .init(decoding: &reader)))
        case .readRequest: self = .request(.read(try .init(decoding: &reader)))
        case .readResponse: self = .response(.read(try .init(decoding: &reader)))
        case .readBlobRequest: self = .request(.readBlob(try .init(decoding: &reader)))
        case .readBlobResponse: self = .response(.readBlob(try .init(decoding: &reader)))
        case .readMultipleRequest: self = .request(.readMultiple(try .init(decoding: &reader)))
        case .readMultipleResponse: self = .response(.readMultiple(try .init(decoding: &reader)))
        case .readByGroupTypeRequest: self = .request(.readByGroupType(try .init(decoding: &reader)))
        case .readByGroupTypeResponse: self = .response(.readByGroupType(try .init(decoding: &reader)))
        case .writeRequest: self = .request(.write(try .init(decoding: &reader)))
        case .writeResponse: self = .response(.write(try .init(decoding: &reader)))
        case .prepareWriteRequest: self = .request(.prepareWrite(try .init(decoding: &reader)))
        case .prepareWriteResponse: self = .response(.prepareWrite(try .init(decoding: &reader)))
        case .executeWriteRequest: self = .request(.executeWrite(try .init(decoding: &reader)))
        case .executeWriteResponse: self = .response(.executeWrite(try .init(decoding: &reader)))
        case .readMultipleVariableRequest: self = .request(.readMultipleVariable(try .init(decoding: &reader)))
        case .readMultipleVariableResponse: self = .response(.readMultipleVariable(try .init(decoding: &reader)))
        case .writeCommand: self = .command(.write(try .init(decoding: &reader)))
        case .signedWriteCommand: self = .command(.signedWrite(try .init(decoding: &reader)))
        case .handleValueNotification: self = .notification(.handleValue(try .init(decoding: &reader)))
        case .multipleHandleValueNotification: self = .notification(.multipleHandleValue(try .init(decoding: &reader)))
        case .handleValueIndication: self = .indication(try .init(decoding: &reader))
        case .handleValueConfirmation: self = .confirmation
        default: self = .unknown(opcode, parameters: reader.readRemaining())
        }
    }

    /// The whole PDU.
    package var pdu: [UInt8] {
        switch self {
        case .request(let request): request.parameters.pdu
        case .response(let response): response.parameters.pdu
        case .command(.write(let command)): command.pdu
        case .command(.signedWrite(let command)): command.pdu
        case .notification(.handleValue(let notification)): notification.pdu
        case .notification(.multipleHandleValue(let notification)): notification.pdu
        case .indication(let indication): indication.pdu
        case .confirmation: ATTHandleValueConfirmation().pdu
        case .unknown(let opcode, let parameters): [opcode.rawValue] + parameters
        }
    }
}

extension ATTRequest {
    package var parameters: any ATTParameters {
        switch self {
        case .exchangeMTU(let request): request
        case .findInformation(let request): request
        case .findByTypeValue(let request): request
        case .readByType(let request): request
        case .read(let request): request
        case .readBlob(let request): request
        case .readMultiple(let request): request
        case .readByGroupType(let request): request
        case .write(let request): request
        case .prepareWrite(let request): request
        case .executeWrite(let request): request
        case .readMultipleVariable(let request): request
        }
    }

    package var opcode: ATTOpcode {
        switch self {
        case .exchangeMTU: .exchangeMTURequest
        case .findInformation: .findInformationRequest
        case .findByTypeValue: .findByTypeValueRequest
        case .readByType: .readByTypeRequest
        case .read: .readRequest
        case .readBlob: .readBlobRequest
        case .readMultiple: .readMultipleRequest
        case .readByGroupType: .readByGroupTypeRequest
        case .write: .writeRequest
        case .prepareWrite: .prepareWriteRequest
        case .executeWrite: .executeWriteRequest
        case .readMultipleVariable: .readMultipleVariableRequest
        }
    }
}

extension ATTResponse {
    package var parameters: any ATTParameters {
        switch self {
        case .error(let response): response
        case .exchangeMTU(let response): response
        case .findInformation(let response): response
        case .findByTypeValue(let response): response
        case .readByType(let response): response
        case .read(let response): response
        case .readBlob(let response): response
        case .readMultiple(let response): response
        case .readByGroupType(let response): response
        case .write(let response): response
        case .prepareWrite(let response): response
        case .executeWrite(let response): response
        case .readMultipleVariable(let response): response
        }
    }

    /// The request that this answers.
    package var requestOpcode: ATTOpcode {
        switch self {
        case .error(let response): response.requestOpcode
        case .exchangeMTU: .exchangeMTURequest
        case .findInformation: .findInformationRequest
        case .findByTypeValue: .findByTypeValueRequest
        case .readByType: .readByTypeRequest
        case .read: .readRequest
        case .readBlob: .readBlobRequest
        case .readMultiple: .readMultipleRequest
        case .readByGroupType: .readByGroupTypeRequest
        case .write: .writeRequest
        case .prepareWrite: .prepareWriteRequest
        case .executeWrite: .executeWriteRequest
        case .readMultipleVariable: .readMultipleVariableRequest
        }
    }
}
