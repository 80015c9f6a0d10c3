import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// The shell of ``LockEnrolment``: makes what a window needs made, and carries out.
extension LockDaemon {
    /// Opens the window. `report` hears what becomes of it, each time behind the commit. `manager`: who asks over the air.
    package func openEnrolment(
        _ request: EnrolmentRequest, by manager: AuditedManager? = nil, report: @escaping (EnrolmentProgress) -> Void
    ) throws(EnrolmentRefusal) {
        let opening = LockEnrolment.Opening(
            credential: request.credential, role: request.role, seconds: request.seconds,
            offer: makeOffer(request.method), fresh: CredentialID(rawValue: surroundings.random() >> 1),
            user: request.user, kind: request.kind, manager: manager)
        let isReady = self.manager?.state == .poweredOn && tree != nil
        let known = register(for: opening)
        guard isStateReadable else { throw .stateUnreadable }
        var outputs: [LockEnrolment.Output] = []
        enrolment.handle(.open(opening, isReady: isReady, known), now: host.now, into: &outputs)
        if case .refuse(let refusal)? = outputs.first { throw refusal }
        enrolmentReport = report
        carryOut(outputs)
    }

    /// The key pair and the random value of an out-of-band offer are made for this window and kept nowhere.
    private func makeOffer(_ method: EnrolmentRequest.Method) -> LockEnrolment.Offer {
        switch method {
        case .passkey: return .passkey
        case .outOfBand, .program:
            let keyPair = P256KeyPair.generate()
            let random = SystemRandom.secret(SetupCode.randomOctets)
            let data = OutOfBandOffer(random: random).data(
                address: host.identity.address.address, publicKey: keyPair.publicKey)
            let code = SetupCode(
                lock: host.identity.address, confirm: data.confirm.octets, random: random,
                wantsProgramKey: method == .program)
            return .outOfBand(keyPair: keyPair, random: random, code: code)
        }
    }

    package func cancelEnrolment() { feedEnrolment(.cancelled(register)) }

    /// Whom this lock knows right now, as far as an event can be about them: the credentials of the window's name, and the
    /// bonds that have yet to prove themselves.
    var register: LockEnrolment.Register { register(about: nil) }

    /// The same with the credentials of another name, and with this bond and those of its name.
    func register(about name: String?, _ id: BondID? = nil) -> LockEnrolment.Register {
        let bond = id.flatMap { host.bond($0) }
        let names = Set([enrolment.credential, name, bond?.credential].compactMap { $0 })
        let unconfirmed = host.unconfirmedBonds.filter { $0 != id }.sorted { $0.rawValue < $1.rawValue }
        return LockEnrolment.Register(
            credentials: names.flatMap { credentials(named: $0) },
            bonds: (unconfirmed.compactMap { host.bond($0) } + [bond].compactMap { $0 })
                .map { LockEnrolment.KnownBond($0) })
    }

    /// The same with the other devices of the user whose device it is going to be.
    private func register(for opening: LockEnrolment.Opening) -> LockEnrolment.Register {
        let about = register(about: opening.credential)
        let users = about.credentials.users(concernedBy: opening.credential, of: opening.user)
        let devices = Set(about.credentials + users.flatMap { credentials(in: .ofUser($0)) })
        return LockEnrolment.Register(credentials: devices, bonds: about.bonds)
    }

    /// The same, as far as a request on this bond's link is about it. A confirmed bond hands nothing over: its commands wait
    /// for no list.
    private func register(for id: BondID) -> LockEnrolment.Register {
        guard let bond = host.bond(id), bond.state == .confirmed else { return register(about: nil, id) }
        return LockEnrolment.Register(credentials: [], bonds: [LockEnrolment.KnownBond(bond)])
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, displayPasskey passkey: UInt32, to central: CBCentral, link: LinkInfo
    ) {
        feed(.pairing(LockLink(link), isUnderWay: true))
        feedEnrolment(.passkey(passkey))
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didPair result: Result<BondID, HostError>,
        link: LinkInfo
    ) {
        feed(.pairing(LockLink(link), isUnderWay: false))
        switch result {
        case .success(let bond): feedEnrolment(.paired(LockLink(link), bond))
        case .failure(let error):
            feedEnrolment(
                .attemptFailed(
                    reason: String(describing: error), endsWindow: !host.isPairingWindowOpen, register))
        }
    }

