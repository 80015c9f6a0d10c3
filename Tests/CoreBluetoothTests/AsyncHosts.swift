import BluetoothCore
import BluetoothHost
import CoreBluetooth
import HCITransport
import HostComposition
import StatePersistence
import Synchronization
import Testing

@testable import CoreBluetooth
@testable import CoreBluetoothEssentials

/// A host in this process with a controller on a radio, on a thread of its own. Its store outlives no process.
final class RadioHost: Sendable {
    /// Touched on the host's thread alone.
    private final class Running: @unchecked Sendable {
        var driver: HostDriver?
        let store: MemoryHostStore

        init(_ kept: KeptHostFacts) { store = MemoryHostStore(kept) }
    }

    let bluetooth: CBHost
    private let running: Running

    /// `kept`: what an earlier life left on its disk.
    init(
        on air: Air, _ name: String, configuration: HostConfiguration? = nil, kept: KeptHostFacts = KeptHostFacts()
    ) {
        let (path, running) = (air.directory.path + "/air", Running(kept))
        self.running = running
        bluetooth = DefaultHost.start {
            let source = ControllerSource(try TransportAddress(parsing: "unix:\(path)"))
            let runtime = try HostRuntime(
                configuration ?? HostConfiguration(deviceName: name), boot: BootID(bits: 1), store: running.store,
                coordinator: MemoryTransactionCoordinator(), air: .controller(source),
                loop: EventLoop(signals: []), misuse: { Issue.record("\($0)") })
            running.driver = runtime.driver
            return DefaultHost.Composition(runtime: runtime, claim: nil)
        }
    }

    deinit {
        bluetooth.executor.execute { [running] _ in
            running.driver?.stop()
            running.driver = nil
        }
    }

    /// Behind everything that was asked of the host before.
    func onLoop<Output: Sendable>(_ body: @escaping @Sendable (BluetoothHost.Host) -> Output) async -> Output {
        await withCheckedContinuation { continuation in
            bluetooth.executor.execute { continuation.resume(returning: body($0)) }
        }
    }

    /// Ends as a killed process does: nobody is told, and its controller is gone. Says what is on its disk.
    func kill() async -> KeptHostFacts {
        await withCheckedContinuation { continuation in
            bluetooth.executor.execute { [running] _ in
                running.driver?.stop()
                running.driver = nil
                continuation.resume(returning: running.store.kept)
            }
        }
    }

    /// What was asked before is on disk, and what apps hear of it has been handed to their queues.
    func committed() async {
        await withCheckedContinuation { continuation in
            bluetooth.executor.execute { $0.afterCommit { continuation.resume() } }
        }
    }

    /// Behind that, and on disk: the peripherals that are to be connected to under a restore identifier.
    func keptWishes() async -> Int {
        // What was asked in this iteration is committed at its end.
        _ = await onLoop { _ in }
        return await withCheckedContinuation { continuation in
            bluetooth.executor.execute { [running] host in
                host.afterCommit {
                    let records = running.store.kept.snapshot.restorations.values
                    continuation.resume(returning: records.reduce(0) { $0 + $1.pendingConnections.count })
                }
            }
        }
    }

    /// Somebody who is nowhere.
    func stranger(_ session: CentralSession, _ bits: UInt64 = 0x0200_0000_0001) async throws -> CBPeripheral {
        let manager = session.manager
        return try #require(
            await onLoop { _ in manager.peripheral(at: DeviceAddress(kind: .public, bits: bits)) })
    }

    /// The controller is pulled out, and is there again.
    func replug() async {
        await onLoop { host in
            host.transportClosed()
            host.transportOpened()
        }
    }

    /// The same behind everything that was asked of the host before, and the caller goes on at once.
    func losesAdapter() {
        bluetooth.executor.execute { host in
            host.transportClosed()
            host.transportOpened()
        }
    }

    /// Whether that is asked of the host now.
    func isAdvertising(_ session: PeripheralSession) async -> Bool {
        let core = session.manager.core
        return await onLoop { host in core.id.map { host.isAdvertising($0) } ?? false }
    }

    /// Ends a central's link from this side, as a host that cannot keep up does.
    func drop(_ central: CBCentral) async throws {
        let link = try #require(central.state.withLock { $0.link?.link })
        await onLoop { $0.drop(link) }
    }

    /// Nothing happens on the host's thread until `body` is over.
    func holdingLoop<Output: Sendable>(_ body: () async throws -> Output) async rethrows -> Output {
        let isOver = DispatchSemaphore(value: 0)
        bluetooth.executor.execute { _ in isOver.wait() }
        defer { isOver.signal() }
        return try await body()
    }
}

/// A door and a visitor in sessions, each on a host of its own.
struct AsyncScene: Sendable {
    static let service = CBUUID(string: "FFF0")

    /// Held, and nothing else.
    private nonisolated(unsafe) let air: Air
    let doorHost: RadioHost
    let visitorHost: RadioHost
    let door: PeripheralSession
    let visitor: CentralSession
    let state = CBMutableCharacteristic(
        type: CBUUID(string: "FFF1"), properties: [.read, .write], value: nil, permissions: [.readable, .writeable])
    let chime = CBMutableCharacteristic(
        type: CBUUID(string: "FFF2"), properties: [.notify, .read], value: nil, permissions: .readable)
    let bell = CBMutableCharacteristic(
        type: CBUUID(string: "FFF3"), properties: .writeWithoutResponse, value: nil, permissions: .writeable)
    let published: CBMutableService

    init(door doorName: String? = nil, visitor visitorName: String? = nil) async throws {
        air = try await Air()
        doorHost = RadioHost(on: air, "door")
        visitorHost = RadioHost(on: air, "visitor")
        door = PeripheralSession(restoreIdentifier: doorName, host: doorHost.bluetooth)
        visitor = CentralSession(restoreIdentifier: visitorName, host: visitorHost.bluetooth)
        published = CBMutableService(type: Self.service, primary: true)
        state.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Open")]
        published.characteristics = [state, chime, bell]
    }

    func open() async throws {
        try await door.waitUntilPoweredOn()
        try await door.add(published)
        try await door.startAdvertising(name: "Door", services: [Self.service])
    }

    /// The first door that is heard.
    func find() async throws -> CBPeripheral {
        for await discovery in visitor.discoveries(withServices: [Self.service]) { return discovery.peripheral }
        throw CBError(.unknownDevice)
    }

    func enter() async throws -> PeripheralConnection {
        try await open()
        return try await visitor.connect(find())
    }
}

extension PeripheralConnection {
    /// The characteristic of this type in the scene's service.
    func characteristic(_ like: CBCharacteristic) async throws -> CBCharacteristic {
        let service = try #require(
            try await discoverServices([AsyncScene.service]).first { $0.uuid == AsyncScene.service })
        return try #require(try await discoverCharacteristics(for: service).first { $0.uuid == like.uuid })
    }
}

/// What `body` throws; nil when it does not.
func failure<Output>(of body: () async throws -> Output) async -> (any Error)? {
    do { _ = try await body() } catch { return error }
    return nil
}
