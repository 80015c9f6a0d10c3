/// What happens by itself.
enum AirEvent: Sendable {
    /// An advertising event of this advertiser, if its advertising is still the one that asked.
    case advertising(ControllerID, epoch: UInt64)
    /// A scan of this length is over, if it is still the one that asked.
    case scanTimeout(ControllerID, epoch: UInt64)
    case connection(LinkID)
    /// A side of a link has heard nothing for too long, if its silence is still the same one.
    case silence(LinkID, Role, epoch: UInt64)
    /// New connection parameters take effect.
    case connectionUpdate(LinkID)
    /// New PHYs take effect.
    case phyUpdate(LinkID)
    /// A link layer procedure has not been answered.
    case procedureTimeout(LinkID, procedure: UInt64)
}

/// The events to come, the earliest first; at one instant by controller and then in the order of asking. A binary heap.
struct Agenda: Sendable {
    struct Entry: Sendable {
        let instant: UInt64
        let controller: Int
        let sequence: UInt64
        let event: AirEvent

        func precedes(_ other: Self) -> Bool {
            (instant, controller, sequence) < (other.instant, other.controller, other.sequence)
        }
    }

    private var heap: [Entry] = []
    private var sequence: UInt64 = 0

    var first: Entry? { heap.first }

    mutating func add(_ event: AirEvent, at instant: UInt64, controller: ControllerID) {
        sequence += 1
        heap.append(Entry(instant: instant, controller: controller.ordinal, sequence: sequence, event: event))
        var child = heap.count - 1
        while child > 0, heap[child].precedes(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].precedes(heap[least]) { least = child }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
