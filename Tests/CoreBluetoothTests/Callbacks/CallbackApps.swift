import CoreBluetooth
import Synchronization

/// A central's app that hears everything and writes it down.
final class RecordingCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, Sendable {
    private struct State {
        var met: CBPeripheral?
        var channels: [CBL2CAPChannel] = []
        var goesOnScanning = false
    }

    let record = CallbackRecord()
    private let state = Mutex(State())

    /// The peripheral that was found or restored last.
    var met: CBPeripheral? {
        get { state.withLock { $0.met } }
        set { state.withLock { $0.met = newValue } }
    }
    /// Otherwise the scan ends with what it finds first, before anything else is told of.
    var goesOnScanning: Bool {
        get { state.withLock { $0.goesOnScanning } }
        set { state.withLock { $0.goesOnScanning = newValue } }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { record.note(#function, "\(central.state)") }
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        met = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
        met?.delegate = self
        record.note(#function)
    }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        met = peripheral
        peripheral.delegate = self
        if !goesOnScanning { central.stopScan() }
        record.note(#function)
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { record.note(#function) }
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        record.note(#function, name(of: error))
    }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?
    ) { record.note(#function, isReconnecting ? "isReconnecting" : nil, name(of: error)) }
    func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
    ) { record.note(#function, "\(event)") }

    func peripheralDidUpdateName(_ peripheral: CBPeripheral) { record.note(#function) }
    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        record.note(#function)
    }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        record.note(#function, name(of: error))
    }
    func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) {
        record.note(#function, name(of: error))
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        record.note(#function, name(of: error))
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        record.note(#function, "CBDescriptor", name(of: error))
    }
    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
        record.note(#function, "CBDescriptor", name(of: error))
    }
    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { record.note(#function) }
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        // One that nobody holds is closed.
        if let channel { state.withLock { $0.channels.append(channel) } }
        record.note(#function, name(of: error))
    }
}

/// A peripheral's app that hears everything and writes it down.
final class RecordingPeripheral: NSObject, CBPeripheralManagerDelegate, Sendable {
    private struct State {
        /// What requests are answered with; nil: they are not.
        var answer: CBATTError.Code? = .success
        var psm: CBL2CAPPSM = 0
        var channels: [CBL2CAPChannel] = []
    }

    let record = CallbackRecord()
    private let state = Mutex(State())

    var answer: CBATTError.Code? {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }
    /// Of the channel that was published last.
    var psm: CBL2CAPPSM { state.withLock { $0.psm } }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        record.note(#function, "\(peripheral.state)")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        record.note(#function)
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        record.note(#function, name(of: error))
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        record.note(#function, name(of: error))
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) { record.note(#function) }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) { record.note(#function) }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = Data([7])
        if let answer { peripheral.respond(to: request, withResult: answer) }
        record.note(#function)
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        if let answer, let first = requests.first { peripheral.respond(to: first, withResult: answer) }
        record.note(#function, "\(requests.count)")
    }
    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { record.note(#function) }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        state.withLock { $0.psm = PSM }
        record.note(#function, name(of: error))
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { record.note(#function, name(of: error)) }
    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        if let channel { state.withLock { $0.channels.append(channel) } }
        record.note(#function, name(of: error))
    }
}
