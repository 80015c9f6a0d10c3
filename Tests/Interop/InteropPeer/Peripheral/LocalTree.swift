import CoreBluetoothEssentials

/// What this side publishes, by the names that the script gave: the UUID where it gave none.
struct LocalTree {
    private(set) var services: [String: CBMutableService] = [:]
    private var characteristics: [String: LocalCharacteristic] = [:]
    private var names: [CBCharacteristic: String] = [:]

    mutating func add(_ service: CBMutableService, named name: String, _ members: [LocalCharacteristic]) {
        services[name] = service
        for member in members {
            characteristics[member.name] = member
            names[member.characteristic] = member.name
        }
    }

    /// A restored service, under its own and its characteristics' UUIDs.
    mutating func adopt(_ service: CBMutableService) {
        let members = (service.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
        add(
            service, named: service.uuid.uuidString,
            members.map { LocalCharacteristic(name: $0.uuid.uuidString, characteristic: $0) })
    }

    mutating func remove(_ name: String) throws(Refusal) -> CBMutableService {
        let service = try self.service(name)
        services[name] = nil
        for characteristic in service.characteristics ?? [] {
            if let name = names.removeValue(forKey: characteristic) { characteristics[name] = nil }
        }
        return service
    }

    func service(_ name: String) throws(Refusal) -> CBMutableService {
        guard let service = services[name] else { throw Refusal("no service `\(name)` is published") }
        return service
    }

    func characteristic(_ name: String) throws(Refusal) -> LocalCharacteristic {
        guard let found = characteristics[name] else { throw Refusal("no characteristic `\(name)` is published") }
        return found
    }

    subscript(characteristic: CBCharacteristic) -> LocalCharacteristic? {
        get { names[characteristic].flatMap { characteristics[$0] } }
        set { if let name = names[characteristic] { characteristics[name] = newValue } }
    }

    func name(_ characteristic: CBCharacteristic) -> String {
        names[characteristic] ?? characteristic.uuid.uuidString
    }
}
