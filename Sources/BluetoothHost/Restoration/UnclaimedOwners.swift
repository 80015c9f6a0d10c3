import BluetoothCore

/// The owners that no manager claims while the radio is on, each until the end of its grace.
///
/// - In: owners that are (not) claimed, instants.
/// - Out: owners whose time is over: what they have asked for is put to rest.
/// - Owner: the core. Nothing of it is kept: each launch and each return of the radio begins a grace anew.
struct UnclaimedOwners {
    typealias Owner = RestorationLedger.Owner

    /// An app makes its managers when it begins; one that takes longer for it gets its things back all the same.
    static let graceMilliseconds: UInt64 = 30_000

    private var ends: [Owner: Instant] = [:]
    private(set) var deadline: Instant?

    mutating func begin(_ owner: Owner, now: Instant) {
        guard ends[owner] == nil else { return }
        ends[owner] = now.advanced(byMilliseconds: Self.graceMilliseconds)
        noteDeadline()
    }

    /// A manager claims it, or nothing is kept for it any more.
    mutating func end(_ owner: Owner) {
        guard ends.removeValue(forKey: owner) != nil else { return }
        noteDeadline()
    }

    /// Without a radio nobody is late.
    mutating func endAll() {
        ends = [:]
        deadline = nil
    }

    /// The first of those that are due.
    func due(_ now: Instant) -> Owner? { ends.filter { $0.value <= now }.keys.min() }

    private mutating func noteDeadline() { deadline = ends.values.min() }
}
