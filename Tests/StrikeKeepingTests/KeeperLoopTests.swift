import CommandInterface
import Glibc
import StrikeControl
import TestSupport
import Testing

@testable import StrikeKeeping

@Suite("The keeper of a strike: its loop, over its socket", .timeLimit(.minutes(30)))
struct KeeperLoopTests {
    private static let hold = "drive = \"hold\"\norphan_ms = "
    /// Longer than any test.
    private static let never = "600000"

    @Test("The line is at rest before there is a socket, and at rest when the loop ends in a hold or a pulse")
    func end() throws {
        for drive in StrikeRules.Drive.allCases {
            let bench = try LoopBench("drive = \"\(drive)\"")
            #expect(!bench.isOpen)
            let daemon = try bench.connect()
            #expect(try daemon.greet()?.position == .locked)
            #expect(daemon.order(1, .unlock))
            #expect(try daemon.end(of: 1) == .unlocked)
            #expect(bench.isOpen)
            bench.end()
            #expect(!bench.isOpen)
            let told = StrikeStatus(position: .unlocked, last: .init(intent: 1, result: .unlocked))
            #expect(try daemon.hear() == .status(told))
            #expect(try daemon.hear() == nil)
        }
    }

    @Test("A pulse ends by the loop's own timer")
    func pulse() throws {
        let bench = try LoopBench()
        let daemon = try bench.connect()
        _ = try daemon.greet()
        #expect(daemon.order(1, .unlock, pulse: 50))
        #expect(try daemon.end(of: 1) == .unlocked)
        #expect(bench.comesToRest())
        bench.end()
    }

    @Test("A daemon that goes leaves a held door to its time, and nothing else ends it")
    func gone() throws {
        for (orphan, isLocked) in [("0", true), (Self.never, false)] {
            let bench = try LoopBench(Self.hold + orphan)
            var daemon: DaemonEnd? = try bench.connect()
            _ = try daemon?.greet()
            #expect(daemon?.order(1, .unlock) == true)
            #expect(try daemon?.end(of: 1) == .unlocked)
            #expect(bench.isOpen)
            daemon = nil
            if isLocked { #expect(bench.comesToRest()) }
            #expect(try bench.connect().greet()?.position == (isLocked ? .locked : .unlocked))
            bench.end()
        }
    }

    @Test("A second daemon takes the first one's place: that one's connection ends, and the held door goes on")
    func second() throws {
        let bench = try LoopBench(Self.hold + Self.never)
        let first = try bench.connect()
        _ = try first.greet()
        #expect(first.order(1, .unlock))
        #expect(try first.end(of: 1) == .unlocked)
        let second = try bench.connect()
        #expect(try second.greet()?.position == .unlocked)
        while try first.hear() != nil {}
        #expect(!first.order(2, .lock))
        #expect(bench.isOpen)
        #expect(second.order(3, .lock))
        #expect(try second.end(of: 3) == .locked)
        #expect(!bench.isOpen)
        bench.end()
    }

    @Test("A second connection that never says hello is no daemon: the held door is locked in its time")
    func silent() throws {
        let bench = try LoopBench(Self.hold + "0")
        let first = try bench.connect()
        _ = try first.greet()
        #expect(first.order(1, .unlock))
        #expect(try first.end(of: 1) == .unlocked)
        let second = try bench.connect()
        #expect(bench.comesToRest())
        // It may still begin.
        #expect(try second.greet()?.position == .locked)
        bench.end()
    }

    @Test("Where a second daemon has come and gone there is none, whatever the first one does")
    func secondGone() throws {
        let bench = try LoopBench(Self.hold + "0")
        let first = try bench.connect()
        _ = try first.greet()
        var second: DaemonEnd? = try bench.connect()
        _ = try second?.greet()
        #expect(second?.order(1, .unlock) == true)
        #expect(try second?.end(of: 1) == .unlocked)
        second = nil
        #expect(bench.comesToRest())
        withExtendedLifetime(first) { bench.end() }
    }

    @Test("A daemon that takes no message is none: its connection ends, and its held door is locked in its time")
    func deaf() throws {
        let bench = try LoopBench(Self.hold + "0")
        let daemon = try bench.connect()
        _ = try daemon.greet()
        #expect(daemon.order(1, .unlock))
        #expect(try daemon.end(of: 1) == .unlocked)
        // Each is answered, and no answer is read.
        var orders = 0
        while orders < 20_000, daemon.order(1, .unlock) { orders += 1 }
        #expect(orders < 20_000)
        #expect(bench.comesToRest())
        // The next one is heard.
        #expect(try bench.connect().greet()?.position == .locked)
        bench.end()
    }

    @Test("A connection that says nothing, or is of another version, does not make a held door's time begin anew")
    func ungreeted() throws {
        let bench = try LoopBench(Self.hold + "100")
        var daemon: DaemonEnd? = try bench.connect()
        _ = try daemon?.greet()
        #expect(daemon?.order(1, .unlock) == true)
        #expect(try daemon?.end(of: 1) == .unlocked)
        daemon = nil
        // One after the other, until the line is at rest: each of them would have begun the time anew.
        var connections = 0
        while bench.isOpen, connections < 100_000 {
            let other = try bench.connect()
            other.say(.hello(version: StrikeProtocol.version + 1))
            while try other.hear() != nil {}
            connections += 1
        }
        #expect(!bench.isOpen)
        bench.end()
    }

    @Test("A user or a group that there is not is refused when the line is at rest")
    func unusable() throws {
        for wrong in ["user = \"nobody-here\"", "user = \"0\"\ngroup = \"none-such\""] {
            let plan = try strikePlan(
                "chip = \"door\"\n[socket]\n\(wrong)\n[strike]\nline = \"0\"\nfail = \"secure\"\n")
            let chip = FakeChip(plan)
            #expect(chip.isOpen)
            let failure = #expect(throws: Failure.self) { _ = try KeeperLoop(plan, chip: chip, signals: []) { _ in } }
            #expect(failure?.code == .configuration && !chip.isOpen)
        }
    }

    @Test(
        "A socket that another keeper has is had when that one ends: the line was held at rest all the time, and the operator told once"
    )
    func taken() throws {
        let bench = try LoopBench(isTaken: true)
        #expect(bench.isTold())
        #expect(!bench.isOpen && bench.requestsMade == 1)
        #expect(throws: NoSocket.self) { try bench.connect() }
        bench.otherKeeperEnds()
        #expect(bench.isTold())
        let daemon = try bench.connect()
        #expect(try daemon.greet()?.position == .locked)
        #expect(daemon.order(1, .unlock))
        #expect(try daemon.end(of: 1) == .unlocked)
        #expect(bench.requestsMade == 1 && bench.requestsEnded == 0)
        #expect(bench.told.count == 2 && bench.told.last == "the socket is there", "\(bench.told)")
        #expect(bench.told.first?.contains("another keeper is running here") == true)
        bench.end()
        #expect(bench.result == .ok && !bench.isOpen)
    }

    @Test("A keeper without a socket ends at its signal as any other")
    func takenToTheEnd() throws {
        let bench = try LoopBench(isTaken: true)
        #expect(bench.isTold())
        bench.end()
        #expect(bench.result == .ok && !bench.isOpen && bench.requestsMade == 1)
    }

    @Test("Another user is told to the operator, and its place is not taken")
    func stranger() throws {
        let bench = try LoopBench(user: geteuid() + 1)
        #expect(try bench.connect().greet() == nil)
        bench.end()
        #expect(bench.told == ["a connection of user \(geteuid()) is refused"])
    }
}
