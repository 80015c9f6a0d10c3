import BluetoothCore

/// From an instant on, to another one; nil: still.
struct Stretch: Hashable {
    let from: Instant
    var to: Instant?

    func meets(_ begin: Instant, _ end: Instant) -> Bool { from <= end && (to.map { $0 >= begin } ?? true) }
    func covers(_ begin: Instant, _ end: Instant) -> Bool { from <= begin && (to.map { $0 >= end } ?? true) }
}

/// When something was so.
struct Stretches {
    private(set) var all: [Stretch] = []

    mutating func turn(_ isOn: Bool, at instant: Instant) {
        let isOpen = all.last.map { $0.to == nil } ?? false
        guard isOn != isOpen else { return }
        if isOn { all.append(Stretch(from: instant)) } else { all[all.count - 1].to = instant }
    }

    /// Forgets what is over.
    mutating func forget() { all.removeAll { $0.to != nil } }
}
