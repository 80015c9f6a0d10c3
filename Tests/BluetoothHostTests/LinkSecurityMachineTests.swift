import BluetoothCore
import GATT
import SecurityManager
import Testing

@testable import BluetoothHost

/// Every event in every state of a link's security.
@Suite("Core 5.4, Vol 3, Part C, 10.2: how secure a link is, and what is being done about it")
struct LinkSecurityMachineTests {
    typealias Machine = LinkSecurityMachine

    enum Name: String, CaseIterable {
        case open, openAsked, openWaiting, openUser, openEncrypting, openDue
        case keyed, keyedAsked, keyedEncrypting, keyedDue
        case proven, provenAsked, provenWaiting, provenEncrypting
    }

    enum Input: String, CaseIterable {
        case encrypt, bondKey, otherKey, on, onPairing, failed, proved, asked, awaited, user, proof, noProof
        case overtaken, settled, early, late, closed
    }

    private static let named = BondID(1)
    private static let key = BondID(2)
    private static let now = Instant(nanoseconds: 1_000_000_000)
    private static let until = now.advanced(byMilliseconds: 30_000)
    private static let weak = LinkSecurity(encrypted: true, secureConnections: true, keySize: 16, bonded: true)
    private static let strong = LinkSecurity(
        encrypted: true, authenticated: true, secureConnections: true, keySize: 16, bonded: true)

    /// Brought there by events, so that no state is tested that cannot be.
    private static func machine(_ name: Name) -> Machine {
        var machine = Machine(named: named)
        let events: [Machine.Event]
        switch name {
        case .open: events = []
        case .openAsked: events = [.centralAsked]
        case .openWaiting: events = [.centralAsked, .centralAwaited(until: until)]
        case .openUser: events = [.userAsked(until: until)]
        case .openEncrypting: events = [.encrypt(key)]
        case .openDue: events = [.proofAsked(until: until)]
        case .keyed: events = [.encryptionOn(pairing: weak)]
        case .keyedAsked: events = [.encryptionOn(pairing: weak), .centralAsked]
        case .keyedEncrypting: events = [.encryptionOn(pairing: weak), .keyRequested(key)]
        case .keyedDue: events = [.proofAsked(until: until), .encryptionOn(pairing: weak)]
        case .proven: events = [.proved(named, strong)]
        case .provenAsked: events = [.proved(named, strong), .centralAsked]
        case .provenWaiting: events = [.proved(named, strong), .centralAsked, .centralAwaited(until: until)]
        case .provenEncrypting: events = [.proved(named, strong), .keyRequested(key)]
        }
        var outputs: [Machine.Output] = []
        for event in events { machine.handle(event, now: now, into: &outputs) }
        return machine
    }

    private static func event(_ input: Input) -> Machine.Event {
        switch input {
        case .encrypt: .encrypt(key)
        case .bondKey: .keyRequested(key)
        case .otherKey: .keyRequested(nil)
        case .on: .encryptionOn(pairing: nil)
        case .onPairing: .encryptionOn(pairing: weak)
        case .failed: .encryptionFailed
        case .proved: .proved(named, strong)
        case .asked: .centralAsked
        case .awaited: .centralAwaited(until: until)
        case .user: .userAsked(until: until)
        case .proof: .proofAsked(until: until)
        case .noProof: .proofNotAsked
        case .overtaken: .overtaken
        case .settled: .settled
        case .early, .late: .timerFired
        case .closed: .linkClosed
        }
    }

