import BluetoothCore
import LockProtocol

/// What an operator at the machine has the bolt do: as an owner's command that came now, whom the kernel has proven and no bond.
extension LockMachine {
    /// `accepted`: the bolt moves, unless it is there. No mode and nothing that holds the door open makes way for an operator: who means
    /// that changes the mode, which stands on the audit's record by itself.
    package func verdict(on operation: LockOperation, at now: Instant) -> LockResult {
        verdict(
            on: Self.command(operation), isChallengeLive: true,
            subject: AccessSubject(isEnabled: true, rights: Role.owner.rights, schedule: .within), at: now)
    }

    mutating func operate(_ operation: LockOperation, _ turn: inout LockTurn) {
        guard verdict(on: operation, at: turn.now) == .accepted else { return }
        let sequence = audit(.operated(operation), &turn)
        setRelock(relockDeadline(for: Self.command(operation), now: turn.now), &turn)
        guard bolt.wouldMove(operation.movement) else {
            audit(.outcome(of: sequence, .done), &turn)
            return
        }
        begin(operation.movement, .rule, sequence: sequence, &turn)
        tellState(except: nil, &turn)
    }

    private static func command(_ operation: LockOperation) -> LockCommand {
        LockCommand(operation: operation, challenge: ChallengeID(bits: 0))
    }
}
