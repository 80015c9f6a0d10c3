import ATT
import BluetoothCore

/// What a procedure does next.
enum ClientStep {
    case request(ATTRequest)
    case finished(Result<GATTClientResult, GATTClientError>)

    static func failed(_ fault: GATTAnswerFault) -> Self { .finished(.failure(.malformedAnswer(fault))) }
}

/// One procedure of the client as a machine: a request, its response, the next request, and so on to a result. It is
/// handed only responses to its own requests; the bearer sees to that.
protocol ClientProcedure: Sendable {
    mutating func start(mtu: Int) -> ClientStep
    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep
}

/// What bounds a procedure against a peer that never ends.
enum ClientBound {
    /// Services, characteristics or descriptors that one procedure collects.
    static let discoveredCapacityCount = 4096
    /// Procedures that wait for the running one.
    static let operationQueueCapacityCount = 256
}

extension GATTClientOperation {
    /// The machine for it; nil for what cannot be run as it was asked, and for those that have no response.
    func procedure(mtu: Int) -> (any ClientProcedure)? {
        switch self {
        case .exchangeMTU: nil
        case .writeWithoutResponse, .signedWriteWithoutResponse: nil
        case .discoverDatabase: DatabaseDiscovery()
        case .discoverPrimaryServices: ServiceDiscovery(isPrimary: true)
        case .discoverPrimaryServicesByUUID(let uuid): ServiceDiscoveryByUUID(uuid: uuid)
        case .findIncludedServices(let range): range.closed.map { IncludedServiceDiscovery(range: $0) }
        case .discoverCharacteristics(let range, let uuid):
            range.closed.map { CharacteristicDiscovery(range: $0, uuid: uuid) }
        case .discoverDescriptors(let range): range.closed.map { DescriptorDiscovery(range: $0) }
        case .read(let handle, let offset): ValueRead(handle: handle, offset: offset)
        case .readByUUID(let uuid, let range): range.closed.map { ReadByUUID(uuid: uuid, range: $0) }
        case .readMultiple(let handles): MultipleRead(handles: handles, isVariable: false)
        case .readMultipleVariable(let handles): MultipleRead(handles: handles, isVariable: true)
        case .write(let handle, let value):
            value.count <= mtu - 3
                ? ValueWrite(handle: handle, value: value) as any ClientProcedure
                : QueuedWrite([AttributeWrite(handle: handle, value: value)])
        case .writeLong(let handle, let offset, let value):
            QueuedWrite([AttributeWrite(handle: handle, offset: offset, value: value)])
        case .reliableWrites(let writes): QueuedWrite(writes)
        case .configure(let handle, let value):
            ValueWrite(
                handle: handle, value: [UInt8(truncatingIfNeeded: value.rawValue), UInt8(value.rawValue >> 8)])
        }
    }
}

/// Where a discovery stands in its range. Every answer must move it on: that is what ends it.
struct DiscoveryCursor: Sendable {
    private(set) var rest: ClosedRange<AttributeHandle>?

    init(_ range: ClosedRange<AttributeHandle>) { rest = range }

    /// Takes the handles of one entry; false when it lies outside what was asked or before its predecessor.
    mutating func take(_ first: AttributeHandle, through last: AttributeHandle) -> Bool {
        guard let rest, first <= last, rest.contains(first), last <= rest.upperBound else { return false }
        self.rest = last == rest.upperBound ? nil : last.next...rest.upperBound
        return true
    }
}
