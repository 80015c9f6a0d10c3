import GPIO
import Glibc
import StrikeKeeping

/// A chip as one process of a keeper has it: it does nothing for one that has ended.
final class SimulatedChip: DoorChip {
    fileprivate let hardware: StrikeHardware
    private let plan: StrikePlan
    fileprivate let life: KeeperLife

    init(_ hardware: StrikeHardware, _ plan: StrikePlan, _ life: KeeperLife) {
        (self.hardware, self.plan, self.life) = (hardware, plan, life)
    }

    func open() throws(GPIOFailure) -> any DoorLines {
        try life.beginCall()
        defer { life.endCall() }
        try check(nil)
        guard case .output(let rest) = plan.output.use else { throw GPIOFailure("the strike's line", EINVAL) }
        hardware.drive(isActive: rest)
        guard hardware.reads == rest else { throw GPIOFailure("the strike's line does not go to its rest", EIO) }
        return SimulatedLines(self, plan.inputs.map(\.use), hardware.generation)
    }

    fileprivate func check(_ generation: Int?) throws(GPIOFailure) {
        if life.isOver { throw GPIOFailure("a process that has ended", ENODEV) }
        switch hardware.fault(of: generation) {
        case .gone: throw GPIOFailure("the simulated chip", ENODEV)
        case .failing: throw GPIOFailure("a call to the simulated chip", EIO)
        case nil: return
        }
    }
}

private final class SimulatedLines: DoorLines {
    private let chip: SimulatedChip
    private let uses: [InputUse]
    private let generation: Int
    let descriptor: Int32? = nil

    init(_ chip: SimulatedChip, _ uses: [InputUse], _ generation: Int) {
        (self.chip, self.uses, self.generation) = (chip, uses, generation)
    }

    func set(isActive: Bool) throws(GPIOFailure) -> Bool {
        try chip.life.beginCall()
        defer { chip.life.endCall() }
        try chip.check(generation)
        chip.hardware.drive(isActive: isActive)
        return chip.hardware.reads
    }

    func isActive() throws(GPIOFailure) -> Bool {
        try chip.check(generation)
        return chip.hardware.reads
    }

    func inputs() throws(GPIOFailure) -> [LineReading] {
        try chip.check(generation)
        return uses.map { chip.hardware.reading(of: $0) }
    }
}

/// One process of a keeper. It can be killed in front of a call that sets a line, and behind it.
final class KeeperLife {
    var isOver = false
    /// Before the call, and behind it.
    private let beforeCall: () -> Void
    private let behindCall: () -> Void

    init(beforeCall: @escaping () -> Void, behindCall: @escaping () -> Void) {
        (self.beforeCall, self.behindCall) = (beforeCall, behindCall)
    }

    func beginCall() throws(GPIOFailure) {
        if !isOver { beforeCall() }
        if isOver { throw GPIOFailure("a process that has ended", ENODEV) }
    }

    func endCall() { if !isOver { behindCall() } }
}
