import BluetoothCore
import LockPeripheral
import LockProtocol

/// What a mode makes of the bolt while nobody commands it.
struct ModeWatch {
    let register: Register
    let metal: [MetalJournal.Movement]
    let absences: [Stretch]
    let end: Instant

    /// A movement takes half a second, and a process that has just begun some time before it.
    private static let promptMilliseconds: UInt64 = 3_000
    /// As long as the slowest disk keeps an opening on its way.
    private static let slowMilliseconds: UInt64 = 10_000

    var broken: [String] { metal.compactMap { brokenBy($0.line) } + brokenClosings }

    private func brokenBy(_ line: BoltJournal.Line) -> String? {
        let before = Instant(
            nanoseconds: line.at.nanoseconds - min(line.at.nanoseconds, Self.slowMilliseconds * 1_000_000))
        guard line.movement == .lock, line.command == nil, line.isIntended else { return nil }
        return register.mode.during(before, line.at) == [.passage] ? "the lock locked by itself in passage" : nil
    }

    /// A closed mode, and the end of passage, lock at once.
    private var brokenClosings: [String] {
        guard absences.isEmpty else { return [] }
        return register.modeTellings.compactMap { telling in
            let due = telling.at.advanced(byMilliseconds: Self.promptMilliseconds)
            guard telling.mode == .privacy || telling.mode == .lockdown, due <= end,
                register.mode.during(Instant(nanoseconds: telling.at.nanoseconds + 1), due) == [telling.mode],
                !metal.contains(where: { $0.line.at >= telling.at && $0.line.movement != .lock && $0.line.at <= due })
            else { return nil }
            let last = metal.last { $0.line.at <= due }?.line
            return last.map { $0.movement != .lock } ?? false ? "the door stands open in \(telling.mode)" : nil
        }
    }
}
