import BluetoothCore
import FoundationEssentials
import GATT
import Synchronization

/// The objects that stand for a peer's attributes. What keeps its handles and type keeps its object, through any number
/// of discoveries, so that an app may hold on to it.
struct RemoteTree: Sendable {
    private var services: [AttributeHandle: CBService] = [:]
    private var characteristics: [AttributeHandle: CBCharacteristic] = [:]

    /// The characteristic with this value handle.
    func characteristic(at value: AttributeHandle) -> CBCharacteristic? { characteristics[value] }

    /// What this side is subscribed to, by value handles.
    func showSubscriptions(_ subscribed: Set<AttributeHandle>) {
        for (value, characteristic) in characteristics {
            characteristic.state.withLock { $0.isNotifying = subscribed.contains(value) }
        }
    }

    mutating func service(_ remote: RemoteService, of peripheral: CBPeripheral) -> CBService {
        if let known = services[remote.declaration], remote.isShown(by: known) { return known }
        let service = CBService(
            uuid: CBUUID(remote.uuid), isPrimary: remote.isPrimary,
            state: CBService.State(peripheral: peripheral, range: remote.range))
        services[remote.declaration] = service
        return service
    }

    /// `isNotifying` says which value handles this side is subscribed to.
    mutating func characteristic(
        _ remote: RemoteCharacteristic, of service: CBService, isNotifying: (AttributeHandle) -> Bool
    ) -> CBCharacteristic {
        if let known = characteristics[remote.value], remote.isShown(by: known) { return known }
        let characteristic = CBCharacteristic(
            uuid: CBUUID(remote.uuid),
            state: CBCharacteristic.State(
                service: service, properties: CBCharacteristicProperties(remote.properties),
                isNotifying: isNotifying(remote.value), handles: remote.handles))
        characteristics[remote.value] = characteristic
        return characteristic
    }

    /// Forgets what is not among all the services that the peer has, and says which services have gone. The peer did not tell: one
    /// without a bond may come back with any tree.
    mutating func keep(_ all: [RemoteService]) -> [CBService] {
        var gone: [CBService] = []
        for (declaration, service) in services
        where !all.contains(where: { $0.isShown(by: service) || $0.includes(service) }) {
            gone.append(service)
            services[declaration] = nil
        }
        for (value, characteristic) in characteristics {
            let service = characteristic.service
            if let service, !gone.contains(service), all.contains(where: { $0.has(characteristic) }) { continue }
            service?.state.withLock { $0.characteristics?.removeAll { $0 === characteristic } }
            characteristics[value] = nil
        }
        for service in services.values {
            guard let remote = all.first(where: { $0.isShown(by: service) }) else { continue }
            service.state.withLock {
                $0.includedServices?.removeAll { gone.contains($0) || !remote.includes($0) }
            }
        }
        return gone
    }

    /// Forgets what lies between two handles, and says which services that touches.
    mutating func invalidate(_ range: ClosedRange<AttributeHandle>) -> [CBService] {
        let gone = services.values.filter { $0.range?.overlaps(range) ?? true }
        for service in gone {
            guard let lost = service.range else { continue }
            services[lost.lowerBound] = nil
            characteristics = characteristics.filter { !lost.contains($0.key) }
        }
        return gone.sorted { ($0.range?.lowerBound ?? .first) < ($1.range?.lowerBound ?? .first) }
    }
}

// MARK: Whether an object stands for what the peer has

extension CBService {
    fileprivate func stands(for uuid: BluetoothUUID, in range: CBService.Range) -> Bool {
        self.range == range && self.uuid.bluetoothUUID == uuid
    }
}

extension RemoteService {
    fileprivate var range: CBService.Range { declaration...max(declaration, end) }

    fileprivate func isShown(by service: CBService) -> Bool { service.stands(for: uuid, in: range) }

    fileprivate func includes(_ service: CBService) -> Bool {
        includedServices.contains {
            service.stands(for: $0.uuid, in: $0.declaration...max($0.declaration, $0.end))
        }
    }

    fileprivate func has(_ characteristic: CBCharacteristic) -> Bool {
        characteristics.contains { $0.isShown(by: characteristic) }
    }
}

extension RemoteCharacteristic {
    fileprivate var handles: CBCharacteristic.Handles {
        CBCharacteristic.Handles(declaration: declaration, value: value, end: end)
    }

    fileprivate func isShown(by characteristic: CBCharacteristic) -> Bool {
        characteristic.handles == handles && characteristic.uuid.bluetoothUUID == uuid
    }
}

extension CBCharacteristic {
    /// Gives the descriptors that discovery found their objects; those that stand keep theirs.
    func adopt(_ remote: [RemoteDescriptor]) {
        let known = descriptors ?? []
        let adopted = remote.map { descriptor in
            known.first { $0.handle == descriptor.handle && $0.uuid.bluetoothUUID == descriptor.uuid }
                ?? CBDescriptor(
                    uuid: CBUUID(descriptor.uuid),
                    state: CBDescriptor.State(characteristic: self, handle: descriptor.handle))
        }
        state.withLock { $0.descriptors = adopted }
    }
}

// MARK: What is kept of a peer's tree

extension RemoteDatabase {
    /// The service with this declaration, with what is known of it.
    func service(at declaration: AttributeHandle) -> RemoteService? {
        services.first { $0.declaration == declaration }
    }

    /// The characteristic with this value handle.
    func characteristic(at value: AttributeHandle) -> RemoteCharacteristic? {
        guard let service = services.first(where: { $0.declaration < value && value <= $0.end }) else { return nil }
        return service.characteristics.first { $0.value == value }
    }

    /// The type of the characteristic with this value handle. By its place: what is asked with each value copies nothing.
    func characteristicType(at value: AttributeHandle) -> BluetoothUUID? {
        for service in services.indices
        where services[service].declaration < value && value <= services[service].end {
            for found in services[service].characteristics.indices
            where services[service].characteristics[found].value == value {
                return services[service].characteristics[found].uuid
            }
            return nil
        }
        return nil
    }

    /// Nothing is known any more between these handles.
    mutating func invalidate(_ range: ClosedRange<AttributeHandle>) {
        services.removeAll { $0.declaration <= range.upperBound && range.lowerBound <= $0.end }
        hash = nil
    }
}
