import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

@Suite("Attacks on the audit over the air")
struct RecordAccessAttackTests {
    /// Written down beside docs/PROTOCOL.md and read from nothing.
    private static let readers: Set<Role> = [.owner, .administrator]
    private static let requests: [[UInt8]] = [
        [0x01, 0x01], [0x01, 0x03, 0x01, 1, 0, 0, 0, 0, 0, 0, 0], [0x01, 0x05], [0x01, 0x06], [0x04, 0x01],
        [0x03, 0x00],
    ]

    private static func bench(
        _ role: Role, isEnabled: Bool = true, validity: Validity = .always
    ) -> LockBench {
        LockBench([Credential(1, "Sender", role, isEnabled: isEnabled, validity: validity)])
    }

    @Test("Every role tries every procedure: the right decides, and a refusal is on record", arguments: Role.allCases)
    func rights(role: Role) throws {
        for request in Self.requests {
            var bench = Self.bench(role)
            let verdict = bench.askForRecords(request, on: 1)
            #expect(bench.machine.mayReadAudit(LockLink(rawValue: 1), at: bench.moment) == Self.readers.contains(role))
            if Self.readers.contains(role) {
                #expect(verdict == .granted(try RecordAccessProcedure(request)))
                #expect(bench.persists.isEmpty)
            } else {
                #expect(verdict == .refused)
                let number = ControlPointOpcode(rawValue: 0x20 + request[0])
                #expect(bench.events == [.procedureRefused(bond: 1, credential: .of(1), number)])
            }
        }
        #expect(Set(RecordAccessOpcode.known.map(\.rawValue)) == Set(Self.requests.map { $0[0] }))
    }

    @Test("An op-code that is none is not supported, for everybody", arguments: Role.allCases)
    func unknownOpcodes(role: Role) {
        for opcode in UInt8.min...UInt8.max where ![1, 3, 4].contains(opcode) {
            var bench = Self.bench(role)
            let opcode = RecordAccessOpcode(rawValue: opcode)
            let verdict = bench.askForRecords([opcode.rawValue, 1], on: 1)
            #expect(verdict == .malformed(opcode, .opcodeNotSupported))
            #expect(bench.persists.isEmpty)
        }
        var bench = Self.bench(role)
        #expect(bench.askForRecords([], on: 1) == .malformed(RecordAccessOpcode(rawValue: 0), .opcodeNotSupported))
    }

    @Test("Malformed operands are told from a missing right: who has none learns nothing of operands")
    func malformed() {
        for request in [[1], [1, 2, 1], [1, 3], [1, 4, 1, 0], [4, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0], [3, 1]] as [[UInt8]] {
            var bench = Self.bench(.owner)
            guard case .malformed(let opcode, _) = bench.askForRecords(request, on: 1) else {
                #expect(Bool(false), "\(request)")
                continue
            }
            #expect(opcode.rawValue == request[0] && bench.persists.isEmpty)
            var guest = Self.bench(.guest)
            #expect(guest.askForRecords(request, on: 1) == .refused)
        }
    }

    @Test("Disabled, expired, not yet valid, without a trusted clock: an owner reads nothing")
    func whoMayNotCome() {
        for (isEnabled, validity, clock) in [
            (false, Validity.always, 1_800_000_000), (true, Validity(notAfterSeconds: 1_700_000_000), 1_800_000_000),
            (true, Validity(notBeforeSeconds: 1_900_000_000), 1_800_000_000),
            (true, Validity(notAfterSeconds: 1_900_000_000), nil),
        ] as [(Bool, Validity, Int64?)] {
            for request in Self.requests {
                var bench = Self.bench(.owner, isEnabled: isEnabled, validity: validity)
                bench.wallClockSeconds = clock
                #expect(bench.askForRecords(request, on: 1) == .refused)
                #expect(!bench.machine.mayReadAudit(LockLink(rawValue: 1), at: bench.moment))
            }
        }
    }

    @Test("A bond without a credential, and a link in clear that only claims one, read nothing")
    func nobody() {
        for request in Self.requests {
            var bench = Self.bench(.owner)
            bench.connectEncrypted(8, 8)
            #expect(bench.askForRecords(request, on: 8) == .refused)
            bench.connect(9, 1)
            #expect(bench.askForRecords(request, on: 9) == nil)
            #expect(bench.persists.isEmpty)
            #expect(bench.askForRecords(request, on: 10) == nil)
            for link in 8...10 as ClosedRange<UInt64> {
                #expect(!bench.machine.mayReadAudit(LockLink(rawValue: link), at: bench.moment))
            }
        }
    }

    @Test("A right that is gone in the middle: disabled, removed, given a schedule, made a guest, out of its time")
    func goneMeanwhile() {
        let changes: [(inout LockBench) -> Void] = [
            { $0.put(.administration(.named("Sender", .disabled))) },
            { $0.put(.administration(.named("Sender", .removed))) },
            { $0.put(.administration(.named("Sender", .scheduled(Validity(notAfterSeconds: 1), .none)))) },
            { $0.put(.administration(.credential(Credential(1, "Sender", .guest)))) },
            { $0.wallClockSeconds = 1_900_000_000 }, { $0.wallClockSeconds = nil },
            { $0.put(.disconnected(LockLink(rawValue: 1))) }, { $0.put(.administration(.bondForgotten(1))) },
        ]
        for change in changes {
            var bench = Self.bench(.owner, validity: Validity(notAfterSeconds: 1_900_000_000))
            #expect(bench.machine.mayReadAudit(LockLink(rawValue: 1), at: bench.moment))
            change(&bench)
            #expect(!bench.machine.mayReadAudit(LockLink(rawValue: 1), at: bench.moment))
        }
    }

    @Test("A flood of refused requests counts with other refusals: it ends its link, and fills no audit")
    func flood() {
        var bench = Self.bench(.resident)
        for request in 0..<5 {
            // Both control points have one account.
            if request.isMultiple(of: 2) {
                #expect(bench.askForRecords([0x01, 0x01], on: 1) == .refused)
            } else {
                #expect(bench.ask([0x0A], on: 1)?.result == .notPermitted)
            }
            #expect(bench.events.count == 1 && !bench.isDisconnecting)
        }
        #expect(bench.askForRecords([0x01, 0x01], on: 1) == .refused)
        #expect(bench.events == [.refusalsSuppressed(bond: 1)] && bench.isLastDisconnect)
        bench.connectEncrypted(3, 1)
        #expect(bench.askForRecords([0x04, 0x01], on: 3) == .refused)
        #expect(bench.events.isEmpty && bench.isLastDisconnect)
        #expect(bench.askForRecords([0x04, 0x01], on: 3) == nil)
    }
}

extension LockBench {
    var moment: LockMoment { LockMoment(now: now, wallClockSeconds: wallClockSeconds) }

    mutating func askForRecords(_ octets: [UInt8], on link: UInt64) -> RecordAccessVerdict? {
        put(.recordAccess(LockLink(rawValue: link), octets))
        let verdicts = outputs.compactMap { output -> RecordAccessVerdict? in
            guard case .recordAccess(LockLink(rawValue: link), let verdict) = output else { return nil }
            return verdict
        }
        #expect(verdicts.count <= 1)
        return verdicts.first
    }
}
