import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import HCI
import SecurityManager
import VirtualRadio

/// Hosts on one virtual air under a virtual clock, each with a store that outlives it.
final class World {
    var radio: VirtualRadio
    var nodes: [Node] = []

    init(seed: UInt64 = 1) { radio = VirtualRadio(configuration: AirConfiguration(pacing: .paced, seed: seed)) }

    func add(_ name: String, random seed: UInt64) -> Node {
        let node = Node(name: name, radio: self, seed: seed)
        nodes.append(node)
        return node
    }

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
        while !condition() {
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
    private(set) var store = MemoryHostStore()
    private(set) var controller: ControllerID
    private unowned let world: World
    private let coordinator = MemoryTransactionCoordinator()
    private var seed: UInt64
    /// Every ATT PDU that left, for tests that look at the air.
    private(set) var sent: [[UInt8]] = []

    init(name: String, radio world: World, seed: UInt64) {
        self.name = name
        self.world = world
        self.seed = seed
        controller = world.radio.addController()
    }

    /// Launches on what the store kept. `prepare` is the app: it registers its managers before the controller answers.
    func launch(_ prepare: (Host) -> Void) {
        store = MemoryHostStore(store.kept)
        let host = Host(
            configuration: HostConfiguration(deviceName: name), snapshot: store.load(), store: store,
            random: SeededRandom(seed: seed), makeKeyPair: P256KeyPair.generate)
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
        world.radio.unplug(controller)
        controller = world.radio.addController()
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
        let packets = world.radio.drain(controller)
        guard let host, !packets.isEmpty else { return false }
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

    private func commitAndAct() {
        guard let host else { return }
        repeat {
            host.endIteration()
            do { try coordinator.commit(host.participants) } catch { return }
            for act in host.takeActs() {
                switch act {
                case .packet(let packet):
                    sent.append(packet)
                    world.radio.send(packet, from: controller)
                case .call(let call): call()
                }
            }
        } while host.hasWork
    }
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
