import ATT
import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import HCI
import SecurityManager
import VirtualRadio

/// A whole host at a virtual radio with a stranger on the air: octets from the stranger, from a controller gone mad, calls
/// of apps, time, kills. Every operation is answered at most once, and at a kill nothing that was committed is unreadable.
@Sendable func fuzzHost(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let world = HostWorld()
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

private final class HostWorld {
    /// Things that may happen by themselves in one step of time, and rounds of commits and acts at one instant.
    private static let stepsMaximum = 256
    private static let strangerBits: UInt64 = 0xC0DE_0000_0001

    private var radio = VirtualRadio(configuration: AirConfiguration(pacing: .immediate))
    private var controller: ControllerID
    private let stranger: ControllerID
    private var strangerHandle: UInt16 = 0
    private var store = MemoryHostStore()
    private var host: Host
    private var app: FuzzApp
    private var random: UInt64 = 1
    private let coordinator = MemoryTransactionCoordinator()

    init() {
        controller = radio.addController()
        stranger = radio.addController()
        (host, app) = Self.launch(store, random)
        command(0x0C03, [])
        command(0x0C01, [UInt8](repeating: 0xFF, count: 8))
        command(0x2001, [0x1F] + [UInt8](repeating: 0, count: 7))
        command(0x2005, Self.octets(Self.strangerBits))
        iterate { $0.transportOpened() }
        pass(milliseconds: 1)
    }

    private static func launch(_ store: MemoryHostStore, _ random: UInt64) -> (Host, FuzzApp) {
        var configuration = HostConfiguration(deviceName: "fuzz")
        configuration.linksMaximum = 3
        let host = Host(
            configuration: configuration, boot: BootID(bits: 1), snapshot: store.load(), store: store,
            random: CountingRandom(random),
            makeKeyPair: {
                let scalar = Secret([UInt8](repeating: 0, count: 31) + [7])
                return P256KeyPair(scalar: scalar) ?? .generate()
            })
        let app = FuzzApp(host)
        (app.central, _) = host.registerCentral(restoreIdentifier: "key", delegate: app)
        (app.peripheral, _) = host.registerPeripheral(restoreIdentifier: "lock", delegate: app)
        _ = try? host.publish(app.peripheral, FuzzApp.definition)
        host.startAdvertising(app.peripheral, AdvertisingRecord(localName: "fuzz", services: [0xFFF0]))
        return (host, app)
    }

    private var peer: PeerIdentifier { host.peer(at: DeviceAddress(kind: .random, bits: Self.strangerBits)) }

    // MARK: What happens

    func happen(_ event: UInt8, _ input: inout FuzzInput) {
        switch event & 15 {
        case 0: send(input.chunk(), channel: 4)
        case 1: send(input.chunk(), channel: 6)
        case 2: send(input.chunk(), channel: event & 0x80 == 0 ? 5 : UInt16(input.octet()))
        case 3: fragment(input.chunk(), flags: UInt16(event >> 4 & 3))
        case 4: command(input.uint16(), input.chunk())
        case 5: connectStranger()
        case 6: advertiseStranger()
        case 7:
            let type = HCIPacketType(rawValue: event & 0x80 == 0 ? 4 : input.octet())
            let packet = input.chunk()
            iterate { $0.received(type, packet.span.bytes) }
        case 8, 9: callCentral(&input)
        case 10, 11: callPeripheral(&input)
        case 12: pass(milliseconds: input.milliseconds())
        case 13: command(0x0406, Self.little(strangerHandle) + [0x13])
        case 14: relaunch()
        default:
            let isOpened = input.bool()
            iterate { isOpened ? $0.transportOpened() : $0.transportClosed() }
        }
        pass(milliseconds: 1)
    }

    private func callCentral(_ input: inout FuzzInput) {
        let (choice, value) = (input.octet(), input.chunk())
        let handle = AttributeHandle(UInt16(choice >> 4))
        iterate { host in
            let central = self.app.central
            switch choice & 15 {
            case 0: host.startScan(central, ScanRecord(services: [], allowDuplicates: !value.isEmpty))
            case 1: host.stopScan(central)
            case 2: host.connect(central, self.peer, options: 0, askedAtSeconds: 0)
            case 3: host.cancelConnection(central, self.peer)
            case 4: host.pair(central, self.peer, .passkeyEntry, credential: "fuzz")
            case 5: host.enterPasskey(value.first.map(UInt32.init), for: self.peer)
            case 6: host.encrypt(self.peer)
            case 7:
                let kind: SubscriptionRecord.Kind? = value.isEmpty ? nil : .indicate
                self.app.asked(
                    host.setNotify(central, self.peer, value: handle, ccc: AttributeHandle(UInt16(choice)), kind: kind))
            default:
                // nil: the controller is asked, not the peer.
                let operations: [GATTClientOperation?] = [
                    .discoverDatabase, .discoverPrimaryServices, .read(handle), .write(handle, value + value),
                    .writeWithoutResponse(handle, value), .signedWriteWithoutResponse(handle, value), nil,
                    .discoverDescriptors(ATTHandleRange()),
                ]
                if let operation = operations[Int(choice & 7)] {
                    self.app.asked(host.perform(central, self.peer, operation))
                } else {
                    self.app.asked(host.read(central, self.peer, .rssi))
                }
            }
        }
    }

    private func callPeripheral(_ input: inout FuzzInput) {
        let (choice, value) = (input.octet(), input.chunk())
        iterate { host in
            let peripheral = self.app.peripheral
            let services = host.publishedServices(of: peripheral)
            switch choice & 15 {
            case 0: host.startAdvertising(peripheral, AdvertisingRecord(localName: "again", services: []))
            case 1: host.stopAdvertising(peripheral)
            case 2: if services.count < 4 { _ = try? host.publish(peripheral, FuzzApp.definition(choice)) }
            case 3: services.last.map { host.unpublish(peripheral, service: $0.declaration) }
            case 4: host.setPairingWindow(PairingWindow(method: .passkeyDisplay, credential: "fuzz"))
            case 5: host.setPairingWindow(nil)
            case 6: for bond in host.bonds { host.deleteBond(bond.id) }
            case 7: for bond in host.bonds { host.promoteBond(bond.id) }
            case 8: self.app.links.first.map { host.disconnect($0) }
            case 9: self.app.answer(value)
            default:
                guard let handle = services.first?.characteristics.last?.value else { return }
                _ = host.updateValue(peripheral, handle, value, to: nil, keepForAbsent: choice & 0x80 != 0)
                _ = host.subscribers(of: handle)
            }
        }
    }

    private func relaunch() {
        radio.unplug(controller)
        controller = radio.addController()
        store = MemoryHostStore(store.kept)
        random += 1
        (host, app) = Self.launch(store, random)
        iterate { $0.transportOpened() }
    }

    // MARK: The loop

    private func iterate(_ body: (Host) -> Void) {
        host.beginIteration(now: Instant(nanoseconds: radio.now))
        body(host)
        var rounds = 0
        repeat {
            host.endIteration()
            try? coordinator.commit(host.participants)
            host.releaseActs(clock: { Instant(nanoseconds: radio.now) }) { act in
                switch act {
                case .packet(let packet):
                    require((4...5 + 0xFFFF).contains(packet.byteCount), "half a packet leaves")
                    radio.send(packet.withUnsafeBytes { Array($0) }, from: controller)
                case .bus, .code, .strength: require(false, "nobody stands beside bluetoothd")
                case .controllerFailed(_, let remedy):
                    guard remedy == .reopen else { break }
                    host.transportClosed()
                    host.transportOpened()
                case .call(let call): call()
                }
            }
            rounds += 1
        } while host.hasWork && rounds < Self.stepsMaximum
        require(!host.hasWork, "a host never comes to rest")
        require(app.links.count <= host.configuration.linksMaximum, "more links than slots")
    }

    private func settle() {
        for _ in 0..<Self.stepsMaximum {
            listen()
            let packets = radio.drain(controller)
            guard !packets.isEmpty else { return }
            iterate { host in
                for packet in packets {
                    guard let type = packet.first else { continue }
                    host.received(HCIPacketType(rawValue: type), packet.span.bytes.extracting(1..<packet.count))
                }
            }
        }
    }

    private func pass(milliseconds: UInt64) {
        let end = radio.now + milliseconds * 1_000_000
        settle()
        for _ in 0..<Self.stepsMaximum {
            let next = [radio.nextEventInstant, host.deadline?.nanoseconds].compactMap { $0 }.min()
            guard let next, next <= end else { break }
            radio.advance(toNanoseconds: max(next, radio.now))
            if let deadline = host.deadline, deadline.nanoseconds <= radio.now { iterate { $0.timerFired() } }
            settle()
        }
        radio.advance(toNanoseconds: end)
        if let deadline = host.deadline, deadline.nanoseconds <= radio.now { iterate { $0.timerFired() } }
        settle()
    }

    // MARK: The stranger

    private static func little(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }

    private static func octets(_ address: UInt64) -> [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: address >> (8 * UInt64($0))) }
    }

    private func command(_ opcode: UInt16, _ parameters: [UInt8]) {
        radio.send([1] + Self.little(opcode) + [UInt8(parameters.count)] + parameters, from: stranger)
    }

    private func listen() {
        for packet in radio.drain(stranger) where packet.count > 6 && packet[1] == 0x3E && packet[3] == 1 {
            if packet[4] == 0 { strangerHandle = UInt16(packet[5]) | UInt16(packet[6]) << 8 }
        }
    }

    private func connectStranger() {
        let bits = host.identity.address.address.bits
        command(
            0x200D, [0x10, 0, 0x10, 0, 0, 1] + Self.octets(bits) + [1, 6, 0, 6, 0, 0, 0, 100, 0, 0, 0, 0, 0])
        pass(milliseconds: 150)
    }

    private func advertiseStranger() {
        command(0x2006, [0x20, 0, 0x20, 0, 0, 1, 0] + [UInt8](repeating: 0, count: 6) + [7, 0])
        command(0x200A, [1])
        pass(milliseconds: 50)
    }

    private func fragment(_ octets: [UInt8], flags: UInt16) {
        let length = UInt16(octets.count)
        radio.send([2] + Self.little(strangerHandle | flags << 12) + Self.little(length) + octets, from: stranger)
    }

    private func send(_ payload: [UInt8], channel: UInt16) {
        var rest = (Self.little(UInt16(payload.count)) + Self.little(channel) + payload)[...]
        var flags: UInt16 = 0
        while !rest.isEmpty {
            fragment(Array(rest.prefix(27)), flags: flags)
            rest = rest.dropFirst(27)
            flags = 1
        }
    }

    /// The next launch reads what was kept.
    func finish() {
        let kept = store.load()
        relaunch()
        require(kept.identity == host.identity, "an identity does not survive a kill")
        require(Set(host.bonds.map(\.id)).isSubset(of: Set(kept.bonds.map(\.id))), "bonds were made up")
    }
}

