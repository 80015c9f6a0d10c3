// A lock that tells its owner's phone how it stands, a peripheral app written as for Apple's Core Bluetooth. Bonded phones that
// are away are told when they come back, whoever was started again meanwhile. The words `lock` and `unlock` on standard input
// are the hand that turns it.
//
// It shows Core Bluetooth at work. Anybody can pair with it: doors are for `latch`.
import CoreBluetooth

/// Everything of it runs on the main queue.
final class Padlock: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    private static let service = CBUUID(string: "E6D40001-92B8-47C3-A1F7-0D5C8E3B6A19")
    private static let bolt = CBUUID(string: "E6D40002-92B8-47C3-A1F7-0D5C8E3B6A19")

    private var manager: CBPeripheralManager?
    private var bolt: CBMutableCharacteristic?
    /// Killed between its service and its advertising it has one and not the other, and so it has where the adapter goes away in
    /// between. It asks for that once.
    private var mayLackAdvertising = false
    private var isLocked = true
    /// Subscribers have not been sent the newest state yet.
    private var owesUpdate = false
    private var hand: (any DispatchSourceRead)?
    private var typed = ""

    func begin() {
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "padlock"])
        let hand = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .main)
        hand.setEventHandler { [weak self] in self?.readHand() }
        hand.resume()
        self.hand = hand
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        bolt =
            services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == Self.bolt } as? CBMutableCharacteristic
        mayLackAdvertising = bolt != nil
        say("restored: \(services.count) service, \(bolt?.subscribedCentrals?.count ?? 0) subscriber")
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        say("state: \(peripheral.state)")
        guard peripheral.state == .poweredOn else { return }
        guard bolt == nil else {
            if mayLackAdvertising, !peripheral.isAdvertising { advertise() }
            mayLackAdvertising = false
            // It keeps no state of its own: it is locked, whatever it told before it was killed.
            return tell()
        }
        // Who reads or listens has a bond, which is made when it is first needed.
        let bolt = CBMutableCharacteristic(
            type: Self.bolt, properties: [.read, .notifyEncryptionRequired], value: nil,
            permissions: .readEncryptionRequired)
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [bolt]
        self.bolt = bolt
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return say("not added: \(error.localizedDescription)") }
        advertise()
    }

    private func advertise() {
        guard let manager, manager.state == .poweredOn else { return mayLackAdvertising = true }
        manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Padlock", CBAdvertisementDataServiceUUIDsKey: [Self.service],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        if let error { return say("not advertising: \(error.localizedDescription)") }
        say("advertising")
    }

    // MARK: The bolt

    private var state: Data { Data((isLocked ? "locked" : "unlocked").utf8) }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        guard request.offset <= state.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        request.value = state.subdata(in: request.offset..<state.count)
        peripheral.respond(to: request, withResult: .success)
    }

    private func readHand() {
        let octets = FileHandle.standardInput.availableData
        // Nobody is there to type.
        guard !octets.isEmpty else { return hand?.cancel() ?? () }
        var words = (typed + String(decoding: octets, as: UTF8.self)).components(separatedBy: "\n")
        typed = words.removeLast()
        for word in words where word == "lock" || word == "unlock" {
            isLocked = word == "lock"
            tell()
            say(isLocked ? "locked" : "unlocked")
        }
    }

    /// Phones that are here hear of it at once, and bonded ones that are away when they come back.
    private func tell() {
        guard let manager, let bolt else { return }
        owesUpdate = !manager.updateValue(state, for: bolt, onSubscribedCentrals: nil)
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        if owesUpdate { tell() }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let padlock = Padlock()
padlock.begin()
RunLoop.main.run()
