import BluetoothCore
import LockCentral
import LockProtocol
import MemoryStores
import Testing

@Suite("A command's bound at the key: the user's time, counted from the challenge's reception")
struct KeyBoundTests {
    /// Milliseconds of the user's time when the challenge comes, the challenge's life in 100 ms, and the nibble that is sent in clear and
    /// over the bond's encryption.
    private static let cases: [(rest: UInt64, life: UInt8, signed: UInt8?, encrypted: UInt8?)] = [
        (499, 50, nil, nil), (500, 50, 2, 2), (999, 50, 2, 2), (1_000, 50, 3, 3), (3_999, 50, 8, 8), (4_000, 50, 9, 9),
        (6_999, 50, 14, 14), (7_000, 50, 15, 15), (7_099, 50, 15, 15),
        // The challenge's life, what it was rounded by, and how long the bolt may take: all of it is over in time.
        (7_100, 50, 15, 1), (3_100, 10, 7, 1), (3_099, 10, 7, 7), (27_599, 255, 1, 15), (27_600, 255, 1, 1),
        // In clear the life is anybody's word, and the longest one that a lock may give counts.
        (3_000, 1, 7, 1), (27_499, 1, 15, 1), (27_500, 1, 1, 1), (30_000, 50, 1, 1),
    ]

    @Test("The longest bound that is not later than the user's time, on both paths", arguments: cases)
    func sent(rest: UInt64, life: UInt8, signed: UInt8?, encrypted: UInt8?) {
        for (isSigned, nibble) in [(true, signed), (false, encrypted)] {
            var bench = KeyBench()
            bench.ask(lifeMilliseconds: rest + 120)
            bench.connect(signed: isSigned)
            if !isSigned { bench.put(.encrypted(door)) }
            bench.run(milliseconds: 120)
            bench.challenge(5, isSigned ? .signedAccepted : [], life: life)
            #expect(bench.writes.map(\.bound.rawValue) == [nibble].compactMap { $0 })
        }
    }

    @Test("Too little is left for any bound: nothing is signed, and the request expires in its time")
    func tooLittle() {
        var bench = KeyBench()
        bench.ask(lifeMilliseconds: 499)
        bench.connect()
        bench.challenge(5)
        #expect(bench.writes.isEmpty)
        bench.run(milliseconds: 498)
        #expect(bench.writes.isEmpty && bench.verdicts.isEmpty)
        bench.run(milliseconds: 1)
        #expect(bench.writes.isEmpty && bench.verdicts == [.expired])
    }

    @Test("A challenge that was there before the user asked: the bound counts from its reception, and has to be ahead")
    func earlierChallenge() {
        func nibbles(age: UInt64, life: UInt64) -> [UInt8] {
            var bench = KeyBench()
            bench.connect()
            bench.challenge(5)
            bench.run(milliseconds: age)
            bench.ask(lifeMilliseconds: life)
            return bench.writes.map(\.bound.rawValue)
        }
        #expect(nibbles(age: 300, life: 400) == [2])
        #expect(nibbles(age: 600, life: 450) == [3])
        #expect(nibbles(age: 500, life: 499) == [])
        #expect(nibbles(age: 3_000, life: 4_000) == [15])
        #expect(nibbles(age: 3_100, life: 4_000) == [15])
        #expect(nibbles(age: 4_000, life: 23_500) == [1])
    }

    @Test("After a dead challenge, and after a kill, the bound is that of the new challenge and of what time is left")
    func again() {
        var bench = KeyBench()
        bench.ask(lifeMilliseconds: 4_000)
        bench.connect()
        bench.challenge(5)
        #expect(bench.writes.map(\.bound.rawValue) == [9])
        bench.now = bench.now.advanced(byMilliseconds: 1_200)
        bench.receipt(.challengeDead, 5, counter: 1)
        bench.challenge(6)
        #expect(bench.writes.map(\.bound.rawValue) == [6])

        bench = KeyBench()
        bench.ask(lifeMilliseconds: 4_000)
        var next = KeyBench(bench.store.committed, now: bench.now.advanced(byMilliseconds: 2_000))
        next.connect()
        next.challenge(7)
        #expect(next.writes.map(\.bound.rawValue) == [5])
    }
}
