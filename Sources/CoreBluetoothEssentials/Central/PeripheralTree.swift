import BluetoothCore
import GATT
import Synchronization

// What an app sees of a peripheral's tree.

extension CBPeripheral {
    /// Shows the primary services that the app asked for. Services that the peripheral has no more go.
    func show(_ all: [RemoteService], _ filter: PeripheralCall.Filter) {
        let found = all.filter { $0.isPrimary && (filter?.contains($0.uuid) ?? isShown($0)) }
        content.withLock { content in
            let gone = content.tree.keep(all)
            content.services?.removeAll(where: gone.contains)
            let services = found.map { content.tree.service($0, of: self) }
            content.services = Self.merge(content.services, services, filter)
        }
    }

    func show(_ found: [RemoteService], includedBy service: CBService, _ filter: PeripheralCall.Filter) {
        let services = content.withLock { content in found.map { content.tree.service($0, of: self) } }
        service.state.withLock { $0.includedServices = Self.merge($0.includedServices, services, filter) }
    }

    func show(
        _ found: [RemoteCharacteristic], of service: CBService, _ filter: PeripheralCall.Filter,
        _ subscribed: Set<AttributeHandle>
    ) {
        let characteristics = content.withLock { content in
            found.map { content.tree.characteristic($0, of: service, isNotifying: subscribed.contains) }
        }
        service.state.withLock { $0.characteristics = Self.merge($0.characteristics, characteristics, filter) }
    }

    /// What the app sees after a discovery: everything when everything was asked for, else what it saw and what is new.
    private static func merge<Attribute: CBAttribute>(
        _ seen: [Attribute]?, _ found: [Attribute], _ filter: PeripheralCall.Filter
    ) -> [Attribute] {
        guard filter != nil, let seen else { return found }
        return seen + found.filter { !seen.contains($0) }
    }

    /// Nothing between these handles is shown any more; says which services that touches.
    func forget(_ range: ClosedRange<AttributeHandle>) -> [CBService] {
        content.withLock { content in
            let gone = content.tree.invalidate(range)
            content.services?.removeAll { gone.contains($0) }
            return gone
        }
    }

    /// Shows the app a peripheral as it was kept.
    func show(_ connection: ShownConnection.News, _ tree: KeptTree?) {
        content.withLock { $0.connection.show(connection) }
        if let tree { show(tree) }
    }

    /// The whole tree, discovered down to its descriptors.
    func show(_ kept: KeptTree) {
        content.withLock { content in
            _ = content.tree.keep(kept.database.services)
            let services = kept.database.services.map { remote in
                (remote, content.tree.service(remote, of: self))
            }
            for (remote, service) in services {
                let characteristics = remote.characteristics.map { found in
                    let characteristic = content.tree.characteristic(
                        found, of: service, isNotifying: kept.subscriptions.contains)
                    characteristic.adopt(found.descriptors)
                    return characteristic
                }
                let included = remote.includedServices.compactMap { include in
                    services.first { $0.0.declaration == include.declaration }?.1
                }
                service.state.withLock {
                    $0.characteristics = characteristics
                    $0.includedServices = included
                }
            }
            content.services = services.filter { $0.0.isPrimary && isShown($0.0) }.map(\.1)
        }
    }

    /// The services by which the stacks themselves agree are none of an app's business, as with Apple, unless it asks for them by name.
    private func isShown(_ service: RemoteService) -> Bool {
        core.showsGenericServices || ![.gapService, .gattService].contains(service.uuid)
    }
}

/// A peer's tree as it was kept, and what this side is subscribed to in it.
struct KeptTree: Sendable {
    var database: RemoteDatabase
    var subscriptions: Set<AttributeHandle>
}
