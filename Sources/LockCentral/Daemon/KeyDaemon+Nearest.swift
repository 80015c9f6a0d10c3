import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol

/// Why no lock was asked for anything, though one was to be that is nearest.
package enum KeyNearestRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case radioIsOff
    /// Somebody else waits for the nearest lock.
    case isLooking
    case nobody
    /// By their names, the strongest first.
    case several([String])
    /// Connected, by their names: how strong they are nobody knows.
    case unmeasured([String])

    package var description: String {
        switch self {
        case .radioIsOff: "the radio is off or away (`latch central status` says more): nothing was sent"
        case .isLooking: "the nearest lock is being looked for already: wait for the end of that"
        case .nobody: "no lock is in reach: none has proven itself in time; nothing was sent"
        case .several(let names):
            "these are about equally near: \(names.joined(separator: ", ")): name one with --lock, or prefer one (`latch central prefer`); nothing was sent"
        case .unmeasured(let names):
            "nobody knows which of these is the nearest: \(names.joined(separator: ", ")): name one with --lock; nothing was sent"
        }
    }
}

extension KeyDaemon {
    /// The same as ``command(_:_:lock:waitMilliseconds:report:)`` of the lock that is nearest. It connects with all of them to find out.
    package func commandNearest(
        _ operation: LockOperation, _ argument: RelockArgument, waitMilliseconds: UInt64,
        report: @escaping (KeyCommandProgress) -> Void
    ) {
        guard !machine.locks.isEmpty else { return report(.unknownLock(.none)) }
        guard manager?.state == .poweredOn else { return report(.notSought(.radioIsOff)) }
        guard seeking == nil else { return report(.notSought(.isLooking)) }
        seeking = report
        feed(.askNearest(operation, argument, lifeMilliseconds: waitMilliseconds))
    }

    /// Nobody waits for the nearest lock any more: none is asked.
    package func withdrawNearest() {
        seeking = nil
        feed(.cancelNearest)
        for peer in machine.sortedPeers { giveUpUnwanted(peer) }
    }

    /// The machine has a verdict. Where there is a nearest lock, its request is taken next.
    func sought(_ verdict: NearestMachine.Verdict) {
        for peer in machine.sortedPeers { giveUpUnwanted(peer) }
        guard let report = seeking else { return }
        seeking = nil
        func refuse(_ reason: KeyNearestRefusal) { host.afterCommit { report(.notSought(reason)) } }
        func ask(_ peer: PeerIdentifier, isByPreference: Bool) {
            let name = name(of: peer)
            host.afterCommit { report(.nearest(peer, name: name, isByPreference: isByPreference)) }
            asking = report
        }
        switch verdict {
        case .found(let peer): ask(peer, isByPreference: false)
        case .preferred(let peer): ask(peer, isByPreference: true)
        case .none: refuse(.nobody)
        case .several(let peers): refuse(.several(peers.map(name)))
        case .unmeasured(let peers): refuse(.unmeasured(peers.map(name)))
        }
    }
}
