import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Testing
import VirtualRadio

/// Hosts on one virtual air under a virtual clock, each with a store that outlives it.
final class World {
    var radio: VirtualRadio
    var nodes: [Node] = []

    init(seed: UInt64 = 1) { radio = VirtualRadio(configuration: AirConfiguration(pacing: .paced, seed: seed)) }

    func add(
        _ name: String, random seed: UInt64, store: MemoryHostStore = MemoryHostStore(),
        hardware: ControllerConfiguration = ControllerConfiguration()
    ) -> Node {
        let node = Node(name: name, radio: self, seed: seed, store: store, hardware: hardware)
        nodes.append(node)
        return node
    }

    /// A loop that takes more of them without the clock's moving on would take them for ever.
    private static let turnsMaximum = 10_000

    var now: Instant { Instant(nanoseconds: radio.now) }

    /// Runs until nothing is left to do at this instant.
    func settle() {
        var isBusy = true
        while isBusy {
            isBusy = false
            for node in nodes where node.takePackets() { isBusy = true }
        }
    }

    /// Runs events in their order until `condition` holds or `milliseconds` of virtual time have passed; says whether it
    /// held.
    @discardableResult
    func run(forMilliseconds milliseconds: UInt64, until condition: () -> Bool = { false }) -> Bool {
        let end = now.advanced(byMilliseconds: milliseconds)
        settle()
        var (instant, turns) = (radio.now, 0)
        while !condition() {
            (instant, turns) = (radio.now, radio.now == instant ? turns + 1 : 0)
            guard turns < Self.turnsMaximum else {
                Issue.record("\(turns) turns at one instant: something that is due stays due")
                return false
            }
            let deadlines = nodes.compactMap { $0.host?.deadline?.nanoseconds }
            guard let next = ([radio.nextEventInstant].compactMap { $0 } + deadlines).min(),
                next <= end.nanoseconds
            else {
                radio.advance(toNanoseconds: end.nanoseconds)
                settle()
                return condition()
            }
            radio.advance(toNanoseconds: max(next, radio.now))
            for node in nodes { node.fireTimers() }
            settle()
        }
        return true
    }
}

/// One host, its controller, and what its disk keeps when it is killed.
final class Node {
    let name: String
    private(set) var host: Host?
    private(set) var store: MemoryHostStore
    private(set) var controller: ControllerID
    private unowned let world: World
    private let coordinator = MemoryTransactionCoordinator()
    private var seed: UInt64
    /// Every packet that left, for tests that look at the wire.
    private(set) var sent: [[UInt8]] = []
    /// What was wrong with the controller, and what was done about it.
    private(set) var failures: [ControllerFailure] = []
    private(set) var remedies: [ControllerRemedy] = []
    /// Facts handed to the store since the node was made, kept or not.
    private(set) var facts = 0
    /// Acts let go, and iterations committed, since the node was made.
    private(set) var actCount = 0
    private(set) var commitCount = 0
    /// The node is killed when as many acts have been let go, or before as many commits have been made.
    var killAfterActs: Int?
    var killBeforeCommit: Int?
    /// Of every link since the node was made, the last one last.
    private(set) var handles: [UInt16] = []
    /// A controller's packets that the host never gets.
    var withholds: ([UInt8]) -> Bool = { _ in false }
    /// What the host's packets are when they reach the controller.
    var outgoing: ([UInt8]) -> [UInt8] = { $0 }
    /// What a controller's packets are when they reach the host.
    var rewrites: ([UInt8]) -> [UInt8] = { $0 }
    var configuration: HostConfiguration
    /// The machine's; another one after a power cut.
    var boot = BootID(bits: 1)

    /// What its controller is made of.
    private let hardware: ControllerConfiguration

    init(
        name: String, radio world: World, seed: UInt64, store: MemoryHostStore = MemoryHostStore(),
        hardware: ControllerConfiguration = ControllerConfiguration()
    ) {
        self.hardware = hardware
        self.store = store
        self.name = name
        self.world = world
        self.seed = seed
        configuration = HostConfiguration(deviceName: name)
        controller = world.radio.addController(hardware)
    }

