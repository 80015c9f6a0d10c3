import CoreBluetoothEssentials
import Foundation
import Synchronization

/// Brings what a central manager and its peripherals say, on the session's queue, to the calls and sequences that wait
/// for it.
final class CentralRouter: CBCentralManagerCallbacks, CBPeripheralReceiving, Sendable {
    private struct Scan: Sendable {
        let number: UInt64
        let services: [CBUUID]?
        let allowsDuplicates: Bool
        let continuation: AsyncStream<CentralSession.Discovery>.Continuation
    }

    private struct State: Sendable {
        var adapter = Adapter()
        var wishes = Wishes()
        /// The scan that is wanted.
        var scan: Scan?
        var lastScan: UInt64 = 0
        /// The one that the manager was last asked for.
        var running: UInt64?
    }

    let events = Inbox<CentralSession.Event>(maximum: CentralSession.eventsMaximum, .replacesSecond)
    private let state = Mutex(State())

    func waitUntilPoweredOn(_ promise: Promise<Void>) {
        state.turn { state, effects in state.adapter.wait(promise, &effects) }
    }

    // MARK: Connections

    func claim(
        _ peripheral: CBPeripheral, _ promise: Promise<ConnectedLink>, _ manager: CBCentralManager
    ) -> UInt64? {
        state.turn { state, effects in
            if let absence = state.adapter.absence {
                effects.end(promise, .failure(absence))
                return nil
            }
            guard manager.owns(peripheral) else {
                effects.end(promise, .failure(CBError(.invalidParameters)))
                return nil
            }
            peripheral.callbacks = self
            return state.wishes.claim(peripheral, promise, manager, &effects)
        }
    }

    func giveUp(_ claim: UInt64, _ peripheral: CBPeripheral, _ manager: CBCentralManager) {
        state.turn { state, effects in state.wishes.giveUp(claim, peripheral, manager, &effects) }
    }

    func disconnect(_ peripheral: CBPeripheral, _ link: ConnectedLink? = nil, _ manager: CBCentralManager) {
        state.turn { state, effects in state.wishes.end(peripheral, link, manager, &effects) }
    }

    private func link(to peripheral: CBPeripheral) -> ConnectedLink? {
        state.withLock { $0.wishes.link(to: peripheral) }
    }

    // MARK: The scan

    /// The sequence keeps the session for as long as somebody holds it.
    func discoveries(
        _ services: [CBUUID]?, _ allowsDuplicates: Bool, _ session: CentralSession
    ) -> AsyncStream<CentralSession.Discovery> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CentralSession.Discovery.self, bufferingPolicy: .bufferingNewest(CentralSession.discoveriesMaximum))
        let number = state.turn { state, effects in
            if let former = state.scan { effects.then { former.continuation.finish() } }
            state.lastScan += 1
            state.scan = Scan(
                number: state.lastScan, services: services, allowsDuplicates: allowsDuplicates,
                continuation: continuation)
            Self.settleScan(&state, session.manager)
            return state.lastScan
        }
        continuation.onTermination = { [self] _ in stopScan(number, session.manager) }
        return stream
    }

    private func stopScan(_ number: UInt64, _ manager: CBCentralManager) {
        state.withLock { state in
            guard state.scan?.number == number else { return }
            state.scan = nil
            Self.settleScan(&state, manager)
        }
    }

    /// Whichever runs, one that was restored too.
    func stopScan(_ manager: CBCentralManager) {
        state.turn { state, effects in
            if let scan = state.scan { effects.then { scan.continuation.finish() } }
            state.scan = nil
            state.running = state.running ?? 0
            Self.settleScan(&state, manager)
        }
    }

    /// Asks the manager for what is wanted once it takes calls, and again when it did not take this one.
    private static func settleScan(_ state: inout State, _ manager: CBCentralManager) {
        guard state.adapter.absence == nil, state.scan?.number != state.running else { return }
        if let scan = state.scan {
            manager.scanForPeripherals(
                withServices: scan.services,
                options: [CBCentralManagerScanOptionAllowDuplicatesKey: scan.allowsDuplicates])
        } else {
            manager.stopScan()
        }
        if manager.state == .poweredOn { state.running = state.scan?.number }
    }

    // MARK: What the manager says

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let restoration = CentralSession.Restoration(dict)
        state.withLock { state in
            for peripheral in restoration.peripherals {
                peripheral.callbacks = self
                state.wishes.restore(peripheral)
            }
        }
        events.put(.restored(restoration))
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        let new = central.state
        state.turn { state, effects in
            let wasOn = state.adapter.absence == nil
            state.adapter.tell(new, &effects)
            if let absence = state.adapter.absence {
                if wasOn { state.wishes.suspend(absence, &effects) }
            } else {
                state.wishes.resume(central, &effects)
                Self.settleScan(&state, central)
            }
        }
        events.put(.state(new))
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        let discovery = CentralSession.Discovery(
            peripheral: peripheral, advertisementData: advertisementData, rssi: RSSI)
        // Scans are asked for under the lock.
        state.withLock { central.isTellingOfLatestScan ? $0.scan : nil }?.continuation.yield(discovery)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.callbacks = self
        state.turn { state, effects in state.wishes.connected(peripheral, &effects) }
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        state.turn { state, effects in
            state.wishes.ended(peripheral, error ?? CBError(.connectionFailed), isOver: true, central, &effects)
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        state.turn { state, effects in
            let isOver = error == nil || state.adapter.absence == nil
            state.wishes.ended(peripheral, error, isOver: isOver, central, &effects)
        }
    }

    // MARK: What a peripheral says

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        answered(.services, on: peripheral, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) { answered(.includedServices(service), on: peripheral, error) }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) { answered(.characteristics(service), on: peripheral, error) }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) { answered(.descriptors(characteristic), on: peripheral, error) }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        // It changes on this queue alone: this is what the read brought.
        answered(.read(characteristic), on: peripheral, error, .value(characteristic.value ?? Data()))
    }

    func peripheral(_ peripheral: CBPeripheral, didReceive value: Data, for characteristic: CBCharacteristic) {
        link(to: peripheral)?.received(value, characteristic)
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        answered(.readDescriptor(descriptor), on: peripheral, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { answered(.write(characteristic), on: peripheral, error) }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
        answered(.writeDescriptor(descriptor), on: peripheral, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { link(to: peripheral)?.notifies(characteristic, error) }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        link(to: peripheral)?.modified(invalidatedServices)
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { link(to: peripheral)?.hasRoom() }

    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: Int, error: (any Error)?) {
        answered(.strength, on: peripheral, error, .strength(RSSI))
    }

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        let isMissing = channel == nil && error == nil
        answered(
            .channel, on: peripheral, isMissing ? CBError(.unknown) : error, channel.map { .channel($0) } ?? .done)
    }

    private func answered(
        _ key: ConnectedLink.Key, on peripheral: CBPeripheral, _ error: (any Error)?, _ answer: Answer = .done
    ) { link(to: peripheral)?.answered(key, error.map { .failure($0) } ?? .success(answer)) }
}
