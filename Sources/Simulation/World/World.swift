import BluetoothCore
import BluetoothHost
import VirtualRadio

/// Hosts, and strangers without a host, on one virtual air under one virtual clock. Each host has a controller,
/// and a store that outlives it. The thread that made the world is the loop of all of its hosts.
///
/// Tests run events in their order until something holds (``run(forMilliseconds:until:)``), cut and move the nodes on the air
/// (``radio``), break the wire between a host and its controller (``Wire``), and kill hosts (``Node``). The same seeds give the
/// same events at the same instants.
///
/// A room's tests build their apps and attackers on this. A suite that makes worlds has the trait `.capturesFailures`.
package final class World {
    package let air: SharedAir
    package private(set) var nodes: [Node] = []
    private var strangers: [any Stranger] = []
    private var timed: [any Timed] = []

    /// Something that is due stays due, and time stands still: how often it was tried.
    package var onStandstill: (Int) -> Void = { _ in }

    package init(_ air: SharedAir) { self.air = air }

    /// `seed`: of what the host takes for chance. `hardware`: what its controller is made of.
    package func add(
        _ name: String, seed: UInt64, disk: any NodeDisk = MemoryDisk(),
        hardware: ControllerConfiguration = ControllerConfiguration()
    ) -> Node {
        let node = Node(name, self, seed: seed, disk: disk, hardware: hardware)
        nodes.append(node)
        return node
    }

    /// Somebody who keeps to no rules acts on the air from now on.
    package func add(_ stranger: any Stranger) { strangers.append(stranger) }

    /// Goes on with the world from now on.
    package func add(_ timed: any Timed) { self.timed.append(timed) }

    /// He has gone.
    package func remove(_ stranger: any Stranger) {
        strangers.removeAll { $0 === stranger }
        radio.unplug(stranger.controller)
    }

    // MARK: The air

    package var radio: VirtualRadio {
        get { air.radio }
        _modify { yield &air.radio }
    }

    package var now: Instant { Instant(nanoseconds: air.radio.now) }

    package func setDistance(_ a: any OnAir, _ b: any OnAir, metres: Double) {
        radio.setDistance(a.controller, b.controller, metres: metres)
    }

    /// The two hear each other no more, and what links them is lost.
    package func cut(_ a: any OnAir, _ b: any OnAir) { radio.cut(a.controller, b.controller) }

    /// Undoes ``cut(_:_:)``.
    package func join(_ a: any OnAir, _ b: any OnAir) { radio.join(a.controller, b.controller) }

    // MARK: Time

    /// A loop that takes more of them without the clock's moving on would take them for ever.
    private static let turnsOfStandstill = 10_000

    /// Runs until nothing is left to do at this instant.
    package func settle() {
        var isBusy = true
        while isBusy {
            isBusy = false
            for one in timed where one.step() { isBusy = true }
            for node in nodes where node.step() { isBusy = true }
            for stranger in strangers where stranger.step() { isBusy = true }
        }
    }

    /// Runs events in their order until `condition` holds or `milliseconds` of virtual time have passed; says whether it
    /// held.
    @discardableResult
    package func run(forMilliseconds milliseconds: UInt64 = 10_000, until condition: () -> Bool = { false }) -> Bool {
        let end = now.advanced(byMilliseconds: milliseconds)
        settle()
        var (instant, turns) = (radio.now, 0)
        while !condition() {
            (instant, turns) = (radio.now, radio.now == instant ? turns + 1 : 0)
            guard turns < Self.turnsOfStandstill else {
                onStandstill(turns)
                return false
            }
            let deadlines =
                nodes.compactMap { $0.deadline?.nanoseconds } + timed.compactMap { $0.deadline?.nanoseconds }
            guard let next = ([radio.nextEventInstant].compactMap { $0 } + deadlines).min(),
                next <= end.nanoseconds
            else {
                radio.advance(toNanoseconds: end.nanoseconds)
                settle()
                return condition()
            }
            radio.advance(toNanoseconds: max(next, radio.now))
            for one in timed { one.fireTimers() }
            for node in nodes { node.fireTimers() }
            settle()
        }
        return true
    }

    /// Time passes in the middle of something that one host does, until `condition` holds at the latest. Nobody else goes on but those who
    /// are no hosts.
    func pass(milliseconds: UInt64, until condition: () -> Bool = { false }) {
        let end = now.advanced(byMilliseconds: milliseconds)
        while !condition(), let next = timed.compactMap(\.deadline).min(), next <= end {
            radio.advance(toNanoseconds: max(next, now).nanoseconds)
            for one in timed { one.fireTimers() }
            for one in timed { _ = one.step() }
        }
        if !condition() { radio.advance(toNanoseconds: end.nanoseconds) }
    }
}

/// Has a place on the air.
package protocol OnAir: AnyObject {
    var controller: ControllerID { get }
}

/// Acts on the air by himself, without a host: an attacker, whose octets are a test's own.
package protocol Stranger: OnAir {
    /// Reacts to what his controller says; whether there was anything.
    func step() -> Bool
}
