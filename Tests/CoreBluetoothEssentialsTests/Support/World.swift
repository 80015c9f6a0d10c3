import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import Glibc
import HCI
import Synchronization
import VirtualRadio

/// Machines on one virtual air under a virtual clock. The thread that made the world is the loop of them all.
final class World {
    var radio: VirtualRadio
    private(set) var machines: [Machine] = []
    private(set) var strangers: [RadioStranger] = []

    init(seed: UInt64 = 1) { radio = VirtualRadio(configuration: AirConfiguration(pacing: .paced, seed: seed)) }

    var now: Instant { Instant(nanoseconds: radio.now) }

    /// `buffers`: of its controller, for packets of data.
    func add(_ name: String, seed: UInt64, buffers: UInt8 = 20) -> Machine {
        let machine = Machine(name, self, seed: seed, ControllerConfiguration(aclDataPacketCount: buffers))
        machines.append(machine)
        return machine
    }

    /// Somebody who keeps to no rules is on the air from now on.
    func add(_ stranger: RadioStranger) { strangers.append(stranger) }

    /// He has gone.
    func remove(_ stranger: RadioStranger) {
        strangers.removeAll { $0 === stranger }
        radio.unplug(stranger.controller)
    }

    func setDistance(_ a: Machine, _ b: Machine, metres: Double) {
        radio.setDistance(a.controller, b.controller, metres: metres)
    }

    func setDistance(_ a: Machine, _ b: RadioStranger, metres: Double) {
        radio.setDistance(a.controller, b.controller, metres: metres)
    }

    /// The two hear each other no more, and what links them is lost.
    func cut(_ a: Machine, _ b: Machine) { radio.cut(a.controller, b.controller) }
    func join(_ a: Machine, _ b: Machine) { radio.join(a.controller, b.controller) }

    /// Runs until nothing is left to do at this instant.
    func settle() {
        while machines.contains(where: { $0.step() }) || strangers.contains(where: { $0.step() }) {}
    }

    /// Runs events in their order until `condition` holds or so much virtual time has passed; says whether it held.
    @discardableResult
    func run(forMilliseconds milliseconds: UInt64 = 10_000, until condition: () -> Bool = { false }) -> Bool {
        let end = now.advanced(byMilliseconds: milliseconds)
        settle()
        while !condition() {
            let instants = [radio.nextEventInstant] + machines.map { $0.host?.deadline?.nanoseconds }
            guard let next = instants.compactMap({ $0 }).min(), next <= end.nanoseconds else {
                radio.advance(toNanoseconds: end.nanoseconds)
                settle()
                return condition()
            }
            radio.advance(toNanoseconds: max(next, radio.now))
            for machine in machines { machine.fireTimers() }
            settle()
        }
        return true
    }
}

/// One host, its controller, and the disk that outlives it.
final class Machine {
    private(set) var host: Host?
    private(set) var loop: Loop?
    private let name: String
    private unowned let world: World
    private var seed: UInt64
    fileprivate var controller: ControllerID
    private var kept = KeptHostFacts()
    /// Every packet that left.
    private(set) var sent: [[UInt8]] = []
    /// Packets that get lost on their way to the controller.
    var loses: ([UInt8]) -> Bool = { _ in false }
    /// A controller's packets that the host never gets.
    var withholds: ([UInt8]) -> Bool = { _ in false }
    /// A controller's packets that the host gets as soon as this says so no more.
    var delays: ([UInt8]) -> Bool = { _ in false }
    private var delayed: [[UInt8]] = []
    /// How long the disk takes for each commit that has something to write.
    var commitMilliseconds: UInt64 = 0
    /// What packets are when they reach the controller.
    var rewrites: ([UInt8]) -> [UInt8] = { $0 }
    private var store = MemoryHostStore()
    private let coordinator = MemoryTransactionCoordinator()

    init(_ name: String, _ world: World, seed: UInt64, _ hardware: ControllerConfiguration) {
        self.name = name
        self.world = world
        self.seed = seed
        controller = world.radio.addController(hardware)
    }