    /// What changes. Where nothing stands the event changes nothing, and nothing follows.
    private static let table: [Name: [Input: (Name, [Machine.Output])]] = [
        .open: [
            .encrypt: (.openEncrypting, []), .bondKey: (.openEncrypting, []), .on: (.open, [.fault, .disconnect]),
            .onPairing: (.keyed, [.encryptedWithPairing]), .failed: (.open, [.pairingNotEncrypted, .notEncrypted]),
            .proved: (.proven, []), .asked: (.openAsked, []), .user: (.openUser, []), .proof: (.openDue, []),
        ],
        .openAsked: [
            .encrypt: (.openEncrypting, []), .bondKey: (.openEncrypting, []),
            .on: (.openAsked, [.fault, .disconnect]), .onPairing: (.keyedAsked, [.encryptedWithPairing]),
            .failed: (.openAsked, [.pairingNotEncrypted, .notEncrypted]), .proved: (.proven, []),
            .awaited: (.openWaiting, []), .user: (.openUser, []), .overtaken: (.open, []),
        ],
        .openWaiting: [
            .encrypt: (.openEncrypting, []), .bondKey: (.openEncrypting, []),
            .on: (.openWaiting, [.fault, .disconnect]),
            .failed: (.openWaiting, [.pairingNotEncrypted, .notEncrypted]), .proved: (.proven, []),
            .user: (.openUser, []), .overtaken: (.open, []), .settled: (.openAsked, []),
            .late: (.openAsked, [.centralSilent]),
        ],
        .openUser: [
            .encrypt: (.openEncrypting, []), .bondKey: (.openEncrypting, []), .on: (.openUser, [.fault, .disconnect]),
            .failed: (.openUser, [.pairingNotEncrypted, .notEncrypted]), .proved: (.proven, []),
            .asked: (.openAsked, []), .overtaken: (.open, []), .settled: (.open, []), .late: (.open, [.userSilent]),
        ],
        .openEncrypting: [
            .otherKey: (.open, []), .on: (.open, [.encryptedWith(key)]), .onPairing: (.open, [.encryptedWith(key)]),
            .failed: (.open, [.keyLost(key), .notEncrypted]), .proved: (.proven, []), .user: (.openUser, []),
            .closed: (.openEncrypting, [.keyLost(key)]),
        ],
        .openDue: [
            .on: (.openDue, [.fault, .disconnect]), .onPairing: (.keyedDue, [.encryptedWithPairing]),
            .failed: (.openDue, [.pairingNotEncrypted, .notEncrypted]), .proved: (.proven, []),
            .noProof: (.open, []), .late: (.open, [.proofOverdue]),
        ],
        .keyed: [
            .encrypt: (.keyedEncrypting, []), .bondKey: (.keyedEncrypting, []),
            .onPairing: (.keyed, [.encryptedWithPairing]), .failed: (.keyed, [.disconnect]), .proved: (.proven, []),
            .asked: (.keyedAsked, []), .proof: (.keyedDue, []),
        ],
        .keyedAsked: [
            .encrypt: (.keyedEncrypting, []), .bondKey: (.keyedEncrypting, []),
            .onPairing: (.keyedAsked, [.encryptedWithPairing]), .failed: (.keyedAsked, [.disconnect]),
            .proved: (.proven, []), .overtaken: (.keyed, []),
        ],
        .keyedEncrypting: [
            .otherKey: (.keyed, []), .on: (.keyed, [.encryptedWith(key)]), .onPairing: (.keyed, [.encryptedWith(key)]),
            .failed: (.keyed, [.disconnect]), .proved: (.proven, []), .closed: (.keyedEncrypting, [.keyLost(key)]),
        ],
        .keyedDue: [
            .onPairing: (.keyedDue, [.encryptedWithPairing]), .failed: (.keyedDue, [.disconnect]),
            .proved: (.proven, []), .noProof: (.keyed, []), .late: (.keyed, [.proofOverdue]),
        ],
        .proven: [
            .encrypt: (.provenEncrypting, []), .bondKey: (.provenEncrypting, []), .failed: (.proven, [.disconnect]),
            .asked: (.provenAsked, []),
        ],
        .provenAsked: [
            .encrypt: (.provenEncrypting, []), .bondKey: (.provenEncrypting, []),
            .failed: (.provenAsked, [.disconnect]), .proved: (.proven, []), .awaited: (.provenWaiting, []),
            .overtaken: (.proven, []),
        ],
        .provenWaiting: [
            .encrypt: (.provenEncrypting, []), .bondKey: (.provenEncrypting, []),
            .failed: (.provenWaiting, [.disconnect]), .proved: (.proven, []), .overtaken: (.proven, []),
            .settled: (.provenAsked, []), .late: (.provenAsked, [.centralSilent]),
        ],
        .provenEncrypting: [
            .otherKey: (.proven, []), .on: (.proven, [.encryptedWith(key)]),
            .onPairing: (.proven, [.encryptedWith(key)]), .failed: (.proven, [.disconnect]), .proved: (.proven, []),
            .closed: (.provenEncrypting, [.keyLost(key)]),
        ],
    ]

