import BluetoothCore
import LockCentral
import LockProtocol
import MemoryStores
import Testing

@Suite("A command that could not leave")
struct KeyUnwrittenTests {
    private func sent() -> KeyBench {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        return bench
    }

    @Test(
        "Too late when it was to leave: the request has expired, on disk before anybody hears of it, and the link goes")
    func late() {
        var bench = sent()
        let outputs = bench.put(.notWritten(door, isLate: true))
        #expect(outputs.first == .persist(.request(door, nil)))
        #expect(bench.verdicts == [.expired] && bench.acts.last == .disconnect(door))
        bench.put(.disconnected(door))
        #expect(bench.outputs.isEmpty)
    }

    @Test("Refused by the stack: nothing was sent, and it is sent on the next link under another challenge")
    func refused() {
        var bench = sent()
        bench.put(.notWritten(door, isLate: false))
        #expect(bench.acts == [.disconnect(door)] && bench.known?.request?.sent == nil)
        bench.put(.disconnected(door))
        bench.connect()
        bench.put(.encrypted(door))
        bench.challenge(6, [])
        #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 6)])
    }

    @Test("Killed before that was on disk: the lock is asked, and says that it has not taken it")
    func killed() {
        var bench = KeyBench(sent().store.committed, boot: BootID(bits: 2))
        bench.connect()
        bench.put(.encrypted(door))
        bench.status(4, .done, .done)
        #expect(bench.verdicts == [.expired] && bench.writes.isEmpty)
    }

    @Test("Nothing is out: nothing changes")
    func nothing() {
        var bench = KeyBench()
        bench.ask()
        #expect(bench.put(.notWritten(door, isLate: true)).isEmpty)
    }
}
