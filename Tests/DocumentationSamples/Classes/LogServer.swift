import CoreBluetooth

/// Sends its log to each peer that opens a channel.
final class LogServer: NSObject, CBPeripheralManagerDelegate, CBL2CAPChannelDelegate {
    static let service = CBUUID(string: "5B7F0010-9C44-4E0D-8A57-3C1D60E2B9A4")

    private let log: Data
    private var manager: CBPeripheralManager?
    private var isPublished = false
    /// A channel that nobody holds is closed.
    private var rests: [CBL2CAPChannel: Data] = [:]

    init(log: Data) { self.log = log }

    func start() { manager = CBPeripheralManager(delegate: self, queue: nil) }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        // Once: it stands when the adapter was away.
        guard peripheral.state == .poweredOn, !isPublished else { return }
        isPublished = true
        peripheral.publishL2CAPChannel(withEncryption: true)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        if let error { return print("no channels: \(error.localizedDescription)") }
        let octets = Data([UInt8(truncatingIfNeeded: PSM), UInt8(truncatingIfNeeded: PSM >> 8)])
        let psm = CBMutableCharacteristic(
            type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read, value: octets,
            permissions: .readEncryptionRequired)
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [psm]
        peripheral.add(service)
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Self.service]])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        guard let channel else { return }
        channel.delegate = self
        rests[channel] = log
        send(on: channel)
    }

    func channelHasSpaceAvailable(_ channel: CBL2CAPChannel) { send(on: channel) }

    func channelDidClose(_ channel: CBL2CAPChannel, error: (any Error)?) { rests[channel] = nil }

    private func send(on channel: CBL2CAPChannel) {
        guard let rest = rests[channel] else { return }
        let left = Data(rest.dropFirst(channel.write(rest)))
        rests[channel] = left
        if left.isEmpty { channel.close() }
    }
}
