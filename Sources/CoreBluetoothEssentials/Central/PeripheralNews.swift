import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import SecurityManager
import Synchronization

/// What a peripheral's delegate hears. A value and no closure, so that telling it on the loop allocates nothing.
enum PeripheralNews: Sendable {
    case tree(TreeNews)
    case value(ValueNews)
    /// What Apple's API does not say: heard by a delegate that is a ``CBPeripheralLinkDelegate``.
    case link(LinkNews)
    case channel(CBL2CAPChannel?, (any Error)?)

    enum TreeNews: Sendable {
        typealias Filter = PeripheralCall.Filter

        /// All that the peripheral has, and what of it the app asked for.
        case services(Result<[RemoteService], any Error>, Filter)
        case includedServices(CBService, Result<[RemoteService], any Error>, Filter)
        /// With the value handles that this side is subscribed to.
        case characteristics(
            CBService, Result<[RemoteCharacteristic], any Error>, Filter, subscribed: Set<AttributeHandle>)
        case descriptors(CBCharacteristic, Result<[RemoteDescriptor], any Error>)
        /// Nothing is known any more between these handles.
        case invalidated(ClosedRange<AttributeHandle>)
    }

    enum ValueNews: Sendable {
        /// A read ended; nil where nothing was read.
        case read(CBCharacteristic, [UInt8]?, (any Error)?)
        case readDescriptor(CBDescriptor, [UInt8]?, (any Error)?)
        case wrote(CBCharacteristic, (any Error)?)
        case wroteDescriptor(CBDescriptor, (any Error)?)
        /// There is room again for writes without response.
        case ready
        case notifying(CBCharacteristic, Bool, (any Error)?)
        /// The peripheral sent the value of the characteristic with this value handle.
        case sent(AttributeHandle, [UInt8])
        case rssi(Int, (any Error)?)
    }

    enum LinkNews: Sendable {
        case security(LinkInfo, HostError?)
        case passkeyRequested
        case displayPasskey(UInt32)
        case compareNumericValue(UInt32)
        case paired(Result<BondID, HostError>)
        case signed(CBCharacteristic, counter: UInt32?, (any Error)?)
        case notWritten(UnwrittenReason)
    }

    /// Changes what the app sees, and then calls the delegate if there is one.
    func show(_ peripheral: CBPeripheral) {
        switch self {
        case .tree(let news): news.show(peripheral)
        case .value(let news): news.show(peripheral)
        case .link(let news):
            if let delegate = peripheral.callbacks as? any CBPeripheralLinkDelegate { news.tell(peripheral, delegate) }
        case .channel(let channel, let error):
            peripheral.callbacks?.peripheral(peripheral, didOpen: channel, error: error)
        }
    }
}

extension PeripheralNews.TreeNews {
    fileprivate func show(_ peripheral: CBPeripheral) {
        switch self {
        case .services(let found, let filter):
            if case .success(let found) = found { peripheral.show(found, filter) }
            peripheral.callbacks?.peripheral(peripheral, didDiscoverServices: found.failure)
        case .includedServices(let service, let found, let filter):
            if case .success(let found) = found { peripheral.show(found, includedBy: service, filter) }
            peripheral.callbacks?
                .peripheral(peripheral, didDiscoverIncludedServicesFor: service, error: found.failure)
        case .characteristics(let service, let found, let filter, let subscribed):
            if case .success(let found) = found { peripheral.show(found, of: service, filter, subscribed) }
            peripheral.callbacks?
                .peripheral(peripheral, didDiscoverCharacteristicsFor: service, error: found.failure)
        case .descriptors(let characteristic, let found):
            if case .success(let found) = found { characteristic.adopt(found) }
            peripheral.callbacks?
                .peripheral(peripheral, didDiscoverDescriptorsFor: characteristic, error: found.failure)
        case .invalidated(let range):
            let gone = peripheral.forget(range)
            peripheral.callbacks?.peripheral(peripheral, didModifyServices: gone)
        }
    }
}

extension PeripheralNews.ValueNews {
    fileprivate func show(_ peripheral: CBPeripheral) {
        switch self {
        case .read(let characteristic, let octets, let error):
            if let octets { characteristic.state.withLock { $0.value = Data(octets) } }
            peripheral.callbacks?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
        case .readDescriptor(let descriptor, let octets, let error):
            if let octets {
                let read = CBDescriptor.Value(octets, type: descriptor.uuid.bluetoothUUID)
                descriptor.state.withLock { $0.value = read }
            }
            peripheral.callbacks?.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
        case .wrote(let characteristic, let error):
            peripheral.callbacks?.peripheral(peripheral, didWriteValueFor: characteristic, error: error)
        case .wroteDescriptor(let descriptor, let error):
            peripheral.callbacks?.peripheral(peripheral, didWriteValueFor: descriptor, error: error)
        case .ready: peripheral.callbacks?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
        case .notifying(let characteristic, let enabled, let error):
            if error == nil { characteristic.state.withLock { $0.isNotifying = enabled } }
            peripheral.callbacks?.peripheral(peripheral, didUpdateNotificationStateFor: characteristic, error: error)
        case .sent(let handle, let octets):
            guard let characteristic = peripheral.content.withLock({ $0.tree.characteristic(at: handle) }) else {
                return
            }
            let value = Data(octets)
            characteristic.state.withLock { $0.value = value }
            if let receiving = peripheral.receiving {
                receiving.peripheral(peripheral, didReceive: value, for: characteristic)
            } else {
                peripheral.callbacks?.peripheral(peripheral, didUpdateValueFor: characteristic, error: nil)
            }
        case .rssi(let rssi, let error):
            if error == nil { peripheral.content.withLock { $0.rssi = rssi } }
            peripheral.callbacks?.peripheral(peripheral, didReadRSSI: rssi, error: error)
        }
    }
}

extension PeripheralNews.LinkNews {
    fileprivate func tell(_ peripheral: CBPeripheral, _ delegate: any CBPeripheralLinkDelegate) {
        switch self {
        case .security(let link, let error): delegate.peripheral(peripheral, didChangeSecurity: link, error: error)
        case .passkeyRequested: delegate.peripheralDidRequestPasskey(peripheral)
        case .displayPasskey(let passkey): delegate.peripheral(peripheral, displayPasskey: passkey)
        case .compareNumericValue(let value): delegate.peripheral(peripheral, compareNumericValue: value)
        case .paired(let result): delegate.peripheral(peripheral, didPair: result)
        case .signed(let characteristic, let counter, let error):
            delegate.peripheral(peripheral, didSignValueFor: characteristic, counter: counter, error: error)
        case .notWritten(let reason): delegate.peripheral(peripheral, didNotWriteBecause: reason)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate var failure: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}
