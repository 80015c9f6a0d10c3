import BluetoothCore
import LockCentral
import LockProtocol
import StatePersistence

/// What the key keeps, in the tables of ``SchemaComponent/key``.
///
/// In: the key's facts, written in the transaction that the loop opens for all. Out: at launch, one snapshot.
package final class SQLiteKeyStore: KeyStore {
    private let database: Database
    private var pending: [KeyMutation] = []

    package init(_ database: Database) { self.database = database }

    package func append(_ mutation: KeyMutation) { pending.append(mutation) }

    package var hasPending: Bool { !pending.isEmpty }

    package func writePending() throws {
        for mutation in pending { try write(mutation) }
    }

    package func didCommit() { pending.removeAll(keepingCapacity: true) }

    package func load() throws -> KeySnapshot {
        var snapshot = KeySnapshot()
        try each(
            "key_lock",
            """
            SELECT peer, name, unlocks_when_near, locks_when_leaving, receipt_counter, proximity, watched_boot,
                watched_until
            FROM key_lock
            """
        ) { (row) throws(StoreError) in
            let peer = PeerIdentifier(bits: try row.uint128(0))
            guard let proximity = Proximity(rawValue: try row.integer(5)) else { throw row.misfit(5) }
            let record = LockRecord(
                peer: peer, name: try row.text(1), unlocksWhenNear: try row.bool(2), locksWhenLeaving: try row.bool(3))
            var watched: WatchMark?
            if let until: UInt64 = try row.optionalInteger(7) {
                watched = WatchMark(boot: BootID(bits: try row.uint128(6)), until: Instant(nanoseconds: until))
            }
            snapshot.locks[peer] = KnownLock(
                record: record, receiptCounter: try row.optionalInteger(4), proximity: proximity, watched: watched)
        }
        try each(
            "key_request", "SELECT peer, id, operation, argument, origin, boot, deadline, sent FROM key_request"
        ) { (row) throws(StoreError) in
            guard let origin = KeyRequest.Origin(rawValue: try row.integer(4)) else { throw row.misfit(4) }
            snapshot.locks[PeerIdentifier(bits: try row.uint128(0))]?.request = KeyRequest(
                id: KeyRequestID(rawValue: try row.integer(1)), operation: LockOperation(rawValue: try row.integer(2)),
                argument: RelockArgument(octet: try row.integer(3)), origin: origin,
                boot: BootID(bits: try row.uint128(5)), deadline: Instant(nanoseconds: try row.integer(6)),
                sent: try row.optionalInteger(7).map { ChallengeID(bits: $0) })
        }
        try each("key_thresholds", "SELECT peer, near_dbm, away_dbm FROM key_thresholds") { (row) throws(StoreError) in
            let (near, away): (Int8, Int8) = (try row.integer(1), try row.integer(2))
            guard let thresholds = ProximityThresholds(nearDBm: Int(near), awayDBm: Int(away)) else {
                throw row.misfit(1)
            }
            snapshot.locks[PeerIdentifier(bits: try row.uint128(0))]?.thresholds = thresholds
        }
        try each("key_note", "SELECT peer, note FROM key_note") { (row) throws(StoreError) in
            let text = try row.text(1)
            guard let note = try? LockNote(text) else { throw row.misfit(1) }
            snapshot.locks[PeerIdentifier(bits: try row.uint128(0))]?.note = note
        }
        var places: [(place: UInt64, peer: PeerIdentifier)] = []
        try each("key_preference", "SELECT peer, place FROM key_preference") { (row) throws(StoreError) in
            places.append((try row.integer(1), PeerIdentifier(bits: try row.uint128(0))))
        }
        // A damaged lock is not known, and two places may have become one.
        snapshot.preferred = places.filter { snapshot.locks[$0.peer] != nil }
            .sorted { ($0.place, $0.peer.bits) < ($1.place, $1.peer.bits) }.map(\.peer)
        let areNumbersWhole = try each(
            "key_request_numbers", "SELECT reserved_below FROM key_request_numbers WHERE only = 1"
        ) { (row) throws(StoreError) in
            snapshot.requestsReservedBelow = try row.integer(0)
        }
        // Nobody knows which are spent.
        if !areNumbersWhole { snapshot.requestsReservedBelow = KeySnapshot.unreachedRequestNumber }
        return snapshot
    }

    private func write(_ mutation: KeyMutation) throws(StoreError) {
        switch mutation {
        case .lock(let record):
            try run(
                """
                INSERT INTO key_lock (peer, name, unlocks_when_near, locks_when_leaving, proximity)
                VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (peer) DO UPDATE SET
                    name = excluded.name, unlocks_when_near = excluded.unlocks_when_near,
                    locks_when_leaving = excluded.locks_when_leaving
                """, SQLValue(record.peer.bits), .text(record.name), SQLValue(record.unlocksWhenNear),
                SQLValue(record.locksWhenLeaving), SQLValue(Proximity.near.rawValue))
        case .lockForgotten(let peer): try run("DELETE FROM key_lock WHERE peer = ?", SQLValue(peer.bits))
        case .request(let peer, nil): try run("DELETE FROM key_request WHERE peer = ?", SQLValue(peer.bits))
        case .request(let peer, let request?): try write(request, for: peer)
        case .receiptCounter(let peer, let counter):
            try run("UPDATE key_lock SET receipt_counter = ?2 WHERE peer = ?1", SQLValue(peer.bits), SQLValue(counter))
        case .receiptCounterReset(let peer):
            try run("UPDATE key_lock SET receipt_counter = NULL WHERE peer = ?", SQLValue(peer.bits))
        case .proximity(let peer, let proximity):
            try run(
                "UPDATE key_lock SET proximity = ?2 WHERE peer = ?1", SQLValue(peer.bits), SQLValue(proximity.rawValue))
        case .watched(let peer, let mark):
            try run(
                "UPDATE key_lock SET watched_boot = ?2, watched_until = ?3 WHERE peer = ?1", SQLValue(peer.bits),
                SQLValue(mark.boot.bits), SQLValue(mark.until.nanoseconds))
        case .thresholds(let peer, nil):
            try run("DELETE FROM key_thresholds WHERE peer = ?", SQLValue(peer.bits))
        case .thresholds(let peer, let thresholds?): try write(thresholds, for: peer)
        case .note(let peer, nil): try run("DELETE FROM key_note WHERE peer = ?", SQLValue(peer.bits))
        case .note(let peer, let note?):
            try run(
                """
                INSERT OR REPLACE INTO key_note (peer, note)
                SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM key_lock WHERE peer = ?1)
                """, SQLValue(peer.bits), .text(note.text))
        case .preferred(let peers): try write(preferred: peers)
        case .requestsReserved(let below):
            try run("INSERT OR REPLACE INTO key_request_numbers VALUES (1, ?)", SQLValue(below))
        }
    }

    /// Of a lock that is not known, nothing is kept.
    private func write(_ request: KeyRequest, for peer: PeerIdentifier) throws(StoreError) {
        try run(
            """
            INSERT OR REPLACE INTO key_request (peer, id, operation, argument, origin, boot, deadline, sent)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE EXISTS (SELECT 1 FROM key_lock WHERE peer = ?1)
            """, SQLValue(peer.bits), SQLValue(request.id.rawValue), SQLValue(request.operation.rawValue),
            SQLValue(request.argument.octet), SQLValue(request.origin.rawValue), SQLValue(request.boot.bits),
            SQLValue(request.deadline.nanoseconds), SQLValue(optional: request.sent?.bits))
    }

    /// The same.
    private func write(_ thresholds: ProximityThresholds, for peer: PeerIdentifier) throws(StoreError) {
        try run(
            """
            INSERT OR REPLACE INTO key_thresholds (peer, near_dbm, away_dbm)
            SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM key_lock WHERE peer = ?1)
            """, SQLValue(peer.bits), SQLValue(thresholds.nearDBm), SQLValue(thresholds.awayDBm))
    }

    /// The same. All places at once: a new first one moves the others.
    private func write(preferred peers: [PeerIdentifier]) throws(StoreError) {
        try run("DELETE FROM key_preference")
        for (place, peer) in peers.enumerated() {
            try run(
                """
                INSERT OR REPLACE INTO key_preference (peer, place)
                SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM key_lock WHERE peer = ?1)
                """, SQLValue(peer.bits), SQLValue(UInt64(place + 1)))
        }
    }

    private func run(_ sql: StaticString, _ arguments: SQLValue...) throws(StoreError) {
        try database.statement(sql).run(arguments)
    }

    /// A damaged row is told and left out: it costs its own lock, or its own request.
    @discardableResult
    private func each(
        _ table: StaticString, _ sql: StaticString, _ body: (Row) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        try database.forEachWhole(table, "", try database.statement(sql), [], body)
    }
}
