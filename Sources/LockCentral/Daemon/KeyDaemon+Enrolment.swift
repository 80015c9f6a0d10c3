import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager

/// One enrolment, from the setup code to the bond's first proof. A kill in the middle leaves either nothing or an
/// unconfirmed bond, which the next process takes to its confirmation.
struct KeyEnrolment {
    enum Phase: Equatable {
        case connecting
        case pairing
        /// Paired; the tree is being discovered and subscribed to on the pairing's link.
        case preparing
        /// The link is let go and made anew, and encrypted with the bond.
        case returning
        /// Key Status is asked for.
        case confirming

        var isPaired: Bool {
            switch self {
            case .connecting, .pairing: false
            case .preparing, .returning, .confirming: true
            }
        }
    }

    let peer: PeerIdentifier
    /// Gone with the pairing that used it.
    var outOfBand: OutOfBandData?
    var phase: Phase
    let timer: TimerToken
    /// nil for what an earlier process began.
    var report: ((KeyEnrolmentProgress) -> Void)?
}

extension KeyDaemon {
    /// So many links may be lost on a bond's way to its confirmation.
    static let confirmationsLostMaximum = 3

    package func enroll(
        _ code: SetupCode, waitMilliseconds: UInt64, report: @escaping (KeyEnrolmentProgress) -> Void
    ) {
        guard let manager, manager.state == .poweredOn,
            let peripheral = manager.peripheral(at: code.lock.address)
        else { return report(.failed(.notPoweredOn)) }
        // Whoever holds a code now is right: one that came before may be for a window that has long been closed.
        if enrolment != nil { giveUpEnrolment(.superseded) }
        unconfirmed.remove(peripheral.peer)
        keep(peripheral)
        let data = OutOfBandData(
            address: code.lock.address, random: code.random,
            confirm: code.confirm.reduce(0) { $0 << 8 | UInt128($1) })
        let timer = host.makeTimer()
        enrolment = KeyEnrolment(
            peer: peripheral.peer, outOfBand: data, phase: .connecting, timer: timer, report: report)
        host.setTimer(timer, at: host.now.advanced(byMilliseconds: waitMilliseconds)) { [weak self] _ in
            guard let phase = self?.enrolment?.phase else { return }
            self?.giveUpEnrolment(.expired(isPaired: phase.isPaired))
        }
        progress(.connecting)
        if peripheral.state == .connected { _ = enrolmentConnected(peripheral) } else { connect(peripheral.peer) }
    }

    /// What an earlier process paired and could not confirm.
    func resumeUnconfirmed() {
        for bond in host.bonds where bond.state == .unconfirmed {
            guard let identity = bond.identity, enrolment == nil else { continue }
            let peer = host.peer(at: identity.address)
            guard unconfirmed.insert(peer).inserted else { continue }
            connect(peer)
        }
    }

    func progress(_ progress: KeyEnrolmentProgress) {
        guard let report = enrolment?.report else { return }
        host.afterCommit { report(progress) }
    }

    /// The operator is told once. What is paired goes on to its confirmation by itself.
    func endEnrolment(_ end: KeyEnrolmentProgress) {
        guard let ending = enrolment else { return }
        progress(end)
        host.setTimer(ending.timer, at: nil) { _ in }
        enrolment = nil
        if case .failed = end { disconnect(ending.peer) }
    }

    /// Nobody waits for the enrolment any more.
    package func cancelEnrolment() { giveUpEnrolment(.superseded) }

    private func giveUpEnrolment(_ failure: KeyEnrolmentFailure) {
        guard let ending = enrolment else { return }
        if ending.phase.isPaired { unconfirmed.insert(ending.peer) }
        endEnrolment(.failed(failure))
        if ending.phase.isPaired { connect(ending.peer) }
    }

    // MARK: Each step

    /// Whether the connection is the enrolment's.
    func enrolmentConnected(_ peripheral: CBPeripheral) -> Bool {
        guard enrolment?.peer == peripheral.peer else { return false }
        switch enrolment?.phase {
        case .connecting:
            guard let data = enrolment?.outOfBand else { return true }
            enrolment?.outOfBand = nil
            enrolment?.phase = .pairing
            progress(.pairing)
            // A bond with this lock is only ever replaced by another with this lock.
            peripheral.pair(.outOfBand(data), credential: "lock \(data.address)")
        case .returning: peripheral.encrypt()
        case .pairing, .preparing, .confirming, nil: break
        }
        return true
    }

    func enrolmentPaired(_ peripheral: CBPeripheral, _ result: Result<BondID, HostError>) {
        guard enrolment?.peer == peripheral.peer, enrolment?.phase == .pairing else { return }
        switch result {
        case .success(let bond):
            dropFormerUnconfirmed(than: bond)
            enrolment?.phase = .preparing
            progress(.paired)
            handles[peripheral.peer] = nil
            peripheral.discoverServices([CBUUID(LockUUID.lockService)])
        case .failure(let error): endEnrolment(.failed(.pairing(String(describing: error))))
        }
    }

    /// A pairing that is complete makes an earlier one worthless that never proved itself: its peer has the new keys.
    private func dropFormerUnconfirmed(than id: BondID) {
        guard let bond = host.bond(id) else { return }
        for other in host.bonds
        where other.id != id && other.state == .unconfirmed && other.identity == bond.identity
            && other.credential == bond.credential
        {
            host.deleteBond(other.id)
        }
    }

