import BluetoothCore

/// What happens in a world by itself, at its time.
final class Agenda {
    private let world: World
    private var entries: [(at: Instant, act: () -> Void)] = []

    init(_ world: World) { self.world = world }

    var isEmpty: Bool { entries.isEmpty }

    func after(_ milliseconds: UInt64, _ act: @escaping () -> Void) {
        entries.append((world.now.advanced(byMilliseconds: milliseconds), act))
    }

    /// Time passes, and what is on the agenda happens. Ends early where `condition` holds.
    func run(milliseconds: UInt64, until condition: () -> Bool = { false }) {
        let end = world.now.advanced(byMilliseconds: milliseconds)
        while world.now < end, !condition() {
            let count = entries.count
            let next = Swift.min(entries.map(\.at).min() ?? end, end)
            if next > world.now {
                // Rounded up: time that is left is at most one millisecond too long.
                let left = next.milliseconds(since: world.now) + 1
                world.run(forMilliseconds: left) { [unowned self] in entries.count != count || condition() }
            }
            let due = entries.filter { $0.at <= world.now }
            entries.removeAll { $0.at <= world.now }
            for entry in due { entry.act() }
        }
    }
}
