import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol

/// The control point's requests: one at a time on each link, from a client that has asked for the answers.
extension LockDaemon {
    func controlPoint(
        _ peripheral: CBPeripheralManager, _ request: CBATTRequest, _ link: LinkInfo, _ octets: [UInt8]
    ) {
        let lockLink = LockLink(link)
        guard link.isProven, let bond = link.bond, let handle = tree?.controlPoint.valueHandle else {
            return peripheral.respond(to: request, withResult: .insufficientAuthorization)
        }
        if let fault = answerFault(of: handle, link) { return peripheral.respond(to: request, withResult: fault) }
        switch admission(of: bond, on: lockLink, octets) {
        case .refused: return peripheral.respond(to: request, withResult: .insufficientAuthorization)
        case .answered(let response):
            peripheral.respond(to: request, withResult: .success)
            return answer(response, link)
        case .admitted: peripheral.respond(to: request, withResult: .success)
        }
        let context = ControlPointContext(
            of: octets, responseOctets: link.mtu - Self.valueHeaderOctets, window: openWindow,
            fixed: configuration.settings.fixed,
            after: { credentials(after: $0, limit: $1) }, all: { credentials(in: $0) })
        feed(.controlPoint(lockLink, octets, context))
    }

    /// The answer about a program's key. From its confirmation on, the link is that program's.
    private func answer(_ response: ControlPointResponse, _ link: LinkInfo) {
        guard let controlPoint = tree?.controlPoint, let bond = link.bond.flatMap({ host.bond($0) }) else { return }
        var response = response
        if response.encoded.count > link.mtu - Self.valueHeaderOctets {
            response = ControlPointResponse(request: response.request, result: .operationFailed)
        }
        if response.request == .confirmKey, response.result == .success {
            feed(.encrypted(LockLink(link), makeClaim(bond)))
        }
        update(controlPoint, response.encoded, LockLink(link))
    }

    /// Why no answer of this control point could leave: its client has not asked for the indications, or has yet to confirm an answer,
    /// of whichever control point.
    func answerFault(of handle: AttributeHandle, _ link: LinkInfo) -> CBATTError.Code? {
        switch host.indications(of: handle, on: link.link) {
        case .notConfigured: .cccdImproperlyConfigured
        case .ready where !isAnswerWaiting(LockLink(link)): nil
        case .ready, .underWay: .procedureAlreadyInProgress
        }
    }

    /// Opcode and handle.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.7.1 (Handle Value Notification), 3.4.7.2 (Handle Value Indication)
    static let valueHeaderOctets = 3

    private var openWindow: ControlPointContext.Window? {
        guard let name = enrolment.credential, let offer = enrolment.offer else { return nil }
        return ControlPointContext.Window(
            name: name, role: offer.role, isPaired: offer.isPaired, opener: enrolment.opener, code: remoteCode)
    }

    /// A manager opens the window. The answer leaves with the commit that has it.
    func openWindow(_ opening: EnrolmentOpening, by manager: AuditedManager, _ link: LockLink) {
        let request = EnrolmentRequest(
            credential: opening.name, role: opening.role, method: .outOfBand, seconds: UInt64(opening.seconds),
            user: opening.user, kind: opening.kind)
        var result = ControlPointResult.success
        do throws(EnrolmentRefusal) {
            try openEnrolment(request, by: manager) { [weak self] progress in
                switch progress {
                case .opened(let code): self?.remoteCode = code
                case .ended: self?.remoteCode = nil
                case .passkey, .attemptFailed, .paired: break
                }
            }
        } catch {
            result = .operationFailed
        }
        guard let controlPoint = tree?.controlPoint else { return }
        update(controlPoint, ControlPointResponse(request: .openEnrolment, result: result).encoded, link)
    }

    /// The manager who opened the window may not let anybody in any more.
    func endsRemoteWindow(_ mutation: LockMutation) -> Bool {
        switch mutation {
        case .credential(let credential): credential.id == enrolment.opener && !credential.isEnabled
        case .credentialRemoved(let id): id == enrolment.opener
        default: false
        }
    }

    /// A manager has removed everything of this name: its bonds go, and what its window offers.
    func endCredential(_ name: String, bonds: [UInt64]) {
        removeBonds(of: bonds, credential: name)
        feedEnrolment(.credentialRemoved(name, register(about: name)))
        reviewUnprovenBonds()
    }
}
