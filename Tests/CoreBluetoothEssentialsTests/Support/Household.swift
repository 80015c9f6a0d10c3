import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import GATT
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// The bolt of a lock that nobody moves, and that remembers what it was to do.
private final class StillBolt: Actuator {
    private(set) var orders: [(order: ActuatorOrder, at: Instant)] = []

    func reading(asking intent: Intent?, now: Instant) -> BoltReading {
        BoltReading(position: .locked, door: .closed)
    }
    func perform(_ order: ActuatorOrder, now: Instant) -> ActuatorReport? {
        orders.append((order, now))
        return nil
    }
    var deadline: Instant? { nil }
    func poll(now: Instant) -> ActuatorReport? { nil }
}

/// The shells of a lock and a key, each on its host in one world.
final class Household {
    private static let doorSeed: UInt64 = 51

    let world: World
    let door: Node
    let pocket: Node
    private(set) var lock: LockDaemon?
    private(set) var key: KeyDaemon?
    private(set) var code: SetupCode?
    /// Of the enrolment that was begun last.
    private(set) var progress: [KeyEnrolmentProgress] = []
    /// When the key was connected and when it was not any more.
    private(set) var links: [(from: Instant, to: Instant?)] = []
    let lockStore: MemoryLockStore
    private let keyStore = MemoryKeyStore()
    private let boot = BootID(bits: 1)
    private var random: UInt64 = 1
    private let stillBolt = StillBolt()
    private let bolt: any Actuator
    private let settings: LockSettings
    /// Of those, what the next launch of the lock has from its configuration.
    var fixed = LockSettings.Fields.all
    /// Of the lock's machine.
    var wallClockSeconds: Int64? = 1_800_000_000
    /// Whether that goes on with the world's time. A clock that stands still is one that somebody sets.
    var clockRuns = false
    private let unlocksWhenNear: Bool
    private var impostor: Node?
    private var stranger: ConnectableStranger?

    init(
        auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum, seed: UInt64 = 1, bolt: (any Actuator)? = nil,
        settings: LockSettings = LockSettings(), keyBuffers: UInt8 = 20, unlocksWhenNear: Bool = false,
        auditSigner: Ed25519SigningKey? = nil
    ) throws {
        world = World(seed: seed)
        self.bolt = bolt ?? stillBolt
        self.settings = settings
        self.unlocksWhenNear = unlocksWhenNear
        lockStore = MemoryLockStore(auditRecordsMaximum: auditRecordsMaximum, signer: auditSigner)
        door = world.add("door", seed: Self.doorSeed)
        pocket = world.add("pocket", seed: 52, hardware: ControllerConfiguration(aclDataPacketCount: keyBuffers))
        launchLock()
        launchKey()
        world.run(forMilliseconds: 1_000)
    }

    func launchLock(restoreIdentifier: String = "lock") {
        door.launchApp { bluetooth in
            guard let host = door.host else { return }
            lock = try? LockDaemon(
                .init(
                    restoreIdentifier: restoreIdentifier, name: "Front", settings: settings, fixed: fixed, boot: boot),
                host: host, bluetooth: bluetooth, store: lockStore, actuator: bolt,
                surroundings: .init(
                    random: { [unowned self] in
                        random = random &* 0x9E37_79B9_7F4A_7C15 &+ 1
                        return random
                    }, wallClockSeconds: { [unowned self] in clockSeconds }, bootTime: { [world] in world.now },
                    observe: { _ in },
                    fail: { Issue.record($0) }))
        }
    }

    func launchKey(restoreIdentifier: String = "key") {
        pocket.launchApp { bluetooth in
            guard let host = pocket.host else { return }
            key = try? KeyDaemon(
                .init(restoreIdentifier: restoreIdentifier, boot: boot, unlocksWhenNear: unlocksWhenNear), host: host,
                bluetooth: bluetooth,
                store: keyStore, observe: { [unowned self] in heard($0) })
        }
    }

    private var clockSeconds: Int64? {
        wallClockSeconds.map { $0 + (clockRuns ? Int64(world.now.nanoseconds / 1_000_000_000) : 0) }
    }

    /// What the loop does while the radio is quiet.
    func searchForOrphans() { call(door) { while lock?.readOn() == true {} } }

    func killLock() {
        lock = nil
        door.kill()
        lockStore.losePending()
    }

    func killKey() {
        key = nil
        pocket.kill()
        keyStore.losePending()
    }

    private func heard(_ event: KeyEvent) {
        switch event {
        case .connected: links.append((world.now, nil))
        case .disconnected: if !links.isEmpty { links[links.count - 1].to = world.now }
        default: break
        }
    }

    /// A call of an operator, as an iteration of its own.
    func call<R>(_ machine: Node, _ body: () throws -> R) rethrows -> R {
        machine.host?.beginIteration(now: world.now)
        defer {
            machine.loop?.execute { _ in }
            world.settle()
        }
        return try body()
    }

    func openWindow(
        _ credential: String, _ role: Role = .owner, of user: String? = nil, kind: UserKind? = nil,
        method: EnrolmentRequest.Method = .outOfBand
    ) throws {
        let request = EnrolmentRequest(
            credential: credential, role: role, method: method, seconds: 120, user: user, kind: kind)
        try call(door) {
            try lock?.openEnrolment(request) { [unowned self] in if case .opened(let code) = $0 { self.code = code } }
        }
    }

    func enroll() throws {
        let code = try #require(code)
        progress = []
        call(pocket) { key?.enroll(code, waitMilliseconds: 120_000) { [unowned self] in progress.append($0) } }
    }

