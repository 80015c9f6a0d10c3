import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import SecurityManager

typealias Output = LockEnrolment.Output
typealias Event = LockEnrolment.Event

let keyStatus = ControlPointRequest(opcode: .keyStatus).encoded

func bondID(_ raw: UInt64) -> BondID { BondID(Int64(raw)) }

func person(_ id: UInt64, _ name: String, _ role: Role = .owner, isEnabled: Bool = true, bond: UInt64? = nil)
    -> Credential
{
    Credential(id: CredentialID(rawValue: id), name: name, role: role, isEnabled: isEnabled, bond: bond)
}

func bond(_ id: UInt64, _ credential: String?, _ state: BondState = .unconfirmed) -> LockEnrolment.KnownBond {
    LockEnrolment.KnownBond(id: bondID(id), credential: credential, state: state)
}

extension LockEnrolment.Offer {
    /// The same one each time.
    static let code: Self = {
        let random = Secret([UInt8](repeating: 2, count: SetupCode.randomOctets))
        guard let keyPair = P256KeyPair(scalar: Secret([UInt8](repeating: 1, count: 32))),
            let lock = IdentityAddress(DeviceAddress(kind: .public, bits: 0x1234))
        else { return .passkey }
        let confirm = [UInt8](repeating: 3, count: SetupCode.confirmOctets)
        return .outOfBand(
            keyPair: keyPair, random: random, code: SetupCode(lock: lock, confirm: confirm, random: random))
    }()
}

/// An enrolment on the bench: one machine, and the credentials and bonds that its outputs make, as the lock machine and the
/// host would. Time is moved by hand.
struct EnrolmentBench {
    var machine = LockEnrolment()
    var now = Instant(nanoseconds: 1_000_000_000)
    var credentials: [CredentialID: Credential] = [:]
    var bonds: [BondID: LockEnrolment.KnownBond] = [:]
    private(set) var deadline: Instant?
    /// Whom the radio lets pair, with what of a program's key, and how many may still fail at it.
    private(set) var radio: String?
    private var programKey = BondProgramKey.none
    private var failuresLeft = 0

    init(_ credentials: [Credential] = [], bonds: [LockEnrolment.KnownBond] = []) {
        for credential in credentials { self.credentials[credential.id] = credential }
        for bond in bonds { self.bonds[bond.id] = bond }
    }

    var register: LockEnrolment.Register {
        .init(credentials: credentials.values, bonds: bonds.values.sorted { $0.id.rawValue < $1.id.rawValue })
    }

    var named: [Credential] { register.credentials }
    var bondStates: [BondID: BondState] { bonds.mapValues(\.state) }

    @discardableResult
    mutating func put(_ event: Event) -> [Output] {
        var outputs: [Output] = []
        machine.handle(event, now: now, into: &outputs)
        for output in outputs { carryOut(output) }
        return outputs
    }

    private mutating func carryOut(_ output: Output) {
        switch output {
        case .administration(.credential(let credential)): credentials[credential.id] = credential
        case .administration(.credentialRemoved(let id)): credentials[id] = nil
        case .setPairingWindow(let offer, let credential, let programKey):
            (radio, self.programKey) = (credential, programKey)
            failuresLeft = offer == .passkey ? 3 : 1
        case .closePairingWindow: radio = nil
        case .promoteBond(let id): bonds[id]?.state = .confirmed
        case .deleteBond(let id): bonds[id] = nil
        case .deadline(let instant): deadline = instant
        case .keepProgramKey(let id, let key): bonds[id]?.programKey = key
        case .refuse, .administration, .progress, .enrolled, .admit, .answer: break
        }
    }

    @discardableResult
    mutating func open(
        _ credential: String = "Alice", _ role: Role = .owner, _ offer: LockEnrolment.Offer = .passkey,
        fresh: UInt64 = 1, seconds: UInt64 = 120, isReady: Bool = true, kind: UserKind? = nil
    ) -> [Output] {
        let opening = LockEnrolment.Opening(
            credential: credential, role: role, seconds: seconds, offer: offer, fresh: CredentialID(rawValue: fresh),
            kind: kind)
        return put(.open(opening, isReady: isReady, register))
    }

    /// The host has a bond for whom its window is open.
    @discardableResult
    mutating func pair(_ id: UInt64, on link: UInt64) -> [Output] {
        bonds[bondID(id)] = bond(id, radio)
        bonds[bondID(id)]?.programKey = programKey
        return put(.paired(LockLink(rawValue: link), bondID(id)))
    }

    @discardableResult
    mutating func disconnect(_ link: UInt64) -> [Output] { put(.disconnected(LockLink(rawValue: link))) }

    @discardableResult
    mutating func ask(_ id: UInt64, on link: UInt64, _ octets: [UInt8] = keyStatus) -> [Output] {
        put(.controlPoint(LockLink(rawValue: link), bondID(id), octets, register))
    }

    @discardableResult
    mutating func fail() -> [Output] {
        failuresLeft -= 1
        return put(.attemptFailed(reason: "no", endsWindow: failuresLeft <= 0, register))
    }

    @discardableResult
    mutating func cancel() -> [Output] { put(.cancelled(register)) }

    @discardableResult
    mutating func wait(seconds: UInt64) -> [Output] {
        now = now.advanced(byMilliseconds: seconds * 1_000)
        return put(.timerFired(register))
    }
}