    /// Lead to a state that is two of the table's at once: a pursuit in another level, or beside a proof that is due. The tests
    /// behind the table have such states.
    private static let mixtures: [Name: Set<Input>] = [
        .openAsked: [.proof], .openWaiting: [.proof, .onPairing], .openUser: [.proof, .onPairing],
        .openEncrypting: [.proof], .openDue: [.encrypt, .bondKey, .asked, .user], .keyed: [.user],
        .keyedAsked: [.awaited, .user, .proof], .keyedEncrypting: [.user, .proof],
        .keyedDue: [.encrypt, .bondKey, .asked, .user], .proven: [.onPairing, .user],
        .provenAsked: [.onPairing, .user],
        .provenWaiting: [.onPairing, .user], .provenEncrypting: [.user],
    ]

    @Test("Each state takes each event", arguments: Name.allCases)
    func table(_ name: Name) {
        for input in Input.allCases where !(Self.mixtures[name] ?? []).contains(input) {
            var machine = Self.machine(name)
            var outputs: [Machine.Output] = []
            let instant = input == .late ? Self.until : Self.now
            machine.handle(Self.event(input), now: instant, into: &outputs)
            let (next, expected) = Self.table[name]?[input] ?? (name, [])
            #expect(machine == Self.machine(next), "\(name) × \(input)")
            #expect(outputs == expected, "\(name) × \(input)")
        }
    }

    @Test("What is asked for and when a proof is due do not disturb each other")
    func proofBesidePursuit() {
        var machine = Self.machine(.openWaiting)
        var outputs: [Machine.Output] = []
        let later = Self.until.advanced(byMilliseconds: 1)
        machine.handle(.proofAsked(until: later), now: Self.now, into: &outputs)
        #expect(machine.deadline == Self.until)
        machine.handle(.timerFired, now: Self.until, into: &outputs)
        #expect(outputs == [.centralSilent] && machine.deadline == later && machine.isCentralAsked)
        machine.handle(.encryptionOn(pairing: Self.weak), now: Self.until, into: &outputs)
        machine.handle(.timerFired, now: later, into: &outputs)
        #expect(outputs == [.centralSilent, .encryptedWithPairing, .proofOverdue] && machine.deadline == nil)
    }

    @Test("A pairing that makes more of a bond: the link stays proven, and is worth what the pairing's key is")
    func pairingOfProven() {
        var machine = Self.machine(.proven)
        var outputs: [Machine.Output] = []
        machine.handle(.encryptionOn(pairing: Self.weak), now: Self.now, into: &outputs)
        #expect(outputs == [.encryptedWithPairing])
        #expect(machine.isProven && machine.security == Self.weak && machine.bond == Self.named)
        machine.handle(.proved(Self.key, Self.strong), now: Self.now, into: &outputs)
        #expect(machine.security == Self.strong && machine.bond == Self.key)
    }

    @Test("A link whose address names a bond says so in clear, one of a stranger does not")
    func named() {
        #expect(Machine(named: Self.named).security.bonded && !Machine(named: Self.named).security.encrypted)
        #expect(Machine(named: nil).security == .open)
        #expect(!Machine(named: Self.named).isProven)
    }
}
