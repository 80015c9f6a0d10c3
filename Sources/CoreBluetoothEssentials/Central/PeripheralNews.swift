import BluetoothCore
import FoundationEssentials
import Synchronization

/// What a peripheral's delegate hears with every exchange. A value and no closure, so that telling it on the loop
/// allocates nothing.
enum PeripheralNews: Sendable {
    /// A read ended; nil where nothing was read.
    case read(CBCharacteristic, [UInt8]?, (any Error)?)
    case wrote(CBCharacteristic, (any Error)?)
    /// The peripheral sent the value of the characteristic with this value handle.
    case sent(AttributeHandle, [UInt8])

    /// Changes what the app sees, and then calls the delegate if there is one.
    fileprivate func show(_ peripheral: CBPeripheral) {
        switch self {
        case .read(let characteristic, let octets, let error):
            if let octets { characteristic.state.withLock { $0.value = Data(octets) } }
            peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
        case .wrote(let characteristic, let error):
            peripheral.delegate?.peripheral(peripheral, didWriteValueFor: characteristic, error: error)
        case .sent(let handle, let octets):
            guard let characteristic = peripheral.content.withLock({ $0.tree.characteristic(at: handle) }) else {
                return
            }
            characteristic.state.withLock { $0.value = Data(octets) }
            peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: nil)
        }
    }
}

extension CentralCore {
    func tell(_ peripheral: CBPeripheral, _ news: PeripheralNews) {
        if case .inline = delivery { return news.show(peripheral) }
        delivery.deliver(host) { news.show(peripheral) }
    }

    /// The same for what a peer can cause as often as it likes. False when it is dropped.
    func tellFlooded(_ peripheral: CBPeripheral, _ news: PeripheralNews) -> Bool {
        if case .inline = delivery {
            news.show(peripheral)
            return true
        }
        return delivery.deliver(host, within: peripheral.backlog) { news.show(peripheral) }
    }
}