    /// Launches on what the store kept. `prepare` is the app: it registers its managers before the controller answers.
    func launch(_ prepare: (Host) -> Void) {
        store = MemoryHostStore(store.kept)
        let host = Host(
            configuration: configuration, boot: boot, snapshot: store.launch(), rows: store,
            store: CountingStore(store) { [unowned self] in facts += 1 }, random: SeededRandom(seed: seed),
            makeKeyPair: P256KeyPair.generate)
        seed &+= 1
        self.host = host
        host.beginIteration(now: world.now)
        prepare(host)
        host.transportOpened()
        commitAndAct()
    }

    /// SIGKILL: nothing of the running iteration is kept, and the controller's connection closes.
    func kill() {
        host = nil
        killAfterActs = nil
        killBeforeCommit = nil
        world.radio.unplug(controller)
        controller = world.radio.addController(hardware)
    }

    /// An API call of the app, as an iteration of its own.
    func call(_ body: (Host) -> Void) {
        guard let host else { return }
        host.beginIteration(now: world.now)
        body(host)
        commitAndAct()
        world.settle()
    }

    /// Feeds what the controller has for us. False when it had nothing.
    func takePackets() -> Bool {
        let packets = world.radio.drain(controller).filter { !withholds($0) }.map(rewrites)
        guard !packets.isEmpty else { return false }
        // LE Connection Complete, and its enhanced version.
        for packet in packets
        where packet.count > 6 && packet[1] == 0x3E && [0x01, 0x0A].contains(packet[3]) && packet[4] == 0 {
            handles.append(UInt16(packet[5]) | UInt16(packet[6]) << 8)
        }
        return inject(packets)
    }

    /// Feeds packets as if the controller had sent them.
    @discardableResult
    func inject(_ packets: [[UInt8]]) -> Bool {
        guard let host else { return false }
        host.beginIteration(now: world.now)
        for packet in packets {
            guard let indicator = packet.first else { continue }
            host.received(HCIPacketType(rawValue: indicator), packet.span.bytes.extracting(1..<packet.count))
        }
        commitAndAct()
        return true
    }

    func fireTimers() {
        guard let host, let deadline = host.deadline, deadline <= world.now else { return }
        host.beginIteration(now: world.now)
        host.timerFired()
        commitAndAct()
    }

    /// As a transport does it: another controller stands behind it then.
    private func reopen(_ host: Host) {
        host.transportClosed()
        world.radio.unplug(controller)
        controller = world.radio.addController(hardware)
        host.transportOpened()
    }

    private func commitAndAct() {
        guard let host else { return }
        repeat {
            host.endIteration()
            commitCount += 1
            if commitCount == killBeforeCommit { return kill() }
            do { try coordinator.commit(host.participants) } catch { return }
            do {
                try host.releaseActs(clock: { Instant(nanoseconds: world.radio.now) }) { act throws(Killed) in
                    if actCount == killAfterActs { throw Killed() }
                    actCount += 1
                    switch act {
                    case .packet(let packet):
                        let packet = packet.withUnsafeBytes { Array($0) }
                        sent.append(packet)
                        world.radio.send(outgoing(packet), from: controller)
                    case .controllerFailed(let failure, let remedy):
                        failures.append(failure)
                        remedies.append(remedy)
                        if remedy == .reopen { reopen(host) }
                    case .call(let call): call()
                    }
                }
            } catch {
                return kill()
            }
        } while host.hasWork
    }
}

/// A process ends here.
private struct Killed: Error {}

/// Counts what a host hands over, on its way to the store.
private final class CountingStore: HostStore {
    private let store: MemoryHostStore
    private let count: () -> Void

    init(_ store: MemoryHostStore, count: @escaping () -> Void) {
        self.store = store
        self.count = count
    }

    func load() -> HostSnapshot { store.load() }
    func append(_ mutation: HostMutation) {
        count()
        store.append(mutation)
    }
    var hasPending: Bool { store.hasPending }
    func writePending() { store.writePending() }
    func didCommit() { store.didCommit() }
}

/// Deterministic octets for tests: a stand-in for entropy, not for any machine under test.
struct SeededRandom: RandomSource {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) {
        for _ in 0..<count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            octets.append(UInt8(truncatingIfNeeded: state >> 32))
        }
    }
}
