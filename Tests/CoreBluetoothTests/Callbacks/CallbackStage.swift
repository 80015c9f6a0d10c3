import BluetoothCore
import BluetoothHost
import CoreBluetooth
import TestSupport
import Testing

@testable import CoreBluetooth
@testable import CoreBluetoothEssentials

/// A central's app and a peripheral's app, each on a host of its own, with the attributes that docs/CALLBACKS.md speaks of. One
/// test's task has it.
final class CallbackStage: @unchecked Sendable {
    static let service = CBUUID(string: "FFF0")
    static let battery = CBUUID(string: "180F")
    /// Read and written, and answered by the app.
    static let text = CBUUID(string: "FFF1")
    static let chime = CBUUID(string: "FFF2")
    static let bell = CBUUID(string: "FFF3")
    /// Read on an encrypted link only.
    static let secret = CBUUID(string: "FFF4")
    static let note = CBUUID(string: "FFF5")
    /// Nobody comes to it before the 127th channel that is published.
    static let unpublishedPSM: CBL2CAPPSM = 0xFF

    let air: Air
    let visitor = RecordingCentral()
    let door = RecordingPeripheral()
    private let visitorQueue = DispatchQueue(label: "visitor")
    private let doorQueue = DispatchQueue(label: "door")
    private var visitorLife: RadioHost?
    private var doorLife: RadioHost?
    private var centralManager: CBCentralManager?
    private var peripheralManager: CBPeripheralManager?
    /// What both managers have asked for ends with the adapter's power, as on Apple's systems.
    var endsWithPower = false
    /// Those of this life.
    private(set) var services: [CBMutableService] = []

    init(withRadio: Bool = true) async throws { air = try await Air(withRadio: withRadio) }

    // MARK: Lives

    /// As the product composes it.
    private static func configuration(named name: String) throws -> HostConfiguration {
        try HostSettings(
            environment: ["HOME": "/nowhere", "LATCH_NAME": name], boot: BootID(bits: 1), program: name, machine: name
        ).configuration
    }

    /// `whenOn`: the managers are made when the adapter is on already.
    func launchVisitor(kept: KeptHostFacts = KeptHostFacts(), whenOn: Bool = false) async throws {
        let life = RadioHost(
            on: air, "Visitor", configuration: try Self.configuration(named: "Visitor"), kept: kept)
        visitorLife = life
        if whenOn { try await CentralSession(host: life.bluetooth).waitUntilPoweredOn() }
        centralManager = CBCentralManager(
            callbacks: visitor, queue: visitorQueue,
            options: [
                CBCentralManagerOptionRestoreIdentifierKey: "visitor", CBManagerOptionEndsWithPowerKey: endsWithPower,
            ], host: life.bluetooth)
    }

    func launchDoor(
        named name: String = "Door", kept: KeptHostFacts = KeptHostFacts(), whenOn: Bool = false
    ) async throws {
        let life = RadioHost(on: air, name, configuration: try Self.configuration(named: name), kept: kept)
        doorLife = life
        if whenOn { try await CentralSession(host: life.bluetooth).waitUntilPoweredOn() }
        services = Self.makeServices()
        peripheralManager = CBPeripheralManager(
            callbacks: door, queue: doorQueue,
            options: [
                CBPeripheralManagerOptionRestoreIdentifierKey: "door", CBManagerOptionEndsWithPowerKey: endsWithPower,
            ], host: life.bluetooth)
    }

    /// What is on its disk then.
    func killVisitor() async throws -> KeptHostFacts {
        let kept = try await visitorHost.kill()
        (visitorLife, centralManager) = (nil, nil)
        return kept
    }

    func killDoor() async throws -> KeptHostFacts {
        let kept = try await doorHost.kill()
        (doorLife, peripheralManager) = (nil, nil)
        return kept
    }

    private static func makeServices() -> [CBMutableService] {
        let level = CBMutableCharacteristic(
            type: CBUUID(string: "2A19"), properties: .read, value: Data([99]), permissions: .readable)
        let text = CBMutableCharacteristic(
            type: text, properties: [.read, .write], value: nil, permissions: [.readable, .writeable])
        let chime = CBMutableCharacteristic(type: chime, properties: .notify, value: nil, permissions: [])
        let bell = CBMutableCharacteristic(
            type: bell, properties: .writeWithoutResponse, value: nil, permissions: .writeable)
        let secret = CBMutableCharacteristic(
            type: secret, properties: .read, value: Data([42]), permissions: .readEncryptionRequired)
        let note = CBMutableCharacteristic(type: note, properties: .write, value: nil, permissions: .writeable)
        text.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Text")]
        let battery = CBMutableService(type: battery, primary: true)
        battery.characteristics = [level]
        let service = CBMutableService(type: service, primary: true)
        service.characteristics = [text, chime, bell, secret, note]
        service.includedServices = [battery]
        return [battery, service]
    }

