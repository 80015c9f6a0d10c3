/// Values first in, first out. Removing moves a mark; the storage is compacted when half of it is behind the mark, so it
/// neither grows without need nor is allocated anew in steady use.
struct Ring<Element: Sendable>: Sendable {
    private var storage: [Element] = []
    private var head = 0

    var count: Int { storage.count - head }

    mutating func append(_ element: Element) { storage.append(element) }

    /// `position` counts from the first; it must be less than `count`.
    subscript(position: Int) -> Element {
        get { storage[head + position] }
        _modify { yield &storage[head + position] }
    }

    /// Nothing happens if there is none.
    mutating func removeFirst() {
        guard count > 0 else { return }
        head += 1
        if head == storage.count {
            storage.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= Self.compactionThreshold, head * 2 >= storage.count {
            storage.removeSubrange(0..<head)
            head = 0
        }
    }

    private static var compactionThreshold: Int { 32 }
}
