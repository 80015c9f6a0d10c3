import ATT
import BluetoothCore
import GATT

// MARK: Services whose app nobody claims

extension Server {
    /// Takes an owner's services out of the tree, and keeps their handles for their return. Clients are told, as of every service that
    /// goes; the owner's records stand.
    mutating func rest(_ owner: Owner, into outputs: inout [Output]) {
        for service in published.services(of: owner).reversed() {
            withdraw(service.declaration, of: owner, isKept: true, into: &outputs)
        }
    }

    /// What is at rest when a life begins is not in its tree.
    mutating func reserve(_ record: PublishedServiceRecord) {
        guard let definition = try? ServiceDefinition(exactly: record.encoded) else { return }
        gatt.reserve(definition, at: record.handle)
    }

    /// Publishes an owner's services again where they were; elsewhere where others have taken the handles.
    mutating func wake(_ records: [PublishedServiceRecord], of owner: Owner, into outputs: inout [Output]) {
        // Where what a service includes has gone.
        var moved: [AttributeHandle: AttributeHandle] = [:]
        for record in records.sorted(by: { $0.handle < $1.handle }) {
            guard var definition = try? ServiceDefinition(exactly: record.encoded) else { continue }
            if moved.isEmpty, let service = try? gatt.publish(definition, at: record.handle) {
                published.insert(service, of: owner)
                outputs.append(.databaseChanged(service.declaration...service.end))
                continue
            }
            definition.includedServices = definition.includedServices.map { moved[$0] ?? $0 }
            outputs.append(.serviceRemoved(owner, record.handle))
            guard let service = try? publishAnew(definition, of: owner, into: &outputs) else { continue }
            moved[record.handle] = service.declaration
        }
    }
}
