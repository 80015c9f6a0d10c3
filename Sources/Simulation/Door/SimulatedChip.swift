import GPIO
import Glibc
import StrikeControl
import StrikeKeeping

/// The program that has a simulated chip, as its calls find it.
package protocol ChipProgram: AnyObject {
    /// It has ended: no call of it does anything any more.
    var isOver: Bool { get }
    /// Readable when an input may have moved; nil where nobody waits for a descriptor.
    var descriptor: Int32? { get }
    /// In front of a call that reads the inputs, or requests all lines.
    func looks()
    /// In front of a call that sets the strike's line, and behind it.
    func beginsCall()
    func endsCall()
}

/// A chip whose lines are soldered to a door's metal, as one program has it.
package final class SimulatedChip: DoorChip {
    fileprivate static let name = "the simulated chip"

    fileprivate let door: SharedMetal
    fileprivate let program: any ChipProgram
    private let plan: StrikePlan

    package init(_ door: SharedMetal, _ plan: StrikePlan, _ program: any ChipProgram) {
        (self.door, self.plan, self.program) = (door, plan, program)
    }

    package func open() throws(GPIOFailure) -> any DoorLines {
        program.looks()
        let rest = plan.rules.isActive(released: false)
        guard try set(isActive: rest, nil) == rest else {
            throw GPIOFailure("\(Self.name)'s line does not go to its rest", EIO)
        }
        return SimulatedLines(self, plan.inputs.map(\.use), door.metal.generation)
    }

    /// `generation`: of the lines that are used; nil: they are requested.
    fileprivate func set(isActive: Bool, _ generation: Int?) throws(GPIOFailure) -> Bool {
        program.beginsCall()
        defer { program.endsCall() }
        try check(generation)
        door.handle(.sets(isActive: isActive))
        return door.metal.isReadActive
    }

    fileprivate func check(_ generation: Int?) throws(GPIOFailure) {
        let metal = door.metal
        guard !program.isOver, !metal.has(.unplugged), generation == nil || generation == metal.generation else {
            throw GPIOFailure(Self.name, ENODEV)
        }
        guard !metal.has(.failing) else { throw GPIOFailure(Self.name, EIO) }
    }
}

private final class SimulatedLines: DoorLines {
    private let chip: SimulatedChip
    private let uses: [InputUse]
    private let generation: Int

    init(_ chip: SimulatedChip, _ uses: [InputUse], _ generation: Int) {
        (self.chip, self.uses, self.generation) = (chip, uses, generation)
    }

    var descriptor: Int32? { chip.program.descriptor }

    func set(isActive: Bool) throws(GPIOFailure) -> Bool { try chip.set(isActive: isActive, generation) }

    func isActive() throws(GPIOFailure) -> Bool {
        try chip.check(generation)
        return chip.door.metal.isReadActive
    }

    func inputs() throws(GPIOFailure) -> [LineReading] {
        chip.program.looks()
        try chip.check(generation)
        return uses.map { chip.door.takeReading(of: $0) }
    }
}
