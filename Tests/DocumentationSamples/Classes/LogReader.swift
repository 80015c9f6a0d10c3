import CoreBluetooth

/// Reads a peripheral's log by the streams of a channel. The central manager's delegate connects to the peripheral and
/// hands it over.
final class LogReader: NSObject, CBPeripheralDelegate, StreamDelegate {
    static let service = CBUUID(string: "5B7F0010-9C44-4E0D-8A57-3C1D60E2B9A4")
    static let psm = CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)

    private let peripheral: CBPeripheral
    /// A channel that nobody holds is closed.
    private var channel: CBL2CAPChannel?

    init(connected peripheral: CBPeripheral) {
        self.peripheral = peripheral
        super.init()
        peripheral.delegate = self
        peripheral.discoverServices([Self.service])
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([Self.psm], for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] { peripheral.readValue(for: characteristic) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard let octets = characteristic.value, octets.count == 2 else { return }
        peripheral.openL2CAPChannel(octets.reversed().reduce(0) { $0 << 8 | CBL2CAPPSM($1) })
    }

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        self.channel = channel
        guard let input = channel?.inputStream else {
            return print("no channel: \(error?.localizedDescription ?? "")")
        }
        input.delegate = self
        input.schedule(in: .main, forMode: .default)
        input.open()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        guard let input = stream as? InputStream else { return }
        switch event {
        case .hasBytesAvailable:
            var octets = [UInt8](repeating: 0, count: 1_024)
            let count = input.read(&octets, maxLength: octets.count)
            if count > 0 { print(String(decoding: octets.prefix(count), as: UTF8.self), terminator: "") }
        case .endEncountered, .errorOccurred:
            input.close()
            channel?.close()
            channel = nil
        default: break
        }
    }
}
