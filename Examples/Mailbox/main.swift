// A mailbox, a peripheral app written as for Apple's Core Bluetooth: couriers open an L2CAP channel to it and send a file through.
// Its PSM stands in a characteristic. Killed and started again it publishes another one there.
//
// Mailbox FOLDER: where the files go.
import CoreBluetooth
import Parcel

final class Mailbox: NSObject, CBPeripheralManagerDelegate {
    private static let service = CBUUID(string: "A93F0001-7E52-4D18-B6C4-1F8A2B9D5E07")
    private static let psm = CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)

    private let folder: URL
    private var manager: CBPeripheralManager?
    private var isPublished = false
    private var isOpening = false
    private var psm: CBL2CAPPSM?
    /// Couriers that asked for the PSM before there was one.
    private var waiting: [CBATTRequest] = []
    private var deliveries: Set<Delivery> = []

    init(folder: URL) { self.folder = folder }

    func begin() {
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "mailbox"])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        isPublished = !services.isEmpty
        say("restored: \(services.count) service")
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        say("state: \(peripheral.state)")
        // Services are restored, PSMs are not. It stands while the adapter is away.
        guard peripheral.state == .poweredOn, !isOpening else { return }
        isOpening = true
        peripheral.publishL2CAPChannel(withEncryption: false)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) {
        if let error { return say("no channels: \(error.localizedDescription)") }
        psm = PSM
        for request in waiting { answer(request, PSM) }
        waiting = []
        guard isPublished else { return publish() }
        if !peripheral.isAdvertising { advertise() }
    }

    private func publish() {
        let psm = CBMutableCharacteristic(type: Self.psm, properties: .read, value: nil, permissions: .readable)
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [psm]
        isPublished = true
        manager?.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return say("not added: \(error.localizedDescription)") }
        advertise()
    }

    private func advertise() {
        manager?.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Mailbox", CBAdvertisementDataServiceUUIDsKey: [Self.service],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        if let error { return say("not advertising: \(error.localizedDescription)") }
        say("advertising")
    }

    // MARK: The PSM

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        if let psm { answer(request, psm) } else { waiting.append(request) }
    }

    private func answer(_ request: CBATTRequest, _ psm: CBL2CAPPSM) {
        // Least significant octet first.
        let value = Data([UInt8(truncatingIfNeeded: psm), UInt8(psm >> 8)])
        guard request.offset <= value.count else {
            manager?.respond(to: request, withResult: .invalidOffset)
            return
        }
        request.value = value.subdata(in: request.offset..<value.count)
        manager?.respond(to: request, withResult: .success)
    }

    // MARK: Channels

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        guard let channel else { return say("no channel: \(error?.localizedDescription ?? "")") }
        let delivery = Delivery(channel) { [weak self] in self?.hear($0, of: $1) }
        deliveries.insert(delivery)
        delivery.begin()
    }

    private func hear(_ news: Delivery.News, of delivery: Delivery) {
        switch news {
        case .announced(let length): say("a parcel of \(length) octets")
        case .received(let parcel):
            let name = "parcel-\(String(parcel.checksum, radix: 16))"
            do {
                try parcel.contents.write(to: folder.appendingPathComponent(name), options: .atomic)
            } catch {
                delivery.end()
                return say("not kept: \(error.localizedDescription)")
            }
            delivery.confirm(parcel)
            say("kept: \(name)")
        case .refused(let refusal): say("refused: \(refusal)")
        case .ended(let isLost):
            if isLost { say("lost") }
            deliveries.remove(delivery)
        }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

guard let folder = CommandLine.arguments.dropFirst().first else {
    FileHandle.standardError.write(Data("usage: Mailbox FOLDER\n".utf8))
    exit(2)
}
let mailbox = Mailbox(folder: URL(fileURLWithPath: folder, isDirectory: true))
mailbox.begin()
RunLoop.main.run()
