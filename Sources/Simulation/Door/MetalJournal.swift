import BluetoothCore
import LockPeripheral

/// Metal: nothing that happens to a process changes what is written here.
package final class MetalJournal: MovementJournal {
    /// A line, and the boot that it was written in.
    package typealias Movement = (line: BoltJournal.Line, boot: BootID)

    package private(set) var lines: [Movement] = []
    package var boot = BootID(bits: 1)
    private var settled = 0
    /// Where the schedule that is judged begins.
    private var beginning = 0
    /// Hears of each change.
    package var onChange: () -> Void = {}

    package init() {}

    /// The same metal: what becomes of this one changes nothing there.
    package init(_ other: MetalJournal) { (lines, boot, settled) = (other.lines, other.boot, other.settled) }

    /// From ``begin()`` on.
    package var movements: [Movement] { Array(lines.dropFirst(beginning)) }

    package func begin() { beginning = lines.count }

    package var last: BoltJournal.Line? { lines.last?.line }
    package var lastIntended: BoltJournal.Line? { lines.last { $0.line.isIntended }?.line }
    package var isLastKnown: Bool { true }
    package var isLastIntendedKnown: Bool { true }

    package func append(_ order: ActuatorOrder, now: Instant) {
        let line = BoltJournal.Line(
            sequence: UInt64(lines.count + 1), at: now, process: 1, intent: order.intent, command: order.command,
            movement: order.movement)
        lines.append((line, boot))
        onChange()
    }

    package func settle() {
        settled = lines.count
        onChange()
    }

    /// What had not ended may be lost with the power: then the metal is where it came from.
    package func losePower(withWhatMoved isLost: Bool) {
        if isLost { lines.removeSubrange(settled...) }
        settled = lines.count
        beginning = min(beginning, settled)
    }
}
