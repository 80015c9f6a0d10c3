import BluetoothCore
import BluetoothHost

/// A lock as its user has it: what it is called, the note of it, and its place among the preferred ones, from 1.
package struct KeyLockChoices: Equatable, Sendable {
    package var name: String
    package var note: LockNote?
    package var preference: Int?
}

// MARK: Notes, and which locks come first

extension KeyDaemon {
    /// - Throws: ``KeyLockRefusal``.
    package func choices(of lock: String) throws(KeyLockRefusal) -> KeyLockChoices {
        choices(try known(lock, by: .operand))
    }

    /// Writes a note down, or with nil takes it away. Returns whether that changes anything.
    ///
    /// - Throws: ``KeyLockRefusal``, and then nothing has changed.
    package func setNote(_ text: String?, of lock: String) throws(KeyLockRefusal) -> Bool {
        let record = try known(lock, by: .operand)
        let note: LockNote?
        do throws(LockNote.Fault) {
            note = try text.map { (text) throws(LockNote.Fault) in try LockNote(text) }
        } catch { throw .isNoNote(error) }
        guard note != choices(record).note else { return false }
        feed(.note(record.peer, note))
        tell(.noted(record.peer, name: record.name, hasNote: note != nil))
        return true
    }

    /// Has a lock come first of all, or prefers it no more. Returns whether that changes anything.
    ///
    /// - Throws: ``KeyLockRefusal``, and then nothing has changed.
    package func prefer(_ lock: String, _ isPreferred: Bool) throws(KeyLockRefusal) -> Bool {
        let record = try known(lock, by: .operand)
        guard choices(record).preference != (isPreferred ? 1 : nil) else { return false }
        feed(.prefer(record.peer, isPreferred))
        tell(.preferred(record.peer, name: record.name, isPreferred: isPreferred))
        return true
    }

    private func choices(_ record: LockRecord) -> KeyLockChoices {
        KeyLockChoices(
            name: record.name, note: machine.locks[record.peer]?.note, preference: machine.preferences[record.peer])
    }
}
