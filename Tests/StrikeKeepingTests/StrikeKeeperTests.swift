import GPIO
import Glibc
import StrikeControl
import Testing

@testable import StrikeKeeping

@Suite("The keeper of a strike: its shell")
struct StrikeKeeperTests {
    private typealias Bench = KeeperBench

    /// What holds for a door that fails secure holds for one that fails safe.
    private static let failures = StrikeRules.Failure.allCases

    @Test(
        "Its first act is the line's rest; a pulse's timer is armed before the line is set, and its end needs no daemon",
        arguments: failures)
    func pulse(failure: StrikeRules.Failure) throws {
        let bench = try Bench(failure)
        #expect(bench.chip.calls.first == "request" && !bench.chip.isOpen)
        bench.keeper.greet()
        bench.chip.calls = []
        bench.order(1, .unlock, pulse: 500)
        #expect(bench.chip.calls.prefix(2) == ["arm 500", "release"])
        bench.keeper.daemonIsGone()
        bench.pass(to: 499)
        #expect(bench.chip.isOpen)
        bench.pass(to: 500)
        #expect(!bench.chip.isOpen && bench.status?.position == .locked)
        #expect(bench.ends == [.ended(intent: 1, .unlocked)])
    }

    @Test("Fail-secure is requested inactive, fail-safe active: the door is locked with that")
    func requested() throws {
        for active in ["high", "low"] {
            let setting = { (failure: StrikeRules.Failure) in
                try strikePlan(Bench.base(failure) + "active = \"\(active)\"").output
            }
            #expect(
                try setting(.secure)
                    == LineSetting(.number(0), .output(isActive: false), isActiveLow: active == "low"))
            #expect(
                try setting(.safe) == LineSetting(.number(0), .output(isActive: true), isActiveLow: active == "low"))
        }
    }

    @Test("Its last act is the line's rest, in a pulse and in a hold", arguments: failures)
    func end(failure: StrikeRules.Failure) throws {
        for drive in StrikeRules.Drive.allCases {
            let bench = try Bench(failure, "drive = \"\(drive)\"")
            bench.keeper.greet()
            bench.order(1, .unlock)
            #expect(bench.chip.isOpen)
            bench.keeper.end()
            #expect(!bench.chip.isOpen)
        }
    }

    @Test("A held door is locked when its daemon is gone for the configured time, and not when it comes back in that")
    func orphaned() throws {
        let bench = try Bench(.secure, "drive = \"hold\"\norphan_ms = 500")
        bench.keeper.greet()
        bench.order(1, .unlock)
        bench.pass(to: 10_000)
        #expect(bench.chip.isOpen)
        bench.keeper.daemonIsGone()
        bench.pass(to: 10_499)
        bench.keeper.greet()
        bench.pass(to: 20_000)
        #expect(bench.chip.isOpen)
        bench.keeper.daemonIsGone()
        bench.pass(to: 20_499)
        #expect(bench.chip.isOpen)
        bench.pass(to: 20_500)
        #expect(!bench.chip.isOpen)
    }

    @Test("Status goes to the daemon that greets, and whenever it changes, and not else")
    func status() throws {
        let bench = try Bench(.secure, "[contact]\nline = \"2\"\n[inputs]\ndebounce_ms = 30", inputs: [true])
        bench.sent = []
        bench.keeper.greet()
        let welcome = StrikeReport.welcome(began: KeeperBench.instant(0))
        #expect(bench.sent == [welcome, .status(StrikeStatus(position: .locked, contact: .closed))])
        bench.chip.inputs = [false]
        bench.chip.hasMoved = true
        bench.keeper.linesMoved()
        bench.pass(to: 29)
        #expect(bench.sent.count == 2)
        bench.pass(to: 5_000)
        #expect(bench.sent.last == .status(StrikeStatus(position: .locked, contact: .open)) && bench.sent.count == 3)
        bench.keeper.greet()
        #expect(bench.sent.suffix(2) == [welcome, bench.sent[2]] && bench.sent.count == 5, "as long as it lives")
    }

    @Test("Each line beside the door has its meaning; a button that is held is pressed once")
    func inputs() throws {
        let text =
            ["contact", "feedback", "exit", "tamper", "fire"].enumerated().map {
                "[\($0.element)]\nline = \"\($0.offset + 1)\"\n"
            }.joined() + "[inputs]\ndebounce_ms = 0"
        let bench = try Bench(.secure, text, inputs: [true, true, false, false, false])
        bench.keeper.greet()
        bench.chip.inputs = [false, false, true, true, true]
        bench.keeper.linesMoved()
        bench.keeper.linesMoved()
        #expect(bench.sent.filter { $0 == .exit }.count == 1)
        #expect(bench.status == StrikeStatus(position: .unlocked, contact: .open, isTampered: true, isFire: true))
    }

    @Test(
        "Unplugged in mid-pulse: the end is unknown, and the chip is at rest as soon as it is there again",
        arguments: failures, [ENODEV, ENXIO])
    func unplugged(failure: StrikeRules.Failure, code: Int32) throws {
        let bench = try Bench(failure, "[exit]\nline = \"1\"\n", inputs: [false])
        bench.keeper.greet()
        bench.order(1, .unlock, pulse: 10_000)
        #expect(bench.chip.isOpen)
        bench.chip.code = code
        // Nothing wakes it: it looks.
        bench.pass(to: 1_000)
        #expect(bench.status?.hasChip == false && bench.status?.position == .unknown)
        bench.pass(to: 5_000)
        #expect(bench.told.count == 1, "\(bench.told)")
        bench.chip.code = 0
        bench.pass(to: 5_100)
        #expect(
            !bench.chip.isOpen
                && bench.status == StrikeStatus(position: .locked, last: .init(intent: 1, result: .unlocked)))
        #expect(bench.told.last == "the chip is there, and the line at rest")
        bench.pass(to: 20_000)
        #expect(bench.ends == [.ended(intent: 1, .unlocked)] && !bench.chip.isOpen)
    }

    @Test(
        "A chip that is found to be gone when the line is to be set is gone at once, and its order ends",
        arguments: [(ENODEV, false), (ENXIO, false), (EIO, true)])
    func absence(code: Int32, isThere: Bool) throws {
        let bench = try Bench()
        bench.keeper.greet()
        bench.chip.code = code
        bench.order(1, .unlock)
        #expect(bench.status?.hasChip == isThere && bench.status?.position == .unknown)
        #expect(bench.ends == [.ended(intent: 1, .unknown)])
        bench.order(2, .unlock)
        #expect(bench.ends.last == .ended(intent: 2, .declined))
        // It is looked for, and no more is asked of it.
        bench.chip.calls = []
        bench.pass(to: 500)
        #expect(Set(bench.acts) == [isThere ? "rest" : "request"])
    }

    @Test(
        "A device that answers EIO opens nothing; a pulse that it does not end is ended as soon as it answers",
        arguments: failures)
    func inputOutputError(failure: StrikeRules.Failure) throws {
        let bench = try Bench(failure)
        bench.keeper.greet()
        bench.chip.code = EIO
        bench.order(1, .unlock)
        #expect(bench.ends == [.ended(intent: 1, .unknown)])
        bench.pass(to: 200)
        #expect(!bench.chip.isOpen)
        bench.chip.code = 0
        bench.pass(to: 1_500)
        #expect(bench.status?.position == .locked)
        bench.order(2, .unlock, pulse: 500)
        #expect(bench.chip.isOpen)
        bench.chip.code = EIO
        bench.pass(to: 2_250)
        #expect(bench.status?.position == .unknown && bench.chip.isOpen)
        bench.chip.code = 0
        bench.pass(to: 2_400)
        #expect(!bench.chip.isOpen && bench.status?.position == .locked)
    }

    @Test("A chip that takes a setting and does nothing is told by reading it back", arguments: failures)
    func readBack(failure: StrikeRules.Failure) throws {
        let bench = try Bench(failure)
        bench.chip.isDeaf = true
        bench.order(1, .unlock)
        #expect(bench.ends == [.ended(intent: 1, .unknown)])
        #expect(bench.told == ["the line could not be set, or does not read as it was set"])
    }

    @Test(
        "The line is read each second, for good: one that somebody else has moved is told to rest, and requested anew",
        arguments: failures)
    func meddled(failure: StrikeRules.Failure) throws {
        let bench = try Bench(failure)
        var now: UInt64 = 0
        for quiet in [0, 1, 3] {
            now += UInt64(quiet) * 1_000 + 500
            bench.pass(to: now)
            bench.chip.isActive.toggle()
            #expect(bench.chip.isOpen)
            bench.chip.calls = []
            bench.pass(to: now + 1_000)
            now += 1_000
            // What a request makes of a line is its driver's affair: it is told to rest before it is given back.
            #expect(!bench.chip.isOpen && bench.acts == ["rest", "request"], "\(bench.acts)")
        }
        #expect(bench.status?.hasChip == true)
    }

    @Test("In a hold the line is read too, and one that somebody else has moved is not held on")
    func meddledInHold() throws {
        let bench = try Bench(.secure, "drive = \"hold\"")
        bench.keeper.greet()
        bench.order(1, .unlock)
        bench.pass(to: 5_000)
        #expect(bench.chip.isOpen && bench.status?.position == .unlocked)
        bench.chip.isActive.toggle()
        bench.pass(to: 6_000)
        #expect(!bench.chip.isOpen && bench.status?.position == .locked)
    }

    @Test("A line that is read while the bolt is on its way is as it was set, both ways", arguments: failures)
    func onItsWay(failure: StrikeRules.Failure) throws {
        let text = "drive = \"hold\"\n[feedback]\nline = \"1\"\ntravel_ms = 3000\n[inputs]\ndebounce_ms = 0"
        let bench = try Bench(failure, text, inputs: [true])
        bench.keeper.greet()
        bench.order(1, .unlock)
        bench.pass(to: 2_500)
        #expect(bench.chip.isOpen && bench.told.isEmpty, "\(bench.told)")
        bench.chip.inputs = [false]
        bench.keeper.linesMoved()
        bench.order(2, .lock)
        bench.pass(to: 5_000)
        bench.chip.inputs = [true]
        bench.keeper.linesMoved()
        #expect(bench.ends == [.ended(intent: 1, .unlocked), .ended(intent: 2, .locked)])
        #expect(!bench.chip.isOpen && bench.told.isEmpty && bench.status?.hasChip == true)
    }

    @Test("A keeper that begins without a chip takes no order, and looks for it", arguments: failures)
    func absent(failure: StrikeRules.Failure) throws {
        let bench = try Bench(failure, code: EACCES)
        bench.keeper.greet()
        bench.order(1, .unlock)
        #expect(bench.ends == [.ended(intent: 1, .declined)])
        bench.pass(to: 1_000)
        #expect(bench.told == ["fake: Permission denied"])
        bench.chip.code = 0
        bench.pass(to: 1_100)
        #expect(bench.status?.hasChip == true && !bench.chip.isOpen)
    }
}
