// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

struct ChatMessage: Codable, Equatable {
    var id = UUID()
    var sender: String
    var text: String
    var date: Date

    enum CodingKeys: String, CodingKey {
        case id = "i", sender = "s", text = "t", date = "d"
    }
}

/// Messages in frames, so that one may be longer than an update carries: a length of two bytes, then JSON.
struct ChatFraming {
    private var buffer = Data()

    static func frame(_ message: ChatMessage) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        let body = try encoder.encode(message)
        guard let length = UInt16(exactly: body.count) else { throw CBError(.outOfSpace) }
        return Data([UInt8(length & 0xFF), UInt8(length >> 8)]) + body
    }

    mutating func append(_ data: Data) -> [Result<ChatMessage, Error>] {
        buffer += data
        var messages: [Result<ChatMessage, Error>] = []
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        while let length: UInt16 = buffer.littleEndian(at: 0), buffer.count >= 2 + Int(length) {
            let body = buffer.dropFirst(2).prefix(Int(length))
            messages.append(Result { try decoder.decode(ChatMessage.self, from: Data(body)) })
            buffer = Data(buffer.dropFirst(2 + Int(length)))
        }
        return messages
    }
}

/// A chat in both roles: each side advertises, scans, and speaks with everybody that it meets.
final class ChatRoom: NSObject {
    static let serviceUUID = CBUUID(string: "3E1F7C30-9D51-4F0A-8C2B-6A6F1E1D2C3B")
    static let inboxUUID = CBUUID(string: "3E1F7C31-9D51-4F0A-8C2B-6A6F1E1D2C3B")
    static let outboxUUID = CBUUID(string: "3E1F7C32-9D51-4F0A-8C2B-6A6F1E1D2C3B")

    private final class Guest {
        let peripheral: CBPeripheral
        var inbox: CBCharacteristic?
        var framing = ChatFraming()
        var queue: [Data] = []

        init(_ peripheral: CBPeripheral) { self.peripheral = peripheral }
    }

    let name: String
    private var centralManager: CBCentralManager!
    private var peripheralManager: CBPeripheralManager!
    private var guests: [CBPeripheral: Guest] = [:]
    private var framings: [CBCentral: ChatFraming] = [:]
    private lazy var outbox = CBMutableCharacteristic(
        type: ChatRoom.outboxUUID, properties: [.notify, .read], value: nil, permissions: .readable)
    private var unsent: [Data] = []
    private(set) var messages: [ChatMessage] = []
    private var seen: Set<UUID> = []

    var onMessage: ((ChatMessage) -> Void)?
    var onGuests: (([String]) -> Void)?

    init(name: String) {
        self.name = name
        super.init()
    }

    func enter() {
        let queue = DispatchQueue(label: "chat", qos: .userInitiated)
        centralManager = CBCentralManager(delegate: self, queue: queue)
        peripheralManager = CBPeripheralManager(delegate: self, queue: queue)
    }

    func leave() {
        centralManager.stopScan()
        guests.keys.forEach(centralManager.cancelPeripheralConnection)
        peripheralManager.stopAdvertising()
        peripheralManager.removeAllServices()
    }

    func say(_ text: String, at date: Date = Date()) throws {
        let message = ChatMessage(sender: name, text: text, date: date)
        let frame = try ChatFraming.frame(message)
        accept(message)
        for guest in guests.values { enqueue(frame, to: guest) }
        unsent += Chunks(frame, size: 20)
        flush()
    }

    func accept(_ message: ChatMessage) {
        guard seen.insert(message.id).inserted else { return }
        messages.append(message)
        onMessage?(message)
    }

    func accept(_ results: [Result<ChatMessage, Error>]) {
        for result in results {
            switch result {
            case .success(let message): accept(message)
            case .failure(let error): print("unreadable: \(error.localizedDescription)")
            }
        }
    }

    private func enqueue(_ frame: Data, to guest: Guest) {
        let size = guest.peripheral.maximumWriteValueLength(for: .withResponse)
        guest.queue.append(contentsOf: Chunks(frame, size: size))
        if guest.queue.count == 1 { writeNext(guest) }
    }

    private func writeNext(_ guest: Guest) {
        guard let inbox = guest.inbox, let chunk = guest.queue.first else { return }
        guest.peripheral.writeValue(chunk, for: inbox, type: .withResponse)
    }

    private func flush() {
        while let chunk = unsent.first, let manager = peripheralManager {
            guard manager.updateValue(chunk, for: outbox, onSubscribedCentrals: nil) else { return }
            unsent.removeFirst()
        }
    }
}

extension ChatRoom: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn {
            central.scanForPeripherals(withServices: [ChatRoom.serviceUUID], options: nil)
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard guests[peripheral] == nil else { return }
        guests[peripheral] = Guest(peripheral)
        peripheral.delegate = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([ChatRoom.serviceUUID])
        onGuests?(guests.keys.compactMap { $0.name }.sorted())
    }

    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
        guests[peripheral] = nil
        onGuests?(guests.keys.compactMap(\.name).sorted())
    }
}

extension ChatRoom: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        guard let service = peripheral.services?.first, service.uuid == ChatRoom.serviceUUID else { return }
        peripheral.discoverCharacteristics([ChatRoom.inboxUUID, ChatRoom.outboxUUID], for: service)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        let characteristics = service.characteristics ?? []
        guests[peripheral]?.inbox = characteristics.first { $0.uuid == ChatRoom.inboxUUID }
        if let outbox = characteristics.first(where: { $0.uuid == ChatRoom.outboxUUID }) {
            peripheral.setNotifyValue(true, for: outbox)
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        guard let data = characteristic.value, let guest = guests[peripheral] else { return }
        accept(guest.framing.append(data))
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
        guard let guest = guests[peripheral], !guest.queue.isEmpty else { return }
        guest.queue.removeFirst()
        writeNext(guest)
    }
}

extension ChatRoom: CBPeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard case .poweredOn = peripheral.state else { return }
        let inbox = CBMutableCharacteristic(
            type: ChatRoom.inboxUUID, properties: .write, value: nil, permissions: .writeable)
        let service = CBMutableService(type: ChatRoom.serviceUUID, primary: true)
        service.characteristics = [inbox, outbox]
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
        peripheral.startAdvertising([
            CBAdvertisementDataServiceUUIDsKey: [service.uuid], CBAdvertisementDataLocalNameKey: name as NSString,
        ])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        for request in requests {
            guard let value = request.value else { continue }
            let results = framings[request.central, default: ChatFraming()].append(value)
            accept(results)
        }
        peripheral.respond(to: requests[0], withResult: .success)
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { flush() }
}
