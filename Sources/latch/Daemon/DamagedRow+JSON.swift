import DaemonControl
import StatePersistence

extension EventJournal {
    /// What the row was about is not there; everything else is.
    func record(_ row: DamagedRow) {
        record(
            "row_damaged", ["table": .string(row.table), "row": .string(row.row), "reason": .string(row.reason)],
            level: .error)
    }
}
