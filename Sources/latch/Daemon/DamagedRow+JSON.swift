import DaemonControl
import LockPeripheral
import StatePersistence

extension EventJournal {
    /// What the row was about is not there; everything else is.
    func record(_ row: DamagedRow) {
        record(
            "row_damaged", ["table": .string(row.table), "row": .string(row.row), "reason": .string(row.reason)],
            level: .error)
    }

    /// The lock runs, and grants nothing.
    func record(_ doubt: StateDoubt, anchor: String) {
        record(
            "state_in_doubt",
            [
                "doubt": .string(doubt.name), "anchor": .string(anchor),
                "reason": .string(
                    "\(doubt.explanation). Nobody is let in: compare `latch peripheral status` with what you know, remove "
                        + "whom you revoked since, and confirm with `latch peripheral confirm`"),
            ], level: .error)
    }
}
