import BluetoothCore
import BluetoothHost
import GATT

/// What a database keeps under one restore identifier, as people and programs may read it.
package struct KeptManager: Equatable, Sendable {
    /// Which of the file's identities it belongs to: the name of its daemon's role.
    package var identity: String
    /// `central` or `peripheral`.
    package var role: String
    package var identifier: String
    /// Nobody has claimed it, and what is kept does not run.
    package var isAtRest: Bool
    package var services = 0
    package var isAdvertising = false
    package var isScanning = false
    package var pendingConnections = 0
    package var subscriptions = 0
    package var queuedUpdates = 0
}

extension StateInspector {
    /// Of every name that there is, in their order.
    ///
    /// - Throws: A ``StoreError`` when the file cannot be read.
    package func managers() throws(StoreError) -> [KeptManager] {
        // A file that no daemon of this version has opened has nobody at rest.
        let rest = try connection.statement(
            "SELECT 1 FROM pragma_table_info('host_restoration') WHERE name = 'rest'"
        ).firstRow([]) { (_) throws(StoreError) in true }
        let statement = try connection.dynamicStatement(
            """
            SELECT i.name, r.role, r.identifier, \(rest == true ? "r.rest IS NOT NULL" : "0"),
                (SELECT count(*) FROM host_published_service AS t WHERE t.restoration = r.id),
                (SELECT count(*) FROM host_advertising AS t WHERE t.restoration = r.id),
                (SELECT count(*) FROM host_scan AS t WHERE t.restoration = r.id),
                (SELECT count(*) FROM host_pending_connection AS t WHERE t.restoration = r.id),
                (SELECT count(*) FROM host_subscription AS t WHERE t.restoration = r.id),
                (SELECT count(*) FROM host_queued_update AS t WHERE t.restoration = r.id)
            FROM host_restoration AS r JOIN host_identity AS i ON i.id = r.identity
            ORDER BY i.name, r.role, r.identifier
            """)
        var managers: [KeptManager] = []
        try statement.forEachRow { (row) throws(StoreError) in
            managers.append(
                KeptManager(
                    identity: try row.text(0), role: try row.text(1), identifier: try row.text(2),
                    isAtRest: try row.bool(3),
                    services: try row.integer(4), isAdvertising: try row.bool(5), isScanning: try row.bool(6),
                    pendingConnections: try row.integer(7), subscriptions: try row.integer(8),
                    queuedUpdates: try row.integer(9)))
        }
        return managers
    }
}

extension KeptManager {
    /// Takes everything that is kept under the name out of the database, on disk when this returns. Its daemon must not run: the process
    /// claims the identity meanwhile.
    ///
    /// - Throws: ``StoreError/identityClaimed(path:pid:)`` while the daemon runs, or why the file cannot be used. Then nothing has
    /// changed.
    package func forget(at path: String, components: [SchemaComponent]) throws {
        let claim = try RestoreClaim(identity: identity, beside: path, components: components)
        let database = try Database(path: path, components: components)
        try database.transaction {
            let found = try database.statement(
                """
                SELECT r.id, r.identity FROM host_restoration AS r JOIN host_identity AS i ON i.id = r.identity
                WHERE i.name = ? AND r.role = ? AND r.identifier = ?
                """
            ).firstRow([.text(identity), .text(role), .text(identifier)]) { (row) throws(StoreError) in
                (restoration: try row.integer(0, as: Int64.self), identity: try row.integer(1, as: Int64.self))
            }
            guard let found else { return }
            try Self.endSubscriptions(of: found.restoration, found.identity, in: database)
            try ManagerRows.forget(found.restoration, in: database)
        }
        withExtendedLifetime(claim) {}
    }

    /// What clients have configured of a service goes with it: whatever comes to its handles is another's.
    private static func endSubscriptions(
        of restoration: Int64, _ identity: Int64, in database: Database
    ) throws(StoreError) {
        var ranges: [(first: UInt16, last: UInt16)] = []
        try database.statement("SELECT handle, definition FROM host_published_service WHERE restoration = ?")
            .forEachRow([.integer(restoration)]) { (row) throws(StoreError) in
                let first: UInt16 = try row.integer(0)
                // Of a damaged definition nobody knows where it ends.
                let count = (try? ServiceDefinition(exactly: try row.blob(1)))?.attributeCount ?? Int(UInt16.max)
                ranges.append((first, UInt16(clamping: Int(first) + count - 1)))
            }
        for range in ranges {
            try database.statement(
                "DELETE FROM host_client_configuration WHERE identity = ? AND handle BETWEEN ? AND ?"
            ).run([.integer(identity), SQLValue(range.first), SQLValue(range.last)])
        }
    }
}
