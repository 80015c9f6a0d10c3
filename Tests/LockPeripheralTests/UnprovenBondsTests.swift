import BluetoothCore
import LockPeripheral
import Testing

@Suite("How long a bond may wait to prove itself")
struct UnprovenBondsTests {
    private static let begin = Instant(nanoseconds: 5_000_000_000)
    private static let day = BondLife.maximumMilliseconds

    /// The machine with the facts that it has had kept.
    private struct Bench {
        var machine = UnprovenBonds([:])
        var kept: [UInt64: BondLife] = [:]
        var boot = BootID(bits: 1)
        var now = UnprovenBondsTests.begin

        mutating func review(_ bonds: [UInt64]) -> [UInt64] {
            var facts: [LockMutation] = []
            let ended = machine.review(bonds, boot: boot, now: now, facts: &facts)
            for case .unproven(let bond, let life) in facts { kept[bond] = life }
            return ended
        }

        mutating func pass(_ milliseconds: UInt64) { now = now.advanced(byMilliseconds: milliseconds) }

        /// The next process, in this boot or in another one.
        mutating func relaunch(reboot: Bool = false) {
            machine = UnprovenBonds(kept)
            guard reboot else { return }
            boot = BootID(bits: boot.bits + 1)
            now = Instant(nanoseconds: 1)
        }
    }

    @Test("A day, and not a millisecond less; a relaunch changes nothing of it")
    func day() {
        for isRelaunched in [false, true] {
            var bench = Bench()
            #expect(bench.review([7]) == [])
            #expect(bench.machine.deadline == Self.begin.advanced(byMilliseconds: Self.day))
            bench.pass(Self.day - 1)
            if isRelaunched { bench.relaunch() }
            #expect(bench.review([7]) == [] && bench.machine.milliseconds(leftTo: 7, now: bench.now) == 1)
            bench.pass(1)
            #expect(bench.review([7]) == [7])
            #expect(bench.kept == [:] && bench.machine.deadline == nil)
        }
    }

    @Test("In another boot it has half of what it had in the one before, however that one's time went")
    func reboots() {
        var bench = Bench()
        _ = bench.review([7])
        bench.pass(Self.day - 1)
        bench.relaunch(reboot: true)
        #expect(bench.review([7]) == [])
        #expect(bench.machine.milliseconds(leftTo: 7, now: bench.now) == Self.day / 2)
        bench.relaunch()
        bench.pass(Self.day / 2 - 1)
        #expect(bench.review([7]) == [])
        bench.pass(1)
        #expect(bench.review([7]) == [7])
    }

    @Test("However often the machine starts, and whatever the file says, no bond waits for two days")
    func bounded() {
        for first in [Self.day, .max] {
            var bench = Bench()
            bench.kept[7] = BondLife(boot: BootID(bits: 99), until: Self.begin, milliseconds: first)
            bench.relaunch(reboot: true)
            var (boots, waited) = (0, 0 as UInt64)
            while bench.review([7]).isEmpty {
                waited += bench.machine.milliseconds(leftTo: 7, now: bench.now) ?? 0
                bench.relaunch(reboot: true)
                boots += 1
            }
            #expect(waited < Self.day && boots < 30)
        }
    }

    @Test(
        "A bond that has proved itself, or is gone, is forgotten; one that is new, or that nobody noted, begins a life")
    func comings() {
        var bench = Bench()
        _ = bench.review([7, 8])
        bench.pass(1_000)
        #expect(bench.review([8, 9]) == [])
        #expect(Set(bench.kept.keys) == [8, 9])
        #expect(bench.machine.milliseconds(leftTo: 9, now: bench.now) == Self.day)
        #expect(bench.machine.milliseconds(leftTo: 7, now: bench.now) == nil)
        bench.pass(Self.day)
        #expect(bench.review([9, 8]) == [8, 9])
    }
}
