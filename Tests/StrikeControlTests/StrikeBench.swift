import BluetoothCore
import StrikeControl

/// A machine with its line and its clock: a line that does what it is told, unless the test says otherwise.
final class StrikeBench {
    enum Metal { case obeys, ignores, fails }

    static let feedback = StrikeRules.Feedback(travelMilliseconds: 1_000, retries: 1, retryPauseMilliseconds: 200)

    var machine: StrikeMachine
    var metal = Metal.obeys
    /// Milliseconds since the beginning.
    var now: UInt64 = 0
    private(set) var isReleased = false
    /// Everything but what is for the operator, the answers of the line behind what asks for them.
    private(set) var outputs: [StrikeMachine.Output] = []
    private(set) var told: [String] = []
    /// When the machine wanted to be asked while its line was set: the timer is armed before.
    private(set) var armedAtSet: [UInt64?] = []

    init(_ rules: StrikeRules = StrikeRules(), isLocked: Bool? = nil, isClosed: Bool? = nil) {
        machine = StrikeMachine(rules)
        handle(.daemon(isThere: true))
        handle(.chip(StrikeInputs(isClosed: isClosed, isLocked: isLocked)))
    }

    static func instant(_ milliseconds: UInt64) -> Instant {
        Instant(nanoseconds: 5_000_000_000).advanced(byMilliseconds: milliseconds)
    }

    static func order(
        _ intent: UInt64, _ movement: StrikeMovement, pulse: UInt32 = 3_000, notAfter: UInt64? = nil
    ) -> StrikeMachine.Event {
        .order(
            StrikeOrder(
                intent: intent, movement: movement, pulseMilliseconds: pulse, notAfter: notAfter.map(instant)))
    }

    var deadline: UInt64? { machine.deadline?.milliseconds(since: Self.instant(0)) }

    @discardableResult func handle(_ event: StrikeMachine.Event) -> [StrikeMachine.Output] {
        outputs = []
        switch event {
        // It is requested anew, and at rest.
        case .chip, .chipGone: isReleased = false
        case .order, .line, .inputs, .daemon, .time: break
        }
        feed(event)
        return outputs
    }

    @discardableResult func at(
        _ milliseconds: UInt64, _ event: StrikeMachine.Event = .time
    ) -> [StrikeMachine.Output] {
        now = milliseconds
        return handle(event)
    }

    private func feed(_ event: StrikeMachine.Event) {
        var said: [StrikeMachine.Output] = []
        machine.handle(event, now: Self.instant(now), into: &said)
        for output in said {
            switch output {
            case .tell(let text): told.append(text)
            case .report: outputs.append(output)
            case .set(let released):
                outputs.append(output)
                armedAtSet.append(deadline)
                switch metal {
                case .obeys:
                    isReleased = released
                    feed(.line(.reads(isReleased: released)))
                case .ignores: feed(.line(.reads(isReleased: isReleased)))
                case .fails: feed(.line(.failed))
                }
            }
        }
    }
}

extension StrikeMachine.Output {
    static func ended(_ intent: UInt64, _ result: StrikeResult) -> Self { .report(.ended(intent: intent, result)) }
    static let release = Self.set(isReleased: true)
    static let rest = Self.set(isReleased: false)

    /// In the words of docs/STRIKE.md.
    var word: String {
        switch self {
        case .set(let isReleased): isReleased ? "release" : "rest"
        case .report(.ended(_, let result)): "\(result)"
        case .report(.exit): "exit"
        case .report, .tell: "?"
        }
    }
}
