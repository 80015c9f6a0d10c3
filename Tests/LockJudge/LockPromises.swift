import BluetoothCore
import LockPeripheral
import LockProtocol
import Simulation

/// Every invariant of docs/RESTORATION.md that a lock alone can break, looked for in what the disk and the metal say once
/// nothing more is owed.
package enum LockPromises {
    /// Those that were broken. `metal` is every movement that was ever begun and not lost with the power, `receipts` what was
    /// sent to each bond.
    package static func broken(
        audit: [AuditRecord], metal: [MetalJournal.Movement], receipts: [[Receipt]], kept: LockSnapshot
    ) -> [String] {
        var broken: [String] = []
        func demand(_ promise: String, _ holds: Bool) { if !holds { broken.append(promise) } }

        demand("the audit is one chain", AuditHead.empty.firstBreak(in: audit) == nil)
        var grants: [UInt64: (AuditRecord, LockCommand)] = [:]
        var begun: Set<UInt64> = []
        var outcomes: [UInt64: [Outcome]] = [:]
        for record in audit {
            switch record.event {
            case .granted(let audited):
                grants[record.sequence] = (record, audited.command)
                begun.insert(record.sequence)
            case .securing: begun.insert(record.sequence)
            case .outcome(let sequence, let outcome): outcomes[sequence, default: []].append(outcome)
            default: break
            }
        }
        demand("one outcome for each beginning", begun.allSatisfy { outcomes[$0]?.count == 1 })
        demand("no outcome without a beginning", outcomes.keys.allSatisfy(begun.contains))
        demand("one grant for each challenge", Set(grants.values.map(\.1.challenge)).count == grants.count)

        let movements = metal.filter { $0.line.command != nil }
        demand(
            "at most one movement for each command", Set(movements.map(\.line.command)).count == movements.count)
        for (line, boot) in movements {
            guard let (grant, command) = grants[line.intent.rawValue], command.challenge == line.command else {
                broken.append("no movement without a grant")
                continue
            }
            demand("the movement that was granted", (line.movement == .lock) == (command.operation == .lock))
            guard line.movement != .lock else { continue }
            demand("nothing opens in another boot", grant.boot == boot)
            demand(
                "nothing opens late",
                line.at <= grant.at.advanced(byMilliseconds: Intent.openingLifeMilliseconds))
            demand("what moved is not called aborted", outcomes[line.intent.rawValue] != [.aborted])
        }
        for (line, _) in metal where line.command == nil {
            demand("by its own rules a lock only locks", line.movement == .lock)
        }
        for (sequence, grant) in grants where grant.1.operation == .lock {
            demand("securing is always completed", outcomes[sequence] == [.done])
        }
        demand("nothing is owed in the end", kept.intent == nil)
        demand("a relock is never lost", metal.last.map { $0.line.movement == .lock } ?? true)
        demand(
            "no receipt counter twice", receipts.allSatisfy { Set($0.map(\.lockCounter)).count == $0.count })
        demand(
            "the last outcome is the one that Key Status tells",
            kept.lastCommands.values.allSatisfy { $0.phase != .accepted })
        return broken
    }
}
