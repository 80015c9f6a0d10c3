import LockPeripheral
import StatePersistence

@testable import LockPersistence

/// A fact in a lock's file, which is opened anew each time, as launches do.
struct StoredFact {
    /// What somebody who has not the machine's key writes in its place.
    enum Alteration: CaseIterable {
        case zeros, nothing, turned, anotherFact

        fileprivate var sql: StaticString {
            switch self {
            case .zeros: "UPDATE store_fact SET value = zeroblob(length(value)) WHERE name = ?1"
            case .nothing: "UPDATE store_fact SET value = x'' WHERE name = ?1"
            case .turned:
                "UPDATE store_fact SET value = CAST(substr(value, 2) || substr(value, 1, 1) AS BLOB) WHERE name = ?1"
            case .anotherFact:
                "UPDATE store_fact SET value = (SELECT value FROM store_fact WHERE name != ?1 LIMIT 1) WHERE name = ?1"
            }
        }
    }

    let name: String
    private let scratch = Scratch()

    init(_ name: String) { self.name = name }

    func open() throws -> (StateStore, SQLiteLockStore) {
        let state = try scratch.openState(nil)
        return (state, SQLiteLockStore(state, seal: nil))
    }

    /// What a launch finds.
    func launch() throws -> LockSnapshot { try open().1.launch() }

    /// The same on another machine, which has not this one's key.
    func launchElsewhere() throws -> LockSnapshot { try SQLiteLockStore(scratch.open()).launch() }

    func commit(_ mutation: LockMutation) throws {
        let (state, store) = try open()
        store.append(mutation)
        try state.database.commit([store])
    }

    func alter(_ alteration: Alteration) throws {
        let (state, _) = try open()
        try state.database.transaction { try state.database.statement(alteration.sql).run([.text(name)]) }
    }
}
