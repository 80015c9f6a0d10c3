import CoreBluetoothEssentials
import Foundation

/// What a callback brings to the call that it ends.
enum Answer: Sendable {
    case done
    case value(Data)
    case strength(Int)
    case channel(CBL2CAPChannel)
    case psm(CBL2CAPPSM)
}

/// Calls by the callback that ends them. Callbacks do not say which call they end: of those with the same key one is
/// under way, and the others begin in their order. A call that nobody waits for any more still waits for its callback
/// once it has begun.
struct CallLanes<Key: Hashable & Sendable>: Sendable {
    private struct Call: Sendable {
        let promise: Promise<Answer>
        let begin: @Sendable () -> Void
    }

    private var lanes: [Key: [Call]] = [:]

    func isUnderWay(_ key: Key) -> Bool { lanes[key] != nil }

    mutating func add(_ promise: Promise<Answer>, to key: Key, _ begin: @escaping @Sendable () -> Void) {
        if lanes[key] == nil { begin() }
        lanes[key, default: []].append(Call(promise: promise, begin: begin))
    }

    /// The callback came. Nothing happens when no call of this key is under way.
    mutating func end(_ key: Key, _ result: Result<Answer, any Error>, _ effects: inout Effects) {
        guard let lane = lanes.removeValue(forKey: key), let over = lane.first else { return }
        effects.end(over.promise, result)
        let waiting = lane.dropFirst().filter { !$0.promise.isOver }
        guard let next = waiting.first else { return }
        lanes[key] = waiting
        next.begin()
    }

    /// No callback comes any more.
    mutating func fail(_ error: any Error, _ effects: inout Effects) {
        for call in lanes.values.joined() { effects.end(call.promise, .failure(error)) }
        lanes = [:]
    }
}
