import BluetoothCore
import LockProtocol

/// What a request to the control point is about, and how its answer leaves.
package struct ControlPointContext: Equatable, Sendable {
    /// The enrolment window that is open.
    package struct Window: Equatable, Sendable {
        package var name: String
        package var role: Role
        package var isPaired: Bool
        /// Who opened it over the air, and what to tell them of it.
        package var opener: CredentialID?
        package var code: SetupCode?

        package init(
            name: String, role: Role, isPaired: Bool = false, opener: CredentialID? = nil, code: SetupCode? = nil
        ) {
            self.name = name
            self.role = role
            self.isPaired = isPaired
            self.opener = opener
            self.code = code
        }
    }

    /// Of one page of the list: more than an answer holds, without the first, of which its reader may have a part. So an answer that
    /// ends with its page ends the list. 512 octets have 34 rows without a name.
    package static let rowsMaximum = 36

    /// As the store has them, by their numbers: the page of a list, the one that is read, or everything of the name that a change or a
    /// window is about, with the devices of a window's user.
    package var credentials: [Credential]
    /// What one indication carries.
    package var responseOctets: Int
    package var window: Window?
    /// What the configuration says of the settings, which nobody changes over the air.
    package var fixed: LockSettings.Fields

    package init(
        credentials: [Credential] = [], responseOctets: Int = 20, window: Window? = nil,
        fixed: LockSettings.Fields = []
    ) {
        self.window = window
        self.fixed = fixed
        self.credentials = credentials
        self.responseOctets = responseOctets
    }

    /// What a store has of what a request is about; whether its sender may know, the machine says. `after`: so many credentials behind
    /// a number, nil: from the first on. `all`: everything in a scope.
    package init(
        of octets: [UInt8], responseOctets: Int, window: Window? = nil, fixed: LockSettings.Fields = [],
        after: (CredentialID?, Int) -> [Credential], all: (CredentialScope) -> [Credential]
    ) {
        self.init(responseOctets: responseOctets, window: window, fixed: fixed)
        func from(_ id: CredentialID, _ limit: Int) -> [Credential] {
            after(id.rawValue == 0 ? nil : CredentialID(rawValue: id.rawValue - 1), limit)
        }
        switch try? ControlPointProcedure(exactly: octets) {
        case .listCredentials(let id, _): credentials = from(id, Self.rowsMaximum)
        case .getCredential(let id, _): credentials = from(id, 1)
        case .change(let id, _, _):
            if let target = from(id, 1).first, target.id == id { credentials = all(.named(target.name)) }
        case .openEnrolment(let opening):
            credentials = all(.named(opening.name))
            for user in credentials.users(concernedBy: opening.name, of: opening.user) {
                credentials += all(.ofUser(user)).filter { !credentials.contains($0) }
            }
        case .closeEnrolment: credentials = window.map { all(.named($0.name)) } ?? []
        case .keyStatus, .questionKeyStatus, .getSettings, .getEnrolment, .setSettings, .setMode, .getTime, .setTime,
            .agreeOnKey, .confirmKey, nil:
            break
        }
    }
}

/// The procedures of the control point: the sender's right, operands, the credential's rank, its version, and then the change. docs/PROTOCOL.md,
/// "Control point"
extension LockMachine {
    /// As much as an attribute's value has.
    package static let controlPointOctetsMaximum = 512

    mutating func controlPoint(
        _ link: LockLink, _ octets: [UInt8], _ context: ControlPointContext, _ turn: inout LockTurn
    ) {
        guard let bond = links[link]?.provenBond, let request = try? ControlPointRequest(exactly: octets) else {
            return
        }
        // Key Status says "not taken" of what was signed on a clear link: that has to stay true.
        voidChallenges(of: bond, besides: link)
        guard var response = answer(request, octets, bond: bond, on: link, context, &turn) else { return }
        if let key = links[link]?.claim?.programKey,
            case .questionKeyStatus(let question)? = try? ControlPointProcedure(exactly: octets)
        {
            // The same of a command that somebody between the two holds back on this very link.
            links[link]?.challenges.end(question.challenge)
            response = key.authenticated(response, asked: octets)
        }
        let isRefusal = response.result == .notPermitted && request.opcode != .keyStatus
        let isOneTooMany = isRefusal && !auditRefusal(of: request.opcode, bond: bond, &turn)
        turn.act(.indicateControlPoint(link, response.encoded))
        if isOneTooMany { leave(link, &turn) }
    }

