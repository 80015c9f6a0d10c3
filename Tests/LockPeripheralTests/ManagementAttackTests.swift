import BluetoothCore
import LockProtocol
import MemoryStores
import TestSupport
import Testing

@testable import LockPeripheral

@Suite("Attacks on the management over the air")
struct ManagementAttackTests {
    /// Written down beside docs/PROTOCOL.md and read from nothing: who may ask for what.
    private static let permitted: [(opcode: UInt8, roles: Set<Role>)] = [
        (0x01, [.owner, .administrator, .resident, .guest, .lockOnly]), (0x02, [.owner, .administrator]),
        (0x03, [.owner, .administrator]), (0x04, [.owner, .administrator]), (0x05, [.owner, .administrator]),
        (0x06, [.owner, .administrator]), (0x07, [.owner, .administrator]), (0x08, [.owner, .administrator]),
        (0x09, [.owner, .administrator]), (0x0A, [.owner, .administrator]), (0x0B, [.owner, .administrator]),
        (0x0C, [.owner, .administrator]), (0x0D, [.owner, .administrator]), (0x0E, [.owner]), (0x0F, [.owner]),
    ]
    /// Who changes whom, besides itself.
    private static let ranks: [(sender: Role, others: Set<Role>)] = [
        (.owner, [.owner, .administrator, .resident, .guest, .lockOnly]),
        (.administrator, [.resident, .guest, .lockOnly]), (.resident, []), (.guest, []), (.lockOnly, []),
    ]
    private static let changes: [CredentialChange] = [
        .disabled, .enabled, .removed, .scheduled(Validity(notAfterSeconds: 1_900_000_000), .none),
    ]

    /// Well-formed, about credential 2 where it is about one.
    private static func request(_ opcode: UInt8, _ bench: LockBench) throws -> [UInt8] {
        let number: [UInt8] = [2, 0, 0, 0, 0, 0, 0, 0]
        let version = try bench.version(2).octets
        return switch opcode {
        case 0x02, 0x03: [opcode] + number + [0, 0, 0, 0, 0, 0]
        case 0x04, 0x05, 0x06: [opcode] + number + version
        case 0x07: [opcode] + number + version + [0, 1, 0, 0]
        case 0x08, 0x0B: [opcode, 0, 0, 0, 0, 0, 0]
        case 0x0C:
            [opcode] + ValueVersion(of: SettingsRecord(LockSettings(), fixed: []).encoded).octets
                + LockSettings(relockSeconds: nil).encoded
        case 0x0D: [opcode, 3]
        case 0x0F: [opcode, 0, 0, 0x72, 0x6B, 0, 0, 0, 0]
        case 0x09: [opcode, 4, 60, 0, 1, 0x58]
        default: [opcode]
        }
    }

    private static func bench(
        _ role: Role, _ other: Role = .lockOnly, isEnabled: Bool = true, validity: Validity = .always
    ) -> LockBench {
        LockBench([
            Credential(1, "Sender", role, isEnabled: isEnabled, validity: validity), Credential(2, "Other", other),
        ])
    }

    @Test(
        "Every role tries every procedure: the right decides, and what it refuses changes nothing",
        arguments: Role.allCases)
    func rights(role: Role) throws {
        for (opcode, roles) in Self.permitted {
            var bench = Self.bench(role)
            // A machine with a clock is told no time.
            if opcode == 0x0F { bench.wallClockSeconds = nil }
            let before = bench.store.committed.credentials
            let result = bench.ask(try Self.request(opcode, bench), on: 1)?.result
            #expect(result == (roles.contains(role) ? .success : .notPermitted), "\(opcode)")
            if !roles.contains(role) {
                #expect(bench.store.committed.credentials == before)
                let told = AuditEvent.procedureRefused(
                    bond: 1, credential: .of(1), ControlPointOpcode(rawValue: opcode))
                #expect(bench.events == [told])
            }
        }
        #expect(ControlPointOpcode.known.map(\.rawValue) == Self.permitted.map(\.opcode) + Self.ofEnrolment)
    }

    /// Of a bond that has yet to prove itself, which this machine hears nothing of.
    private static let ofEnrolment: [UInt8] = [0x10, 0x11]

