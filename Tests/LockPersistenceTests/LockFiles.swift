import LockPeripheral
import LockProtocol
import StatePersistence

@testable import LockPersistence

/// A lock's files in a directory, as a launch opens them.
struct LockFiles {
    static let components: [SchemaComponent] = [.host, .lock]

    let state: StateStore
    let seal: LockSeal
    let store: SQLiteLockStore

    init(_ directory: String, auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum) throws {
        state = try StateStore(
            path: directory + "/latch.sqlite", machineKeyFile: directory + "/machine.key", credentialsDirectory: nil,
            components: Self.components)
        seal = try LockSeal(state, anchor: FileAnchor(path: directory + "/lock.anchor", keys: state.keys))
        store = SQLiteLockStore(state, seal: seal, auditRecordsMaximum: auditRecordsMaximum)
    }

    func commit(_ facts: [LockMutation]) throws {
        for fact in facts { store.append(fact) }
        try state.database.commit([store])
    }

    /// The bonds that open.
    func opening(among bonds: ClosedRange<UInt64> = 1...5) -> [UInt64] {
        bonds.filter { store.holder(of: $0).credentials.contains { $0.isEnabled } }
    }

    func execute(_ sql: StaticString) throws {
        try state.database.transaction { try state.database.statement(sql).run() }
    }
}

extension LockMutation {
    /// The credential of the bond of this number, which is `1...63`: in a part of the set of its own.
    static func guest(_ number: UInt64, isEnabled: Bool = true) -> Self {
        .credential(
            Credential(
                id: CredentialID(rawValue: number << 57), name: "n\(number)", role: .guest, isEnabled: isEnabled,
                bond: number))
    }
}
