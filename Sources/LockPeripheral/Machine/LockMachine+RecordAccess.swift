import BluetoothCore
import LockProtocol

/// The procedures of the Record Access Control Point: the sender's right, then the operands. What the store has of the records is
/// the shell's. docs/PROTOCOL.md, "The audit over the air"
extension LockMachine {
    mutating func recordAccess(_ link: LockLink, _ octets: [UInt8], _ turn: inout LockTurn) {
        guard let bond = links[link]?.provenBond else { return }
        let opcode = RecordAccessOpcode(rawValue: octets.first ?? 0)
        // Op-codes are no secret: an unknown one is that for everybody.
        if let required = opcode.requiredRights, holder(on: link, with: required, at: turn.moment) == nil {
            let isOneTooMany = !auditRefusal(of: ControlPointOpcode(opcode), bond: bond, &turn)
            turn.act(.recordAccess(link, .refused))
            if isOneTooMany { leave(link, &turn) }
            return
        }
        do throws(RecordAccessResult) {
            turn.act(.recordAccess(link, .granted(try RecordAccessProcedure(octets))))
        } catch {
            turn.act(.recordAccess(link, .malformed(opcode, error)))
        }
    }

    /// Whether what this link was granted still is: looked up for each record anew.
    package func mayReadAudit(_ link: LockLink, at moment: LockMoment) -> Bool {
        holder(on: link, with: .readAudit, at: moment) != nil
    }
}
