import BluetoothCore
import BluetoothCrypto
import Glibc
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// What a lock's audit has after long use: who enrolled, and then visits of all in no order, as the lock itself chains, signs, accounts
/// and forgets them.
struct AuditHistory {
    /// As many as are kept.
    let records: Int
    /// Older ones, which had to make room.
    let forgotten: Int

    private static let boot = BootID(bits: 1)
    private static let commandsOfDoor = 8
    /// In one transaction.
    private static let batch = 8_192

    func write(_ credentials: [Credential], to lock: SQLiteLockStore, _ database: Database) throws {
        var head = try lock.launch().auditHead
        let first = Int64(time(nil)) - Int64(records + forgotten) - 1
        var left = records + forgotten - Int(head.sequence)
        var waiting = 0
        func add(_ event: AuditEvent, _ holder: AuditHolder) throws {
            let sequence = head.sequence + 1
            lock.append(
                .audit(
                    head.append(
                        event, boot: Self.boot, at: Instant(nanoseconds: sequence * 1_000_000_000),
                        wallClockSeconds: first + Int64(sequence), holder: holder)))
            left -= 1
            waiting += 1
            guard waiting == Self.batch || left == 0 else { return }
            waiting = 0
            try database.commit([lock])
            try database.checkpoint()
        }
        for credential in credentials where left > 0 {
            guard let bond = credential.bond else { continue }
            try add(.enrolled(credential.id, name: credential.name, credential.role, bond: bond), .administration)
        }
        while left > 0, let credential = credentials.randomElement(), let bond = credential.bond {
            let holder = AuditHolder(credential: credential.id, isProtected: false)
            let visit = head.sequence
            let command = LockCommand(
                operation: visit.isMultiple(of: 4) ? .lock : .unlock,
                challenge: ChallengeID(bits: SystemRandom.uint64() >> 16))
            let audited = AuditedCommand(
                bond: bond, credential: credential.id, command: command, signCounter: UInt32(visit))
            try add(.granted(audited), holder)
            if left > 0 { try add(.outcome(of: visit + 1, .done), holder) }
            guard left > 0, visit % UInt64(Self.commandsOfDoor) < 2 else { continue }
            try add(.door(visit.isMultiple(of: 2) ? .open : .closed), .lock)
        }
    }
}
