import ATT
import BluetoothCore

extension GATTServerLink {
    /// Core 5.4, Vol 3, Part F, 3.4.5.2 (Write Response)
    mutating func write(
        _ request: ATTWriteRequest, _ context: ServerContext, _ server: inout GATTServer,
        _ outputs: inout [GATTOutput]
    ) throws(Refusal) -> ServerAnswer {
        let attribute = try attribute(request.handle, on: .writeRequest, context, server)
        guard request.value.count <= ATTBound.attributeValueOctets else {
            throw Refusal(code: .invalidAttributeValueLength, handle: request.handle)
        }
        switch attribute.content {
        case .static, .databaseHash: throw Refusal(code: .writeNotPermitted, handle: request.handle)
        case .dynamic:
            let id = server.makeRequestID()
            pending = .write(id, request.handle, .writeRequest)
            outputs.append(.serverWrite(id, [AttributeWrite(handle: request.handle, value: request.value)]))
            return .pending
        case .configuration(let value):
            return try writeConfiguration(request, of: value, &server, &outputs)
        case .clientSupportedFeatures:
            try writeSupportedFeatures(request, &server, &outputs)
            return .pdu(ATTWriteResponse().pdu)
        }
    }

    /// Core 5.4, Vol 3, Part G, 3.3.3.3 (Client Characteristic Configuration)
    private mutating func writeConfiguration(
        _ request: ATTWriteRequest, of valueHandle: AttributeHandle, _ server: inout GATTServer,
        _ outputs: inout [GATTOutput]
    ) throws(Refusal) -> ServerAnswer {
        guard request.value.count == 2, let low = request.value.first, let high = request.value.last else {
            throw Refusal(code: .invalidAttributeValueLength, handle: request.handle)
        }
        let properties = server.database[valueHandle]?.properties ?? []
        var allowed: ClientCharacteristicConfiguration = []
        if properties.contains(.notify) { allowed.insert(.notification) }
        if properties.contains(.indicate) { allowed.insert(.indication) }
        let value = ClientCharacteristicConfiguration(rawValue: UInt16(low) | UInt16(high) << 8)
        guard value.isSubset(of: allowed) else { throw Refusal(code: .valueNotAllowed, handle: request.handle) }
        let before = configuration(at: request.handle, server)
        configure(request.handle, value, &server, &outputs)
        let response = ATTWriteResponse().pdu
        return before == value ? .pdu(response) : .pduThen(response, .subscriptionChanged(valueHandle, value))
    }

    /// Core 5.4, Vol 3, Part G, 7.2 (Client Supported Features): a feature, once claimed, cannot be taken back.
    private mutating func writeSupportedFeatures(
        _ request: ATTWriteRequest, _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) throws(Refusal) {
        guard let wanted = request.value.first else {
            throw Refusal(code: .invalidAttributeValueLength, handle: request.handle)
        }
        let claimed = supportedFeatures(server).first ?? 0
        guard claimed & ~wanted == 0 else { throw Refusal(code: .valueNotAllowed, handle: request.handle) }
        let features = wanted & ClientSupportedFeature.all
        if features != claimed { setSupportedFeatures([features], &server, &outputs) }
    }

    /// Core 5.4, Vol 3, Part F, 3.4.6.2 (Prepare Write Response)
    mutating func prepareWrite(
        _ request: ATTPrepareWriteRequest, _ context: ServerContext, _ server: GATTServer
    ) throws(Refusal) -> [UInt8] {
        let attribute = try attribute(request.handle, on: .writeRequest, context, server)
        switch attribute.content {
        case .static, .databaseHash: throw Refusal(code: .writeNotPermitted, handle: request.handle)
        case .configuration, .clientSupportedFeatures:
            throw Refusal(code: .attributeNotLong, handle: request.handle)
        case .dynamic: break
        }
        guard !prepared.isVoid else { throw Refusal(code: .databaseOutOfSync, handle: request.handle) }
        let write = AttributeWrite(handle: request.handle, offset: Int(request.offset), value: request.value)
        guard prepared.append(write) else { throw Refusal(code: .prepareQueueFull, handle: request.handle) }
        return ATTPrepareWriteResponse(handle: request.handle, offset: request.offset, value: request.value).pdu
    }

    /// Core 5.4, Vol 3, Part F, 3.4.6.3 (Execute Write Request). A client whose parts were thrown away hears of it: a
    /// response would tell it that they were written.
    mutating func executeWrite(
        _ request: ATTExecuteWriteRequest, _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) throws(Refusal) -> ServerAnswer {
        let isVoid = prepared.isVoid
        let writes = prepared.take()
        if isVoid, request.flags == .write { throw Refusal(code: .databaseOutOfSync, handle: AttributeHandle(0)) }
        guard request.flags == .write, let first = writes.first else { return .pdu(ATTExecuteWriteResponse().pdu) }
        for write in writes {
            guard write.offset <= ATTBound.attributeValueOctets else {
                throw Refusal(code: .invalidOffset, handle: write.handle)
            }
            guard write.offset + write.value.count <= ATTBound.attributeValueOctets else {
                throw Refusal(code: .invalidAttributeValueLength, handle: write.handle)
            }
        }
        let id = server.makeRequestID()
        pending = .write(id, first.handle, .executeWriteRequest)
        outputs.append(.serverWrite(id, writes))
        return .pending
    }

    /// What the app's answer to a write comes to; nil when that request is no longer there.
    mutating func answer(
        write id: GATTRequestID, _ error: ATTErrorCode?, at refused: AttributeHandle?
    ) -> ServerAnswer? {
        guard case .write(id, let handle, let opcode) = pending else { return nil }
        pending = nil
        if let error { return .pdu(Self.error(opcode, error, refused ?? handle)) }
        return .pdu(opcode == .writeRequest ? pdus.pdu(ATTWriteResponse()) : ATTExecuteWriteResponse().pdu)
    }

    /// Commands are ignored where a request would be refused.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.5.3 (Write Command)
    func serve(
        _ command: ATTWriteCommand, _ context: ServerContext, _ server: GATTServer, _ outputs: inout [GATTOutput]
    ) {
        guard !isOutOfSync(server), command.value.count <= ATTBound.attributeValueOctets,
            let attribute = server.database[command.handle],
            attribute.access.refusal(on: .writeCommand, context.security) == nil, case .dynamic = attribute.content
        else { return }
        outputs.append(.serverWriteCommand(AttributeWrite(handle: command.handle, value: command.value)))
    }

    /// Every check but that of the signature and its counter, which are the host's. A signed write on an encrypted link is
    /// ignored: encryption authenticates there.
    ///
    /// Core 5.4, Vol 3, Part C, 10.4.2 (Authenticate Signed Data procedure)
    func serve(
        _ command: ATTSignedWriteCommand, pdu: [UInt8], _ context: ServerContext, _ server: GATTServer,
        _ outputs: inout [GATTOutput]
    ) {
        guard !context.security.encrypted, !isOutOfSync(server), let attribute = server.database[command.handle],
            attribute.access.signedWrite, attribute.properties.contains(.authenticatedSignedWrites),
            case .dynamic = attribute.content
        else { return }
        outputs.append(
            .signedWrite(
                handle: command.handle, value: command.value, pdu: pdu,
                needsAuthentication: attribute.access.signatureNeedsAuthentication))
    }
}
