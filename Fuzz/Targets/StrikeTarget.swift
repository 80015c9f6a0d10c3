import BluetoothCore
import StrikeControl

/// Messages between a lock and its strike's keeper, and the keeper's machine under orders, inputs, failures and time.
@Sendable func fuzzStrike(_ octets: [UInt8]) {
    requireRoundTrip(StrikeRequest.self, octets)
    requireRoundTrip(StrikeReport.self, octets)
    var input = FuzzInput(octets)
    var keeper = StrikeHarness(&input)
    while let event = input.nextEvent() { keeper.step(event, &input) }
    keeper.comeToRest()
}

/// A keeper on a line that obeys or fails, and what its line may not do.
private struct StrikeHarness {
    private let rules: StrikeRules
    private var machine: StrikeMachine
    private var now = Instant(nanoseconds: 1)
    private var hasChip = false
    private var fails = false
    private var isReleased = false
    private var open: Set<UInt64> = []

    init(_ input: inout FuzzInput) {
        rules = StrikeRules(
            drive: input.bool() ? .pulse : .hold, failure: input.bool() ? .secure : .safe,
            pulseMaximumMilliseconds: 5_000,
            feedback: input.bool()
                ? StrikeRules.Feedback(travelMilliseconds: 500, retries: 1, retryPauseMilliseconds: 100) : nil,
            orphanMilliseconds: 1_000)
        machine = StrikeMachine(rules)
    }

    mutating func step(_ event: UInt8, _ input: inout FuzzInput) {
        switch event & 7 {
        case 0, 1:
            let request = StrikeOrder(
                intent: UInt64(input.octet() & 0x3F), movement: StrikeMovement(rawValue: input.octet() & 3) ?? .lock,
                pulseMilliseconds: UInt32(input.uint16()),
                notAfter: input.bool() ? now.advanced(byMilliseconds: UInt64(input.octet())) : nil)
            open.insert(request.intent)
            feed(.order(request), maySet: true)
        case 2:
            hasChip.toggle()
            isReleased = false
            feed(hasChip ? .chip(inputs(&input)) : .chipGone, maySet: false)
        case 3, 4: if hasChip { feed(.inputs(inputs(&input)), maySet: false) }
        case 5: feed(.daemon(isThere: input.bool()), maySet: false)
        case 6: fails = input.bool()
        default: pass(input.milliseconds())
        }
    }

    private func inputs(_ input: inout FuzzInput) -> StrikeInputs {
        let bits = input.octet()
        return StrikeInputs(
            isClosed: bits & 1 != 0, isLocked: rules.feedback == nil ? nil : bits & 2 != 0, isExit: bits & 4 != 0,
            isTampered: bits & 8 != 0, isFire: bits & 16 != 0)
    }

    /// As a timer lets it: no deadline is passed over.
    private mutating func pass(_ milliseconds: UInt64) {
        let end = now.advanced(byMilliseconds: milliseconds)
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            feed(.time, maySet: rules.feedback != nil)
            require(machine.deadline.map { $0 > now } ?? true, "a keeper's timer stands still")
        }
        now = end
    }

    private mutating func feed(_ event: StrikeMachine.Event, maySet: Bool) {
        var outputs: [StrikeMachine.Output] = []
        machine.handle(event, now: now, into: &outputs)
        for output in outputs {
            switch output {
            case .set(let released):
                require(maySet || !released, "a door is released without an order")
                require(hasChip, "a line is set that is not there")
                require(machine.deadline != nil || rules.drive == .hold, "no timer is armed for a line that is set")
                if !fails { isReleased = released }
                feed(.line(fails ? .failed : .reads(isReleased: isReleased)), maySet: maySet)
            case .report(.ended(let intent, _)): open.remove(intent)
            case .report, .tell: break
            }
        }
        require(open.count <= 1, "an order has no end")
    }

    mutating func comeToRest() {
        fails = false
        feed(.daemon(isThere: false), maySet: false)
        pass(60_000)
        require(!isReleased || rules.drive == .hold && rules.failure == .safe, "a door stays open without a daemon")
        require(machine.deadline == nil, "a keeper does not come to rest")
        require(open.isEmpty, "an order has no end")
    }
}
