import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import HCI
import VirtualRadio

/// One host, the wire to its controller, and the disk that outlives it.
package final class Node: OnAir {
    package let name: String
    package private(set) var host: Host?
    /// By which apps reach the host, from any thread.
    package private(set) var loop: Loop?
    package let wire: Wire
    package let disk: any NodeDisk
    private var coordinator: (any TransactionCoordinator)?
    package var configuration: HostConfiguration
    /// The machine's; another one after a power cut.
    package var boot = BootID(bits: 1)
    private unowned let world: World
    private var seed: UInt64

    // MARK: What is seen of it

    /// Every packet that left, while ``keepsPackets``.
    package private(set) var sent: [[UInt8]] = []
    /// Off where a node lives long: ``onSent`` hears of each then.
    package var keepsPackets = true
    package var onSent: ([UInt8]) -> Void = { _ in }
    /// Hears of each packet that its process gets, before that one does.
    package var onReceived: ([UInt8]) -> Void = { _ in }
    /// What was wrong with the controller, and what was done about it.
    package private(set) var failures: [ControllerFailure] = []
    package private(set) var remedies: [ControllerRemedy] = []
    /// Facts handed to the store since the node was made, kept or not.
    package private(set) var facts = 0
    /// Acts let go, and iterations committed, since the node was made.
    package private(set) var actCount = 0
    package private(set) var commitCount = 0
    /// Of every link since the node was made, the last one last.
    package private(set) var handles: [UInt16] = []

    // MARK: What is done to it

    /// The node is killed when as many acts have been let go, or before as many commits have been made.
    package var killAfterActs: Int?
    package var killBeforeCommit: Int?
    /// How long the disk takes for each commit that has something to write.
    package var commitMilliseconds: UInt64 = 0
    /// What its loop watches beside the controller: whether something has come there, and what takes it.
    var watched: (isReadable: () -> Bool, take: () -> Void)?
    /// Nothing is done here, whatever comes, as long as the process lives.
    package var isSuspended = false

    init(_ name: String, _ world: World, seed: UInt64, disk: any NodeDisk, hardware: ControllerConfiguration) {
        self.name = name
        self.world = world
        self.seed = seed
        self.disk = disk
        configuration = HostConfiguration(deviceName: name)
        wire = world.air.plug(name, hardware)
    }

    package var controller: ControllerID { wire.controller }

    // MARK: The process

    /// Launches on what the disk has. `prepare` is the app: it registers its managers before the controller answers.
    ///
    /// - Throws: What the disk says; there is no process then.
    package func begin(_ prepare: (Host) throws -> Void) throws {
        let (store, coordinator) = try disk.open()
        let snapshot: HostSnapshot
        do { snapshot = try store.launch() } catch {
            disk.close()
            throw error
        }
        let host = Host(
            configuration: configuration, boot: boot, snapshot: snapshot, rows: store.rows,
            store: CountingStore(store) { [unowned self] in facts += 1 }, random: SeededRandom(seed: seed),
            makeKeyPair: P256KeyPair.generate)
        seed &+= 1
        self.host = host
        self.coordinator = coordinator
        loop = Loop(host) { [weak world] in world?.now }
        host.beginIteration(now: world.now)
        do { try prepare(host) } catch {
            end()
            throw error
        }
        host.transportOpened()
        commitAndAct()
    }

    /// As ``begin(_:)``, for one who knows that the disk has nothing to say, or hears it from ``onFailure``.
    package func launch(_ prepare: (Host) -> Void) {
        do { try begin(prepare) } catch { onFailure(error) }
    }

    /// Hears that a process has ended, in whichever way, before anything else happens: what it had goes with it.
    package var onEnd: () -> Void = {}
    /// Hears why a process ended by itself: a commit failed.
    package var onFailure: (any Error) -> Void = { _ in }

    /// SIGKILL: nothing of the running iteration is kept, and the controller's connection closes.
    package func kill() { end() }

    /// The process has found something that it cannot go on with.
    package func fail(_ error: any Error) {
        end()
        onFailure(error)
    }

    private func end() {
        let wasAlive = host != nil
        loop?.die()
        loop = nil
        host = nil
        coordinator = nil
        disk.close()
        if wasAlive { onEnd() }
        killAfterActs = nil
        killBeforeCommit = nil
        isSuspended = false
        wire.replug()
    }

    // MARK: Iterations

    /// An API call of the app, as an iteration of its own.
    package func call(_ body: (Host) -> Void) {
        guard let host else { return }
        host.beginIteration(now: world.now)
        body(host)
        commitAndAct()
        world.settle()
    }

    /// One iteration, if there is anything for it.
    func step() -> Bool {
        guard !isSuspended else { return false }
        if let host, let watched, watched.isReadable() {
            host.beginIteration(now: world.now)
            watched.take()
            commitAndAct()
            return true
        }
        let packets = wire.receive()
        noteHandles(packets)
        guard let host, let loop else { return false }
        let calls = loop.takeCalls()
        guard !packets.isEmpty || !calls.isEmpty || loop.takeIsDirty() else { return false }
        iterate(host, packets, calls)
        return true
    }

    /// Feeds packets as if the controller had sent them.
    @discardableResult
    package func inject(_ packets: [[UInt8]]) -> Bool {
        guard let host else { return false }
        wire.recordInjected(packets)
        iterate(host, packets, [])
        return true
    }

    /// When it has something to do by itself.
    var deadline: Instant? { isSuspended ? nil : host?.deadline }

    func fireTimers() {
        guard let host, let deadline, deadline <= world.now else { return }
        host.beginIteration(now: world.now)
        host.timerFired()
        commitAndAct()
    }

    private func iterate(_ host: Host, _ packets: [[UInt8]], _ calls: [@Sendable (Host) -> Void]) {
        host.beginIteration(now: world.now)
        for packet in packets {
            onReceived(packet)
            guard let indicator = packet.first else { continue }
            host.received(HCIPacketType(rawValue: indicator), packet.span.bytes.extracting(1..<packet.count))
        }
        for call in calls { call(host) }
        commitAndAct()
    }

    /// LE Connection Complete, and its enhanced version.
    private func noteHandles(_ packets: [[UInt8]]) {
        for packet in packets
        where packet.count > 6 && packet[1] == 0x3E && [0x01, 0x0A].contains(packet[3]) && packet[4] == 0 {
            if keepsPackets { handles.append(UInt16(packet[5]) | UInt16(packet[6]) << 8) }
        }
    }

    /// Ends an iteration that somebody else has begun.
    package func settleIteration() { commitAndAct() }

    private func commitAndAct() {
        guard let host, let coordinator else { return }
        repeat {
            do {
                try host.settleRound(coordinator, willCommit: countCommit, didCommit: takeTime, clock: { world.now }) {
                    act in
                    if actCount == killAfterActs { throw Killed() }
                    actCount += 1
                    perform(act, of: host)
                }
            } catch is Killed {
                return kill()
            } catch {
                return fail(error)
            }
        } while host.hasWork
    }

    private func countCommit() throws {
        commitCount += 1
        if commitCount == killBeforeCommit { throw Killed() }
    }

    private func takeTime() {
        guard commitMilliseconds > 0 else { return }
        world.pass(milliseconds: commitMilliseconds)
    }

    private func perform(_ act: borrowing Host.Act, of host: Host) {
        switch act {
        case .packet(let packet):
            let packet = packet.withUnsafeBytes { Array($0) }
            guard wire.send(packet) else { return }
            if keepsPackets { sent.append(packet) }
            onSent(packet)
        // No node of the world stands beside a bluetoothd.
        case .bus, .code, .strength: break
        case .controllerFailed(let failure, let remedy):
            failures.append(failure)
            remedies.append(remedy)
            if remedy == .reopen { reopen(host) }
        case .call(let call): call()
        }
    }

    /// The controller is pulled out, and another one of the same make is there at once.
    package func loseController() {
        guard let host else { return wire.replug() }
        host.beginIteration(now: world.now)
        reopen(host)
        commitAndAct()
    }

    /// As a transport does it.
    private func reopen(_ host: Host) {
        host.transportClosed()
        wire.replug()
        host.transportOpened()
    }
}

/// A process ends here.
private struct Killed: Error {}

/// Counts what a host hands over, on its way to the store.
private final class CountingStore: HostStore {
    private let store: any HostStore
    private let count: () -> Void

    init(_ store: any HostStore, count: @escaping () -> Void) {
        self.store = store
        self.count = count
    }

    func load() throws -> HostSnapshot { try store.load() }
    func append(_ mutation: HostMutation) {
        count()
        store.append(mutation)
    }
    var hasPending: Bool { store.hasPending }
    func writePending() throws { try store.writePending() }
    func didCommit() { store.didCommit() }
}
