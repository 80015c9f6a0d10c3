import BluetoothCore
import LockPeripheral
import LockProtocol
import Testing

@Suite("Attacks: alarms")
struct AlarmAttackTests {
    /// Ana owns the lock, Adam administers it, Rae lives there, Bo is a guest. Each has a link and has subscribed.
    private static func bench() -> LockBench {
        var bench = LockBench([
            Credential(1, "Ana", .owner), Credential(2, "Adam", .administrator), Credential(3, "Rae", .resident),
            Credential(4, "Bo", .guest),
        ])
        for link in UInt64(1)...4 { bench.hearAlarms(link) }
        return bench
    }

    private static func hearers(_ bench: LockBench) throws -> [UInt64] {
        try (UInt64(1)...9).filter { try !bench.outputs.alarms(to: $0).isEmpty }
    }

    @Test("Flood: six of a kind are told in a minute, the last of them says so, and another kind is told all the same")
    func flood() throws {
        var bench = Self.bench()
        var told: [AlarmReport] = []
        var heard: [AlarmValue] = []
        for _ in 0..<400 {
            bench.report(.door(.open))
            told += bench.outputs.alarms
            heard += try bench.outputs.alarms(to: 1)
            bench.report(.door(.closed))
            bench.pass(milliseconds: 100)
        }
        #expect(told.map(\.hasMore) == [false, false, false, false, false, true] && heard.count == 6)
        #expect(bench.machine.alarms.count == 400 && bench.machine.alarms.value.count == 255)
        #expect(bench.machine.alarms.value.hasMore)
        bench.report(.bolt(.jammed))
        // Its kind is the flood's.
        #expect(bench.raised == [])
        bench.put(.alarm(.tamper(.row)))
        #expect(bench.raised == [.tamper(.row)])
        #expect(try bench.outputs.alarms(to: 1).map(\.kind) == [.tamper])
        bench.report(.bolt(.locked))
        bench.pass(milliseconds: 60_000)
        #expect(bench.report(.door(.open)) == [.forced(.door)])
    }

    @Test("Hidden alarm: a flood of another kind leaves the kind that was before it in what is read")
    func hidden() {
        var bench = Self.bench()
        bench.report(.door(.open))
        for _ in 0..<300 { bench.put(.alarm(.refusals(of: CredentialID(rawValue: 4)))) }
        let value = bench.machine.alarms.value
        #expect(
            value.kind == .refusals && value.contains(.forced) && value.contains(.refusals) && !value.contains(.jam))
    }

    @Test("A guest or a resident who subscribes hears nothing, and reads nothing")
    func guest() throws {
        var bench = Self.bench()
        bench.report(.bolt(.unlocked))
        #expect(try Self.hearers(bench) == [1, 2])
        #expect((UInt64(1)...4).filter { bench.machine.mayReadAlarms(LockLink(rawValue: $0)) } == [1, 2])
        #expect(!bench.machine.mayReadAlarms(LockLink(rawValue: 9)))
    }

    @Test("Insider with the least rights: who may only lock hears no alarm and reads none, though it has subscribed")
    func leastRights() throws {
        var bench = LockBench([Credential(1, "Ana", .owner), Credential(2, "Cleaner", .lockOnly)])
        for link in UInt64(1)...2 { bench.hearAlarms(link) }
        bench.report(.bolt(.unlocked))
        #expect(try Self.hearers(bench) == [1])
        #expect((UInt64(1)...2).filter { bench.machine.mayReadAlarms(LockLink(rawValue: $0)) } == [1])
    }

    @Test("An owner who is removed, disabled or made a guest hears nothing from the next alarm on")
    func removedOwner() throws {
        let revocations: [LockInput] = [
            .administration(.named("Ana", .removed)), .administration(.named("Ana", .disabled)),
            .administration(.credential(Credential(1, "Ana", .guest))),
        ]
        for revocation in revocations {
            var bench = Self.bench()
            bench.put(revocation)
            bench.report(.bolt(.unlocked))
            #expect(try Self.hearers(bench) == [2], "\(revocation)")
            #expect(!bench.machine.mayReadAlarms(LockLink(rawValue: 1)))
        }
        var again = Self.bench()
        again.put(revocations[1])
        again.put(.administration(.named("Ana", .enabled)))
        again.report(.bolt(.unlocked))
        #expect(try Self.hearers(again) == [1, 2])
    }

    @Test("An unproven link hears nothing, whatever its bond has subscribed to, and cannot subscribe")
    func unproven() throws {
        var bench = LockBench([Credential(1, "Ana", .owner)])
        bench.put(.disconnected(LockLink(rawValue: 1)))
        bench.put(.connected(LockLink(rawValue: 5), claim(1), subscriptions: [.challenge, .alarm]))
        bench.put(.connected(LockLink(rawValue: 6), claim(1), subscriptions: []))
        bench.hearAlarms(6)
        bench.report(.bolt(.unlocked))
        #expect(try Self.hearers(bench) == [] && !bench.machine.mayReadAlarms(LockLink(rawValue: 5)))
        bench.put(.encrypted(LockLink(rawValue: 5), claim(1)))
        bench.report(.bolt(.locked))
        bench.report(.bolt(.unlocked))
        #expect(try Self.hearers(bench) == [5])
        // Another link of the bond takes its place; what was asked for in clear was not taken.
        bench.put(.encrypted(LockLink(rawValue: 6), claim(1)))
        bench.report(.bolt(.locked))
        bench.report(.bolt(.unlocked))
        #expect(try Self.hearers(bench) == [])
        bench.hearAlarms(6)
        bench.report(.bolt(.locked))
        bench.report(.bolt(.unlocked))
        #expect(try Self.hearers(bench) == [6])
        bench.put(.subscription(LockLink(rawValue: 6), .alarm, isOn: false))
        bench.report(.bolt(.locked))
        bench.report(.bolt(.unlocked))
        #expect(try Self.hearers(bench) == [])
    }
}