    /// nil: the shell has the answer.
    private mutating func answer(
        _ request: ControlPointRequest, _ octets: [UInt8], bond: UInt64, on link: LockLink,
        _ context: ControlPointContext, _ turn: inout LockTurn
    ) -> ControlPointResponse? {
        func result(_ result: ControlPointResult, _ parameters: [UInt8] = []) -> ControlPointResponse {
            ControlPointResponse(request: request.opcode, result: result, parameters: parameters)
        }
        guard let required = request.opcode.requiredRights else { return result(.opcodeNotSupported) }
        guard let sender = holder(on: link, with: required, at: turn.moment) else { return result(.notPermitted) }
        guard let procedure = try? ControlPointProcedure(exactly: octets) else { return result(.invalidOperand) }
        func read(_ value: ReadableValue, at place: ReadingPlace) -> ControlPointResponse {
            let most = min(context.responseOctets, Self.controlPointOctetsMaximum)
            return value.response(to: request.opcode, at: place, responseOctets: most)
        }
        switch procedure {
        case .keyStatus: return result(.success, keyStatus(of: bond, sender, on: link).encoded)
        // Without the program's key nobody could tell the answer from somebody else's.
        case .questionKeyStatus where links[link]?.claim?.programKey == nil: return result(.invalidOperand)
        case .questionKeyStatus(let question):
            return result(.success, QuestionedStatus(keyStatus(of: bond, sender, on: link), asked: question).encoded)
        case .listCredentials(_, let place):
            let rows = context.credentials.map { CredentialRow($0.record) }
            return read(ReadableValue(rows), at: place)
        case .getCredential(let id, let place):
            guard let credential = context.credentials.first(where: { $0.id == id }) else {
                return result(.unknownCredential)
            }
            return read(ReadableValue(credential.record), at: place)
        case .change(let id, let version, let change):
            recall(context.credentials)
            let outcome = manage(id, version, change, by: sender, &turn)
            let left = outcome == .success ? credentials[id] : nil
            return result(outcome, left.map { ValueVersion(of: $0.record.encoded).octets } ?? [])
        case .getSettings(let place):
            return read(ReadableValue(SettingsRecord(settings, fixed: context.fixed)), at: place)
        case .setSettings(let version, let wanted):
            let outcome = set(wanted, version, fixed: context.fixed, by: sender, &turn)
            let left = SettingsRecord(settings, fixed: context.fixed)
            return result(outcome, outcome == .success ? ValueVersion(of: left.encoded).octets : [])
        case .setMode(let mode): return result(enter(mode, by: sender, &turn) ? .success : .busy)
        case .getTime: return result(.success, time(turn.moment).encoded)
        case .setTime(let seconds): return result(setTime(seconds, by: sender, &turn))
        // A bond that is confirmed has its key, or needs none.
        case .agreeOnKey, .confirmKey: return result(.operationFailed)
        case .openEnrolment(let opening):
            recall(context.credentials)
            return open(opening, besides: context.window, on: link, by: sender, &turn).map { result($0) }
        case .closeEnrolment:
            recall(context.credentials)
            return result(close(context.window, by: sender, &turn))
        case .getEnrolment(let place):
            return read(ReadableValue(EnrolmentState(context.window, for: sender)), at: place)
        }
    }

    private func keyStatus(of bond: UInt64, _ sender: Credential, on link: LockLink) -> KeyStatus {
        KeyStatus(
            role: sender.role.rawValue, rights: links[link]?.rights(of: sender) ?? [], lastCommand: lastCommands[bond])
    }

