import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import Synchronization

// MARK: Procedures that the app asks for

extension CentralCore {
    /// Starts a procedure. Its completion may come before its token does: until then it is the last of `starting`.
    private func start(
        _ operation: CentralOperation, at peripheral: CBPeripheral, _ run: (Host, ManagerID) -> OperationToken
    ) {
        guard let host, let id else { return finish(operation, peripheral, .failure(.notConnected)) }
        starting.append(operation)
        let depth = starting.count
        let token = run(host, id)
        guard starting.count == depth else { return }
        starting.removeLast()
        operations[token] = operation
    }

    private func perform(
        _ operation: CentralOperation, _ peripheral: CBPeripheral, _ asked: GATTClientOperation
    ) {
        start(operation, at: peripheral) { host, id in host.perform(id, peripheral.peer, asked) }
    }

    func discoverServices(_ peripheral: CBPeripheral, _ filter: Set<BluetoothUUID>?) {
        guard let host, let link = host.connection(to: peripheral.peer) else {
            return finish(.discoverServices(filter), peripheral, .failure(.notConnected))
        }
        guard !invalidatedDatabases.contains(peripheral.peer),
            let kept = databases[peripheral.peer] ?? host.remoteDatabase(peripheral.peer), !kept.services.isEmpty
        else {
            return perform(.discoverServices(filter), peripheral, .discoverDatabase)
        }
        // Service Changed, or the Database Hash that the host reads once a bonded peer has proved itself, says when a kept
        // tree is void; a stranger's may have changed with every connection.
        if link.bond != nil || checkedDatabases.contains(peripheral.peer) {
            databases[peripheral.peer] = kept
            showServices(peripheral, filter)
        } else if kept.hash != nil {
            perform(.checkDatabaseHash(kept, filter), peripheral, .readByUUID(.databaseHash))
        } else {
            perform(.discoverServices(filter), peripheral, .discoverDatabase)
        }
    }

    /// The whole tree is discovered at once and kept: what is inside a service is known when the service is.
    func discoverIncludedServices(_ peripheral: CBPeripheral, _ service: CBService, _ filter: Set<BluetoothUUID>?) {
        guard let known = known(service, of: peripheral) else {
            return tell(peripheral) {
                $0.peripheral(
                    peripheral, didDiscoverIncludedServicesFor: service, error: CBError(.invalidHandle))
            }
        }
        let database = databases[peripheral.peer]
        let included = known.includedServices.filter { filter?.contains($0.uuid) ?? true }.map { include in
            database?.service(at: include.declaration)
                ?? RemoteService(
                    uuid: include.uuid, isPrimary: false, declaration: include.declaration, end: include.end)
        }
        tell(peripheral) {
            let services = peripheral.content.withLock { content in
                included.map { content.tree.service($0, of: peripheral) }
            }
            service.state.withLock { $0.includedServices = Self.merge($0.includedServices, services, filter) }
        } _: {
            $0.peripheral(peripheral, didDiscoverIncludedServicesFor: service, error: nil)
        }
    }

    func discoverCharacteristics(_ peripheral: CBPeripheral, _ service: CBService, _ filter: Set<BluetoothUUID>?) {
        guard let known = known(service, of: peripheral) else {
            return tell(peripheral) {
                $0.peripheral(
                    peripheral, didDiscoverCharacteristicsFor: service, error: CBError(.invalidHandle))
            }
        }
        let found = known.characteristics.filter { filter?.contains($0.uuid) ?? true }
        let subscribed = subscriptions[peripheral.peer] ?? []
        tell(peripheral) {
            let characteristics = peripheral.content.withLock { content in
                found.map { content.tree.characteristic($0, of: service, isNotifying: subscribed.contains) }
            }
            service.state.withLock { $0.characteristics = Self.merge($0.characteristics, characteristics, filter) }
        } _: {
            $0.peripheral(peripheral, didDiscoverCharacteristicsFor: service, error: nil)
        }
    }

    func discoverDescriptors(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
        guard let known = known(characteristic, of: peripheral) else {
            return tell(peripheral) {
                $0.peripheral(
                    peripheral, didDiscoverDescriptorsFor: characteristic, error: CBError(.invalidHandle))
            }
        }
        tell(peripheral) {
            characteristic.adopt(known.descriptors)
        } _: {
            $0.peripheral(peripheral, didDiscoverDescriptorsFor: characteristic, error: nil)
        }
    }

    func read(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
        guard let handle = known(characteristic, of: peripheral)?.value else {
            return finish(.read(characteristic), peripheral, nil)
        }
        perform(.read(characteristic), peripheral, .read(handle))
    }

    func read(_ peripheral: CBPeripheral, _ descriptor: CBDescriptor) {
        guard let handle = descriptor.handle, isKnown(handle, of: peripheral) else {
            return finish(.readDescriptor(descriptor), peripheral, nil)
        }
        perform(.readDescriptor(descriptor), peripheral, .read(handle))
    }

