import CLinux
import GPIO
import Glibc
import StrikeControl

/// How an input reads, and whether an edge has been seen since it was read last.
package struct LineReading: Hashable {
    package var isActive: Bool
    package var hasMoved: Bool

    package init(isActive: Bool, hasMoved: Bool) {
        self.isActive = isActive
        self.hasMoved = hasMoved
    }
}

/// The chip that a door's lines are on: it comes and goes.
package protocol DoorChip: AnyObject {
    /// Requests all lines; the strike's is at its rest when this returns, and reads so.
    ///
    /// - Throws: ``GPIOFailure``, as long as there is no such chip, or it does not do that.
    func open() throws(GPIOFailure) -> any DoorLines
}

/// A door's lines, as long as their chip is there.
package protocol DoorLines: AnyObject {
    /// Readable when an input may have moved; nil without inputs.
    var descriptor: Int32? { get }
    /// Sets the strike's line, and says what it reads then.
    func set(isActive: Bool) throws(GPIOFailure) -> Bool
    func isActive() throws(GPIOFailure) -> Bool
    /// In the order of the plan.
    func inputs() throws(GPIOFailure) -> [LineReading]
}

package final class GPIODoorChip: DoorChip {
    private static let consumer = "latch-strike"
    private let plan: StrikePlan

    package init(_ plan: StrikePlan) { self.plan = plan }

    package func open() throws(GPIOFailure) -> any DoorLines {
        let chip = try GPIOChip.find(plan.chip)
        // The strike's first: a door must not stay open because a line beside it cannot be had.
        let strike = try chip.request(plan.output, consumer: Self.consumer)
        var beside: [GPIOLine] = []
        for input in plan.inputs { beside.append(try chip.request(input.setting, consumer: Self.consumer)) }
        let lines = try GPIODoorLines(strike, beside)
        guard try lines.isActive() == plan.rules.isActive(released: false) else {
            throw GPIOFailure("\(plan.output.line) of chip \"\(plan.chip)\" does not go to its rest", EIO)
        }
        return lines
    }
}

private final class GPIODoorLines: DoorLines {
    private let strike: GPIOLine
    private let beside: [GPIOLine]
    /// All inputs in one.
    private let poll: Int32

    init(_ strike: GPIOLine, _ beside: [GPIOLine]) throws(GPIOFailure) {
        (self.strike, self.beside) = (strike, beside)
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard poll >= 0 else { throw GPIOFailure("a descriptor for the inputs", errno) }
        for line in beside { _ = latch_epoll_add(poll, line.descriptor, EPOLLIN.rawValue, 0) }
    }

    deinit { close(poll) }

    var descriptor: Int32? { beside.isEmpty ? nil : poll }

    func set(isActive: Bool) throws(GPIOFailure) -> Bool {
        try strike.set(isActive: isActive)
        return try strike.isActive()
    }

    func isActive() throws(GPIOFailure) -> Bool { try strike.isActive() }

    func inputs() throws(GPIOFailure) -> [LineReading] {
        var readings: [LineReading] = []
        for line in beside {
            // The edges first: one that comes behind them is seen the next time.
            let hasMoved = try line.takeEdges()
            readings.append(LineReading(isActive: try line.isActive(), hasMoved: hasMoved))
        }
        return readings
    }
}
