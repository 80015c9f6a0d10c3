/// The rows of managers, which ``HostSchema`` ties to one of `host_restoration` each.
enum ManagerRows {
    /// Everything that is kept for one manager. What lies in rows below these goes with them.
    static func forget(_ restoration: Int64, in database: Database) throws(StoreError) {
        let statements: [StaticString] = [
            "DELETE FROM host_pending_connection WHERE restoration = ?",
            "DELETE FROM host_subscription WHERE restoration = ?",
            "DELETE FROM host_scan WHERE restoration = ?",
            "DELETE FROM host_published_service WHERE restoration = ?",
            "DELETE FROM host_advertising WHERE restoration = ?",
            "DELETE FROM host_queued_update WHERE restoration = ?",
            "DELETE FROM host_restoration WHERE id = ?",
        ]
        for statement in statements { try database.statement(statement).run([.integer(restoration)]) }
    }

    /// Names that nothing is kept under any more. Called before another name is written, so that they do not become many.
    static func forgetEmpty(of identity: Int64, in database: Database) throws(StoreError) {
        try database.statement(
            """
            DELETE FROM host_restoration WHERE identity = ? AND rest IS NULL
                AND NOT EXISTS (SELECT 1 FROM host_pending_connection AS t WHERE t.restoration = host_restoration.id)
                AND NOT EXISTS (SELECT 1 FROM host_subscription AS t WHERE t.restoration = host_restoration.id)
                AND NOT EXISTS (SELECT 1 FROM host_scan AS t WHERE t.restoration = host_restoration.id)
                AND NOT EXISTS (SELECT 1 FROM host_published_service AS t WHERE t.restoration = host_restoration.id)
                AND NOT EXISTS (SELECT 1 FROM host_advertising AS t WHERE t.restoration = host_restoration.id)
                AND NOT EXISTS (SELECT 1 FROM host_queued_update AS t WHERE t.restoration = host_restoration.id)
            """
        ).run([.integer(identity)])
    }
}