    @Test("A bond that is confirmed agrees on no key any more", arguments: Role.allCases)
    func agreement(role: Role) {
        for (opcode, octets) in zip(
            Self.ofEnrolment, [ProgramKeyAgreement.messageOctets, ProgramKey.confirmationOctets])
        {
            for (count, result) in [
                (octets, .operationFailed), (octets - 1, .invalidOperand), (octets + 1, .invalidOperand),
            ] as [(Int, ControlPointResult)] {
                var bench = Self.bench(role)
                #expect(bench.ask([opcode] + [UInt8](repeating: 1, count: count), on: 1)?.result == result)
                #expect(bench.persists.isEmpty)
            }
        }
    }

    @Test("An op-code that is none is not supported, for everybody", arguments: Role.allCases)
    func unknownOpcodes(role: Role) throws {
        let known = Self.permitted.map(\.opcode) + Self.ofEnrolment
        for opcode in UInt8.min...UInt8.max where !known.contains(opcode) {
            var bench = Self.bench(role)
            #expect(bench.ask([opcode, 1, 2, 3], on: 1)?.result == .opcodeNotSupported)
            #expect(bench.persists.isEmpty)
        }
    }

    @Test(
        "Every role tries every change on every role: nobody changes who ranks as high, but an owner who may always come"
    )
    func ranks() throws {
        for (sender, others) in Self.ranks {
            for other in Role.allCases {
                for change in Self.changes {
                    for isLimited in [false, true] {
                        var bench = Self.bench(
                            sender, other, validity: isLimited ? Validity(notAfterSeconds: 1_900_000_000) : .always)
                        let before = bench.store.committed.credentials
                        let isAllowed = others.contains(other) && !(isLimited && other == .owner)
                        #expect(try bench.change(2, change, by: 1) == (isAllowed ? .success : .notPermitted))
                        if !isAllowed { #expect(bench.store.committed.credentials == before) }
                    }
                }
            }
        }
    }

    @Test(
        "Nobody changes its own credential: no owner shuts itself out, and nobody lengthens its own time",
        arguments: Role.allCases)
    func oneself(role: Role) throws {
        for change in Self.changes {
            var bench = Self.bench(role)
            let before = bench.store.committed.credentials
            #expect(try bench.change(1, change, by: 1) == .notPermitted)
            #expect(bench.store.committed.credentials == before)
        }
    }

    @Test("A name that stands for two: who may not change the one changes neither by the other's number")
    func sharedName() throws {
        var bench = Self.bench(.administrator, .owner)
        bench.put(.administration(.credential(Credential(id: .of(3), name: "Other", role: .guest))))
        for change in Self.changes {
            let before = bench.store.committed.credentials
            #expect(try bench.change(3, change, by: 1) == .notPermitted)
            #expect(bench.store.committed.credentials == before)
        }
        bench.put(.administration(.credential(Credential(id: .of(4), name: "Sender", role: .guest))))
        #expect(try bench.change(4, .removed, by: 1) == .notPermitted)
    }

    @Test("Disabled, expired, outside of its schedule, without a trusted clock: an owner manages nothing")
    func whoMayNotCome() throws {
        for (isEnabled, validity, clock) in [
            (false, Validity.always, 1_800_000_000), (true, Validity(notAfterSeconds: 1_700_000_000), 1_800_000_000),
            (true, Validity(notBeforeSeconds: 1_900_000_000), 1_800_000_000),
            (true, Validity(notAfterSeconds: 1_900_000_000), nil),
        ] as [(Bool, Validity, Int64?)] {
            for opcode in 0x02...0x0B as ClosedRange<UInt8> {
                var bench = Self.bench(.owner, isEnabled: isEnabled, validity: validity)
                bench.wallClockSeconds = clock
                let before = bench.store.committed.credentials
                #expect(bench.ask(try Self.request(opcode, bench), on: 1)?.result == .notPermitted)
                #expect(bench.store.committed.credentials == before)
            }
        }
    }

    @Test("A bond without a credential, and a link in clear that only claims one, manage nothing")
    func nobody() throws {
        for opcode in 0x02...0x0B as ClosedRange<UInt8> {
            var bench = Self.bench(.owner)
            bench.connectEncrypted(8, 8)
            #expect(bench.ask(try Self.request(opcode, bench), on: 8)?.result == .notPermitted)
            bench.connect(9, 1)
            #expect(bench.ask(try Self.request(opcode, bench), on: 9) == nil)
            #expect(bench.persists.isEmpty)
        }
    }

    @Test(
        "Operands of every length but the right one are refused, and change nothing",
        arguments: 0x02...0x0B as ClosedRange<UInt8>)
    func operands(opcode: UInt8) throws {
        let whole = try Self.request(opcode, Self.bench(.owner))
        for octets in (1..<whole.count).map({ Array(whole.prefix($0)) }) + [
            whole + [0], whole + [UInt8](repeating: 0, count: 600),
        ] {
            var bench = Self.bench(.owner)
            #expect(bench.ask(octets, on: 1)?.result == .invalidOperand, "\(octets.count)")
            #expect(bench.persists.isEmpty)
        }
        var bench = Self.bench(.owner)
        #expect(bench.ask(whole, on: 1)?.result == .success)
        #expect(bench.ask([UInt8](), on: 1) == nil)
    }

    @Test("Rules that are none are refused: a validity of unknown flags, an eleventh schedule, another version")
    func badRules() throws {
        var bench = Self.bench(.owner)
        let begin = Array(try Self.request(0x07, bench).dropLast(4))
        for rules in [[4, 1, 0, 0], [0, 2, 0, 0], [0, 1, 11] + [UInt8](repeating: 1, count: 55) + [0]] as [[UInt8]] {
            #expect(bench.ask(begin + rules, on: 1)?.result == .invalidOperand)
            #expect(bench.persists.isEmpty)
        }
    }

    @Test("A flood of refused procedures ends its link, and puts no more into the audit than refused commands do")
    func flood() throws {
        var bench = Self.bench(.guest)
        for _ in 0..<5 { #expect(bench.ask(try Self.request(0x06, bench), on: 1)?.result == .notPermitted) }
        #expect(bench.ask(try Self.request(0x06, bench), on: 1)?.result == .notPermitted)
        #expect(bench.events == [.refusalsSuppressed(bond: 1)] && bench.isLastDisconnect)
        #expect(bench.ask(try Self.request(0x06, bench), on: 1) == nil)
        bench.connectEncrypted(3, 1)
        #expect(bench.ask(try Self.request(0x06, bench), on: 3)?.result == .notPermitted)
        #expect(bench.events.isEmpty && bench.isLastDisconnect)
    }

    @Test(
        "Every role tries to let every role in, under a free name and under each role's: nobody is let in above its host, or over it"
    )
    func windows() throws {
        for (sender, others) in Self.ranks {
            for offered in Role.allCases {
                for (name, standing) in [("New", nil)] + Role.allCases.map({ ("Other", $0) }) as [(String, Role?)] {
                    var bench = Self.bench(sender, standing ?? .lockOnly)
                    let opening = try #require(EnrolmentOpening(role: offered, seconds: 60, name: name))
                    let isAllowed = others.contains(offered) && (standing.map { others.contains($0) } ?? true)
                    let result = bench.ask(.openEnrolment(opening), on: 1)?.result
                    #expect(result == (isAllowed ? .success : .notPermitted))
                    #expect((bench.window != nil) == isAllowed)
                }
            }
            var bench = Self.bench(sender)
            let oneself = try #require(EnrolmentOpening(role: .lockOnly, seconds: 60, name: "Sender"))
            #expect(bench.ask(.openEnrolment(oneself), on: 1)?.result == .notPermitted)
        }
    }

    @Test("An owner who is limited lets no owner in: nobody makes its own time longer by another credential")
    func limitedOwner() throws {
        var bench = Self.bench(.owner, validity: Validity(notAfterSeconds: 1_900_000_000))
        for role in Role.allCases {
            bench.window = nil
            let opening = try #require(EnrolmentOpening(role: role, seconds: 60, name: "New"))
            let result = bench.ask(.openEnrolment(opening), on: 1)?.result
            #expect(result == (role == .owner ? .notPermitted : .success))
        }
    }

    @Test(
        "An owner whose kind ends by itself ranks as a limited one: it makes no owner, and changes none",
        arguments: [UserKind.disposable, .expiring(minutes: 30)])
    func passingOwner(kind: UserKind) throws {
        let sender = Credential(id: .of(1), name: "Sender", role: .owner, bond: 1, kind: kind)
        for role in Role.allCases {
            let expected = role == .owner ? ControlPointResult.notPermitted : .success
            var bench = LockBench([sender])
            let opening = try #require(EnrolmentOpening(role: role, seconds: 60, name: "New"))
            #expect(bench.ask(.openEnrolment(opening), on: 1)?.result == expected, "\(role)")
            for change in Self.changes {
                bench = LockBench([sender, Credential(2, "Other", role)])
                #expect(try bench.change(2, change, by: 1) == expected, "\(role)")
            }
        }
    }

    @Test(
        "Somebody else's window: its code is nobody's but its opener's, it is closed by rank, and no second one opens")
    func othersWindow() throws {
        for opener in [nil, CredentialID.of(1)] {
            var bench = Self.bench(.owner, .administrator)
            let window = ControlPointContext.Window(name: "New", role: .owner, opener: opener, code: LockBench.code)
            func state(_ link: UInt64) throws -> EnrolmentState {
                let answer = bench.ask(.getEnrolment(.start), on: link, responseOctets: 200)
                let part = try ValuePart(exactly: answer?.parameters ?? [])
                return try EnrolmentState(exactly: Array(part.octets.dropFirst(4)))
            }
            for link in 1...2 as ClosedRange<UInt64> {
                bench.window = window
                let code = opener?.rawValue == link ? LockBench.code : nil
                #expect(try state(link) == .open(role: 1, name: "New", isPaired: false, code: code))
                let guest = try #require(EnrolmentOpening(role: .guest, seconds: 60, name: "Guest"))
                #expect(bench.ask(.openEnrolment(guest), on: link)?.result == .windowIsOpen)
                #expect(bench.ask(.closeEnrolment, on: link)?.result == (link == 1 ? .success : .notPermitted))
                #expect((bench.window == nil) == (link == 1))
            }
        }
    }

    @Test("A window's role, time and name are what they may be, or it stays shut")
    func badWindows() throws {
        var bench = Self.bench(.owner)
        for operands in [
            [0, 60, 0, 1, 0x58], [6, 60, 0, 1, 0x58], [4, 0, 0, 1, 0x58], [4, 0x11, 0x0E, 1, 0x58], [4, 60, 0, 0],
            [4, 60, 0, 1, 0xFF], [4, 60, 0, 65] + [UInt8](repeating: 0x58, count: 65),
        ] as [[UInt8]] {
            #expect(bench.ask([0x09] + operands, on: 1)?.result == .invalidOperand)
            #expect(bench.outputs.count == 1)
        }
        #expect(bench.ask([0x09, 4, 0x10, 0x0E, 1, 0x58], on: 1)?.result == .success)
        // Whether it opens the shell says, and then it is on record.
        #expect(bench.window?.name == "X" && bench.events == [])
    }

    @Test("Whatever managers do to each other, an owner is left who may always come", arguments: 1...20)
    func anOwnerIsLeft(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var bench = LockBench([
            Credential(1, "a", .owner), Credential(2, "b", .owner), Credential(3, "c", .owner),
            Credential(4, "d", .administrator), Credential(5, "e", .administrator), Credential(6, "f", .guest),
        ])
        for _ in 0..<200 {
            let (sender, target) = (
                UInt64.random(in: 1...6, using: &generator), UInt64.random(in: 1...6, using: &generator)
            )
            guard bench.credential(target) != nil, let change = Self.changes.randomElement(using: &generator) else {
                continue
            }
            bench.pass(milliseconds: 60_000)
            bench.connectEncrypted(sender, sender)
            _ = try bench.change(target, change, by: sender)
            let owners = bench.store.committed.credentials.values.filter { $0.role == .owner && $0.isEnabled }
            try #require(owners.contains { $0.validity == .always && $0.schedules.isEmpty })
        }
    }
}
