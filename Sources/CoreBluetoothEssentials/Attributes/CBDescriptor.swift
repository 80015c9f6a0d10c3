import BluetoothCore
import FoundationEssentials
import GATT
import Synchronization

/// A descriptor: of a peer, as discovered, or of this side, as published.
public class CBDescriptor: CBAttribute, @unchecked Sendable {
    struct State: Sendable {
        weak var characteristic: CBCharacteristic?
        var value: Value?
        /// nil for a local descriptor.
        var handle: AttributeHandle?
    }

    /// A value, as its type says it is to be read.
    enum Value: Hashable, Sendable {
        case text(String)
        case number(UInt16)
        case octets([UInt8])
    }

    let state: Mutex<State>

    init(uuid: CBUUID, state: sending State) {
        self.state = Mutex(state)
        super.init(uuid: uuid)
    }

    /// Whose descriptor this is.
    public var characteristic: CBCharacteristic? { state.withLock { $0.characteristic } }

    /// The value as last read or set: a `String` for User Description; a `UInt16` for Extended Properties, Client and Server
    /// Configuration; `Data` for every other type. Apps have it as Apple does, with number objects.
    package var content: Any? {
        switch state.withLock({ $0.value }) {
        case nil: nil
        case .text(let text): text
        case .number(let number): number
        case .octets(let octets): Data(octets)
        }
    }

    var handle: AttributeHandle? { state.withLock { $0.handle } }
}

/// A local descriptor: User Description with a `String`, or any other type with `Data`.
public final class CBMutableDescriptor: CBDescriptor, @unchecked Sendable {
    /// A descriptor of this type. Client Configuration and Extended Properties follow from the characteristic's
    /// properties, and are refused in ``CBPeripheralManager/add(_:)``.
    public init(type UUID: CBUUID, value: Any?) {
        let kept: Value? =
            switch value {
            case let text as String: .text(text)
            case let data as Data: .octets(Array(data))
            case let number as UInt16: .number(number)
            default: nil
            }
        super.init(uuid: UUID, state: State(value: kept))
    }

    init(restoring uuid: CBUUID, value: Value) { super.init(uuid: uuid, state: State(value: value)) }
}

extension CBDescriptor.Value {
    /// Core 5.4, Vol 3, Part G, 3.3.3 (Characteristic Descriptor Declarations)
    init(_ octets: [UInt8], type: BluetoothUUID) {
        switch type {
        case .characteristicUserDescription: self = .text(String(decoding: octets, as: UTF8.self))
        case .characteristicExtendedProperties, .clientCharacteristicConfiguration,
            .serverCharacteristicConfiguration:
            var reader = ByteReader(octets.span.bytes)
            self = (try? reader.readUInt16()).map { .number($0) } ?? .octets(octets)
        default: self = .octets(octets)
        }
    }

    /// As attributes carry it.
    var octets: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .number(let number): [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
        case .octets(let octets): octets
        }
    }
}
