import ATT
import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import Synchronization

// MARK: Calls of the manager

extension PeripheralCore {
    func add(_ service: CBMutableService) {
        submit { host, id in
            let error = self.publish(service, host, id)
            self.tell { $1.peripheralManager($0, didAdd: service, error: error) }
        }
    }

    private func publish(_ service: CBMutableService, _ host: Host, _ id: ManagerID) -> (any Error)? {
        // Of the app's own objects only those may come again that stand from before the adapter's last absence.
        if let range = service.range, !host.isInherited(id, service: range.lowerBound) {
            return CBError(.invalidParameters)
        }
        do {
            adopt(service, try host.publish(id, try ServiceDefinition(service)), host)
            forgetReplaced(host, id)
            return nil
        } catch let error as CBError {
            return error
        } catch HostError.publishing(.outOfHandles) {
            return CBError(.outOfSpace)
        } catch let error as HostError {
            return appleError(error)
        } catch {
            return error
        }
    }

    /// An earlier life's service that this one has taken the place of.
    private func forgetReplaced(_ host: Host, _ id: ManagerID) {
        let standing = Set(host.publishedServices(of: id).map(\.declaration))
        for (declaration, service) in services where !standing.contains(declaration) {
            if let range = service.range { forget(service, at: range) }
        }
    }

    /// A service that was restored and is added again by the app keeps its handles; the app's objects take over.
    func adopt(_ service: CBMutableService, _ published: PublishedService, _ host: Host) {
        if let before = services[published.declaration], before !== service { release(before) }
        service.take(published)
        services[published.declaration] = service
        for case let characteristic as CBMutableCharacteristic in service.characteristics ?? [] {
            guard let handle = characteristic.handles?.value else { continue }
            characteristics[handle] = characteristic
            let subscribed = host.subscribers(of: handle).map { subscriber in
                let central = self.central(subscriber)
                standing[subscriber.peer] = central
                return central
            }
            self.subscribed[handle] = subscribed
            delivery.deliver(host) { characteristic.state.withLock { $0.subscribedCentrals = subscribed } }
        }
    }

    private func central(_ subscriber: Subscriber) -> CBCentral {
        if let link = subscriber.link { return central(link) }
        let central = central(subscriber.peer)
        central.state.withLock { $0.maximumUpdateValueLength = subscriber.maximumUpdateLength }
        return central
    }

    func remove(_ service: CBMutableService) {
        submit { host, id in
            guard let range = service.range, self.services[range.lowerBound] === service else { return }
            host.unpublish(id, service: range.lowerBound)
            self.forget(service, at: range)
        }
    }

    func removeAllServices() {
        submit { host, id in
            host.unpublishAll(id)
            for service in self.services.values {
                if let range = service.range { self.forget(service, at: range) }
            }
        }
    }

    func forget(_ service: CBMutableService, at range: CBService.Range) {
        services[range.lowerBound] = nil
        characteristics = characteristics.filter { !range.contains($0.key) }
        subscribed = subscribed.filter { !range.contains($0.key) }
        let forgotten = waiting.removeAll { range.contains($0.handle) }
        if forgotten > 0 { haveGone(forgotten) }
        release(service)
    }

    func startAdvertising(_ record: AdvertisingRecord, absencesHeard: UInt64) {
        let stopsBefore = shared.withLock { $0.stopsOfAdvertising }
        submit { host, id in
            if self.startsEndWithPower, self.isOvertaken(absencesHeard) { return self.tellStartCancelled() }
            let isRunning = host.isAdvertising(id) && !self.advertisesFromBefore
            guard self.startingAdvertising == nil, !isRunning else {
                return self.tell {
                    $1.peripheralManagerDidStartAdvertising($0, error: CBError(.alreadyAdvertising))
                }
            }
            self.startingAdvertising = stopsBefore
            self.advertisesFromBefore = false
            host.startAdvertising(id, record)
        }
    }

    func stopAdvertising() {
        shared.withLock {
            $0.isAdvertising = false
            $0.stopsOfAdvertising += 1
        }
        submit { host, id in
            host.stopAdvertising(id)
            // Every start ends in one callback, this one too.
            guard self.startingAdvertising != nil else { return }
            self.startingAdvertising = nil
            self.tellStartCancelled()
        }
    }

    func tellStartCancelled() {
        tell { $1.peripheralManagerDidStartAdvertising($0, error: CBError(.operationCancelled)) }
    }

