import ATT
import BluetoothCore

/// What a request comes to.
enum ServerAnswer {
    case pdu([UInt8])
    /// An answer, and what is told once it is on its way.
    case pduThen([UInt8], GATTOutput)
    /// The app has been asked.
    case pending
}

/// What holds while one PDU is served.
struct ServerContext {
    let security: LinkSecurity
    let mtu: Int
}

/// A refusal on its way to becoming an Error Response.
struct Refusal: Error {
    let code: ATTErrorCode
    let handle: AttributeHandle
}

extension GATTServerLink {
    mutating func serve(
        _ request: ATTRequest, _ context: ServerContext, _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) -> ServerAnswer {
        noteRequest(&server, &outputs)
        do throws(Refusal) {
            switch request {
            case .exchangeMTU: throw Refusal(code: .requestNotSupported, handle: AttributeHandle(0))
            case .findInformation(let request): return .pdu(try findInformation(request, context, server))
            case .findByTypeValue(let request): return .pdu(try findByTypeValue(request, context, server))
            case .readByGroupType(let request): return .pdu(try readByGroupType(request, context, server))
            case .readByType(let request): return try readByType(request, context, &server, &outputs)
            case .read(let request):
                return try read(request.handle, offset: nil, context, &server, &outputs)
            case .readBlob(let request):
                return try read(request.handle, offset: Int(request.offset), context, &server, &outputs)
            case .readMultiple(let request):
                let answer = MultipleAnswer(isVariable: false, mtu: context.mtu)
                return try readMultiple(request.handles, from: 0, answer, context, &server, &outputs)
            case .readMultipleVariable(let request):
                let answer = MultipleAnswer(isVariable: true, mtu: context.mtu)
                return try readMultiple(request.handles, from: 0, answer, context, &server, &outputs)
            case .write(let request): return try write(request, context, &server, &outputs)
            case .prepareWrite(let request): return .pdu(try prepareWrite(request, context, server))
            case .executeWrite(let request): return try executeWrite(request, &server, &outputs)
            }
        } catch {
            return .pdu(Self.error(request.opcode, error.code, error.handle))
        }
    }

    static func error(_ opcode: ATTOpcode, _ code: ATTErrorCode, _ handle: AttributeHandle) -> [UInt8] {
        ATTErrorResponse(requestOpcode: opcode, handle: handle, code: code).pdu
    }

    /// The attribute, if this path to it is open. A client that does not know the tree does not learn what the handle
    /// means now.
    mutating func attribute(
        _ handle: AttributeHandle, on path: AttributePath, _ context: ServerContext, _ server: GATTServer
    ) throws(Refusal) -> AttributeDatabase.Attribute {
        if isOutOfSync(server) {
            inform()
            throw Refusal(code: .databaseOutOfSync, handle: handle)
        }
        guard let attribute = server.database[handle] else { throw Refusal(code: .invalidHandle, handle: handle) }
        if let code = attribute.access.refusal(on: path, context.security) { throw Refusal(code: code, handle: handle) }
        return attribute
    }

    /// The value, unless only the app knows it.
    func knownValue(_ attribute: AttributeDatabase.Attribute, _ server: GATTServer) -> [UInt8]? {
        switch attribute.content {
        case .static(let value): return value
        case .dynamic: return nil
        case .configuration:
            let value = configuration(at: attribute.handle, server).rawValue
            return [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)]
        case .clientSupportedFeatures: return supportedFeatures(server)
        case .databaseHash: return server.databaseHash
        }
    }

    func closed(_ range: ATTHandleRange) throws(Refusal) -> ClosedRange<AttributeHandle> {
        guard let closed = range.closed else { throw Refusal(code: .invalidHandle, handle: range.start) }
        return closed
    }
}

// MARK: - Discovery

extension GATTServerLink {
    /// Core 5.4, Vol 3, Part F, 3.4.3.2 (Find Information Response)
    private func findInformation(
        _ request: ATTFindInformationRequest, _ context: ServerContext, _ server: GATTServer
    ) throws(Refusal) -> [UInt8] {
        let attributes = server.database.slice(try closed(request.range))
        guard let first = attributes.first else {
            throw Refusal(code: .attributeNotFound, handle: request.range.start)
        }
        let length = first.type.encodedLength
        var writer = ByteWriter(capacity: context.mtu)
        writer.write(ATTFindInformationResponse.opcode.rawValue)
        writer.write(UInt8(length == 2 ? 1 : 2))
        for attribute in attributes {
            guard attribute.type.encodedLength == length, writer.bytes.count + 2 + length <= context.mtu else { break }
            writer.write(attribute.handle.rawValue)
            attribute.type.encode(into: &writer)
        }
        return writer.bytes
    }

    /// Core 5.4, Vol 3, Part F, 3.4.3.4 (Find By Type Value Response). Values that a client may not read, or that only the
    /// app knows, match nothing.
    private func findByTypeValue(
        _ request: ATTFindByTypeValueRequest, _ context: ServerContext, _ server: GATTServer
    ) throws(Refusal) -> [UInt8] {
        let type = BluetoothUUID(request.type)
        var writer = ByteWriter(capacity: context.mtu)
        writer.write(ATTFindByTypeValueResponse.opcode.rawValue)
        for attribute in server.database.slice(try closed(request.range)) where attribute.type == type {
            guard attribute.access.refusal(on: .read, context.security) == nil,
                knownValue(attribute, server) == request.value
            else { continue }
            guard writer.bytes.count + 4 <= context.mtu else { break }
            writer.write(attribute.handle.rawValue)
            writer.write(attribute.groupEnd.rawValue)
        }
        guard writer.bytes.count > 1 else { throw Refusal(code: .attributeNotFound, handle: request.range.start) }
        return writer.bytes
    }

    /// Core 5.4, Vol 3, Part F, 3.4.4.10 (Read By Group Type Response); Part G, 2.5.3: services are the groups.
    private func readByGroupType(
        _ request: ATTReadByGroupTypeRequest, _ context: ServerContext, _ server: GATTServer
    ) throws(Refusal) -> [UInt8] {
        let range = try closed(request.range)
        guard request.type == .primaryService || request.type == .secondaryService else {
            throw Refusal(code: .unsupportedGroupType, handle: request.range.start)
        }
        var writer = ByteWriter(capacity: context.mtu)
        var length: Int?
        for attribute in server.database.slice(range) where attribute.type == request.type {
            guard case .static(let value) = attribute.content else { continue }
            if length == nil {
                length = value.count
                writer.write(ATTReadByGroupTypeResponse.opcode.rawValue)
                writer.write(UInt8(truncatingIfNeeded: 4 + value.count))
            }
            guard value.count == length, writer.bytes.count + 4 + value.count <= context.mtu else { break }
            writer.write(attribute.handle.rawValue)
            writer.write(attribute.groupEnd.rawValue)
            writer.write(value)
        }
        guard length != nil else { throw Refusal(code: .attributeNotFound, handle: request.range.start) }
        return writer.bytes
    }
}
