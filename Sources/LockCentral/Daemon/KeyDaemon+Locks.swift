import BluetoothCore
import BluetoothHost
import SecurityManager

/// Why a lock is neither renamed, noted, preferred, forgotten nor calibrated.
package enum KeyLockRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case unknown(KeyLockChoice)
    case isEnrolling
    /// Somebody walks already.
    case isCalibrating
    /// Another lock is called so.
    case nameIsTaken(String)
    case nameIsTooLong
    /// It would move a terminal's cursor, or begin another line.
    case nameHasControls
    case isNoNote(LockNote.Fault)

    package var description: String {
        switch self {
        case .unknown(let choice): choice.description
        case .isEnrolling: "an enrolment at this lock is under way: wait for its end"
        case .isCalibrating: "somebody calibrates this lock already: wait for the end of that walk"
        case .nameIsTaken(let name): "another lock is called \"\(name)\": choose another name"
        case .nameIsTooLong: "a name has at most \(LockRecord.nameOctetsMaximum) octets"
        case .nameHasControls: "a name is one line, without control characters"
        case .isNoNote(let fault): fault.description
        }
    }
}

// MARK: Which locks there are

extension KeyDaemon {
    /// The lock of this name or identifier, or the only one.
    ///
    /// - Throws: ``KeyLockChoice`` when there is none of that name, or more than one.
    func choose(_ name: String?, by naming: KeyLockNaming) throws(KeyLockChoice) -> LockRecord {
        let records = machine.locks.values.map(\.record).sorted { $0.name < $1.name }
        guard let name else {
            guard let first = records.first else { throw .none }
            guard records.count == 1 else { throw .several(records.map(\.name), naming) }
            return first
        }
        let matching = records.filter { $0.name == name || $0.peer == PeerIdentifier(name.uppercased()) }
        guard let first = matching.first else { throw .noneNamed(name, known: records.map(\.name)) }
        guard matching.count == 1 else { throw .several(matching.map(\.peer.description), naming) }
        return first
    }

    /// Calls a lock so from now on. Returns how it was called.
    ///
    /// - Throws: ``KeyLockRefusal``, and then it is called as before.
    package func rename(_ lock: String, to name: String) throws(KeyLockRefusal) -> String {
        var record = try known(lock, by: .option)
        let former = record.name
        guard name.utf8.count <= LockRecord.nameOctetsMaximum else { throw .nameIsTooLong }
        guard LockNote.isOneLine(name) else { throw .nameHasControls }
        guard !machine.locks.values.contains(where: { $0.record.name == name && $0.record.peer != record.peer }) else {
            throw .nameIsTaken(name)
        }
        guard name != former else { return former }
        record.name = name
        feed(.lock(record))
        tell(.renamed(record.peer, name: name))
        return former
    }

    /// Ends everything that is between this key and a lock: what is asked of it, the wish for a link, its place among the locks, and its
    /// bonds. The lock is told nothing. One whose bond has never proved itself has an identifier and no name. Returns what it was called.
    ///
    /// - Throws: ``KeyLockRefusal``, and then nothing has ended.
    package func forget(_ lock: String) throws(KeyLockRefusal) -> String {
        let (peer, name) = try forgettable(lock)
        guard enrolment.enrolling != peer else { throw .isEnrolling }
        feedEnrolment(.forgotten(peer))
        feed(.forget(peer))
        disconnect(peer)
        for bond in host.bonds where self.peer(of: bond) == peer { host.deleteBond(bond.id) }
        tell(.forgotten(peer, name: name))
        return name
    }

    private func forgettable(_ lock: String) throws(KeyLockRefusal) -> (peer: PeerIdentifier, name: String) {
        let unconfirmed = enrolment.unattended(register).first { $0.peer == PeerIdentifier(lock.uppercased()) }
        if let unconfirmed { return (unconfirmed.peer, "\(unconfirmed.peer)") }
        let record = try known(lock, by: .option)
        return (record.peer, record.name)
    }

    /// The peer that has this bond; nil until the bond has an identity.
    func peer(of bond: Bond) -> PeerIdentifier? { bond.identity.map { host.peer(at: $0.address) } }

    func known(_ lock: String?, by naming: KeyLockNaming) throws(KeyLockRefusal) -> LockRecord {
        do throws(KeyLockChoice) { return try choose(lock, by: naming) } catch { throw .unknown(error) }
    }
}
