import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager

/// The key's shell: hands what Core Bluetooth tells to ``KeyMachine``, and what the machine wants to Core Bluetooth and the
/// store. Confined to its host's loop, inline in its iterations.
package final class KeyDaemon {
    package struct Configuration {
        package var restoreIdentifier: String
        package var boot: BootID
        /// For every lock: ask for an unlock on coming near.
        package var unlocksWhenNear: Bool
        /// For every lock: have it locked on leaving.
        package var locksWhenLeaving: Bool
        package var approach: ApproachPolicy
        /// As far as the configuration says it: whether advertisements are heard is the host's to say.
        package var proximity: ProximityRules

        package init(
            restoreIdentifier: String, boot: BootID, unlocksWhenNear: Bool, locksWhenLeaving: Bool = false,
            approach: ApproachPolicy = .immediate, proximity: ProximityRules = ProximityRules()
        ) {
            self.restoreIdentifier = restoreIdentifier
            self.boot = boot
            self.unlocksWhenNear = unlocksWhenNear
            self.locksWhenLeaving = locksWhenLeaving
            self.approach = approach
            self.proximity = proximity
        }
    }

    /// How long an accepted command's outcome is waited for on behalf of whoever asked.
    static let outcomeWaitMilliseconds = KeyMachine.outcomeWaitMilliseconds + 1_000

    let configuration: Configuration
    let host: Host
    private let store: any KeyStore
    private let observe: (KeyEvent) -> Void
    private let machineTimer: TimerToken
    private(set) var machine: KeyMachine
    var manager: CBCentralManager?
    var sessions: [PeerIdentifier: LockSession] = [:]
    let enrolmentTimer: TimerToken
    var enrolment = KeyEnrolmentMachine()
    /// What was offered to locks whose answer is awaited.
    var offers: [PeerIdentifier: ProgramKeyOffer] = [:]
    /// The operator who waits, and behind them the one whose code takes their place.
    var enrolmentReports: [(KeyEnrolmentProgress) -> Void] = []
    /// Who walks to calibrate a lock.
    var calibrations: [PeerIdentifier: (CalibrationReport) -> Void] = [:]
    var asking: ((KeyCommandProgress) -> Void)?
    /// Who watches: told behind each turn of the machine.
    var watcher: (() -> Void)?
    /// Who waits for the nearest lock.
    var seeking: ((KeyCommandProgress) -> Void)?
    private var commands: [KeyRequestID: (report: (KeyCommandProgress) -> Void, timer: TimerToken)] = [:]

    package init(
        _ configuration: Configuration, host: Host, bluetooth: CBHost, store: any KeyStore,
        observe: @escaping (KeyEvent) -> Void
    ) throws {
        self.configuration = configuration
        self.host = host
        self.store = store
        self.observe = observe
        machineTimer = host.makeTimer()
        enrolmentTimer = host.makeTimer()
        var outputs: [KeyOutput] = []
        var rules = configuration.proximity
        rules.hearsAdvertisements = host.hearsAdvertisements
        machine = KeyMachine(
            restoring: try store.load(), boot: configuration.boot, rules: rules, policy: configuration.approach,
            now: host.now, into: &outputs)
        host.join(store)
        carryOut(outputs)
        for record in machine.locks.values.map(\.record) {
            var changed = record
            changed.unlocksWhenNear = configuration.unlocksWhenNear
            changed.locksWhenLeaving = configuration.locksWhenLeaving
            if changed != record { feed(.lock(changed)) }
        }
        feed(.radio(isOn: false))
        manager = CBCentralManager(
            callbacks: self, delivery: .inline,
            options: [CBCentralManagerOptionRestoreIdentifierKey: configuration.restoreIdentifier], isApp: false,
            host: bluetooth)
    }

    /// One input of the machine, and everything that it wants done.
    func feed(_ input: KeyInput) {
        var outputs: [KeyOutput] = []
        machine.handle(input, now: host.now, random: SystemRandom.uint64(), into: &outputs)
        carryOut(outputs)
        armTimer()
        if let watcher { host.afterActs(watcher) }
    }

    func tell(_ event: KeyEvent) { host.afterActs { [observe] in observe(event) } }

    private func armTimer() {
        host.setTimer(machineTimer, at: machine.deadline) { [weak self] _ in self?.feed(.timerFired) }
    }

    // MARK: What the machine wants done

    private func carryOut(_ outputs: [KeyOutput]) {
        for output in outputs {
            switch output {
            case .persist(let mutation): store.append(mutation)
            case .connect(let peer): connect(peer)
            case .disconnect(let peer): disconnect(peer)
            case .encrypt(let peer): sessions[peer]?.peripheral?.encrypt()
            case .vouch(let peer): sessions[peer]?.peripheral?.vouch()
            case .readRSSI(let peer): sessions[peer]?.peripheral?.readRSSI()
            case .readChallenge(let peer): withHandles(peer) { $0.readValue(for: $1.challenge) }
            case .writeSigned(let peer, let value, let until): write(value, to: peer, isSigned: true, until: until)
            case .writeEncrypted(let peer, let value, let until):
                write(value, to: peer, isSigned: false, until: until)
            case .writeProgram(let peer, let command, let until): write(command, to: peer, until: until)
            case .writeControlPoint(let peer, let value):
                withHandles(peer) { $0.writeValue(Data(value), for: $1.controlPoint, type: .withResponse) }
            case .advanceSignCounter(let peer, let counter):
                sessions[peer]?.peripheral?.advanceSignCounter(beyond: counter)
            case .sought(let verdict): sought(verdict)
            case .took(let peer, let id): took(peer, id)
            case .calibration(let peer, let report): calibrated(peer, report)
            case .approached(let approach): tell(.approached(approach, name: name(of: approach.peer)))
            case .approachEnded(let approach): tell(.approachEnded(approach))
            case .byItself(let peer, let id, let operation, let verdict):
                tell(.byItself(peer, name: name(of: peer), id, operation, verdict))
            case .ended(let peer, let id, let verdict): ended(peer, id, verdict)
            case .outcome(let peer, let id, let result):
                tell(.outcome(peer, id, result))
                finish(id, .outcome(result))
            case .stateKnown(let peer, let bolt, let door): tell(.lockState(peer, bolt, door))
            }
        }
    }

    private func write(_ value: [UInt8], to peer: PeerIdentifier, isSigned: Bool, until: Instant) {
        guard let (peripheral, handles) = lock(peer) else {
            return feed(.notWritten(peer, isLate: false))
        }
        peripheral.writeValue(Data(value), for: handles.command, isSigned: isSigned, until: until)
    }

    /// Under the program's key. Its counter is on the disk before the packet leaves.
    private func write(_ command: LockCommand, to peer: PeerIdentifier, until: Instant) {
        guard case .confirmed(let key) = programKey(on: peer), let bond = provenBond(of: peer),
            let counter = host.takeSignCounter(bond.id)
        else { return feed(.notWritten(peer, isLate: false)) }
        write(key.authenticate(command, counter: counter).encoded, to: peer, isSigned: false, until: until)
    }

    func withHandles(_ peer: PeerIdentifier, _ body: (CBPeripheral, LockHandles) -> Void) {
        if let (peripheral, handles) = lock(peer) { body(peripheral, handles) }
    }

    private func lock(_ peer: PeerIdentifier) -> (CBPeripheral, LockHandles)? {
        guard let session = sessions[peer], let peripheral = session.peripheral, let handles = session.handles else {
            return nil
        }
        return (peripheral, handles)
    }

    // MARK: Connections

    /// Asked for as soon as the radio is on; it never times out, and outlives this process.
    func connect(_ peer: PeerIdentifier) {
        guard let manager, manager.state == .poweredOn, let peripheral = peripheral(peer) else {
            sessions[peer, default: LockSession()].isWanted = true
            return
        }
        sessions[peer]?.isWanted = false
        guard peripheral.state == .disconnected || peripheral.state == .disconnecting else { return }
        tell(.connecting(peer))
        manager.connect(peripheral, options: nil)
    }

    func connectWanted() {
        let locks = machine.sortedPeers
        // One that enrols is no lock yet.
        let others = Set(sessions.keys).subtracting(locks).sorted { $0.bits < $1.bits }
        for peer in locks + others where sessions[peer]?.isWanted == true { connect(peer) }
    }

    func disconnect(_ peer: PeerIdentifier) {
        sessions[peer]?.isWanted = false
        if let peripheral = sessions[peer]?.peripheral { manager?.cancelPeripheralConnection(peripheral) }
    }

    /// Ends the wait for a link that nothing wants any more.
    func giveUpUnwanted(_ peer: PeerIdentifier) {
        guard !machine.wantsLink(peer), !enrolment.holds(peer), let session = sessions[peer] else { return }
        sessions[peer]?.isWanted = false
        if session.peripheral?.state == .connecting {
            disconnect(peer)
        } else if session.isWanted {
            // Nobody else was asked for it, so nobody tells its end.
            feed(.disconnected(peer))
        }
    }

    private func peripheral(_ peer: PeerIdentifier) -> CBPeripheral? {
        if let known = sessions[peer]?.peripheral { return known }
        return manager?.peripheral(peer).map { keep($0) }
    }

    @discardableResult
    func keep(_ peripheral: CBPeripheral) -> CBPeripheral {
        sessions[peripheral.peer, default: LockSession()].peripheral = peripheral
        peripheral.callbacks = self
        return peripheral
    }
}