/// Both roles of an app, which answers late or never.
private final class FuzzApp: CentralRoleDelegate, PeripheralRoleDelegate {
    unowned let host: Host
    var central = ManagerID(rawValue: 0)
    var peripheral = ManagerID(rawValue: 0)
    private(set) var links: [LinkID] = []
    private var requests: [ServerRequestID] = []
    private var open: Set<OperationToken> = []

    init(_ host: Host) { self.host = host }

    static let definition = definition(0)

    static func definition(_ choice: UInt8) -> ServiceDefinition {
        let access = AttributeAccess(
            read: .open, writeRequest: .open, writeCommand: .open, signedWrite: true, subscribe: .open)
        return ServiceDefinition(
            uuid: 0xFFF0,
            characteristics: [
                CharacteristicDefinition(
                    uuid: BluetoothUUID(UInt16(choice)),
                    properties: [.read, .write, .writeWithoutResponse, .authenticatedSignedWrites], access: access),
                CharacteristicDefinition(
                    uuid: 0xFFF1, properties: .read, access: AttributeAccess(read: .encryptedSecureConnections)),
                CharacteristicDefinition(uuid: 0xFFF2, properties: [.notify, .indicate], access: access),
            ])
    }

    func asked(_ token: OperationToken) { open.insert(token) }

