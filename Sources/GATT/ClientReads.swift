import ATT
import BluetoothCore

/// Core 5.4, Vol 3, Part G, 4.8.1 (Read Characteristic Value), 4.8.3 (Read Long Characteristic Values), 4.12.1 and 4.12.2
/// (the same of descriptors): an answer shorter than the MTU allows is the last.
struct ValueRead: ClientProcedure {
    private let handle: AttributeHandle
    private let offset: Int
    private var value: [UInt8] = []

    init(handle: AttributeHandle, offset: Int) {
        self.handle = handle
        self.offset = offset
    }

    mutating func start(mtu: Int) -> ClientStep {
        if offset == 0 { return .request(.read(.init(handle: handle))) }
        guard 0...ATTBound.attributeValueOctets ~= offset else { return .finished(.failure(.invalidOperation)) }
        return next()
    }

    private func next() -> ClientStep {
        .request(.readBlob(.init(handle: handle, offset: UInt16(truncatingIfNeeded: offset + value.count))))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .read(let answer): return append(answer.value, mtu)
        case .readBlob(let answer): return append(answer.value, mtu)
        case .error(let error):
            // A value that just filled the answer before: some servers say so.
            let isEnd = error.code == .attributeNotLong || error.code == .invalidOffset
            return isEnd && !value.isEmpty ? .finished(.success(.value(value))) : .refused(error)
        default: return .failed(.undecodable)
        }
    }

    private mutating func append(_ octets: [UInt8], _ mtu: Int) -> ClientStep {
        // Most values are whole in one answer, and are not copied out of it.
        if value.isEmpty { value = octets } else { value.append(contentsOf: octets) }
        guard offset + value.count <= ATTBound.attributeValueOctets else { return .failed(.tooMuch) }
        let isLast = octets.count < mtu - 1 || offset + value.count == ATTBound.attributeValueOctets
        return isLast ? .finished(.success(.value(value))) : next()
    }
}

/// Core 5.4, Vol 3, Part G, 4.8.2 (Read Using Characteristic UUID)
struct ReadByUUID: ClientProcedure {
    let uuid: BluetoothUUID
    let range: ClosedRange<AttributeHandle>

    mutating func start(mtu: Int) -> ClientStep { .request(.readByType(.init(range: .init(range), type: uuid))) }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .readByType(let answer):
            var cursor = DiscoveryCursor(range)
            for entry in answer.entries where !cursor.take(entry.handle, through: entry.handle) {
                return .failed(.handleOutOfOrder)
            }
            return .finished(.success(.values(answer.entries.map { RemoteValue(handle: $0.handle, value: $0.value) })))
        case .error(let error): return .refused(error)
        default: return .failed(.undecodable)
        }
    }
}

/// Core 5.4, Vol 3, Part G, 4.8.4 (Read Multiple Characteristic Values), 4.8.5 (… Variable Length)
struct MultipleRead: ClientProcedure {
    let handles: [AttributeHandle]
    let isVariable: Bool

    mutating func start(mtu: Int) -> ClientStep {
        guard handles.count >= 2, 1 + 2 * handles.count <= mtu else { return .finished(.failure(.invalidOperation)) }
        return .request(
            isVariable ? .readMultipleVariable(.init(handles: handles)) : .readMultiple(.init(handles: handles)))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .readMultiple(let answer): return .finished(.success(.value(answer.values)))
        case .readMultipleVariable(let answer):
            // Fewer than asked is an answer that the MTU cut; more belongs to nothing.
            guard answer.entries.count <= handles.count else { return .failed(.wrongLength) }
            let values = zip(handles, answer.entries).map { RemoteValue(handle: $0, value: $1.value) }
            return .finished(.success(.values(values)))
        case .error(let error): return .refused(error)
        default: return .failed(.undecodable)
        }
    }
}
