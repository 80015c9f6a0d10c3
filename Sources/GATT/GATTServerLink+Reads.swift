import ATT
import BluetoothCore

extension GATTServerLink {
    /// Core 5.4, Vol 3, Part F, 3.4.4.4 (Read Response), 3.4.4.6 (Read Blob Response)
    mutating func read(
        _ handle: AttributeHandle, offset: Int?, _ context: ServerContext, _ server: inout GATTServer,
        _ outputs: inout [GATTOutput]
    ) throws(Refusal) -> ServerAnswer {
        let attribute = try attribute(handle, on: .read, context, server)
        let opcode: ATTOpcode = offset == nil ? .readRequest : .readBlobRequest
        guard let value = knownValue(attribute, server) else {
            return ask(handle, offset: offset ?? 0, .one(opcode), &server, &outputs)
        }
        guard (offset ?? 0) <= value.count else { throw Refusal(code: .invalidOffset, handle: handle) }
        return .pdu(readResponse(opcode, value.dropFirst(offset ?? 0), context.mtu))
    }

    /// Core 5.4, Vol 3, Part F, 3.4.4.2 (Read By Type Response). The list ends where the app would have to be asked; the
    /// client asks on from there, and a value of the app then comes alone.
    mutating func readByType(
        _ request: ATTReadByTypeRequest, _ context: ServerContext, _ server: inout GATTServer,
        _ outputs: inout [GATTOutput]
    ) throws(Refusal) -> ServerAnswer {
        let range = try closed(request.range)
        if isOutOfSync(server), !Self.isDiscovery(request, of: range) {
            inform()
            throw Refusal(code: .databaseOutOfSync, handle: request.range.start)
        }
        if request.type == .databaseHash { inform() }
        var writer = ByteWriter(capacity: context.mtu)
        var length: Int?
        let longest = min(context.mtu - 4, Self.listedValueOctets)
        for attribute in server.database.slice(range) where attribute.type == request.type {
            if let code = attribute.access.refusal(on: .read, context.security) {
                guard length == nil else { break }
                throw Refusal(code: code, handle: attribute.handle)
            }
            guard let value = knownValue(attribute, server)?.prefix(longest) else {
                guard length == nil else { break }
                return ask(attribute.handle, offset: 0, .one(.readByTypeRequest), &server, &outputs)
            }
            if length == nil {
                length = value.count
                writer.write(ATTReadByTypeResponse.opcode.rawValue)
                writer.write(UInt8(truncatingIfNeeded: 2 + value.count))
            }
            guard value.count == length, writer.bytes.count + 2 + value.count <= context.mtu else { break }
            writer.write(attribute.handle.rawValue)
            writer.write(value)
        }
        guard length != nil else { throw Refusal(code: .attributeNotFound, handle: request.range.start) }
        return .pdu(writer.bytes)
    }

    /// What a client that does not know the tree may still ask for: declarations, and whatever it looks for everywhere.
    ///
    /// Core 5.4, Vol 3, Part G, 2.5.2.1 (Robust Caching)
    private static func isDiscovery(_ request: ATTReadByTypeRequest, of range: ClosedRange<AttributeHandle>) -> Bool {
        request.type == .include || request.type == .characteristic || range == .first ... .last
    }

    /// One value after the other, the app asked for each that only it knows.
    mutating func readMultiple(
        _ handles: [AttributeHandle], from index: Int, _ collected: MultipleAnswer, _ context: ServerContext,
        _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) throws(Refusal) -> ServerAnswer {
        var answer = collected
        for (place, handle) in handles.enumerated().dropFirst(index) {
            let attribute = try attribute(handle, on: .read, context, server)
            guard let value = knownValue(attribute, server) else {
                let reading = Reading.multiple(handles: handles, index: place, answer: answer)
                return ask(handle, offset: 0, reading, &server, &outputs)
            }
            answer.append(value)
        }
        return .pdu(answer.pdu)
    }

    /// What the app's answer to a read comes to; nil when that request is no longer there.
    mutating func answer(
        read id: GATTRequestID, _ result: Result<[UInt8], ATTErrorCode>, _ context: ServerContext,
        _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) -> ServerAnswer? {
        guard case .read(id, let handle, let reading) = pending else { return nil }
        pending = nil
        switch (reading, result) {
        case (.one(let opcode), .failure(let code)): return .pdu(Self.error(opcode, code, handle))
        case (.multiple(_, _, let answer), .failure(let code)):
            return .pdu(Self.error(answer.request, code, handle))
        case (.one(.readByTypeRequest), .success(let value)):
            let value = value.prefix(min(context.mtu - 4, Self.listedValueOctets))
            return .pdu(ATTReadByTypeResponse(entries: [.init(handle: handle, value: Array(value))]).pdu)
        case (.one(let opcode), .success(let value)):
            return .pdu(readResponse(opcode, value.prefix(ATTBound.attributeValueOctets), context.mtu))
        case (.multiple(let handles, let index, let collected), .success(let value)):
            var answer = collected
            answer.append(Array(value.prefix(ATTBound.attributeValueOctets)))
            do throws(Refusal) {
                return try readMultiple(handles, from: index + 1, answer, context, &server, &outputs)
            } catch {
                return .pdu(Self.error(answer.request, error.code, error.handle))
            }
        }
    }

    /// Core 5.4, Vol 3, Part F, 3.4.4.2 (Read By Type Response): the length is one octet and counts the handle.
    static let listedValueOctets = 253

    private mutating func ask(
        _ handle: AttributeHandle, offset: Int, _ reading: Reading, _ server: inout GATTServer,
        _ outputs: inout [GATTOutput]
    ) -> ServerAnswer {
        let id = server.makeRequestID()
        pending = .read(id, handle, reading)
        outputs.append(.serverRead(id, handle: handle, offset: offset))
        return .pending
    }

    private mutating func readResponse(_ request: ATTOpcode, _ value: ArraySlice<UInt8>, _ mtu: Int) -> [UInt8] {
        let opcode = request == .readRequest ? ATTReadResponse.opcode : ATTReadBlobResponse.opcode
        return pdus.make {
            $0.write(opcode.rawValue)
            $0.write(value.prefix(mtu - 1))
        }
    }
}
