import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager

/// One enrolment, from the setup code to the bond's first proof. A kill in the middle leaves either nothing or an
/// unconfirmed bond, which the next process takes to its confirmation.
///
/// A bond only ever goes because another one with the same lock has encrypted a link, or because the operator has paired
/// twice more since and nothing was confirmed (``BondBook/unprovenBondsOfPeerMaximum``). That a lock "does not know the
/// key" is said in clear, by whoever answers at its address; and a lock that has confirmed a bond may have lost its answer
/// on the way, and the bond before it has gone there.
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
    let report: (KeyEnrolmentProgress) -> Void
    /// What the pairing has made.
    var bond: BondID?
}

extension KeyDaemon {
    /// So many links in a row may be lost on a bond's way to its confirmation. Then the operator is told, and the key takes
    /// its time.
    package static let confirmationsLostMaximum = 3
    /// Between two of the attempts after that, unless somebody wants something of the lock.
    package static let confirmationPauseMilliseconds: UInt64 = 60_000

    package func enroll(
        _ code: SetupCode, waitMilliseconds: UInt64, report: @escaping (KeyEnrolmentProgress) -> Void
    ) {
        guard let manager, manager.state == .poweredOn,
            let peripheral = manager.peripheral(at: code.lock.address)
        else { return report(.failed(.notPoweredOn)) }
        // Whoever holds a code now is right: one that came before may be for a window that has long been closed.
        if enrolment != nil { endEnrolment(.failed(.superseded)) }
        unconfirmed.remove(peripheral.peer)
        confirmationsLost[peripheral.peer] = nil
        forgetConfirmationTimer(of: peripheral.peer)
        keep(peripheral)
        // Not over a link that was made for something else, under the bond that is to be replaced: whoever uses it hears of
        // its end, and not of the pairing's link.
        if peripheral.state != .disconnected { disconnect(peripheral.peer) }
        let data = OutOfBandData(
            address: code.lock.address, random: code.random,
            confirm: code.confirm.reduce(0) { $0 << 8 | UInt128($1) })
        let timer = host.makeTimer()
        enrolment = KeyEnrolment(
            peer: peripheral.peer, outOfBand: data, phase: .connecting, timer: timer, report: report)
        host.setTimer(timer, at: host.now.advanced(byMilliseconds: waitMilliseconds)) { [weak self] _ in
            guard let phase = self?.enrolment?.phase else { return }
            self?.endEnrolment(.failed(.expired(isPaired: phase.isPaired)))
        }
        progress(.connecting)
        connect(peripheral.peer)
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
        guard case .failed = end else { return }
        disconnect(ending.peer)
        if hasUnconfirmed(ending.peer) {
            unconfirmed.insert(ending.peer)
            retryConfirmation(ending.peer)
        }
    }

