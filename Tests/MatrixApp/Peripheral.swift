import CoreBluetooth

/// The peripheral of the matrix.
final class Peripheral: NSObject, Role, CBPeripheralManagerDelegate, @unchecked Sendable {
    private var manager: CBPeripheralManager?
    private var news: CBMutableCharacteristic?

    func open() {
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "matrix"])
    }

    func obey(_ command: String, _ operand: String) {
        switch command {
        case "publish": publish()
        case "advertise": manager?.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Attribute.service]])
        case "update": update(operand)
        default: say("no such command: \(command)")
        }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        let known = services.flatMap { $0.characteristics ?? [] }
        news = known.first { $0.uuid == Attribute.news } as? CBMutableCharacteristic
        let data = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
        say(
            "restored: \(services.count) services, \(news?.subscribedCentrals?.count ?? 0) subscribers, "
                + (data?.isEmpty == false ? "advertising" : "not advertising"))
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { say("state: \(peripheral.state)") }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        say(error.map { "not published: \($0)" } ?? "published")
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        say(error.map { "not advertising: \($0)" } ?? "advertising")
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) { say("subscriber came") }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) { say("subscriber went") }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = Data("hello".utf8)
        peripheral.respond(to: request, withResult: .success)
        say("was read")
    }

    private func publish() {
        let greeting = CBMutableCharacteristic(
            type: Attribute.greeting, properties: .read, value: nil, permissions: .readable)
        let news = CBMutableCharacteristic(
            type: Attribute.news, properties: .notifyEncryptionRequired, value: nil, permissions: [])
        let service = CBMutableService(type: Attribute.service, primary: true)
        service.characteristics = [greeting, news]
        self.news = news
        manager?.add(service)
    }

    private func update(_ value: String) {
        guard let manager, let news else { return say("nothing to update") }
        let isTaken = manager.updateValue(Data(value.utf8), for: news, onSubscribedCentrals: nil)
        say("\(isTaken ? "updated" : "no room"): \(value)")
    }
}