    /// What comes of a request to the control point before the machine hears of it.
    enum Admission {
        case refused, admitted
        case answered(ControlPointResponse)
    }

    /// Whether this bond may use the control point. Its first Key Status enrols it, or what confirms its program's key. While the store's
    /// rows are in doubt nobody does: a bond that waits may have been put there.
    func admission(of bond: BondID, on link: LockLink, _ octets: [UInt8]) -> Admission {
        guard rows?.isInDoubt != true else { return .refused }
        let isAgreement = octets.first == ControlPointOpcode.agreeOnKey.rawValue
        let agreement =
            isAgreement
            ? LockEnrolment.Agreement(lock: host.identity.address, keyPair: P256KeyPair.generate()) : nil
        let outputs = feedEnrolment(.controlPoint(link, bond, octets, register(for: bond), agreement))
        switch outputs.last {
        case .admit: return .admitted
        case .answer(let response): return .answered(response)
        default: return .refused
        }
    }

    /// One event of the enrolment, and everything that it wants done.
    @discardableResult
    func feedEnrolment(_ event: LockEnrolment.Event) -> [LockEnrolment.Output] {
        var outputs: [LockEnrolment.Output] = []
        enrolment.handle(event, now: host.now, into: &outputs)
        carryOut(outputs)
        if event.isPairing { reviewUnprovenBonds() }
        return outputs
    }

    private func carryOut(_ outputs: [LockEnrolment.Output]) {
        for output in outputs { carryOut(output) }
        if outputs.contains(where: \.changesBonds) { reviewUnprovenBonds() }
    }

    private func carryOut(_ output: LockEnrolment.Output) {
        switch output {
        case .administration(let change): feed(.administration(change))
        case .setPairingWindow(let offer, let credential, let programKey):
            manager?.setPairingWindow(
                PairingWindow(method: offer.method, credential: credential, applicationSecret: programKey.secret))
        case .closePairingWindow: manager?.setPairingWindow(nil)
        case .promoteBond(let id): host.promoteBond(id)
        case .keepProgramKey(let id, let key): host.keep(key.secret, with: id)
        case .deleteBond(let id): host.deleteBond(id)
        case .deadline(let instant):
            host.setTimer(enrolmentTimer, at: instant) { [weak self] _ in
                guard let self else { return }
                feedEnrolment(.timerFired(register))
            }
        case .progress(let progress): tell(progress)
        case .enrolled(let credential, let bond):
            // The link of the proof stands, and its next command concerns the user's other devices too.
            recall(UInt64(bitPattern: bond.rawValue))
            tell(.enrolled(credential: credential, bond))
        // Answers to whoever fed the event.
        case .refuse, .admit, .answer: break
        }
    }

    private func tell(_ progress: EnrolmentProgress) {
        guard let report = enrolmentReport else { return }
        if case .ended = progress { enrolmentReport = nil }
        host.afterCommit { report(progress) }
    }
}

extension LockEnrolment.Event {
    fileprivate var isPairing: Bool { if case .paired = self { true } else { false } }
}

extension LockEnrolment.Output {
    fileprivate var changesBonds: Bool {
        switch self {
        case .promoteBond, .deleteBond: true
        case .refuse, .administration, .setPairingWindow, .closePairingWindow, .deadline, .progress, .enrolled, .admit,
            .answer, .keepProgramKey:
            false
        }
    }
}

extension LockEnrolment.KnownBond {
    fileprivate init(_ bond: Bond) {
        self.init(
            id: bond.id, credential: bond.credential, state: bond.state,
            programKey: BondProgramKey(secret: bond.applicationSecret))
    }
}

extension LockEnrolment.Offer {
    fileprivate var method: PairingWindow.Method {
        switch self {
        case .passkey: .passkeyDisplay
        case .outOfBand(let keyPair, let random, _): .outOfBand(keyPair: keyPair, random: random)
        }
    }
}