// MARK: Commands

extension KeyDaemon {
    /// Says whether a key that has come near asks its lock for an opening. What is over, or decided, stays as it is.
    package func decide(_ approach: Approach, opens: Bool) { feed(.decided(approach, opens: opens)) }

    func name(of peer: PeerIdentifier) -> String { machine.locks[peer]?.record.name ?? "\(peer)" }

    /// Asks a lock, named or the only one, for something within this time. `argument`: when the bolt goes back.
    package func command(
        _ operation: LockOperation, _ argument: RelockArgument = .setting, lock name: String?, waitMilliseconds: UInt64,
        report: @escaping (KeyCommandProgress) -> Void
    ) {
        do throws(KeyLockChoice) {
            let peer = try choose(name, by: .option).peer
            asking = report
            feed(.ask(peer, operation, argument, lifeMilliseconds: waitMilliseconds))
            asking = nil
        } catch {
            report(.unknownLock(error))
        }
    }

    /// Nobody waits for this command any more: as long as it was not sent it never is. What became of a sent one is asked as ever.
    package func withdraw(_ id: KeyRequestID, at peer: PeerIdentifier) {
        guard let request = machine.locks[peer]?.request, request.id == id, request.sent == nil else { return }
        feed(.cancel(peer))
    }

    private func took(_ peer: PeerIdentifier, _ id: KeyRequestID) {
        tell(.took(peer, id))
        guard let report = asking else { return }
        asking = nil
        commands[id] = (report, host.makeTimer())
        host.afterCommit { report(.took(id, peer)) }
    }

    private func ended(_ peer: PeerIdentifier, _ id: KeyRequestID, _ verdict: KeyVerdict) {
        tell(.ended(peer, id, verdict))
        giveUpUnwanted(peer)
        guard verdict == .accepted, let command = commands[id] else { return finish(id, .ended(verdict)) }
        host.afterCommit { command.report(.accepted) }
        let until = host.now.advanced(byMilliseconds: Self.outcomeWaitMilliseconds)
        host.setTimer(command.timer, at: until) { [weak self] _ in self?.finish(id, .ended(.accepted)) }
    }

    private func finish(_ id: KeyRequestID, _ progress: KeyCommandProgress) {
        guard let command = commands.removeValue(forKey: id) else { return }
        host.setTimer(command.timer, at: nil) { _ in }
        host.afterCommit { command.report(progress) }
    }
}
