import ATT
import BluetoothCore

/// Core 5.4, Vol 3, Part G, 4.6.1 (Discover All Characteristics of a Service), 4.6.2 (… by UUID)
struct CharacteristicDiscovery: ClientProcedure {
    private let uuid: BluetoothUUID?
    private let range: ClosedRange<AttributeHandle>
    private var cursor: DiscoveryCursor
    private var characteristics: [RemoteCharacteristic] = []

    init(range: ClosedRange<AttributeHandle>, uuid: BluetoothUUID?) {
        self.range = range
        self.uuid = uuid
        cursor = DiscoveryCursor(range)
    }

    mutating func start(mtu: Int) -> ClientStep { next() }

    private var result: GATTClientResult {
        guard let uuid else { return .characteristics(characteristics) }
        return .characteristics(characteristics.filter { $0.uuid == uuid })
    }

    private func next() -> ClientStep {
        guard let rest = cursor.rest else { return .finished(.success(result)) }
        return .request(.readByType(.init(range: .init(rest), type: .characteristic)))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .readByType(let answer):
            for entry in answer.entries {
                guard let characteristic = decode(entry) else { return .failed(.wrongLength) }
                guard cursor.take(entry.handle, through: characteristic.value), characteristic.value > entry.handle
                else { return .failed(.handleOutOfOrder) }
                // A characteristic ends where the next one begins.
                if let last = characteristics.indices.last { characteristics[last].end = entry.handle.previous }
                characteristics.append(characteristic)
            }
            return characteristics.count > ClientBound.discoveredCapacityCount ? .failed(.tooMuch) : next()
        case .error(let error): return .end(error, with: result)
        default: return .failed(.undecodable)
        }
    }

    private func decode(_ entry: ATTReadByTypeResponse.Entry) -> RemoteCharacteristic? {
        var reader = ByteReader(entry.value.span.bytes)
        guard let properties = try? reader.readUInt8(), let value = try? reader.readUInt16(),
            let uuid = try? BluetoothUUID(decoding: &reader, length: reader.remaining)
        else { return nil }
        return RemoteCharacteristic(
            uuid: uuid, properties: CharacteristicProperties(rawValue: properties), declaration: entry.handle,
            value: AttributeHandle(value), end: range.upperBound)
    }
}

/// Core 5.4, Vol 3, Part G, 4.7.1 (Discover All Characteristic Descriptors)
struct DescriptorDiscovery: ClientProcedure {
    private var cursor: DiscoveryCursor
    private var descriptors: [RemoteDescriptor] = []

    init(range: ClosedRange<AttributeHandle>) { cursor = DiscoveryCursor(range) }

    mutating func start(mtu: Int) -> ClientStep { next() }

    private func next() -> ClientStep {
        guard let rest = cursor.rest else { return .finished(.success(.descriptors(descriptors))) }
        return .request(.findInformation(.init(range: .init(rest))))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .findInformation(let answer):
            for entry in answer.information {
                guard cursor.take(entry.handle, through: entry.handle) else { return .failed(.handleOutOfOrder) }
                descriptors.append(RemoteDescriptor(uuid: entry.uuid, handle: entry.handle))
            }
            return descriptors.count > ClientBound.discoveredCapacityCount ? .failed(.tooMuch) : next()
        case .error(let error): return .end(error, with: .descriptors(descriptors))
        default: return .failed(.undecodable)
        }
    }
}
