import StatePersistence

extension SchemaComponent {
    /// What ``SQLiteLockStore`` keeps: one lock for each database. Instants are boot time in nanoseconds, boots 16
    /// octets, bonds the host's numbers. Numbers of operations, results, roles and phases are those of the protocol.
    package static let lock = Self(
        "lock",
        [
            Migration(
                "1 credentials, intent, bolt, counters, audit",
                """
                CREATE TABLE lock_credential (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL,
                    role INTEGER NOT NULL,
                    is_enabled INTEGER NOT NULL,
                    bond INTEGER,
                    not_before_seconds INTEGER,
                    not_after_seconds INTEGER
                ) STRICT;
                CREATE TABLE lock_settings (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    relock_seconds INTEGER,
                    lock_and_go_seconds INTEGER NOT NULL,
                    challenge_life_milliseconds INTEGER NOT NULL,
                    accepts_signed INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE lock_intent (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    id INTEGER NOT NULL,
                    movement INTEGER NOT NULL,
                    origin TEXT NOT NULL CHECK (origin IN ('command', 'relock', 'recovery')),
                    bond INTEGER,
                    credential INTEGER,
                    challenge INTEGER,
                    operation INTEGER,
                    boot BLOB NOT NULL,
                    deadline INTEGER,
                    phase INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE lock_bolt (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    position INTEGER NOT NULL,
                    door INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE lock_relock (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    boot BLOB NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE lock_last_command (
                    bond INTEGER PRIMARY KEY,
                    challenge INTEGER NOT NULL,
                    sign_counter INTEGER,
                    result INTEGER NOT NULL,
                    phase INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE lock_receipt_counter (
                    bond INTEGER PRIMARY KEY,
                    reserved_below INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE lock_audit (
                    sequence INTEGER PRIMARY KEY,
                    boot BLOB NOT NULL,
                    at INTEGER NOT NULL,
                    wall_clock_seconds INTEGER,
                    event BLOB NOT NULL,
                    hash BLOB NOT NULL CHECK (length(hash) = 32)
                ) STRICT;
                CREATE TRIGGER lock_audit_is_never_changed BEFORE UPDATE ON lock_audit
                    BEGIN SELECT raise(ABORT, 'the audit is only ever added to'); END;
                CREATE TRIGGER lock_audit_is_never_shortened BEFORE DELETE ON lock_audit
                    BEGIN SELECT raise(ABORT, 'the audit is only ever added to'); END;
                """),
            Migration(
                "2 audit retention",
                """
                CREATE TABLE lock_audit_horizon (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    sequence INTEGER NOT NULL,
                    hash BLOB NOT NULL CHECK (length(hash) = 32)
                ) STRICT;
                DROP TRIGGER lock_audit_is_never_shortened;
                CREATE TRIGGER lock_audit_is_never_shortened BEFORE DELETE ON lock_audit
                    WHEN OLD.sequence > coalesce((SELECT sequence FROM lock_audit_horizon), 0)
                    BEGIN SELECT raise(ABORT, 'the audit is shortened at its horizon only'); END;
                """),
            // For rows that are read when they are asked for.
            Migration(
                "3 indexes of credentials",
                """
                CREATE INDEX lock_credential_bond ON lock_credential (bond);
                CREATE INDEX lock_credential_name ON lock_credential (name);
                """),
            // What changes together lies together: a commit writes whole pages, and each table has pages of its own.
            Migration(
                "4 one row for the bolt, one for each bond's commands",
                """
                CREATE TABLE lock_state (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    position INTEGER NOT NULL,
                    door INTEGER NOT NULL,
                    relock_boot BLOB,
                    relock_at INTEGER,
                    intent_id INTEGER,
                    intent_movement INTEGER,
                    intent_origin TEXT CHECK (intent_origin IN ('command', 'relock', 'recovery')),
                    intent_bond INTEGER,
                    intent_credential INTEGER,
                    intent_challenge INTEGER,
                    intent_operation INTEGER,
                    intent_boot BLOB,
                    intent_deadline INTEGER,
                    intent_phase INTEGER,
                    CHECK ((relock_boot IS NULL) = (relock_at IS NULL)),
                    CHECK ((intent_id IS NULL) = (intent_phase IS NULL))
                ) STRICT;
                INSERT INTO lock_state
                SELECT 1, coalesce(b.position, 0), coalesce(b.door, 0), r.boot, r.at, i.id, i.movement, i.origin, i.bond,
                    i.credential, i.challenge, i.operation, i.boot, i.deadline, i.phase
                FROM (SELECT 1 AS only) AS o LEFT JOIN lock_bolt AS b ON b.only = o.only
                    LEFT JOIN lock_relock AS r ON r.only = o.only LEFT JOIN lock_intent AS i ON i.only = o.only;
                CREATE TABLE lock_bond (
                    bond INTEGER PRIMARY KEY,
                    challenge INTEGER,
                    sign_counter INTEGER,
                    result INTEGER,
                    phase INTEGER,
                    receipts_reserved_below INTEGER,
                    CHECK ((challenge IS NULL) = (phase IS NULL))
                ) STRICT;
                INSERT INTO lock_bond (bond, challenge, sign_counter, result, phase)
                SELECT bond, challenge, sign_counter, result, phase FROM lock_last_command;
                INSERT INTO lock_bond (bond, receipts_reserved_below)
                SELECT bond, reserved_below FROM lock_receipt_counter WHERE true
                ON CONFLICT (bond) DO UPDATE SET receipts_reserved_below = excluded.receipts_reserved_below;
                DROP TABLE lock_bolt;
                DROP TABLE lock_relock;
                DROP TABLE lock_intent;
                DROP TABLE lock_last_command;
                DROP TABLE lock_receipt_counter;
                """),
            // NULL, and no seal, until the first launch that authenticates rows (``LockSeal``).
            Migration(
                "5 credentials and settings that are authenticated",
                """
                ALTER TABLE lock_credential ADD COLUMN mac BLOB;
                ALTER TABLE lock_settings ADD COLUMN mac BLOB;
                CREATE TABLE lock_seal (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    generation INTEGER NOT NULL,
                    seal BLOB NOT NULL
                ) STRICT;
                """),
            // NULL for none, and in each row of before: such a row keeps its MAC (``SealedColumns``).
            Migration(
                "6 schedules",
                """
                ALTER TABLE lock_credential ADD COLUMN schedules BLOB;
                ALTER TABLE lock_settings ADD COLUMN schedules BLOB;
                """),
            // Records of earlier versions are nobody's, but for what administration wrote.
            Migration(
                "7 audit records by their holders",
                """
                DROP TRIGGER lock_audit_is_never_changed;
                ALTER TABLE lock_audit ADD COLUMN holder INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE lock_audit ADD COLUMN is_protected INTEGER NOT NULL DEFAULT 0;
                UPDATE lock_audit SET is_protected = 1 WHERE hex(substr(event, 1, 1)) IN ('09', '0C', '0E');
                CREATE TRIGGER lock_audit_is_never_changed BEFORE UPDATE ON lock_audit
                    BEGIN SELECT raise(ABORT, 'the audit is only ever added to'); END;
                CREATE INDEX lock_audit_holder ON lock_audit (is_protected, holder);
                CREATE TABLE lock_audit_cut (
                    last INTEGER PRIMARY KEY,
                    first INTEGER NOT NULL,
                    hash BLOB NOT NULL CHECK (length(hash) = 32)
                ) STRICT;
                INSERT INTO lock_audit_cut SELECT sequence, 1, hash FROM lock_audit_horizon WHERE sequence > 0;
                DROP TRIGGER lock_audit_is_never_shortened;
                DROP TABLE lock_audit_horizon;
                CREATE TRIGGER lock_audit_is_never_shortened BEFORE DELETE ON lock_audit
                    WHEN OLD.sequence < coalesce(
                        (SELECT first FROM lock_audit_cut WHERE last >= OLD.sequence ORDER BY last LIMIT 1),
                        9223372036854775807)
                    BEGIN SELECT raise(ABORT, 'the audit is shortened by its cuts only'); END;
                """),
            // Cuts of earlier versions are signed by nobody. The signed end is in a row that most commits write anyway.
            Migration(
                "8 audit signatures",
                """
                ALTER TABLE lock_audit_cut ADD COLUMN signature BLOB;
                ALTER TABLE lock_state ADD COLUMN audit_sequence INTEGER;
                ALTER TABLE lock_state ADD COLUMN audit_hash BLOB;
                ALTER TABLE lock_state ADD COLUMN audit_signature BLOB;
                ALTER TABLE lock_state ADD COLUMN audit_key BLOB;
                """),
            // NULL in each row of before: a credential is its own user's only device then, and of no kind. The index is for pages of users.
            Migration(
                "9 users",
                """
                ALTER TABLE lock_credential ADD COLUMN user TEXT;
                ALTER TABLE lock_credential ADD COLUMN kind INTEGER;
                CREATE INDEX lock_credential_user ON lock_credential (coalesce(user, name));
                """),
            // NULL for the normal one, and in each row of before.
            Migration(
                "10 modes",
                """
                ALTER TABLE lock_settings ADD COLUMN mode INTEGER;
                """),
            // NULL for none. In a row that a refusal writes anyway.
            Migration(
                "11 lockouts",
                """
                ALTER TABLE lock_bond ADD COLUMN lockout BLOB;
                """),
            // NULL for none of each.
            Migration(
                "12 doors",
                """
                ALTER TABLE lock_state ADD COLUMN hold INTEGER;
                ALTER TABLE lock_state ADD COLUMN ajar_boot BLOB;
                ALTER TABLE lock_state ADD COLUMN ajar_at INTEGER;
                """),
        ])
}
