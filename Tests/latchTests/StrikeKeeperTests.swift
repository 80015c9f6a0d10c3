import BluetoothCore
import CommandInterface
import DaemonControl
import GPIO
import Glibc
import StrikeControl
import Testing

@testable import StrikeKeeping

/// A chip without metal, and what its line did.
final class FakeChip: DoorChip {
    final class Lines: DoorLines {
        let chip: FakeChip
        init(_ chip: FakeChip) { self.chip = chip }

        var descriptor: Int32? { chip.descriptor }
        func set(isActive: Bool) throws(GPIOFailure) -> Bool {
            chip.calls.append(isActive ? "active" : "inactive")
            try check()
            if !chip.isDeaf { chip.isActive = isActive }
            return chip.isActive
        }
        func isActive() throws(GPIOFailure) -> Bool {
            try check()
            return chip.isActive
        }
        func inputs() throws(GPIOFailure) -> [LineReading] {
            try check()
            defer { chip.hasMoved = false }
            return chip.inputs.map { LineReading(isActive: $0, hasMoved: chip.hasMoved) }
        }
        private func check() throws(GPIOFailure) {
            if chip.code != 0 { throw GPIOFailure("fake", chip.code) }
        }
    }

    var rest = false
    var inputs: [Bool] = []
    var hasMoved = false
    var descriptor: Int32?
    /// errno of every call; 0: it works.
    var code: Int32 = 0
    /// Takes every setting, and does nothing.
    var isDeaf = false
    var isActive = true
    /// Each thing that was done to the line, in order.
    var calls: [String] = []

    func open() throws(GPIOFailure) -> any DoorLines {
        if code != 0 { throw GPIOFailure("fake", code) }
        isActive = rest
        calls.append("rest")
        return Lines(self)
    }
}

func strikePlan(_ text: String) throws -> StrikePlan {
    var settings = StrikeSettings()
    try settings.apply(ConfigurationText(text, file: "s.conf"), file: "s.conf")
    return try StrikePlan(settings, configuration: "s.conf")
}

@Suite("The keeper of a strike: its shell")
struct StrikeKeeperTests {
    private static let base = "chip = \"door\"\n[socket]\nuser = \"0\"\n[strike]\nline = \"0\"\nfail = \"secure\"\n"

    /// A keeper under a clock of the test's.
    private final class Bench {
        /// What the keeper has around it.
        final class Outside {
            var now: UInt64 = 0
            var armed: Instant?
            var sent: [StrikeReport] = []
            var told: [String] = []
        }

        let chip = FakeChip()
        let outside = Outside()
        let keeper: StrikeKeeper

        init(_ text: String = base, inputs: [Bool] = [], rest: Bool = false, code: Int32 = 0) throws {
            chip.inputs = inputs
            chip.rest = rest
            chip.code = code
            keeper = StrikeKeeper(
                try strikePlan(text), chip: chip,
                surroundings: StrikeKeeper.Surroundings(
                    now: { [outside] in Self.instant(outside.now) },
                    arm: { [outside, chip] in
                        outside.armed = $0
                        if let at = $0 { chip.calls.append("arm \(at.milliseconds(since: Self.instant(0)))") }
                    },
                    send: { [outside] in outside.sent.append($0) }, tell: { [outside] in outside.told.append($0) }))
            keeper.begin()
        }

        var sent: [StrikeReport] {
            get { outside.sent }
            set { outside.sent = newValue }
        }
        var told: [String] { outside.told }

        static func instant(_ milliseconds: UInt64) -> Instant {
            Instant(nanoseconds: 1_000_000_000).advanced(byMilliseconds: milliseconds)
        }

        /// Time passes, and the timer goes off as often as it was armed for.
        func pass(to milliseconds: UInt64) {
            while let armed = outside.armed, armed <= Self.instant(milliseconds) {
                outside.now = max(outside.now, armed.milliseconds(since: Self.instant(0)))
                keeper.timeIsUp()
            }
            outside.now = milliseconds
        }

        func order(_ intent: UInt64, _ movement: StrikeMovement, pulse: UInt32 = 3_000) {
            keeper.take(StrikeOrder(intent: intent, movement: movement, pulseMilliseconds: pulse, notAfter: nil))
        }

        var ends: [StrikeReport] { sent.filter { if case .ended = $0 { true } else { false } } }
        var status: StrikeStatus? {
            sent.reversed().lazy.compactMap { if case .status(let status) = $0 { status } else { nil } }.first
        }
    }

    @Test(
        "Its first act is the line's rest; a pulse's timer is armed before the line is set, and its end needs no daemon"
    )
    func pulse() throws {
        let bench = try Bench()
        #expect(bench.chip.calls.first == "rest" && !bench.chip.isActive)
        bench.keeper.greet()
        bench.chip.calls = []
        bench.order(1, .unlock, pulse: 500)
        #expect(bench.chip.calls.prefix(2) == ["arm 500", "active"])
        bench.keeper.daemonIsGone()
        bench.pass(to: 499)
        #expect(bench.chip.isActive)
        bench.pass(to: 500)
        #expect(!bench.chip.isActive && bench.status?.position == .locked)
        #expect(bench.ends == [.ended(intent: 1, .unlocked)])
    }

