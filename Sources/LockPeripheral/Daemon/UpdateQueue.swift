/// Updates that wait for room in the controller, each link's in their own order: whoever takes nothing holds up nobody else.
struct UpdateQueue<Update> {
    /// One more displaces the link's oldest, which nobody is owed.
    static var perLinkMaximum: Int { 8 }

    /// A link is in it for as long as something waits for it.
    private var waiting: [LockLink: [Update]] = [:]

    /// Sends at once if nothing of this link's waits before it and `send` finds room, else keeps it.
    mutating func put(_ update: Update, for link: LockLink, send: (Update, LockLink) -> Bool) {
        guard var before = waiting[link] else {
            if !send(update, link) { waiting[link] = [update] }
            return
        }
        if before.count >= Self.perLinkMaximum { before.removeFirst() }
        waiting[link] = before + [update]
    }

    /// There is room somewhere: every link gets what it has room for.
    mutating func drain(send: (Update, LockLink) -> Bool) {
        for link in waiting.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let left = (waiting[link] ?? []).drop { send($0, link) }
            waiting[link] = left.isEmpty ? nil : Array(left)
        }
    }

    func contains(for link: LockLink, where predicate: (Update) -> Bool) -> Bool {
        waiting[link]?.contains(where: predicate) ?? false
    }

    mutating func drop(_ link: LockLink) { waiting[link] = nil }
}
