import ATT
import BluetoothCore

/// Core 5.4, Vol 3, Part G, 4.9.3 (Write Characteristic Value), 4.12.3 (Write Characteristic Descriptors)
struct ValueWrite: ClientProcedure {
    let handle: AttributeHandle
    let value: [UInt8]

    mutating func start(mtu: Int) -> ClientStep { .request(.write(.init(handle: handle, value: value))) }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .write: .finished(.success(.done))
        case .error(let error): .refused(error)
        default: .failed(.undecodable)
        }
    }
}

/// Core 5.4, Vol 3, Part G, 4.9.4 (Write Long Characteristic Values), 4.9.5 (Reliable Writes)
///
/// Every part comes back and is compared; the first that differs, or is refused, takes the others with it.
struct QueuedWrite: ClientProcedure {
    private enum Stage: Sendable {
        case preparing(ATTPrepareWriteRequest)
        case executing
        case cancelling(GATTClientError)
    }

    private var rest: ArraySlice<AttributeWrite>
    /// Octets of the first of `rest` that are prepared.
    private var prepared = 0
    private var stage = Stage.executing

    init(_ writes: [AttributeWrite]) { rest = writes[...] }

    mutating func start(mtu: Int) -> ClientStep {
        let fits = rest.allSatisfy {
            $0.offset >= 0 && $0.value.count <= ATTBound.attributeValueOctets
                && $0.offset <= ATTBound.attributeValueOctets - $0.value.count
        }
        guard fits, !rest.isEmpty else { return .finished(.failure(.invalidOperation)) }
        return next(mtu)
    }

    private mutating func next(_ mtu: Int) -> ClientStep {
        guard let write = rest.first else {
            stage = .executing
            return .request(.executeWrite(.init(flags: .write)))
        }
        let part = write.value.dropFirst(prepared).prefix(mtu - 5)
        let request = ATTPrepareWriteRequest(
            handle: write.handle, offset: UInt16(truncatingIfNeeded: write.offset + prepared), value: Array(part))
        prepared += part.count
        if prepared == write.value.count {
            rest.removeFirst()
            prepared = 0
        }
        stage = .preparing(request)
        return .request(.prepareWrite(request))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch (stage, response) {
        case (.preparing(let request), .prepareWrite(let echo)):
            let isSame = echo.handle == request.handle && echo.offset == request.offset && echo.value == request.value
            return isSame ? next(mtu) : cancel(.malformedAnswer(.echoDiffers))
        case (.preparing, .error(let error)): return cancel(.refused(error.code, handle: error.handle))
        case (.executing, .executeWrite): return .finished(.success(.done))
        case (.executing, .error(let error)): return .refused(error)
        case (.cancelling(let error), _): return .finished(.failure(error))
        case (.preparing, _), (.executing, _): return .failed(.undecodable)
        }
    }

    private mutating func cancel(_ error: GATTClientError) -> ClientStep {
        stage = .cancelling(error)
        return .request(.executeWrite(.init(flags: .cancel)))
    }
}