    var isPaired: Bool { progress.contains { if case .paired = $0 { true } else { false } } }
    /// The lock has the key's half too, and waits for it to come back.
    var isPairedOnBothSides: Bool { isPaired && door.host?.bonds.contains { $0.state == .unconfirmed } == true }
    var isEnrolled: Bool { progress.contains { if case .enrolled = $0 { true } else { false } } }
    var failure: KeyEnrolmentFailure? {
        for case .failed(let failure) in progress { return failure }
        return nil
    }

    /// When the bolt was told to open.
    var openings: [Instant] { stillBolt.orders.filter { $0.order.movement != .lock }.map(\.at) }
    /// Of what is on the key's disk.
    var keptRequest: KeyRequest? { keyStore.committed.locks.values.first?.request }
    var keptReceiptCounter: UInt32? { keyStore.committed.locks.values.first?.receiptCounter }

    // MARK: Who may open

    /// A key that the lock knows, under a window for `credential`.
    func enrollToTheEnd(
        _ credential: String, _ role: Role = .owner, kind: UserKind? = nil,
        method: EnrolmentRequest.Method = .outOfBand
    ) throws {
        try openWindow(credential, role, kind: kind, method: method)
        try enroll()
        try #require(world.run(forMilliseconds: 30_000) { isEnrolled })
        world.run(forMilliseconds: 2_000)
    }

    /// Whether the lock takes a command of the key.
    func isObeyed() -> Bool {
        var isTaken = false
        var isOver = false
        call(pocket) {
            key?.command(.lock, lock: nil, waitMilliseconds: 30_000) { progress in
                switch progress {
                case .nearest, .took: break
                case .accepted, .outcome, .ended(.accepted), .ended(.done): (isTaken, isOver) = (true, true)
                case .ended, .unknownLock, .notSought: isOver = true
                }
            }
        }
        world.run(forMilliseconds: 60_000) { isOver }
        world.run(forMilliseconds: 10_000)
        return isTaken
    }

    /// How the command that was asked for last has ended.
    private(set) var commandEnd: KeyCommandProgress?

    func ask(_ operation: LockOperation = .unlock, waitMilliseconds: UInt64) {
        commandEnd = nil
        call(pocket) {
            key?.command(operation, lock: nil, waitMilliseconds: waitMilliseconds) { [unowned self] progress in
                switch progress {
                case .nearest, .took: break
                case .accepted, .ended, .outcome, .unknownLock, .notSought: commandEnd = commandEnd ?? progress
                }
            }
        }
    }

    /// What the lock says to a command that it gets at once.
    func verdict(_ operation: LockOperation = .unlock) -> KeyVerdict? {
        switch command(operation, waitMilliseconds: 20_000).end {
        case .accepted, .outcome: .accepted
        case .ended(let verdict): verdict
        case .nearest, .took, .unknownLock, .notSought, nil: nil
        }
    }

    /// How a command ended that was given so much time, and after how long.
    func command(_ operation: LockOperation = .unlock, waitMilliseconds: UInt64) -> (
        end: KeyCommandProgress?, milliseconds: UInt64
    ) {
        let asked = world.now
        ask(operation, waitMilliseconds: waitMilliseconds)
        world.run(forMilliseconds: waitMilliseconds + 60_000) { commandEnd != nil }
        return (commandEnd, world.now.milliseconds(since: asked))
    }

    // MARK: A stranger

    /// Somebody with a controller of its own answers at one of the lock's addresses, with the lock on the air.
    @discardableResult
    func addStranger(_ manner: RadioStranger.Manner, at address: DeviceAddress?) throws -> RadioStranger {
        // Handle Value Notification of eight octets: a challenge, as everybody hears it.
        let heard = door.sent.last { $0.count == 20 && $0[0] == 2 && $0[7...9] == [4, 0, 0x1B] }
        let lock = try #require(door.host)
        let tree = pocket.host?.remoteDatabase(
            pocket.host?.peer(at: lock.identity.address.address) ?? PeerIdentifier(bits: 0))
        let changed = tree?.gattServiceCharacteristic(.serviceChanged)?.value.rawValue ?? 0
        let stranger = RadioStranger(
            world, manner, at: try #require(address), challengeHandle: Array((heard ?? []).dropFirst(10).prefix(2)),
            serviceChangedHandle: [UInt8(changed & 0xFF), UInt8(changed >> 8)])
        world.add(stranger)
        return stranger
    }

    /// The lock is not heard any more: somebody stands before the door who answers at its address, and has no key.
    func beginImpersonation() {
        world.cut(door, pocket)
        let impostor = world.add("impostor", seed: Self.doorSeed)
        impostor.launchApp { stranger = ConnectableStranger($0) }
        self.impostor = impostor
    }

    func endImpersonation() {
        stranger = nil
        impostor?.kill()
        impostor = nil
        world.join(door, pocket)
    }
}

/// Advertises, takes every connection and has no key for anybody.
private final class ConnectableStranger: CBPeripheralManagerCallbacks, @unchecked Sendable {
    private var manager: CBPeripheralManager?

    init(_ bluetooth: CBHost) { manager = CBPeripheralManager(callbacks: self, delivery: .inline, host: bluetooth) }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        if peripheral.state == .poweredOn { peripheral.startAdvertising([:]) }
    }
}

extension LockDaemon {
    /// A household's lock knows fewer than a page has room for.
    var status: LockStatus { statusPage(LockStatus.Page(limit: 100)) }
}