    // MARK: Who is on it

    var visitorHost: RadioHost { get throws { try #require(visitorLife) } }
    var doorHost: RadioHost { get throws { try #require(doorLife) } }
    var central: CBCentralManager { get throws { try #require(centralManager) } }
    var peripheral: CBPeripheralManager { get throws { try #require(peripheralManager) } }
    /// The door, as the visitor has met it.
    var met: CBPeripheral { get throws { try #require(visitor.met) } }

    var chime: CBMutableCharacteristic {
        get throws {
            let found = services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == Self.chime }
            return try #require(found as? CBMutableCharacteristic)
        }
    }

    /// What the visitor has discovered.
    func discovered(_ type: CBUUID) throws -> CBCharacteristic {
        try #require(try met.services?.flatMap { $0.characteristics ?? [] }.first { $0.uuid == type })
    }

    /// Somebody who is nowhere.
    func stranger() async throws -> CBPeripheral {
        let manager = try central
        let address = DeviceAddress(kind: .public, bits: 0x0200_0000_0001)
        let stranger = try #require(await visitorHost.onLoop { _ in manager.peripheral(at: address) })
        stranger.delegate = visitor
        return stranger
    }

    /// From the scan to the subscription.
    func subscribe() async throws {
        let record = visitor.record
        try await record.hears("centralManager(_:didDiscover:advertisementData:rssi:)") {
            try central.scanForPeripherals(withServices: [Self.service])
        }
        let met = try met
        try await record.hears("peripheralDidUpdateName(_:)") { try central.connect(met) }
        await record.hears("peripheral(_:didDiscoverServices:)") { met.discoverServices([Self.service]) }
        let service = try #require(met.services?.first)
        await record.hears("peripheral(_:didDiscoverCharacteristicsFor:error:)") {
            met.discoverCharacteristics(nil, for: service)
        }
        met.setNotifyValue(true, for: try discovered(Self.chime))
    }

    /// Who is asked about pairings at the door.
    func setDoorUser(_ user: DoorUser) throws { try doorHost.bluetooth.pairingAgent = user }

    /// The door's host ends the link.
    func dropVisitor() async throws {
        try await doorHost.onLoop { host in
            if let link = host.provenLinks.first { host.drop(link.link) }
        }
    }

    // MARK: Nothing more comes

    private static let settlingRounds = 4

    /// What either app could still hear of what has happened is in its record: what was on its way to a host, to the radio and to a
    /// queue has come, several times over.
    func settle() async throws {
        nonisolated(unsafe) let air = air
        for _ in 0..<Self.settlingRounds {
            for host in [visitorLife, doorLife].compactMap({ $0 }) { await host.committed() }
            for queue in [visitorQueue, doorQueue] {
                await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            }
            // The radio has done what was said to it before when it answers.
            if let error = await offPool({ () -> (any Error)? in
                do { try air.join() } catch { return error }
                return nil
            }) {
                throw error
            }
        }
    }
}

/// The door's user, who says no, or who does not answer at all.
final class DoorUser: CoreBluetooth.PairingAgent {
    let capability = PairingCapability.confirmOnly
    private let answers: Bool
    private let questions = AsyncStream<Void>.makeStream()

    init(answers: Bool) { self.answers = answers }

    /// Once the question has been put.
    func isAsked() async { _ = await questions.stream.first { _ in true } }

    func confirm(_ pairing: PairingAttempt) async -> Bool {
        questions.continuation.yield()
        // Over when the question is withdrawn.
        if !answers { for await _ in AsyncStream<Void>.makeStream().stream {} }
        return false
    }
    func show(_ passkey: String, for pairing: PairingAttempt) async {}
    func enter(for pairing: PairingAttempt) async -> String? { nil }
    func compare(_ number: String, for pairing: PairingAttempt) async -> Bool { false }
    func done(_ pairing: PairingAttempt, error: (any Error)?) async {}
}
