import BluetoothCore
import BluetoothCrypto
import LockCentral
import LockProtocol
import SecurityManager

typealias EnrolmentEvent = KeyEnrolmentMachine.Event
typealias EnrolmentOutput = KeyEnrolmentMachine.Output

let shed = PeerIdentifier(bits: 43)
/// What a setup code says.
let setupData = OutOfBandData(
    address: DeviceAddress(kind: .public, bits: 0x1234), random: Secret([UInt8](repeating: 2, count: 16)), confirm: 3)
/// Key Status, answered.
let statusAnswer = ControlPointResponse(request: .keyStatus, result: .success, parameters: [0, 0]).encoded

func bondID(_ raw: Int64) -> BondID { BondID(raw) }

func proof(_ bond: Int64, _ peer: PeerIdentifier = door) -> KeyEnrolmentMachine.Proof {
    .init(bond: bondID(bond), record: LockRecord(peer: peer, name: "Front door"))
}

extension KeyEnrolmentMachine.Register {
    static let vacant = Self(bonds: [], asked: [])
    /// What comes of the pairing with the door.
    static let paired = Self(bonds: [.init(id: bondID(7), peer: door)], asked: [])
    /// And somebody wants something of it.
    static let asked = Self(bonds: paired.bonds, asked: [door])
}

/// An enrolment on the bench: one machine, and the bonds that its outputs leave, as the host would. Links and time are moved
/// by hand.
struct KeyEnrolmentBench {
    static let waitMilliseconds: UInt64 = 90_000

    var machine = KeyEnrolmentMachine()
    var now = Instant(nanoseconds: 1_000_000_000)
    /// Bonds that were never confirmed.
    var bonds: [KeyEnrolmentMachine.UnconfirmedBond] = []
    var asked: Set<PeerIdentifier> = []
    /// Bonds that come of pairings are a program's.
    var isForProgram = false
    /// They were made by a method that nobody has seen.
    var isUnverified = false
    private(set) var promoted: [BondID] = []
    var programKeys: [BondID: BondProgramKey] = [:]
    /// Of the bond that the pairing makes.
    private var pairedKey = BondProgramKey.none
    private(set) var deadline: Instant?

    var register: KeyEnrolmentMachine.Register {
        let bonds = bonds.map { bond in
            var bond = bond
            bond.isUnverified = isUnverified
            return bond
        }
        return .init(bonds: bonds, asked: asked)
    }

    /// Without the timer, which ``deadline`` shows.
    @discardableResult
    mutating func put(_ event: EnrolmentEvent) -> [EnrolmentOutput] {
        var outputs: [EnrolmentOutput] = []
        machine.handle(event, now: now, into: &outputs)
        for output in outputs { carryOut(output) }
        if case .deadline? = outputs.first { outputs.removeFirst() }
        return outputs
    }

    private mutating func carryOut(_ output: EnrolmentOutput) {
        switch output {
        case .deadline(let instant): deadline = instant
        case .promoteBond(let id):
            promoted.append(id)
            let peer = bonds.first { $0.id == id }?.peer
            bonds.removeAll { $0.peer == peer }
        case .deleteBond(let id): bonds.removeAll { $0.id == id }
        case .keepProgramKey(let id, let key): programKeys[id] = key
        case .pair(_, _, _, let programKey): pairedKey = programKey
        case .connect, .disconnect, .release, .discover, .encrypt, .askKeyStatus, .agreeOnKey, .confirmKey, .keep,
            .bonded, .enrolled, .progress, .passOn:
            break
        }
    }

    @discardableResult
    mutating func enrol(_ peer: PeerIdentifier = door) -> [EnrolmentOutput] {
        put(.enrol(peer, setupData, waitMilliseconds: Self.waitMilliseconds, register))
    }

    @discardableResult
    mutating func connect(_ peer: PeerIdentifier = door) -> [EnrolmentOutput] { put(.connected(peer)) }

    /// The host has a bond with the lock.
    @discardableResult
    mutating func pair(_ bond: Int64, _ peer: PeerIdentifier = door) -> [EnrolmentOutput] {
        bonds.append(.init(id: bondID(bond), peer: peer, isForProgram: isForProgram))
        programKeys[bondID(bond)] = pairedKey
        return put(.paired(peer, bondID(bond)))
    }

    @discardableResult
    mutating func encrypt(_ peer: PeerIdentifier = door, isConfirmed: Bool = false) -> [EnrolmentOutput] {
        put(.encrypted(peer, isConfirmed: isConfirmed, register))
    }

    @discardableResult
    mutating func prepare(_ peer: PeerIdentifier = door) -> [EnrolmentOutput] {
        put(.prepared(peer, isTreeKnown: true))
    }

    @discardableResult
    mutating func answer(
        _ proof: KeyEnrolmentMachine.Proof?, _ peer: PeerIdentifier = door, _ octets: [UInt8] = statusAnswer
    ) -> [EnrolmentOutput] { put(.answered(peer, octets, proof, register)) }

    @discardableResult
    mutating func disconnect(_ peer: PeerIdentifier = door, isLost: Bool = false) -> [EnrolmentOutput] {
        put(.disconnected(peer, isLost: isLost, register))
    }

    /// The timer fires, if it is due by then.
    @discardableResult
    mutating func wait(milliseconds: UInt64) -> [EnrolmentOutput] {
        now = now.advanced(byMilliseconds: milliseconds)
        guard let deadline, now >= deadline else { return [] }
        self.deadline = nil
        return put(.timerFired(register))
    }

    /// To a bond, and the pairing's link is gone.
    mutating func pairAndComeBack(_ bond: Int64, _ peer: PeerIdentifier = door) {
        enrol(peer)
        connect(peer)
        pair(bond, peer)
        prepare(peer)
        disconnect(peer)
    }

    /// A link that the bond encrypts, as far as Key Status.
    mutating func prove(_ peer: PeerIdentifier = door) {
        connect(peer)
        encrypt(peer)
        prepare(peer)
    }
}
