import BluetoothHost
import LockProtocol

/// Why the bolt is not moved for an operator.
package enum OperationRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    /// `hold`: what holds the door open, which is stronger than the mode.
    case refused(LockResult, LockMode, hold: DoorHold?)

    package var description: String {
        switch self {
        case .refused(.busy, _, _):
            "the bolt is moving, or somebody goes out by the button inside: ask again in some seconds"
        case .refused(.jammed, _, _): "the bolt is jammed: look at the door, and withdraw the bolt with `unlock` first"
        case .refused(.doorOpen, _, _): "the door is open: close it, and ask again"
        case .refused(.modeForbids, _, .fire?): "the fire input is on, and nobody locks until it is off"
        case .refused(.modeForbids, _, .schedule?):
            "the door is for everybody at this hour, and nobody locks: `[door] passage` in the configuration says until when; "
                + "another mode ends it (`latch peripheral mode --set`)"
        case .refused(.modeForbids, let mode, nil):
            "the mode is \(mode), in which nobody \(mode == .passage ? "locks" : "opens"): end it with "
                + "`latch peripheral mode --set normal`"
        case .refused(let result, _, _): "the lock refused it (result \(result.rawValue))"
        }
    }
}

/// What becomes of an operation that the lock has taken.
package enum OperationProgress: Equatable, Sendable {
    /// It is on disk, as this record of the audit.
    case accepted(record: UInt64)
    /// The bolt has come to rest here.
    case ended(Outcome, BoltPosition)
}

/// The operation that is being asked for, or has been taken and has not ended. There is one movement at a time, so there is one of these.
struct OperatorOperation {
    enum State {
        case none
        case asked((OperationProgress) -> Void)
        case taken(record: UInt64, (OperationProgress) -> Void)
    }

    var state = State.none
    /// Where the bolt has come to rest, by a fact of the turn that ends a movement: another may begin in the same turn.
    var rest: BoltPosition?
}

extension LockDaemon {
    /// Where the bolt rests; nil on its way.
    package var boltPosition: BoltPosition? { machine.bolt.position }

    /// An operator's word. `report` is told that the lock has taken it, and then how it ended; nothing if it throws.
    package func operate(
        _ operation: LockOperation, report: @escaping (OperationProgress) -> Void
    ) throws(OperationRefusal) {
        let former = self.operation
        self.operation.state = .asked(report)
        feed(.administration(.operate(operation)))
        // Nothing has been written of it: the lock has not changed either, and says why.
        guard case .asked = self.operation.state else { return }
        self.operation = former
        throw .refused(machine.verdict(on: operation, at: host.now), machine.settings.mode, hold: machine.hold)
    }

    /// Each of a turn's facts, in their order.
    func follow(_ fact: LockMutation) {
        switch fact {
        case .bolt(let record): operation.rest = record.position
        case .audit(let record): follow(record)
        default: break
        }
    }

    private func follow(_ record: AuditRecord) {
        switch (record.event, operation.state) {
        case (.operated(let asked), .asked(let report)):
            operation.state = .taken(record: record.sequence, report)
            // Where it is already no fact says so.
            operation.rest = asked.movement.target
            report(.accepted(record: record.sequence))
        case (.outcome(let sequence, let outcome), .taken(let taken, let report)) where sequence == taken:
            operation.state = .none
            report(.ended(outcome, operation.rest ?? .unknown))
        default: break
        }
    }
}
