import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager

/// The shell of ``KeyEnrolmentMachine``: says what the machine has to know, and carries out.
extension KeyDaemon {
    /// `report` hears what becomes of it, each time behind the commit.
    package func enroll(
        _ code: SetupCode, waitMilliseconds: UInt64, report: @escaping (KeyEnrolmentProgress) -> Void
    ) {
        guard let manager, manager.state == .poweredOn,
            let peripheral = manager.peripheral(at: code.lock.address)
        else { return report(.failed(.notPoweredOn)) }
        // Whoever else is on that host would be the key too.
        guard code.wantsProgramKey || !host.pairsWithoutLink else { return report(.failed(.needsProgramCode)) }
        keep(peripheral)
        let data = OutOfBandData(
            address: code.lock.address, random: code.random,
            confirm: code.confirm.reduce(0) { $0 << 8 | UInt128($1) })
        enrolmentReports.append(report)
        feedEnrolment(
            .enrol(
                peripheral.peer, data, wantsProgramKey: code.wantsProgramKey, pairsWithoutLink: host.pairsWithoutLink,
                waitMilliseconds: waitMilliseconds, register))
    }

    /// Nobody waits for the enrolment any more.
    package func cancelEnrolment() { feedEnrolment(.cancelled(register)) }

    /// What this key has yet to confirm, and what is wanted of its locks, right now.
    var register: KeyEnrolmentMachine.Register {
        let unconfirmed = host.unconfirmedBonds.sorted { $0.rawValue < $1.rawValue }
        return KeyEnrolmentMachine.Register(
            bonds: unconfirmed.compactMap { host.bond($0) }.map { bond in
                let programKey = BondProgramKey(secret: bond.applicationSecret)
                let isAwaited = if case .awaited = programKey { true } else { false }
                return .init(
                    id: bond.id, peer: peer(of: bond), isForProgram: programKey != .none,
                    isUnverified: isAwaited && host.pairsWithoutLink)
            },
            asked: Set(machine.locks.filter { $0.value.request != nil }.keys))
    }

    /// Over what an answer of the lock's control point has come.
    func proof(_ peripheral: CBPeripheral) -> KeyEnrolmentMachine.Proof? {
        guard let link = manager?.link(of: peripheral), link.isProven,
            let bond = link.bond.flatMap({ host.bond($0) })
        else { return nil }
        let programKey = BondProgramKey(secret: bond.applicationSecret)
        guard mayProve(by: programKey) else { return nil }
        return .init(
            bond: bond.id, record: record(of: peripheral, bond), offer: offers[peripheral.peer], programKey: programKey)
    }

    /// A bond vouches for the host. Where others share that, nobody is proven by it without a key of the program's.
    func mayProve(by programKey: BondProgramKey) -> Bool { programKey != .none || !host.pairsWithoutLink }

    /// How far the program is with the bond that encrypts a lock's link.
    func programKey(on peer: PeerIdentifier) -> BondProgramKey {
        BondProgramKey(secret: provenBond(of: peer)?.applicationSecret)
    }

    func provenBond(of peer: PeerIdentifier) -> Bond? {
        guard let peripheral = sessions[peer]?.peripheral, let link = manager?.link(of: peripheral), link.isProven
        else {
            return nil
        }
        return link.bond.flatMap { host.bond($0) }
    }

    /// A key pair for this offer alone. Without an r there is nothing to offer, and the lock answers nothing.
    private func offer(to peer: PeerIdentifier) {
        guard let bond = provenBond(of: peer), let lock = bond.identity else { return }
        let random: Secret
        switch BondProgramKey(secret: bond.applicationSecret) {
        case .awaited(let kept), .agreed(let kept, _): random = kept
        case .none, .confirmed, .unreadable: return
        }
        guard let offer = ProgramKeyOffer(random: random, lock: lock, keyPair: P256KeyPair.generate()) else { return }
        offers[peer] = offer
        sessions[peer]?.peripheral?.readName()
        write(.agreeOnKey(offer.message), to: peer)
    }

