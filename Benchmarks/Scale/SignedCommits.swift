import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockPersistence
import StatePersistence

/// Commits of one record each, of a lock that signs its audit's end or does not.
final class SignedCommits {
    private let store: StateStore
    private let lock: SQLiteLockStore
    private let signer: AuditSigner
    private var head = AuditHead.empty

    init(_ directory: String, isSigned: Bool) throws {
        try StateStore.prepareDirectory(directory)
        store = try StateStore(
            path: directory + "/latch.sqlite", machineKeyFile: directory + "/machine.key", credentialsDirectory: nil,
            components: [.lock])
        lock = isSigned ? SQLiteLockStore(store, seal: nil) : SQLiteLockStore(store.database)
        signer = AuditSigner(store.keys)
    }

    /// Of one commit.
    func milliseconds() throws -> Double {
        lock.append(
            .audit(
                head.append(
                    .launched, boot: BootID(bits: 1), at: Instant(nanoseconds: head.sequence), wallClockSeconds: nil)))
        let begin = Clock.milliseconds
        try store.database.commit([lock])
        let end = Clock.milliseconds
        try store.database.checkpointIfNeeded()
        return end - begin
    }

    /// Of a signature alone.
    func signatureMilliseconds() -> Double {
        let begin = Clock.milliseconds
        _ = signer.checkpoint(head)
        return Clock.milliseconds - begin
    }
}
