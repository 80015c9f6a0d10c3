import BluetoothCore
import StrikeControl
import Testing

@testable import StrikeKeeping

/// A keeper under a clock of the test's, on a chip without metal.
final class KeeperBench {
    /// What the keeper has around it.
    final class Outside {
        var now: UInt64 = 0
        var armed: Instant?
        var sent: [StrikeReport] = []
        var told: [String] = []
    }

    let chip: FakeChip
    let outside = Outside()
    let keeper: StrikeKeeper

    static func base(_ failure: StrikeRules.Failure = .secure) -> String {
        "chip = \"door\"\n[socket]\nuser = \"0\"\n[strike]\nline = \"0\"\nfail = \"\(failure)\"\n"
    }

    init(
        _ failure: StrikeRules.Failure = .secure, _ text: String = "", inputs: [Bool] = [], code: Int32 = 0
    ) throws {
        let plan = try strikePlan(Self.base(failure) + text)
        chip = FakeChip(plan)
        chip.inputs = inputs
        chip.code = code
        keeper = StrikeKeeper(
            plan, chip: chip,
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
    /// What was done to the line, without the timer.
    var acts: [String] { chip.calls.filter { !$0.hasPrefix("arm") } }

    static func instant(_ milliseconds: UInt64) -> Instant {
        Instant(nanoseconds: 1_000_000_000).advanced(byMilliseconds: milliseconds)
    }

    /// Time passes, and the timer goes off as often as it was armed for.
    func pass(to milliseconds: UInt64) {
        var alarms = 0
        while let armed = outside.armed, armed <= Self.instant(milliseconds) {
            alarms += 1
            guard alarms < 10_000 else {
                Issue.record("a timer that goes off for nothing")
                break
            }
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