    private func confirm(_ peer: PeerIdentifier) {
        offers[peer] = nil
        guard case .agreed(_, let key) = programKey(on: peer) else { return }
        sessions[peer]?.peripheral?.readName()
        write(.confirmKey(key.confirmation), to: peer)
    }

    private func write(_ procedure: ControlPointProcedure, to peer: PeerIdentifier) {
        withHandles(peer) { $0.writeValue(Data(procedure.encoded), for: $1.controlPoint, type: .withResponse) }
    }

    /// A lock that was here before keeps the name that its key's user may have given it.
    private func record(of peripheral: CBPeripheral, _ bond: Bond) -> LockRecord {
        let own = peripheral.ownName ?? bond.identity?.description ?? peripheral.peer.description
        let name = machine.locks[peripheral.peer]?.record.name ?? machine.freeName(like: own)
        return LockRecord(
            peer: peripheral.peer, name: name, unlocksWhenNear: configuration.unlocksWhenNear,
            locksWhenLeaving: configuration.locksWhenLeaving)
    }

    /// Whether ``KeyMachine`` hears of it too.
    func passesOnEnd(of peer: PeerIdentifier, _ error: (any Error)?) -> Bool {
        sessions[peer]?.takeReleasedEnd() == true || feedEnrolment(.disconnected(peer, isLost: error != nil, register))
    }

    /// One event of the enrolment, and everything that it wants done. Whether the event is ``KeyMachine``'s.
    @discardableResult
    func feedEnrolment(_ event: KeyEnrolmentMachine.Event) -> Bool {
        var outputs: [KeyEnrolmentMachine.Output] = []
        enrolment.handle(event, now: host.now, into: &outputs)
        for output in outputs { carryOut(output) }
        return outputs.last == .passOn
    }

    private func carryOut(_ output: KeyEnrolmentMachine.Output) {
        switch output {
        case .deadline(let instant):
            host.setTimer(enrolmentTimer, at: instant) { [weak self] _ in
                guard let self else { return }
                feedEnrolment(.timerFired(register))
            }
        case .connect(let peer): connect(peer)
        case .disconnect(let peer): disconnect(peer)
        case .release(let peer):
            // While the radio is off nothing is given up, and no end is told.
            if manager?.state == .poweredOn { sessions[peer]?.release() }
            disconnect(peer)
        case .pair(let peer, let data, let credential, let programKey):
            sessions[peer]?.peripheral?.pair(
                .outOfBand(data), credential: credential, applicationSecret: programKey.secret)
        case .discover(let peer):
            sessions[peer]?.forgetTree()
            sessions[peer]?.peripheral?.discoverServices([CBUUID(LockUUID.lockService)])
        case .encrypt(let peer): sessions[peer]?.peripheral?.encrypt()
        case .askKeyStatus(let peer):
            sessions[peer]?.peripheral?.readName()
            write(.keyStatus, to: peer)
        case .agreeOnKey(let peer): offer(to: peer)
        case .confirmKey(let peer): confirm(peer)
        case .keepProgramKey(let id, let key): host.keep(key.secret, with: id)
        case .promoteBond(let id): host.promoteBond(id)
        case .deleteBond(let id): host.deleteBond(id)
        case .keep(let record): feed(.lock(record))
        case .bonded(let peer): feed(.bonded(peer))
        case .enrolled(let peer, let name): tell(.enrolled(peer, name: name))
        case .progress(let progress): report(progress)
        // The answer to whoever fed the event.
        case .passOn: break
        }
    }

    private func report(_ progress: KeyEnrolmentProgress) {
        guard let report = enrolmentReports.first else { return }
        switch progress {
        case .connecting, .pairing, .paired: break
        case .enrolled, .failed: enrolmentReports.removeFirst()
        }
        host.afterCommit { report(progress) }
    }
}