    func write(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ value: [UInt8]) {
        guard let handle = known(characteristic, of: peripheral)?.value else {
            return finish(.write(characteristic), peripheral, nil)
        }
        perform(.write(characteristic), peripheral, .write(handle, value))
    }

    func writeWithoutResponse(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ value: [UInt8]) {
        guard let handle = known(characteristic, of: peripheral)?.value else {
            return finish(.writeWithoutResponse, peripheral, nil)
        }
        perform(.writeWithoutResponse, peripheral, .writeWithoutResponse(handle, value))
    }

    func signedWrite(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ value: [UInt8]) {
        guard let handle = known(characteristic, of: peripheral)?.value else {
            return finish(.signedWrite(characteristic), peripheral, nil)
        }
        perform(.signedWrite(characteristic), peripheral, .signedWriteWithoutResponse(handle, value))
    }

    func datedWrite(
        _ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ value: [UInt8], isSigned: Bool, until: Instant
    ) {
        guard let handle = known(characteristic, of: peripheral)?.value else {
            return finish(.datedWrite(characteristic), peripheral, nil)
        }
        let asked: GATTClientOperation =
            isSigned ? .signedWriteWithoutResponse(handle, value) : .writeWithoutResponse(handle, value)
        start(.datedWrite(characteristic), at: peripheral) { host, id in
            host.perform(id, peripheral.peer, asked, until: until)
        }
    }

    func write(_ peripheral: CBPeripheral, _ descriptor: CBDescriptor, _ value: [UInt8]) {
        guard let handle = descriptor.handle, isKnown(handle, of: peripheral),
            descriptor.uuid.bluetoothUUID != .clientCharacteristicConfiguration
        else { return finish(.writeDescriptor(descriptor), peripheral, nil) }
        perform(.writeDescriptor(descriptor), peripheral, .write(handle, value))
    }

    func setNotify(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ enabled: Bool) {
        let operation = CentralOperation.setNotify(characteristic, enabled: enabled)
        guard let known = known(characteristic, of: peripheral),
            let configuration = known.descriptors.first(where: { $0.uuid == .clientCharacteristicConfiguration })
        else { return finish(operation, peripheral, nil) }
        let kind: SubscriptionRecord.Kind = known.properties.contains(.notify) ? .notify : .indicate
        start(operation, at: peripheral) { host, id in
            host.setNotify(
                id, peripheral.peer, value: known.value, ccc: configuration.handle, kind: enabled ? kind : nil)
        }
    }

    func readRSSI(_ peripheral: CBPeripheral) {
        start(.readRSSI, at: peripheral) { host, id in host.read(id, peripheral.peer, .rssi) }
    }

    // MARK: What is known of the peer

    private func known(_ service: CBService, of peripheral: CBPeripheral) -> RemoteService? {
        guard service.peripheral === peripheral, let range = service.range else { return nil }
        return databases[peripheral.peer]?.service(at: range.lowerBound).flatMap {
            $0.uuid == service.uuid.bluetoothUUID ? $0 : nil
        }
    }

    private func known(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) -> RemoteCharacteristic? {
        guard let handles = characteristic.handles else { return nil }
        return databases[peripheral.peer]?.characteristic(at: handles.value).flatMap {
            $0.uuid == characteristic.uuid.bluetoothUUID ? $0 : nil
        }
    }

    private func isKnown(_ handle: AttributeHandle, of peripheral: CBPeripheral) -> Bool {
        databases[peripheral.peer]?.services.contains { $0.declaration <= handle && handle <= $0.end } ?? false
    }

    /// What the app sees after a discovery: everything when everything was asked for, else what it saw and what is new.
    static func merge<Attribute: CBAttribute>(
        _ seen: [Attribute]?, _ found: [Attribute], _ filter: Set<BluetoothUUID>?
    ) -> [Attribute] {
        guard filter != nil, let seen else { return found }
        return seen + found.filter { !seen.contains($0) }
    }
}

// MARK: How they end

extension CentralCore {
    /// Takes what a procedure that ended was asked for.
    func takeOperation(_ token: OperationToken) -> CentralOperation? {
        operations.removeValue(forKey: token) ?? starting.popLast()
    }