    func respond(to request: CBATTRequest, _ result: CBATTError.Code) {
        let answered = request.answer.take { handle.misuse("respond: the request was answered before") }
        guard let id = answered else { return }
        let value = request.path == nil ? Array(request.value ?? Data()) : []
        if let host = handle.executor.join() { return answer(id, result, value, host) }
        submit { host, _ in self.answer(id, result, value, host) }
    }

    private func answer(_ request: ServerRequestID, _ result: CBATTError.Code, _ value: [UInt8], _ host: Host) {
        guard self.id != nil else { return }
        if let error = ATTErrorCode(result) {
            host.refuse(request, error: error)
        } else {
            host.respond(to: request, value: value)
        }
    }

    /// On the loop the host's own queues decide; from elsewhere what is on its way there is bounded here.
    func updateValue(
        _ value: [UInt8], for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool {
        updateValue(value, for: characteristic, to: centrals?.map { .peer($0.peer) })
    }

    func updateValue(
        _ value: [UInt8], for characteristic: CBMutableCharacteristic, to recipients: [UpdateRecipient]?,
        isBulk: Bool = false
    ) -> Bool {
        guard let handle = characteristic.handles?.value else { return false }
        let update = ValueUpdate(
            handle: handle, value: value, recipients: recipients,
            keepForAbsent: characteristic.state.withLock { $0.keepsUpdatesForAbsentCentrals }, isBulk: isBulk)
        if let host = self.handle.executor.join(), waiting.isEmpty {
            if let id, send(update, host, id) { return true }
            shared.withLock { $0.updates.refuse() }
            return false
        }
        guard shared.withLock({ $0.updates.take() }) else { return false }
        submit { host, id in
            if self.waiting.isEmpty, self.send(update, host, id) { return self.haveGone(1) }
            self.waiting.append(update)
            self.sendWaiting()
        }
        return true
    }

    private func send(_ update: ValueUpdate, _ host: Host, _ id: ManagerID) -> Bool {
        host.updateValue(
            id, update.handle, update.value, to: update.recipients, keepForAbsent: update.keepForAbsent,
            isBulk: update.isBulk)
    }

    /// The host has room: what waits goes first.
    func sendWaiting() {
        guard let host, let id else { return }
        haveGone(waiting.send { self.send($0, host, id) })
    }

    /// So many updates are the host's now, or nobody's: the app hears of room once there is enough.
    private func haveGone(_ count: Int) {
        let stalled = waiting.count
        let isReady = shared.withLock {
            $0.updates.giveBack(count)
            return $0.updates.takeReadiness(stalled: stalled)
        }
        if isReady { tell { $1.peripheralManagerIsReady(toUpdateSubscribers: $0) } }
    }
}

// MARK: Channels that centrals open

extension PeripheralCore {
    func publishChannel(_ encrypted: Bool) {
        submit { host, id in
            do throws(HostError) {
                let psm = try host.publishChannel(id, encrypted: encrypted, delegate: self.router(host))
                self.tell { $1.peripheralManager($0, didPublishL2CAPChannel: psm, error: nil) }
            } catch {
                self.tell { $1.peripheralManager($0, didPublishL2CAPChannel: 0, error: appleError(error)) }
            }
        }
    }

    func unpublishChannel(_ psm: CBL2CAPPSM) {
        submit { host, id in
            let error = host.unpublishChannel(id, psm: psm) ? nil : CBError(.invalidParameters)
            self.tell { $1.peripheralManager($0, didUnpublishL2CAPChannel: psm, error: error) }
        }
    }
}

// MARK: Links

extension PeripheralCore {
    func setDesiredLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
        submit { host, _ in
            guard let link = central.state.withLock({ $0.link }) else { return }
            host.preferConnection(PreferredConnection(latency), on: link.link)
        }
    }
}

extension PreferredConnection {
    /// Within what Apple asks of accessories: 15 ms at least between the bounds of the interval, at most 2 s between two events
    /// that the peripheral listens to, and a timeout of 2 s to 6 s that is longer than three times that.
    package init(_ latency: CBPeripheralManagerConnectionLatency) {
        switch latency {
        // 15 ms to 30 ms.
        case .low: self.init(interval: 12...24, latency: 0, timeout: 200)
        // 60 ms to 100 ms.
        case .medium: self.init(interval: 48...80, latency: 0, timeout: 400)
        // 200 ms to 400 ms, of which three may be slept through.
        case .high: self.init(interval: 160...320, latency: 3, timeout: 600)
        }
    }
}
