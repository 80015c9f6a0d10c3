import StrikeControl
import StrikeKeeping

/// The metal of a door that a strike holds: the line and its coil, the bolt behind it, the leaf, and what is beside them.
///
/// What a program sets, what people do and what breaks comes in; what becomes of the door goes out. A process changes it by its line alone,
/// and a line stays as it was set when its process dies, as on a chip at USB. It knows no time: its owner (``SharedMetal``) says when a
/// bolt that travels has arrived.
package struct StrikeMetal {
    package enum LineFault: Hashable, Sendable {
        /// It stays as it is, and reads so.
        case deaf
        /// It goes where it is set, and reads otherwise.
        case lying
    }

    /// Something that begins at a door, lasts, and ends.
    package enum Condition: Hashable, Sendable {
        /// The button inside is.
        case pressed
        case fire
        case tampered
        case line(LineFault)
        /// The bolt's sensor says this, wherever the bolt is.
        case stuckSensor(isLocked: Bool)
        /// The chip is away, and the strike has no current.
        case unplugged
        /// Each call to the chip fails.
        case failing
        /// Somebody inside holds the bolt back.
        case held
        /// The bolt stays where it is.
        case jammed

        /// One of each kind.
        package static let kinds: [Self] = [
            .pressed, .fire, .tampered, .line(.deaf), .stuckSensor(isLocked: true), .unplugged, .failing, .held,
            .jammed,
        ]

        /// A later one of a kind takes the place of the one before, and all of them end together.
        fileprivate var kind: Set<Self> {
            switch self {
            case .line: [.line(.deaf), .line(.lying)]
            case .stuckSensor: [.stuckSensor(isLocked: true), .stuckSensor(isLocked: false)]
            case .pressed, .fire, .tampered, .unplugged, .failing, .held, .jammed: [self]
            }
        }
    }

    package enum Event: Hashable, Sendable {
        /// A program sets the strike's line.
        case sets(isActive: Bool)
        case begins(Condition)
        case ends(Condition)
        /// The leaf, by whatever force: whether the bolt lets it is ``isHeldShut``.
        case opens
        /// The latch gives way to a leaf that falls shut.
        case shuts
        /// A key from inside moves the bolt at once, also one that is jammed.
        case turns(isLocked: Bool)
        /// The chip has no power for a moment.
        case losesPower
        /// The time that the bolt takes is over, since it went.
        case arrives
    }

    package enum Output: Hashable, Sendable {
        case began(Condition)
        case ended(Condition)
        case strike(isReleased: Bool)
        /// The bolt goes: ``Event/arrives`` is due when it has had its time. One that is called back meanwhile stays.
        case goes
        case bolt(isLocked: Bool)
        case leaf(isClosed: Bool)
        /// Of an input.
        case edge(InputUse)
    }

    private let rules: StrikeRules
    private var isActive = false
    private var lasting: Set<Condition> = []
    /// Inputs with an edge that nobody has read.
    private var moved: Set<InputUse> = []
    package private(set) var isReleased: Bool
    package private(set) var isBoltLocked: Bool
    package private(set) var isClosed = true
    /// How often the chip has been without power: lines that were requested before are none any more.
    package private(set) var generation = 0

    /// The bolt is where the strike without current leaves it.
    package init(_ rules: StrikeRules) {
        self.rules = rules
        isReleased = rules.isActive(released: true) == false
        isBoltLocked = !isReleased
    }

    package func has(_ condition: Condition) -> Bool { lasting.contains(condition) }

    /// The bolt holds the leaf.
    package var isHeldShut: Bool { isClosed && isBoltLocked }

    /// What a program reads of the strike's line.
    package var isReadActive: Bool { has(.line(.lying)) ? !isActive : isActive }

    /// What a program reads of an input, once for each edge.
    package mutating func takeReading(of use: InputUse) -> LineReading {
        let isActive =
            switch use {
            case .contact: isClosed
            case .feedback: has(.stuckSensor(isLocked: !isBoltLocked)) ? !isBoltLocked : isBoltLocked
            case .exit: has(.pressed)
            case .tamper: has(.tampered)
            case .fire: has(.fire)
            }
        return LineReading(isActive: isActive, hasMoved: moved.remove(use) != nil)
    }

    package mutating func handle(_ event: Event, into outputs: inout [Output]) {
        switch event {
        case .sets(let isActive):
            guard !has(.line(.deaf)), !has(.unplugged) else { return }
            self.isActive = isActive
            drive(&outputs)
        case .begins(let condition): turn(condition, isOn: true, &outputs)
        case .ends(let condition): turn(condition, isOn: false, &outputs)
        case .opens: moveLeaf(isClosed: false, &outputs)
        case .shuts: moveLeaf(isClosed: true, &outputs)
        case .turns(let isLocked): if isLocked != isBoltLocked { moveBolt(&outputs) }
        case .losesPower: cutPower(&outputs)
        case .arrives: if isDrawn { moveBolt(&outputs) }
        }
    }

    // MARK: Its parts

    private mutating func turn(_ condition: Condition, isOn: Bool, _ outputs: inout [Output]) {
        let before = lasting
        lasting.subtract(condition.kind)
        if isOn { lasting.insert(condition) }
        let hasChanged = lasting != before
        if hasChanged { outputs.append(isOn ? .began(condition) : .ended(condition)) }
        switch condition {
        case .pressed: if hasChanged { touch(.exit, &outputs) }
        case .fire: if hasChanged { touch(.fire, &outputs) }
        case .tampered: if hasChanged { touch(.tamper, &outputs) }
        // An edge that says nothing new is one too.
        case .stuckSensor: touch(.feedback, &outputs)
        case .unplugged: if isOn { if hasChanged { cutPower(&outputs) } } else { drive(&outputs) }
        case .held, .jammed: follow(&outputs)
        case .line, .failing: break
        }
    }

    private mutating func cutPower(_ outputs: inout [Output]) {
        isActive = false
        generation += 1
        drive(&outputs)
    }

    private mutating func drive(_ outputs: inout [Output]) {
        let releases = rules.isActive(released: true) == isActive
        guard releases != isReleased else { return }
        isReleased = releases
        outputs.append(.strike(isReleased: releases))
        follow(&outputs)
    }

    /// Coil or hand draw the bolt to where it is not.
    private var isDrawn: Bool { (isReleased || has(.held)) == isBoltLocked && !has(.jammed) }

    private func follow(_ outputs: inout [Output]) { if isDrawn { outputs.append(.goes) } }

    private mutating func moveBolt(_ outputs: inout [Output]) {
        isBoltLocked.toggle()
        outputs.append(.bolt(isLocked: isBoltLocked))
        touch(.feedback, &outputs)
    }

    private mutating func moveLeaf(isClosed: Bool, _ outputs: inout [Output]) {
        guard isClosed != self.isClosed else { return }
        self.isClosed = isClosed
        outputs.append(.leaf(isClosed: isClosed))
        touch(.contact, &outputs)
    }

    private mutating func touch(_ use: InputUse, _ outputs: inout [Output]) {
        moved.insert(use)
        outputs.append(.edge(use))
    }
}