    @Test("Fail-safe: the line is active while the door is locked, and at its end too")
    func failSafe() throws {
        let bench = try Bench(Self.base.replacing("secure", with: "safe"), rest: true)
        bench.order(1, .unlock, pulse: 500)
        #expect(!bench.chip.isActive)
        bench.pass(to: 500)
        #expect(bench.chip.isActive)
        bench.order(2, .unlock)
        bench.keeper.end()
        #expect(bench.chip.isActive)
    }

    @Test("Status goes to the daemon that greets, and whenever it changes, and not else")
    func status() throws {
        let bench = try Bench(Self.base + "[contact]\nline = \"2\"\n[inputs]\ndebounce_ms = 30", inputs: [true])
        bench.sent = []
        bench.keeper.greet()
        let locked = StrikeStatus(position: .locked, contact: .closed)
        #expect(bench.sent == [.welcome(began: Bench.instant(0)), .status(locked)])
        bench.chip.inputs = [false]
        bench.chip.hasMoved = true
        bench.keeper.linesMoved()
        bench.pass(to: 29)
        #expect(bench.sent.count == 2)
        bench.pass(to: 5_000)
        #expect(bench.sent.last == .status(StrikeStatus(position: .locked, contact: .open)) && bench.sent.count == 3)
        bench.keeper.greet()
        #expect(bench.sent[3] == .welcome(began: Bench.instant(0)), "as long as it lives")
    }

    @Test("Each line beside the door has its meaning; a button that is held is pressed once")
    func inputs() throws {
        let text =
            Self.base
            + ["contact", "feedback", "exit", "tamper", "fire"].enumerated().map {
                "[\($0.element)]\nline = \"\($0.offset + 1)\"\n"
            }.joined() + "[inputs]\ndebounce_ms = 0"
        let bench = try Bench(text, inputs: [true, true, false, false, false])
        bench.keeper.greet()
        bench.chip.inputs = [false, false, true, true, true]
        bench.keeper.linesMoved()
        bench.keeper.linesMoved()
        #expect(bench.sent.filter { $0 == .exit }.count == 1)
        #expect(bench.status == StrikeStatus(position: .unlocked, contact: .open, isTampered: true, isFire: true))
    }

    @Test(
        "Unplugged in mid-pulse: the end is unknown, and the chip is at rest as soon as it is there again",
        arguments: [ENODEV, ENXIO])
    func unplugged(code: Int32) throws {
        let bench = try Bench(Self.base + "[exit]\nline = \"1\"\n", inputs: [false])
        bench.keeper.greet()
        bench.order(1, .unlock, pulse: 10_000)
        bench.chip.code = code
        // Nothing wakes it: it looks.
        bench.pass(to: 1_000)
        #expect(bench.status?.hasChip == false && bench.status?.position == .unknown)
        bench.pass(to: 5_000)
        #expect(bench.told.count == 1, "\(bench.told)")
        bench.chip.code = 0
        bench.chip.isActive = true
        bench.pass(to: 5_100)
        #expect(
            !bench.chip.isActive
                && bench.status == StrikeStatus(position: .locked, last: .init(intent: 1, result: .unlocked)))
        #expect(bench.told.last == "the chip is there, and the line at rest")
        bench.pass(to: 20_000)
        #expect(bench.ends == [.ended(intent: 1, .unlocked)] && !bench.chip.isActive)
    }

    @Test("A device that answers EIO opens nothing; a pulse that it does not end is ended as soon as it answers")
    func inputOutputError() throws {
        let bench = try Bench()
        bench.keeper.greet()
        bench.chip.code = EIO
        bench.order(1, .unlock)
        #expect(bench.ends == [.ended(intent: 1, .unknown)])
        bench.pass(to: 200)
        #expect(!bench.chip.isActive)
        bench.chip.code = 0
        bench.pass(to: 1_500)
        #expect(bench.status?.position == .locked)
        bench.order(2, .unlock, pulse: 500)
        #expect(bench.chip.isActive)
        bench.chip.code = EIO
        bench.pass(to: 2_250)
        #expect(bench.status?.position == .unknown && bench.chip.isActive)
        bench.chip.code = 0
        bench.pass(to: 2_400)
        #expect(!bench.chip.isActive && bench.status?.position == .locked)
    }

    @Test("A chip that takes a setting and does nothing is told by reading it back")
    func readBack() throws {
        let bench = try Bench()
        bench.chip.isDeaf = true
        bench.order(1, .unlock)
        #expect(bench.ends == [.ended(intent: 1, .unknown)])
        #expect(bench.told == ["the line could not be set, or does not read as it was set"])
    }

    @Test("A line that somebody else has moved is put to its rest")
    func meddled() throws {
        let bench = try Bench()
        bench.chip.isActive = true
        bench.pass(to: 1_000)
        #expect(!bench.chip.isActive)
        bench.pass(to: 1_100)
        #expect(bench.status?.hasChip == true)
    }

    @Test("A keeper that begins without a chip takes no order, and looks for it")
    func absent() throws {
        let bench = try Bench(code: EACCES)
        bench.keeper.greet()
        bench.order(1, .unlock)
        #expect(bench.ends == [.ended(intent: 1, .declined)])
        bench.pass(to: 1_000)
        #expect(bench.told == ["fake: Permission denied"])
        bench.chip.code = 0
        bench.pass(to: 1_100)
        #expect(bench.status?.hasChip == true && bench.chip.calls.contains("rest"))
    }
}

extension String {
    fileprivate func replacing(_ word: String, with other: String) -> String {
        split(separator: word, omittingEmptySubsequences: false).joined(separator: other)
    }
}