    /// Launches on what the disk kept; the app makes its managers before the controller has said anything.
    func launch(_ app: (CBHost) -> Void, misuse: (@Sendable (String) -> Void)? = nil) {
        store = MemoryHostStore(kept)
        let host = Host(
            configuration: HostConfiguration(deviceName: name), boot: BootID(bits: 1), snapshot: store.launch(),
            rows: store,
            store: store,
            random: SeededRandom(seed: seed), makeKeyPair: P256KeyPair.generate)
        seed += 1
        self.host = host
        let loop = Loop(host) { [weak world] in world?.now }
        self.loop = loop
        host.beginIteration(now: world.now)
        app(CBHost(loop, misuse: misuse))
        host.transportOpened()
        commitAndAct()
    }

    /// SIGKILL: the running iteration is lost, and the controller sees its host's connection close.
    func kill() {
        kept = store.kept
        loop?.die()
        loop = nil
        host = nil
        world.radio.unplug(controller)
        controller = world.radio.addController()
    }

    /// One iteration, if there is anything for it.
    func step() -> Bool {
        guard let host, let loop else { return false }
        let heard = delayed + world.radio.drain(controller).filter { !withholds($0) }
        delayed = heard.filter(delays)
        let packets = heard.filter { !delays($0) }
        let calls = loop.takeCalls()
        guard !packets.isEmpty || !calls.isEmpty || loop.takeIsDirty() else { return false }
        host.beginIteration(now: world.now)
        for packet in packets {
            guard let indicator = packet.first else { continue }
            host.received(HCIPacketType(rawValue: indicator), packet.span.bytes.extracting(1..<packet.count))
        }
        for call in calls { call(host) }
        commitAndAct()
        return true
    }

    func fireTimers() {
        guard let host, let deadline = host.deadline, deadline <= world.now else { return }
        host.beginIteration(now: world.now)
        host.timerFired()
        commitAndAct()
    }

    private func commitAndAct() {
        guard let host else { return }
        repeat {
            host.endIteration()
            let isWritten = host.hasFacts
            do { try coordinator.commit(host.participants) } catch { return }
            if isWritten, commitMilliseconds > 0 {
                world.radio.advance(toNanoseconds: world.now.advanced(byMilliseconds: commitMilliseconds).nanoseconds)
            }
            host.releaseActs(clock: { world.now }) { act in
                switch act {
                case .packet(let packet):
                    let packet = packet.withUnsafeBytes { Array($0) }
                    guard !loses(packet) else { return }
                    sent.append(packet)
                    world.radio.send(rewrites(packet), from: controller)
                // No controller of these tests fails.
                case .controllerFailed: break
                case .call(let call): call()
                }
            }
        } while host.hasWork
    }
}

/// Reaches a host from any thread, for as long as it lives.
final class Loop: HostExecutor, @unchecked Sendable {
    private let thread = pthread_self()
    private let calls = Mutex<[@Sendable (Host) -> Void]>([])
    /// The loop's thread alone touches these.
    private var host: Host?
    private var isDirty = false
    private let now: () -> Instant?

    init(_ host: Host, now: @escaping () -> Instant?) {
        self.host = host
        self.now = now
    }

    var isOnLoop: Bool { pthread_equal(pthread_self(), thread) != 0 }

    func execute(_ body: @escaping @Sendable (Host) -> Void) {
        guard isOnLoop else { return calls.withLock { $0.append(body) } }
        if let host = join() { body(host) }
    }

    func join() -> Host? {
        guard isOnLoop, let host else { return nil }
        // A test is an app that calls in an iteration of its own, unless its world has gone before it.
        if let now = now() { host.beginIteration(now: now) }
        isDirty = true
        return host
    }

    func takeCalls() -> [@Sendable (Host) -> Void] {
        calls.withLock { calls in
            defer { calls = [] }
            return calls
        }
    }

    func takeIsDirty() -> Bool {
        defer { isDirty = false }
        return isDirty
    }

    func die() { host = nil }
}

/// Deterministic octets: a stand-in for entropy, not for any machine under test.
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
