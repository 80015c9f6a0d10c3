// One half of a greeting, a peripheral app written as for Apple's Core Bluetooth: whoever reads its greeting, a dictionary as a
// property list, may write one back, and is welcomed by name. Both are longer than one packet of the Attribute Protocol.
import CoreBluetooth

final class Greeter: NSObject, CBPeripheralManagerDelegate {
    private static let service = CBUUID(string: "5B1D0001-3C47-4E0A-8F65-9A2E7D1C4B30")
    private static let greeting = CBUUID(string: "5B1D0002-3C47-4E0A-8F65-9A2E7D1C4B30")

    /// Core 5.4, Vol 3, Part F, 3.2.9 (Long attribute values)
    private static let valueOctetsMaximum = 512
    private static let readersMaximum = 16

    private var manager: CBPeripheralManager?
    private var characteristic: CBMutableCharacteristic?
    /// The adapter went away between the service and its advertising.
    private var mayLackAdvertising = false
    private var greeting = Greeter.encode("Hello. Who is there?", visits: 0) ?? Data()
    private var visits = 0
    /// Subscribers have not been sent the newest greeting yet.
    private var owesUpdate = false
    /// The value that a central has begun to read, by its identifier.
    private var readings: [UUID: Data] = [:]

    func begin() { manager = CBPeripheralManager(delegate: self, queue: nil) }

    private static func encode(_ text: String, visits: Int) -> Data? {
        let words: [String: Any] = ["from": "Greeter", "text": text, "visits": visits]
        return try? PropertyListSerialization.data(fromPropertyList: words, format: .xml, options: 0)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        say("state: \(peripheral.state)")
        guard peripheral.state == .poweredOn else { return }
        if mayLackAdvertising { advertise() }
        guard characteristic == nil else { return }
        let greeting = CBMutableCharacteristic(
            type: Self.greeting, properties: [.read, .write, .notify], value: nil,
            permissions: [.readable, .writeable])
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [greeting]
        characteristic = greeting
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return say("not added: \(error.localizedDescription)") }
        advertise()
    }

    private func advertise() {
        mayLackAdvertising = manager?.state != .poweredOn
        guard let manager, !mayLackAdvertising else { return }
        manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Greeter", CBAdvertisementDataServiceUUIDsKey: [Self.service],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        if let error { return say("not advertising: \(error.localizedDescription)") }
        say("advertising")
    }

    // MARK: Reading

    /// A long value is read in parts, one request for each, with the offset where it begins. All parts are of the value that was
    /// there when the first was read, whoever writes meanwhile.
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        let reader = request.central.identifier
        if request.offset == 0 {
            // Nobody says that he has read enough. Where so many have begun, who has not finished begins again.
            if readings.count == Self.readersMaximum { readings = [:] }
            readings[reader] = greeting
        }
        guard let value = readings[reader], request.offset <= value.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        // From there to the end: the host sends as much of it as fits.
        request.value = value.subdata(in: request.offset..<value.count)
        peripheral.respond(to: request, withResult: .success)
        say("read from octet \(request.offset)")
    }

    // MARK: Writing

    /// A long value is written in parts, too; they come together when the central has said that it was all. They are taken as
    /// one or not at all, and the first is answered for all of them.
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        var value = Data()
        for request in requests {
            guard request.offset == value.count else {
                return peripheral.respond(to: first, withResult: .invalidOffset)
            }
            value += request.value ?? Data()
        }
        guard let words = try? PropertyListSerialization.propertyList(from: value, format: nil) as? [String: Any],
            let guest = words["from"] as? String, let text = words["text"] as? String,
            let answer = Self.encode("Welcome, \(guest). It is good to see you.", visits: visits + 1),
            answer.count <= Self.valueOctetsMaximum
        else {
            return peripheral.respond(to: first, withResult: .unlikelyError)
        }
        (greeting, visits) = (answer, visits + 1)
        peripheral.respond(to: first, withResult: .success)
        say("\(guest) says: \(text)")
        update()
    }

    // MARK: Updates

    /// A notification carries the beginning of a long value: it tells the guest that there is something to read.
    private func update() {
        guard let manager, let characteristic else { return }
        owesUpdate = !manager.updateValue(greeting, for: characteristic, onSubscribedCentrals: nil)
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        if owesUpdate { update() }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let greeter = Greeter()
greeter.begin()
RunLoop.main.run()