    /// Whether this lock's bond has yet to prove itself.
    func isConfirming(_ peer: PeerIdentifier) -> Bool {
        unconfirmed.contains(peer) || enrolment?.peer == peer && enrolment?.phase.isPaired == true
    }

    func enrolmentPrepared(_ peer: PeerIdentifier) -> Bool {
        if unconfirmed.contains(peer) {
            askForConfirmation(peer)
            return true
        }
        guard enrolment?.peer == peer else { return false }
        switch enrolment?.phase {
        case .preparing:
            enrolment?.phase = .returning
            disconnect(peer)
        case .returning:
            enrolment?.phase = .confirming
            askForConfirmation(peer)
        case .connecting, .pairing, .confirming, nil: break
        }
        return true
    }

    private func askForConfirmation(_ peer: PeerIdentifier) {
        guard let peripheral = peripherals[peer], let known = handles[peer] else { return }
        let request = ControlPointRequest(opcode: .keyStatus)
        peripheral.writeValue(Data(request.encoded), for: known.controlPoint, type: .withResponse)
        let until = host.now.advanced(byMilliseconds: KeyMachine.statusWaitMilliseconds)
        host.setTimer(confirmationTimer(of: peer), at: until) { [weak self] _ in self?.confirmationOverdue(peer) }
    }

    private func confirmationTimer(of peer: PeerIdentifier) -> TimerToken {
        if let timer = confirmationTimers[peer] { return timer }
        let timer = host.makeTimer()
        confirmationTimers[peer] = timer
        return timer
    }

    func forgetConfirmationTimer(of peer: PeerIdentifier) {
        if let timer = confirmationTimers.removeValue(forKey: peer) { host.setTimer(timer, at: nil) { _ in } }
    }

    /// A lock that took the question and says nothing does not keep its link. Whether it has confirmed the bond nobody
    /// knows, and so it is asked again on the next one.
    private func confirmationOverdue(_ peer: PeerIdentifier) {
        confirmationTimers[peer] = nil
        guard isConfirming(peer) else { return }
        disconnect(peer)
    }

    func enrolmentDisconnected(_ peer: PeerIdentifier) -> Bool {
        guard enrolment?.peer == peer else { return false }
        switch enrolment?.phase {
        case .connecting, .pairing: endEnrolment(.failed(.linkLost))
        case .preparing, .returning, .confirming:
            enrolment?.phase = .returning
            connect(peer)
        case nil: break
        }
        return true
    }

    /// A lock that was killed before it kept the new bond answers with another key: nobody is told why the link ends, it
    /// just does. When that happens again and again the bond is given up, so that the one before it counts again.
    func confirmationLost(_ peer: PeerIdentifier, _ error: (any Error)?) -> Bool {
        let isReturning = enrolment?.peer == peer && enrolment?.phase == .returning
        guard error != nil, isReturning || unconfirmed.contains(peer) else { return false }
        confirmationsLost[peer, default: 0] += 1
        guard confirmationsLost[peer] ?? 0 >= Self.confirmationsLostMaximum else { return false }
        confirmationsLost[peer] = nil
        return confirmationFailed(peer, "it ends every link that is encrypted with the new bond")
    }

    /// Whether an encryption that failed was to confirm a bond: one that the lock does not know is of no use here either.
    func confirmationFailed(_ peer: PeerIdentifier, _ reason: String) -> Bool {
        guard isConfirming(peer) else { return false }
        let isEnrolling = enrolment?.peer == peer
        dropUnconfirmed(peer)
        if isEnrolling { endEnrolment(.failed(.notConfirmed(reason))) } else { disconnect(peer) }
        return true
    }

    /// The answer to the Key Status that confirms a bond.
    func enrolmentAnswered(_ peer: PeerIdentifier, _ octets: [UInt8]) -> Bool {
        let isEnrolling = enrolment?.peer == peer && enrolment?.phase == .confirming
        guard isEnrolling || unconfirmed.contains(peer) else { return false }
        guard let response = try? ControlPointResponse(exactly: octets), response.request == .keyStatus,
            response.result == .success
        else {
            _ = confirmationFailed(peer, "it refuses Key Status")
            return true
        }
        confirmed(peer)
        return true
    }

    private func confirmed(_ peer: PeerIdentifier) {
        guard let peripheral = peripherals[peer], let bond = unconfirmedBond(peer) else { return }
        host.promoteBond(bond.id)
        unconfirmed.remove(peer)
        let name = Self.name(peripheral, bond)
        feed(.lock(LockRecord(peer: peer, name: name, unlocksWhenNear: configuration.unlocksWhenNear)))
        feed(.bonded(peer))
        tell(.enrolled(peer, name: name))
        if enrolment?.peer == peer { endEnrolment(.enrolled(peer, name: name)) }
        disconnect(peer)
    }

    private func unconfirmedBond(_ peer: PeerIdentifier) -> Bond? {
        host.bonds.first { bond in
            bond.state == .unconfirmed && bond.identity.map { host.peer(at: $0.address) } == peer
        }
    }

    private func dropUnconfirmed(_ peer: PeerIdentifier) {
        unconfirmed.remove(peer)
        if let bond = unconfirmedBond(peer) { host.deleteBond(bond.id) }
    }

    /// What the lock calls itself, or else its address.
    private static func name(_ peripheral: CBPeripheral, _ bond: Bond) -> String {
        LockRecord.cut(peripheral.name ?? bond.identity?.description ?? peripheral.peer.description)
    }
}
