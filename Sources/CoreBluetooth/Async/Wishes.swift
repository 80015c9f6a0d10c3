import CoreBluetoothEssentials
import Foundation

/// The connections that a session asked for, or found standing, and the calls of `connect` that claim them.
///
/// The manager ends each connection that it was asked for in exactly one `didFailToConnect` or
/// `didDisconnectPeripheral`, with one exception: while the adapter is not on, a link that is lost ends no wish, and
/// the manager connects again by itself.
struct Wishes: Sendable {
    private enum Phase: Sendable {
        case asked
        case linked(ConnectedLink)
        /// Taken back; its end has not been told yet.
        case ending(ConnectedLink?)
    }

    private struct Wish: Sendable {
        var phase = Phase.asked
        /// Calls that wait for the link, and those that have it. None: it was restored, and nobody has asked for it.
        var claims: [UInt64: Promise<ConnectedLink>] = [:]
        /// Calls that came after it was taken back: they want another one.
        var next: [UInt64: Promise<ConnectedLink>] = [:]
        /// To be taken back as soon as the manager takes calls.
        var isWithdrawn = false
    }

    private var wishes: [CBPeripheral: Wish] = [:]
    private var lastClaim: UInt64 = 0

    /// The link that callbacks of the peripheral speak of.
    func link(to peripheral: CBPeripheral) -> ConnectedLink? {
        switch wishes[peripheral]?.phase {
        case .linked(let link): link
        case .ending(let link): link
        case nil, .asked: nil
        }
    }

    /// What stands since before the session was made.
    mutating func restore(_ peripheral: CBPeripheral) {
        wishes[peripheral] = Wish(phase: peripheral.state == .connected ? .linked(ConnectedLink(peripheral)) : .asked)
    }

    // MARK: Calls

    /// The number of the claim.
    mutating func claim(
        _ peripheral: CBPeripheral, _ promise: Promise<ConnectedLink>, _ manager: CBCentralManager,
        _ effects: inout Effects
    ) -> UInt64 {
        lastClaim += 1
        switch wishes[peripheral]?.phase {
        case nil: ask(peripheral, [lastClaim: promise], manager, &effects)
        case .asked: wishes[peripheral]?.claims[lastClaim] = promise
        case .linked(let link):
            wishes[peripheral]?.claims[lastClaim] = promise
            effects.end(promise, .success(link))
        case .ending: wishes[peripheral]?.next[lastClaim] = promise
        }
        return lastClaim
    }

    /// A call ended without a link. The last one takes the wish back, and the link that came of it meanwhile.
    mutating func giveUp(
        _ claim: UInt64, _ peripheral: CBPeripheral, _ manager: CBCentralManager, _ effects: inout Effects
    ) {
        guard wishes[peripheral]?.next.removeValue(forKey: claim) == nil,
            wishes[peripheral]?.claims.removeValue(forKey: claim) != nil,
            wishes[peripheral]?.claims.isEmpty == true
        else { return }
        withdraw(peripheral, manager, &effects)
    }

    /// Takes it back whoever claims it. With a `link`, only while that one stands.
    mutating func end(
        _ peripheral: CBPeripheral, _ link: ConnectedLink? = nil, _ manager: CBCentralManager, _ effects: inout Effects
    ) {
        guard wishes[peripheral] != nil, link == nil || self.link(to: peripheral) === link else { return }
        fail(peripheral, CBError(.operationCancelled), &effects)
        withdraw(peripheral, manager, &effects)
    }

    // MARK: What the manager says

    mutating func connected(_ peripheral: CBPeripheral, _ effects: inout Effects) {
        let wish = wishes[peripheral, default: Wish()]
        guard case .asked = wish.phase, !wish.isWithdrawn else { return }
        let link = ConnectedLink(peripheral)
        wishes[peripheral, default: Wish()].phase = .linked(link)
        for promise in wish.claims.values { effects.end(promise, .success(link)) }
    }

    /// `isOver`: the wish is, and not only a link.
    mutating func ended(
        _ peripheral: CBPeripheral, _ error: (any Error)?, isOver: Bool, _ manager: CBCentralManager,
        _ effects: inout Effects
    ) {
        guard isOver, let wish = wishes.removeValue(forKey: peripheral) else { return }
        switch wish.phase {
        case .linked(let link), .ending(.some(let link)):
            effects.then { link.end(error.map { .lost($0) } ?? .asked) }
        case .asked:
            for promise in wish.claims.values {
                effects.end(promise, .failure(error ?? CBError(.operationCancelled)))
            }
        case .ending(nil): break
        }
        if !wish.next.isEmpty { ask(peripheral, wish.next, manager, &effects) }
    }

    /// The adapter is on: what could not be taken back before is now.
    mutating func resume(_ manager: CBCentralManager, _ effects: inout Effects) {
        for peripheral in wishes.keys where wishes[peripheral]?.isWithdrawn == true {
            withdraw(peripheral, manager, &effects)
        }
    }

    /// The adapter is not on any more: every call ends, and every link. What was restored and nobody claimed goes on.
    mutating func suspend(_ error: BluetoothSessionError, _ effects: inout Effects) {
        for (peripheral, wish) in wishes {
            switch wish.phase {
            case .linked(let link):
                effects.then { link.end(.lost(error)) }
                wishes[peripheral]?.phase = .asked
            // Its end may not be told any more.
            case .ending(.some(let link)):
                effects.then { link.end(.asked, failing: error) }
                wishes[peripheral]?.phase = .ending(nil)
            case .asked, .ending(nil): break
            }
            wishes[peripheral]?.isWithdrawn = wish.isWithdrawn || !wish.claims.isEmpty
            fail(peripheral, error, &effects)
        }
    }

    // MARK: What is asked of the manager

    private mutating func ask(
        _ peripheral: CBPeripheral, _ claims: [UInt64: Promise<ConnectedLink>], _ manager: CBCentralManager,
        _ effects: inout Effects
    ) {
        manager.connect(peripheral)
        // What the manager does not take leaves the peripheral as it is.
        guard peripheral.state == .disconnected else { return wishes[peripheral] = Wish(claims: claims) }
        let isOn = manager.state == .poweredOn
        for promise in claims.values {
            effects.end(
                promise,
                .failure(isOn ? CBError(.invalidParameters) : BluetoothSessionError.unavailable(manager.state)))
        }
    }

    private mutating func withdraw(_ peripheral: CBPeripheral, _ manager: CBCentralManager, _ effects: inout Effects) {
        if case .ending = wishes[peripheral]?.phase { return }
        if manager.state == .poweredOn { manager.cancelPeripheralConnection(peripheral) }
        // The state changes before the session hears of it, and once at most meanwhile: on still, the manager has taken
        // the call. Else it may have, and may say that the wish is over before it is asked again.
        let isTaken = manager.state == .poweredOn
        wishes[peripheral]?.isWithdrawn = !isTaken
        guard isTaken else { return }
        let link = link(to: peripheral)
        if let link { effects.then { link.close() } }
        wishes[peripheral]?.phase = .ending(link)
    }

    /// Nobody claims it any more.
    private mutating func fail(_ peripheral: CBPeripheral, _ error: any Error, _ effects: inout Effects) {
        let wish = wishes[peripheral]
        for promise in [wish?.claims, wish?.next].compactMap({ $0?.values }).joined() {
            effects.end(promise, .failure(error))
        }
        wishes[peripheral]?.claims = [:]
        wishes[peripheral]?.next = [:]
    }
}
