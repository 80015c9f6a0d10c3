import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// The time in which one named credential may enrol, one attempt at a time. In memory only: it dies with the process,
/// and its code with it.
struct EnrolmentWindow {
    let request: EnrolmentRequest
    let timer: TimerToken
    let report: (EnrolmentProgress) -> Void
    var failures = 0
    /// The bond that has yet to prove itself.
    var paired: BondID?
}

extension LockDaemon {
    /// Opens the window. What it offers is on disk, as a credential without a bond, before anybody can pair for it. A
    /// credential of that name that has a bond stays as it is until another bond has proved itself: opening a window
    /// gives nobody a right, and takes none away.
    package func openEnrolment(
        _ request: EnrolmentRequest, report: @escaping (EnrolmentProgress) -> Void
    ) throws(EnrolmentRefusal) {
        if let window { throw .windowIsOpen(credential: window.request.credential) }
        guard let manager, manager.state == .poweredOn, let machine else { throw .notPoweredOn }
        guard !request.credential.isEmpty, request.credential.utf8.count <= Credential.nameOctetsMaximum else {
            throw .badName
        }
        let named = machine.credentials.values.filter { $0.name == request.credential }
        var offer =
            named.first { $0.bond == nil }
            ?? Credential(
                id: CredentialID(rawValue: surroundings.random() >> 1), name: request.credential, role: request.role)
        offer.role = request.role
        offer.isEnabled = true
        feed(.administration(.credential(offer)))
        let timer = host.makeTimer()
        window = EnrolmentWindow(request: request, timer: timer, report: report)
        let end = host.now.advanced(byMilliseconds: request.seconds * 1_000)
        host.setTimer(timer, at: end) { [weak self] _ in self?.closeWindow(.expired) }
        let (method, code) = makeOffer(request.method)
        manager.setPairingWindow(PairingWindow(method: method, credential: request.credential))
        progress(.opened(code))
    }

    /// The key pair and the random value of an out-of-band offer are made for this window and kept nowhere.
    private func makeOffer(_ method: EnrolmentRequest.Method) -> (PairingWindow.Method, SetupCode?) {
        switch method {
        case .passkey: return (.passkeyDisplay, nil)
        case .outOfBand:
            let keyPair = P256KeyPair.generate()
            let random = SystemRandom.secret(SetupCode.randomOctets)
            let data = OutOfBandOffer(random: random).data(
                address: host.identity.address.address, publicKey: keyPair.publicKey)
            let code = SetupCode(lock: host.identity.address, confirm: data.confirm.octets, random: random)
            return (.outOfBand(keyPair: keyPair, random: random), code)
        }
    }

    package func cancelEnrolment() { closeWindow(.cancelled) }

    private func progress(_ progress: EnrolmentProgress) {
        guard let report = window?.report else { return }
        host.afterCommit { report(progress) }
    }

    private func closeWindow(_ end: EnrolmentEnd) {
        guard let window else { return }
        progress(.ended(end))
        self.window = nil
        host.setTimer(window.timer, at: nil) { _ in }
        manager?.setPairingWindow(nil)
        withdrawOffer(to: window.request.credential)
    }

    /// What nobody took up goes, unless the credential is nothing but that: its name and role are the operator's word. A
    /// bond that has yet to prove itself still has its role from it.
    private func withdrawOffer(to name: String) {
        let named = (machine?.credentials.values).map { $0.filter { $0.name == name } } ?? []
        guard named.contains(where: { $0.bond != nil }), let offer = named.first(where: { $0.bond == nil }),
            !host.bonds.contains(where: { $0.state == .unconfirmed && $0.credential == name })
        else { return }
        feed(.administration(.credentialRemoved(offer.id)))
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, displayPasskey passkey: UInt32, to central: CBCentral, link: LinkInfo
    ) {
        feed(.pairing(LockLink(link), isUnderWay: true))
        progress(.passkey(passkey))
    }

    package func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didPair result: Result<BondID, HostError>,
        link: LinkInfo
    ) {
        feed(.pairing(LockLink(link), isUnderWay: false))
        switch result {
        case .success(let bond):
            pairedLinks.insert(LockLink(link))
            window?.paired = bond
            progress(.paired(bond))
            // One credential, one enrolment: nobody else gets in through what is left of the window.
            peripheral.setPairingWindow(nil)
        case .failure(let error): attemptFailed(error)
        }
    }

    private func attemptFailed(_ error: HostError) {
        guard window != nil, window?.paired == nil else { return }
        progress(.attemptFailed(String(describing: error)))
        window?.failures += 1
        guard let window else { return }
        if window.request.method == .outOfBand { return closeWindow(.burnt) }
        if window.failures >= Self.enrolmentFailuresMaximum { closeWindow(.tooManyFailures) }
    }

    /// Whether this bond may use the control point. One that is new is confirmed here, by Key Status in a reconnection
    /// that was encrypted with it: only now does the credential change hands, in one transaction.
    func confirm(_ bond: Bond, on link: LockLink, _ octets: [UInt8]) -> Bool {
        if bond.state == .confirmed { return true }
        guard bond.state == .unconfirmed, !pairedLinks.contains(link),
            let request = try? ControlPointRequest(exactly: octets), request.opcode == .keyStatus,
            let named = (machine?.credentials.values).map({ $0.filter { $0.name == bond.credential } }),
            let credential = Self.credential(of: named)
        else { return false }
        let former = named.first { $0.bond != nil }?.bond
        host.promoteBond(bond.id)
        var enrolled = credential
        enrolled.bond = UInt64(bitPattern: bond.id.rawValue)
        feed(.administration(.credential(enrolled)))
        for offer in named where offer.bond == nil && offer.id != enrolled.id {
            feed(.administration(.credentialRemoved(offer.id)))
        }
        if let former {
            feed(.administration(.bondForgotten(former)))
            // The device that had the credential until now is nobody's any more.
            host.deleteBond(BondID(Int64(bitPattern: former)))
        }
        dropLatecomers(to: bond)
        tell(.enrolled(credential: credential.name, bond.id))
        if window?.paired == bond.id { closeWindow(.enrolled(bond.id)) }
        return true
    }

    /// The credential is taken. Who paired for it in another window and never came back does not take it away again; only
    /// whoever has paired in the window that is open may still come.
    private func dropLatecomers(to confirmed: Bond) {
        for other in host.bonds
        where other.id != confirmed.id && other.state == .unconfirmed && other.credential == confirmed.credential
            && other.id != window?.paired
        {
            host.deleteBond(other.id)
        }
    }

    /// What a bond enrols for: what its window offered, under the number by which the audit knows the credential. nil when
    /// it is gone, or was disabled and not offered anew.
    private static func credential(of named: [Credential]) -> Credential? {
        let offer = named.first { $0.bond == nil }
        guard var standing = named.first(where: { $0.bond != nil }) else { return offer }
        if let offer {
            standing.role = offer.role
            standing.isEnabled = offer.isEnabled
        }
        return standing.isEnabled ? standing : nil
    }
}
