import BluetoothCore

/// What may be so, by what operators were told. Of a change that was asked for and never answered both outcomes are believed.
struct Belief<Value: Hashable> {
    typealias Change = (Value) -> Value

    /// With nothing that is still under way.
    private var settled: Set<Value>
    private var underWay: [(ticket: Int, change: Change)] = []
    /// From each instant on, the last one still.
    private var history: [(since: Instant, values: Set<Value>)]
    /// When a change was told to be made last.
    private(set) var toldAt = Instant(nanoseconds: 0)

    init(_ value: Value) {
        settled = [value]
        history = [(Instant(nanoseconds: 0), [value])]
    }

    var now: Set<Value> { history[history.count - 1].values }

    /// nil while more than one thing may be so.
    var certain: Value? { now.count == 1 ? now.first : nil }

    /// Everything that may have been so in these two instants, and between them.
    func during(_ from: Instant, _ to: Instant) -> Set<Value> {
        var all: Set<Value> = []
        for (number, entry) in history.enumerated() where entry.since <= to {
            let end = number + 1 < history.count ? history[number + 1].since : Instant(nanoseconds: .max)
            if end >= from { all.formUnion(entry.values) }
        }
        return all
    }

    mutating func ask(_ ticket: Int, at instant: Instant, _ change: @escaping Change) {
        underWay.append((ticket, change))
        note(instant)
    }

    /// Its answer came. Nothing happens where nobody asked.
    mutating func tell(_ ticket: Int, isMade: Bool, at instant: Instant) {
        guard let place = underWay.firstIndex(where: { $0.ticket == ticket }) else { return }
        let change = underWay[place].change
        // Others that were under way may have come before it.
        if isMade {
            settled = Set(reachable.map(change))
            toldAt = instant
        }
        underWay.remove(at: place)
        note(instant)
    }

    /// What has not been answered by now has happened, or never will.
    mutating func settle(at instant: Instant) {
        settled = reachable
        underWay = []
        note(instant)
    }

    /// What was before the present is forgotten.
    mutating func forget() { history = [history[history.count - 1]] }

    /// What changes that are under way may have made of it, in whichever order.
    private var reachable: Set<Value> {
        var all = settled
        var fresh = all
        while !fresh.isEmpty {
            fresh = Set(underWay.flatMap { change in fresh.map(change.change) }).subtracting(all)
            all.formUnion(fresh)
        }
        return all
    }

    private mutating func note(_ instant: Instant) { history.append((instant, reachable)) }
}