    func answer(_ value: [UInt8]) {
        guard let request = requests.popLast() else { return }
        if value.isEmpty {
            host.refuse(request, error: .invalidOffset)
        } else {
            host.respond(to: request, value: value)
        }
    }

    private func took(_ request: ServerRequestID) {
        requests.append(request)
        require(requests.count <= 4096, "requests wait without bound")
    }

    func hostStateChanged(_ state: HostState) {}
    func discovered(_ report: AdvertisementReport) {}
    func connected(_ link: LinkInfo) {}
    func mtuChanged(_ link: LinkInfo) {}
    func connectionFailed(_ peer: PeerIdentifier, error: HostError) {}
    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {}
    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {
        require(open.remove(token) != nil, "an operation was answered twice")
    }
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {}
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {
        require(first <= last, "a range ends before it begins")
    }
    func passkeyRequested(_ peer: PeerIdentifier) {}
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) { require(passkey < Passkey.limit, "seven digits") }
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) { require(value < Passkey.limit, "seven digits") }
    func passkeyRequested(_ link: LinkInfo) {}
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {}
    func centralConnected(_ link: LinkInfo) {
        require(!links.contains(link.link), "a link came twice")
        links.append(link.link)
    }
    func centralDisconnected(_ link: LinkInfo, reason: HCIErrorCode) {
        require(links.contains(link.link), "a link went that never came")
        links.removeAll { $0 == link.link }
    }
    func securityChanged(_ link: LinkInfo, error: HostError?) {}
    func readRequested(_ request: ServerReadRequest) { took(request.id) }
    func writesRequested(_ request: ServerWriteRequest) {
        require(request.writes.allSatisfy { $0.offset + $0.value.count <= ATTBound.attributeValueOctets }, "too long")
        if let id = request.id { took(id) }
    }
    func subscriptionChanged(_ link: LinkInfo, handle: AttributeHandle, notify: Bool, indicate: Bool) {}
    func readyToUpdate() {}
    func advertisingStarted(error: HostError?) {}
    func displayPasskey(_ link: LinkInfo, passkey: UInt32) { require(passkey < Passkey.limit, "seven digits") }
    func paired(_ link: LinkInfo, result: Result<BondID, HostError>) {}
}