    /// Who may come now and has these rights over this link; nil for everybody else.
    func holder(on link: LockLink, with rights: Rights, at moment: LockMoment) -> Credential? {
        guard let state = links[link], let credential = state.provenBond.flatMap({ credential(of: $0) }),
            credential.isEnabled, schedule(of: credential, timeOfDay(moment)) == .within,
            state.rights(of: credential).permit(rights)
        else { return nil }
        return credential
    }

    /// nil: the shell opens it if it can, and says so. Only then it is on record.
    private func open(
        _ opening: EnrolmentOpening, besides window: ControlPointContext.Window?, on link: LockLink,
        by sender: Credential, _ turn: inout LockTurn
    ) -> ControlPointResult? {
        guard window == nil else { return .windowIsOpen }
        guard mayOffer(opening.role, to: opening.name, sender), mayJoin(opening, sender) else { return .notPermitted }
        turn.act(.openWindow(link, opening, by: AuditedManager(sender)))
        return nil
    }

    private mutating func close(
        _ window: ControlPointContext.Window?, by sender: Credential, _ turn: inout LockTurn
    ) -> ControlPointResult {
        guard let window else { return .success }
        guard mayOffer(window.role, to: window.name, sender) else { return .notPermitted }
        audit(.windowManaged(by: AuditedManager(sender), name: window.name, .closed), of: sender.id, &turn)
        turn.act(.closeWindow)
        return .success
    }

    /// Who enrols in a window gets this role, and takes everything of its name over.
    private func mayOffer(_ role: Role, to name: String, _ sender: Credential) -> Bool {
        sender.role.mayManage(role, isPassing: sender.isPassing) && mayChange(name, sender)
    }

    /// A further device goes by its user's name: nobody puts one among the devices of somebody whom it may not manage, but among its own.
    private func mayJoin(_ opening: EnrolmentOpening, _ sender: Credential) -> Bool {
        let users = credentials.values.users(concernedBy: opening.name, of: opening.user)
        return credentials.values.lazy.filter { users.contains($0.userName) }.allSatisfy {
            $0.userName == sender.userName || sender.role.mayManage($0.role, isPassing: sender.isPassing)
        }
    }

    /// A procedure changes everything of one name, as an operator does: what a window offers to a credential that stands goes with
    /// it. So its sender must rank above all of it.
    private func mayChange(_ name: String, _ sender: Credential) -> Bool {
        credentials.values.lazy.filter { $0.name == name }.allSatisfy {
            $0.id != sender.id && sender.role.mayManage($0.role, isPassing: sender.isPassing)
        }
    }

    private mutating func manage(
        _ id: CredentialID, _ version: ValueVersion, _ change: CredentialChange, by sender: Credential,
        _ turn: inout LockTurn
    ) -> ControlPointResult {
        guard let target = credentials[id] else { return .unknownCredential }
        guard mayChange(target.name, sender) else { return .notPermitted }
        guard ValueVersion(of: target.record.encoded) == version else { return .changed }
        let bonds = credentials.values.filter { $0.name == target.name }.compactMap(\.bond).sorted()
        administer(.named(target.name), change, by: AuditedManager(sender), &turn)
        if change == .removed { turn.act(.credentialRemoved(target.name, bonds: bonds)) }
        return .success
    }

    /// Counts with refused commands. False: that were too many, and the link ends behind the answer.
    mutating func auditRefusal(of procedure: ControlPointOpcode, bond: UInt64, _ turn: inout LockTurn) -> Bool {
        let holder = credential(of: bond)?.id
        switch refusals[bond, default: AuditMeter()].count(now: turn.now) {
        case .audit:
            audit(.procedureRefused(bond: bond, credential: holder, procedure), of: holder, &turn)
            return true
        case .summarise: suppressRefusals(of: bond, holder, &turn)
        case .omit: break
        }
        return false
    }
}

extension EnrolmentState {
    fileprivate init(_ window: ControlPointContext.Window?, for reader: Credential) {
        guard let window else {
            self = .closed
            return
        }
        self = .open(
            role: window.role.rawValue, name: window.name, isPaired: window.isPaired,
            code: window.opener == reader.id ? window.code : nil)
    }
}