    /// nil: the attribute is not, or no longer, part of the peer's tree.
    func finish(
        _ operation: CentralOperation, _ peripheral: CBPeripheral, _ result: Result<OperationValue, HostError>?
    ) {
        let error: (any Error)? =
            switch result {
            case nil: CBError(.invalidHandle)
            case .success: nil
            case .failure(let failure): appleError(failure)
            }
        let value: OperationValue? = if case .success(let value) = result { value } else { nil }
        switch operation {
        case .discoverServices(let filter): finishDiscovery(peripheral, filter, value, error)
        case .checkDatabaseHash(let kept, let filter):
            if case .gatt(.values(let hashes)) = value, hashes.first?.value == kept.hash {
                adopt(kept, peripheral, filter)
            } else {
                perform(.discoverServices(filter), peripheral, .discoverDatabase)
            }
        case .read(let characteristic):
            var octets: [UInt8]?
            if case .gatt(.value(let read)) = value { octets = read }
            tell(peripheral, .read(characteristic, octets, error))
        case .readDescriptor(let descriptor): finishRead(peripheral, descriptor, value, error)
        case .write(let characteristic):
            tell(peripheral, .wrote(characteristic, error))
        case .writeDescriptor(let descriptor):
            tell(peripheral) { $0.peripheral(peripheral, didWriteValueFor: descriptor, error: error) }
        case .writeWithoutResponse:
            guard peripheral.content.withLock({ $0.commands.giveBack() }) else { return }
            tell(peripheral) { $0.peripheralIsReady(toSendWriteWithoutResponse: peripheral) }
        case .signedWrite(let characteristic):
            var counter: UInt32?
            if case .signed(let used) = value { counter = used }
            tellLink(peripheral) { [counter] in
                $0.peripheral(peripheral, didSignValueFor: characteristic, counter: counter, error: error)
            }
        // It is on its way, and may still come too late.
        case .datedWrite where error == nil: break
        case .datedWrite: tellLink(peripheral) { $0.peripheral(peripheral, didNotWriteBecause: .refused) }
        case .setNotify(let characteristic, let enabled):
            finishNotify(peripheral, characteristic, enabled, error)
        case .subscribeToServiceChanged: break
        case .readRSSI:
            var rssi = 127
            if case .rssi(let read) = value { rssi = Int(read) }
            tell(peripheral) { [rssi] in $0.peripheral(peripheral, didReadRSSI: rssi, error: error) }
        }
    }

    private func finishDiscovery(
        _ peripheral: CBPeripheral, _ filter: Set<BluetoothUUID>?, _ value: OperationValue?, _ error: (any Error)?
    ) {
        guard case .gatt(.database(let database)) = value else {
            let error = error ?? CBError(.unknown)
            return tell(peripheral) { $0.peripheral(peripheral, didDiscoverServices: error) }
        }
        adopt(database, peripheral, filter)
    }

    /// The peer has this tree now. It is asked to tell of changes: a server without a bond forgot with the last link that
    /// it was.
    private func adopt(_ database: RemoteDatabase, _ peripheral: CBPeripheral, _ filter: Set<BluetoothUUID>?) {
        databases[peripheral.peer] = database
        checkedDatabases.insert(peripheral.peer)
        invalidatedDatabases.remove(peripheral.peer)
        host?.keepRemoteDatabase(peripheral.peer, database)
        showServices(peripheral, filter)
        subscribeToServiceChanged(peripheral, database)
    }

    /// Core 5.4, Vol 3, Part G, 7.1 (Service Changed)
    private func subscribeToServiceChanged(_ peripheral: CBPeripheral, _ database: RemoteDatabase) {
        guard let found = database.gattServiceCharacteristic(.serviceChanged),
            let configuration = found.descriptors.first(where: { $0.uuid == .clientCharacteristicConfiguration })
        else { return }
        start(.subscribeToServiceChanged, at: peripheral) { host, id in
            host.setNotify(id, peripheral.peer, value: found.value, ccc: configuration.handle, kind: .indicate)
        }
    }

    /// Shows the app the services that it asked for.
    private func showServices(_ peripheral: CBPeripheral, _ filter: Set<BluetoothUUID>?) {
        let found = (databases[peripheral.peer]?.services ?? [])
            .filter { $0.isPrimary && filter?.contains($0.uuid) ?? true }
        tell(peripheral) {
            peripheral.content.withLock { content in
                let services = found.map { content.tree.service($0, of: peripheral) }
                content.services = Self.merge(content.services, services, filter)
            }
        } _: {
            $0.peripheral(peripheral, didDiscoverServices: nil)
        }
    }

    private func finishRead(
        _ peripheral: CBPeripheral, _ descriptor: CBDescriptor, _ value: OperationValue?, _ error: (any Error)?
    ) {
        tell(peripheral) {
            if case .gatt(.value(let octets)) = value {
                let read = CBDescriptor.Value(octets, type: descriptor.uuid.bluetoothUUID)
                descriptor.state.withLock { $0.value = read }
            }
        } _: {
            $0.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
        }
    }

    private func finishNotify(
        _ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ enabled: Bool, _ error: (any Error)?
    ) {
        if error == nil, let handle = characteristic.handles?.value {
            if enabled {
                subscriptions[peripheral.peer, default: []].insert(handle)
            } else {
                subscriptions[peripheral.peer]?.remove(handle)
            }
        }
        tell(peripheral) {
            if error == nil { characteristic.state.withLock { $0.isNotifying = enabled } }
        } _: {
            $0.peripheral(peripheral, didUpdateNotificationStateFor: characteristic, error: error)
        }
    }
}
