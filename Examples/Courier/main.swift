// A courier, a central app written as for Apple's Core Bluetooth: it opens an L2CAP channel to a mailbox, sends a file through,
// and ends when the mailbox has confirmed it. What does not get through is sent again, from the beginning, on the next link.
//
// Courier FILE
import CoreBluetooth
import Parcel

final class Courier: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, StreamDelegate {
    private static let service = CBUUID(string: "A93F0001-7E52-4D18-B6C4-1F8A2B9D5E07")
    private static let psm = CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)

    private let parcel: Parcel
    private var manager: CBCentralManager?
    private var mailbox: CBPeripheral?
    /// A channel that nobody holds is closed.
    private var channel: CBL2CAPChannel?
    private var unsent = Data()
    private var receipt: [UInt8] = []
    private var isDelivered = false
    /// Links on which it did not get through.
    private var failures = 0
    private static let failuresMaximum = 5

    init(_ contents: Data) { parcel = Parcel(contents) }

    func begin() { manager = CBCentralManager(delegate: self, queue: nil) }

    // MARK: The mailbox

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        say("state: \(central.state)")
        guard central.state == .poweredOn, mailbox == nil else { return }
        central.scanForPeripherals(withServices: [Self.service])
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        say("discovered a mailbox")
        central.stopScan()
        mailbox = peripheral
        peripheral.delegate = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([Self.service])
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        if isDelivered { exit(EXIT_SUCCESS) }
        say("disconnected")
        failures += 1
        if failures == Self.failuresMaximum { exit(EXIT_FAILURE) }
        central.connect(peripheral)
    }

    // MARK: The PSM

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
        // Least significant octet first.
        guard let value = characteristic.value, value.count == 2 else {
            return end("no PSM: \(error?.localizedDescription ?? "malformed")")
        }
        peripheral.openL2CAPChannel(CBL2CAPPSM(Parcel.number(value.reversed())))
    }

    // MARK: The channel

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        guard let channel else { return end("no channel: \(error?.localizedDescription ?? "")") }
        say("channel open")
        self.channel = channel
        (unsent, receipt) = (parcel.octets, [])
        for stream in [channel.inputStream, channel.outputStream] as [Foundation.Stream] {
            stream.delegate = self
            stream.schedule(in: .current, forMode: .default)
            stream.open()
        }
    }

    func stream(_ aStream: Foundation.Stream, handle eventCode: Foundation.Stream.Event) {
        switch eventCode {
        case .hasSpaceAvailable: send()
        case .hasBytesAvailable: hear()
        case .endEncountered: end("the mailbox has closed the channel")
        // The link has gone, and the manager will say so.
        case .errorOccurred: closeChannel()
        default: break
        }
    }

    private func send() {
        guard let output = channel?.outputStream else { return }
        // A write takes as much as there is room for.
        while output.hasSpaceAvailable, !unsent.isEmpty {
            let count = unsent.withUnsafeBytes { octets in
                octets.bindMemory(to: UInt8.self).baseAddress.map { output.write($0, maxLength: octets.count) } ?? 0
            }
            guard count > 0 else { return }
            unsent.removeFirst(count)
        }
    }

    private func hear() {
        guard let input = channel?.inputStream else { return }
        var octets = [UInt8](repeating: 0, count: 4)
        let count = input.read(&octets, maxLength: octets.count - receipt.count)
        receipt += octets.prefix(max(count, 0))
        guard receipt.count == 4 else { return }
        isDelivered = Parcel.number(receipt) == parcel.checksum
        end(isDelivered ? "delivered: \(parcel.contents.count) octets" : "the mailbox has got something else")
    }

    private func closeChannel() {
        channel?.inputStream.close()
        channel?.outputStream.close()
        channel = nil
    }

    /// It is over with this link.
    private func end(_ line: String) {
        say(line)
        closeChannel()
        if let mailbox { manager?.cancelPeripheralConnection(mailbox) }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

guard let path = CommandLine.arguments.dropFirst().first, let contents = FileManager.default.contents(atPath: path),
    contents.count <= ParcelReader.contentsOctetsMaximum
else {
    FileHandle.standardError.write(Data("usage: Courier FILE, of 16 MiB at most\n".utf8))
    exit(2)
}
let courier = Courier(contents)
courier.begin()
RunLoop.main.run()
