import BluetoothCore
import StrikeControl
import TestSupport
import Testing

/// What a keeper has promised, looked at from its line: it believes nothing that the machine says of itself.
struct StrikeJudge {
    /// An order, by its name and its time.
    private struct Order: Hashable {
        let name: UInt64
        let notAfter: UInt64
    }

    private let bench: StrikeBench
    private let rules: StrikeRules
    private var hasChip = true
    private var nextName: UInt64 = 1
    /// Orders without an end.
    private var open: [Order] = []
    private var opened: Set<Order> = []
    /// What each name was ordered with last.
    private var times: [UInt64: UInt64] = [:]
    /// Of the order that the line is released for.
    private var pulse: UInt64 = 0
    private var released: UInt64?
    private(set) var releases = 0

    init(_ rules: StrikeRules) {
        self.rules = rules
        bench = StrikeBench(rules, isLocked: rules.feedback == nil ? nil : true)
    }

    mutating func step(_ generator: inout SeededGenerator) {
        let now = bench.now + .random(in: 0...400, using: &generator)
        // Time that the machine asked for is never skipped: the shell's timer sees to that.
        while let deadline = bench.deadline, deadline < now { take(at: max(deadline, bench.now), .time) }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<8: order(at: now, &generator)
        case 8:
            take(at: now, hasChip ? .chipGone : .chip(inputs(&generator)))
            hasChip.toggle()
        case 9: take(at: now, .daemon(isThere: .random(using: &generator)))
        case 10: bench.metal = [.obeys, .obeys, .ignores, .fails].randomElement(using: &generator) ?? .obeys
        case 11..<15: if hasChip { take(at: now, .inputs(inputs(&generator))) }
        default: take(at: now, .time)
        }
    }

    private func inputs(_ generator: inout SeededGenerator) -> StrikeInputs {
        StrikeInputs(
            isClosed: .random(using: &generator), isLocked: rules.feedback == nil ? nil : .random(using: &generator),
            isExit: .random(using: &generator), isFire: .random(using: &generator))
    }

    private mutating func order(at now: UInt64, _ generator: inout SeededGenerator) {
        let movement = StrikeMovement.allCases.randomElement(using: &generator) ?? .lock
        var name = nextName
        if movement != .lock, nextName > 1, Int.random(in: 0..<4, using: &generator) == 0 {
            name = .random(in: nextName - min(nextName - 1, 5)..<nextName, using: &generator)
        } else {
            nextName += 1
        }
        let asked = UInt32.random(in: 0...3_000, using: &generator)
        let isLate = now > 0 && Int.random(in: 0..<5, using: &generator) == 0
        let isCountedAnew = Int.random(in: 0..<4, using: &generator) == 0
        let notAfter = (isCountedAnew ? nil : times[name]) ?? (isLate ? now - 1 : now + 1_000)
        times[name] = notAfter
        let order = Order(name: name, notAfter: notAfter)
        let mayOpen = movement != .lock && now <= notAfter && !opened.contains(order)
        if !open.contains(order) { open.append(order) }
        let event = StrikeBench.order(name, movement, pulse: asked, notAfter: notAfter)
        take(at: now, event, opens: mayOpen ? (order, min(UInt64(asked), rules.pulseMaximumMilliseconds)) : nil)
    }

    /// `opens`: which opening this event may begin, and for how long.
    private mutating func take(
        at now: UInt64, _ event: StrikeMachine.Event, opens grant: (order: Order, pulse: UInt64)? = nil
    ) {
        for output in bench.at(now, event) {
            switch output {
            case .set(isReleased: true):
                if let grant {
                    opened.insert(grant.order)
                    pulse = grant.pulse
                } else {
                    #expect(event == .time && rules.feedback != nil && !open.isEmpty, "released by \(event)")
                }
                released = now
                releases += 1
            case .set(isReleased: false): released = nil
            case .report(.ended(let intent, _)):
                // The later one, if there are two: the one that is under way has the last word.
                if let index = open.lastIndex(where: { $0.name == intent }) { open.remove(at: index) }
            case .report, .tell: break
            }
        }
        if !hasChip || event == .chipGone { released = nil }
        if let released, rules.drive == .pulse {
            #expect(now - released <= pulse && (bench.deadline ?? .max) <= released + pulse, "longer than asked")
        }
        #expect(open.count <= 1, "orders without an end: \(open)")
    }

    /// Left alone, on a line that obeys, everything ends.
    mutating func comeToRest() {
        bench.metal = .obeys
        take(at: bench.now, .daemon(isThere: false))
        for _ in 0..<20 { if let deadline = bench.deadline { take(at: max(deadline, bench.now), .time) } }
        #expect(bench.deadline == nil && !bench.machine.isReleased && open.isEmpty)
    }
}
