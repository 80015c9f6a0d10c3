import StatePersistence

extension SchemaComponent {
    /// What ``SQLiteKeyStore`` keeps: one key for each database.
    package static let key = Self(
        "key",
        [
            Migration(
                "1 locks and requests",
                """
                CREATE TABLE key_lock (
                    peer BLOB NOT NULL PRIMARY KEY,
                    name TEXT NOT NULL,
                    unlocks_when_near INTEGER NOT NULL,
                    locks_when_leaving INTEGER NOT NULL,
                    receipt_counter INTEGER,
                    proximity INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE key_request (
                    peer BLOB NOT NULL PRIMARY KEY REFERENCES key_lock (peer) ON DELETE CASCADE,
                    id INTEGER NOT NULL,
                    operation INTEGER NOT NULL,
                    argument INTEGER NOT NULL,
                    origin INTEGER NOT NULL,
                    boot BLOB NOT NULL,
                    deadline INTEGER NOT NULL,
                    sent INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE key_request_numbers (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    reserved_below INTEGER NOT NULL
                ) STRICT;
                """),
            // Until here an absence was what advertisements and silence said, which anybody can say.
            Migration("2 absences that links have shown", "UPDATE key_lock SET proximity = 2;"),
            Migration(
                "3 until when an absence was watched",
                """
                ALTER TABLE key_lock ADD COLUMN watched_boot BLOB;
                ALTER TABLE key_lock ADD COLUMN watched_until INTEGER;
                """),
            // A table of its own: damaged, they cost the lock its calibration and nothing else.
            Migration(
                "4 thresholds of each lock",
                """
                CREATE TABLE key_thresholds (
                    peer BLOB NOT NULL PRIMARY KEY REFERENCES key_lock (peer) ON DELETE CASCADE,
                    near_dbm INTEGER NOT NULL,
                    away_dbm INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """),
            // The same: damaged, a lock has no note, or is not preferred.
            Migration(
                "5 notes and preferred locks",
                """
                CREATE TABLE key_note (
                    peer BLOB NOT NULL PRIMARY KEY REFERENCES key_lock (peer) ON DELETE CASCADE,
                    note TEXT NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE key_preference (
                    peer BLOB NOT NULL PRIMARY KEY REFERENCES key_lock (peer) ON DELETE CASCADE,
                    place INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """),
        ])
}
