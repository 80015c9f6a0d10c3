import BluetoothCore

/// What may be so, by what operators were told. Of a change that was asked for and never answered both outcomes are believed, and of
/// changes that were under way at once every order.
struct Belief<Value: Hashable> {
    typealias Change = (Value) -> Value

    /// What may be so, with those changes made that are under way still.
    private struct State: Hashable {
        var value: Value
        var made: Set<Int> = []
    }

    private var states: Set<State>
    private var underWay: [(ticket: Int, change: Change)] = []
    /// From each instant on, the last one still.
    private var history: [(since: Instant, values: Set<Value>)]
    /// When a change was told to be made last.
    private(set) var toldAt = Instant(nanoseconds: 0)

    init(_ value: Value) {
        states = [State(value: value)]
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
        states = Set(
            reachable.filter { $0.made.contains(ticket) == isMade }.map { state in
                State(value: state.value, made: state.made.subtracting([ticket]))
            })
        if isMade { toldAt = instant }
        underWay.remove(at: place)
        note(instant)
    }

    /// What has not been answered by now has happened, or never will.
    mutating func settle(at instant: Instant) {
        states = Set(reachable.map { State(value: $0.value) })
        underWay = []
        note(instant)
    }

    /// What was before the present is forgotten.
    mutating func forget() { history = [history[history.count - 1]] }

    /// What changes that are under way may have made of it, each once, in whichever order.
    private var reachable: Set<State> {
        var all = states
        var fresh = states
        while !fresh.isEmpty {
            fresh = Set(
                fresh.flatMap { state in
                    underWay.filter { !state.made.contains($0.ticket) }.map { ticket, change in
                        State(value: change(state.value), made: state.made.union([ticket]))
                    }
                }
            ).subtracting(all)
            all.formUnion(fresh)
        }
        return all
    }

    private mutating func note(_ instant: Instant) { history.append((instant, Set(reachable.map(\.value)))) }
}