    /// Nobody waits for the enrolment any more.
    package func cancelEnrolment() { endEnrolment(.failed(.superseded)) }

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
        case .returning: askForProof(peripheral)
        case .pairing, .preparing, .confirming, nil: break
        }
        return true
    }

    func enrolmentPaired(_ peripheral: CBPeripheral, _ result: Result<BondID, HostError>) {
        guard enrolment?.peer == peripheral.peer, enrolment?.phase == .pairing else { return }
        switch result {
        case .success(let bond):
            enrolment?.bond = bond
            enrolment?.phase = .preparing
            progress(.paired)
            handles[peripheral.peer] = nil
            peripheral.discoverServices([CBUUID(LockUUID.lockService)])
        case .failure(let error): endEnrolment(.failed(.pairing(String(describing: error))))
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

    /// The link of a bond that waits for its confirmation is there. A peer that answers and then says nothing is soon left.
    func askForProof(_ peripheral: CBPeripheral) {
        peripheral.encrypt()
        confirmationIsDue(peripheral.peer, inMilliseconds: KeyMachine.encryptionWaitMilliseconds)
    }

    /// It is encrypted: the lock's tree and the subscriptions are on their way.
    func awaitPreparation(_ peer: PeerIdentifier) {
        guard isConfirming(peer) else { return }
        confirmationIsDue(peer, inMilliseconds: KeyMachine.preparationWaitMilliseconds)
    }

    private func askForConfirmation(_ peer: PeerIdentifier) {
        guard let peripheral = peripherals[peer], let known = handles[peer] else { return }
        confirmationsLost[peer] = nil
        let request = ControlPointRequest(opcode: .keyStatus)
        peripheral.writeValue(Data(request.encoded), for: known.controlPoint, type: .withResponse)
        confirmationIsDue(peer, inMilliseconds: KeyMachine.statusWaitMilliseconds)
    }

    private func confirmationIsDue(_ peer: PeerIdentifier, inMilliseconds milliseconds: UInt64) {
        let until = host.now.advanced(byMilliseconds: milliseconds)
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
        if let peripheral = peripherals[peer], manager?.link(of: peripheral)?.isProven != true {
            confirmationsRefused.insert(peer)
        }
        disconnect(peer)
    }

    /// Whether the link that has ended was an enrolment's, or was to confirm a bond.
    func enrolmentDisconnected(_ peer: PeerIdentifier, _ error: (any Error)?) -> Bool {
        let wasRefused = confirmationsRefused.remove(peer) != nil
        if isConfirming(peer), enrolment?.phase != .preparing, wasRefused || error != nil { confirmationLost(peer) }
        if enrolment?.peer == peer {
            guard enrolment?.phase.isPaired == true else {
                endEnrolment(.failed(.linkLost))
                // What else is wanted of the lock goes on.
                return unconfirmed.contains(peer)
            }
            enrolment?.phase = .returning
        } else if !unconfirmed.contains(peer) {
            return false
        }
        retryConfirmation(peer)
        return true
    }

    /// A link was lost before a bond could prove itself on it. A lock that was killed before it kept the new bond has
    /// another key, and a stranger has none: nobody is told which.
    private func confirmationLost(_ peer: PeerIdentifier) {
        let lost = min((confirmationsLost[peer] ?? 0) + 1, Self.confirmationsLostMaximum)
        confirmationsLost[peer] = lost
        guard lost == Self.confirmationsLostMaximum, enrolment?.peer == peer else { return }
        endEnrolment(.failed(.notConfirmed("it lets no link be encrypted with the new bond; the key goes on trying")))
    }

    /// At once; or, when that was in vain again and again and nobody is waiting, after a pause.
    private func retryConfirmation(_ peer: PeerIdentifier) {
        guard isResting(peer) else { return connect(peer) }
        let until = host.now.advanced(byMilliseconds: Self.confirmationPauseMilliseconds)
        host.setTimer(confirmationTimer(of: peer), at: until) { [weak self] _ in
            guard let self, unconfirmed.contains(peer) else { return }
            connect(peer)
        }
    }

    func isResting(_ peer: PeerIdentifier) -> Bool {
        confirmationsLost[peer] == Self.confirmationsLostMaximum && machine.locks[peer]?.request == nil
    }

    /// The link is of no use for a bond's confirmation. If its encryption was refused, the next one is another bond's turn,
    /// where there is one.
    func confirmationRefused(_ peer: PeerIdentifier) -> Bool {
        guard isConfirming(peer) else { return false }
        confirmationsRefused.insert(peer)
        disconnect(peer)
        return true
    }

    /// The link is encrypted with this bond. Says whether it is one that has yet to be confirmed; one that was confirmed
    /// long ago means that the lock has none of the others, because it confirms a bond and forgets the one before at once.
    func isToConfirm(_ peer: PeerIdentifier, _ id: BondID) -> Bool {
        guard let proven = host.bond(id), proven.state == .confirmed else { return true }
        for bond in host.bonds where bond.state == .unconfirmed && self.peer(of: bond) == peer {
            host.deleteBond(bond.id)
        }
        unconfirmed.remove(peer)
        if enrolment?.peer == peer {
            endEnrolment(.failed(.notConfirmed("it has kept the bond that it had, which goes on")))
        } else {
            disconnect(peer)
        }
        return false
    }

    /// The answer to the Key Status that confirms a bond. Whatever it says, it came over the bond's own encryption, and
    /// the lock confirms a bond before it answers: what the credential may is another question.
    func enrolmentAnswered(_ peer: PeerIdentifier, _ octets: [UInt8]) -> Bool {
        let isEnrolling = enrolment?.peer == peer && enrolment?.phase == .confirming
        guard isEnrolling || unconfirmed.contains(peer) else { return false }
        if let response = try? ControlPointResponse(exactly: octets), response.request == .keyStatus { confirmed(peer) }
        return true
    }

    private func confirmed(_ peer: PeerIdentifier) {
        guard let peripheral = peripherals[peer], let link = manager?.link(of: peripheral), link.isProven,
            let bond = link.bond.flatMap({ host.bond($0) }), bond.state == .unconfirmed
        else { return }
        host.promoteBond(bond.id)
        unconfirmed.remove(peer)
        let name = Self.name(peripheral, bond)
        feed(.lock(LockRecord(peer: peer, name: name, unlocksWhenNear: configuration.unlocksWhenNear)))
        feed(.bonded(peer))
        tell(.enrolled(peer, name: name))
        if enrolment?.peer == peer { endEnrolment(enrolmentEnd(peer, name: name, bond.id)) }
        disconnect(peer)
    }

    /// The lock may have confirmed an earlier pairing, its answer lost, and not have come to the end of this one.
    private func enrolmentEnd(_ peer: PeerIdentifier, name: String, _ bond: BondID) -> KeyEnrolmentProgress {
        bond == enrolment?.bond
            ? .enrolled(peer, name: name) : .failed(.notConfirmed("it has kept an earlier bond, which goes on"))
    }

    private func peer(of bond: Bond) -> PeerIdentifier? { bond.identity.map { host.peer(at: $0.address) } }

    private func hasUnconfirmed(_ peer: PeerIdentifier) -> Bool {
        host.bonds.contains { $0.state == .unconfirmed && self.peer(of: $0) == peer }
    }

    /// What the lock calls itself, or else its address.
    private static func name(_ peripheral: CBPeripheral, _ bond: Bond) -> String {
        LockRecord.cut(peripheral.name ?? bond.identity?.description ?? peripheral.peer.description)
    }
}
