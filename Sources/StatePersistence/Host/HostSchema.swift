extension SchemaComponent {
    /// What ``SQLiteHostStore`` keeps. Addresses are their 48 bits; identifiers and UUIDs 16 octets, most significant
    /// first; `keys` and `irk` are wrapped.
    package static let host = Self(
        "host",
        [
            Migration(
                "1 identities, bonds, clients, peers, restoration",
                """
                CREATE TABLE host_identity (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE,
                    address_kind INTEGER,
                    address INTEGER,
                    irk BLOB
                ) STRICT;
                CREATE TABLE host_bond (
                    identity INTEGER NOT NULL REFERENCES host_identity (id),
                    id INTEGER NOT NULL,
                    state INTEGER NOT NULL,
                    peer_address_kind INTEGER,
                    peer_address INTEGER,
                    keys BLOB NOT NULL,
                    key_size INTEGER NOT NULL,
                    ediv INTEGER NOT NULL,
                    rand INTEGER NOT NULL,
                    secure_connections INTEGER NOT NULL,
                    model INTEGER NOT NULL,
                    credential TEXT,
                    remote_sign_counter INTEGER,
                    local_sign_counter_reserved INTEGER NOT NULL,
                    PRIMARY KEY (identity, id)
                ) STRICT;
                CREATE TABLE host_client (
                    identity INTEGER NOT NULL,
                    bond INTEGER NOT NULL,
                    supported_features BLOB NOT NULL,
                    aware_database_hash BLOB,
                    PRIMARY KEY (identity, bond),
                    FOREIGN KEY (identity, bond) REFERENCES host_bond (identity, id) ON DELETE CASCADE
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE host_client_configuration (
                    identity INTEGER NOT NULL,
                    bond INTEGER NOT NULL,
                    handle INTEGER NOT NULL,
                    value INTEGER NOT NULL,
                    PRIMARY KEY (identity, bond, handle),
                    FOREIGN KEY (identity, bond) REFERENCES host_bond (identity, id) ON DELETE CASCADE
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE host_peer (
                    identity INTEGER NOT NULL REFERENCES host_identity (id),
                    identifier BLOB NOT NULL,
                    address_kind INTEGER NOT NULL,
                    address INTEGER NOT NULL,
                    name TEXT,
                    remote_database BLOB,
                    database_hash BLOB,
                    PRIMARY KEY (identity, identifier)
                ) STRICT;
                CREATE TABLE host_restoration (
                    id INTEGER PRIMARY KEY,
                    identity INTEGER NOT NULL REFERENCES host_identity (id),
                    role TEXT NOT NULL,
                    identifier TEXT NOT NULL,
                    UNIQUE (identity, role, identifier)
                ) STRICT;
                CREATE TABLE host_pending_connection (
                    restoration INTEGER NOT NULL REFERENCES host_restoration (id),
                    peer BLOB NOT NULL,
                    options INTEGER NOT NULL,
                    asked_at_seconds INTEGER NOT NULL,
                    PRIMARY KEY (restoration, peer)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE host_subscription (
                    restoration INTEGER NOT NULL REFERENCES host_restoration (id),
                    peer BLOB NOT NULL,
                    value_handle INTEGER NOT NULL,
                    ccc_handle INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    PRIMARY KEY (restoration, peer, value_handle)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE host_scan (
                    restoration INTEGER PRIMARY KEY REFERENCES host_restoration (id),
                    allow_duplicates INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE host_scan_service (
                    restoration INTEGER NOT NULL REFERENCES host_scan (restoration) ON DELETE CASCADE,
                    position INTEGER NOT NULL,
                    uuid BLOB NOT NULL,
                    PRIMARY KEY (restoration, position)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE host_published_service (
                    restoration INTEGER NOT NULL REFERENCES host_restoration (id),
                    handle INTEGER NOT NULL,
                    definition BLOB NOT NULL,
                    PRIMARY KEY (restoration, handle)
                ) STRICT;
                CREATE TABLE host_advertising (
                    restoration INTEGER PRIMARY KEY REFERENCES host_restoration (id),
                    local_name TEXT
                ) STRICT;
                CREATE TABLE host_advertised_service (
                    restoration INTEGER NOT NULL REFERENCES host_advertising (restoration) ON DELETE CASCADE,
                    position INTEGER NOT NULL,
                    uuid BLOB NOT NULL,
                    PRIMARY KEY (restoration, position)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE host_queued_update (
                    restoration INTEGER NOT NULL REFERENCES host_restoration (id),
                    sequence INTEGER NOT NULL,
                    identity INTEGER NOT NULL,
                    bond INTEGER NOT NULL,
                    value_handle INTEGER NOT NULL,
                    is_indication INTEGER NOT NULL,
                    value BLOB NOT NULL,
                    PRIMARY KEY (restoration, sequence),
                    FOREIGN KEY (identity, bond) REFERENCES host_bond (identity, id) ON DELETE CASCADE
                ) STRICT;
                CREATE INDEX host_queued_update_bond ON host_queued_update (identity, bond);
                """),
            // The defaults are what older versions did: general discoverable, connectable, every advertiser listed, asked.
            Migration(
                "2 modes of advertising and scanning, advertised data",
                """
                ALTER TABLE host_advertising ADD COLUMN discoverability INTEGER NOT NULL DEFAULT 2;
                ALTER TABLE host_advertising ADD COLUMN connectability INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE host_advertising ADD COLUMN limited_boot BLOB;
                ALTER TABLE host_advertising ADD COLUMN limited_until INTEGER;
                ALTER TABLE host_advertising ADD COLUMN tx_power_level INTEGER;
                ALTER TABLE host_advertising ADD COLUMN includes_appearance INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE host_advertising ADD COLUMN manufacturer_data BLOB;
                CREATE TABLE host_advertised_service_data (
                    restoration INTEGER NOT NULL REFERENCES host_advertising (restoration) ON DELETE CASCADE,
                    position INTEGER NOT NULL,
                    uuid BLOB NOT NULL,
                    data BLOB NOT NULL,
                    PRIMARY KEY (restoration, position)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE host_solicited_service (
                    restoration INTEGER NOT NULL REFERENCES host_advertising (restoration) ON DELETE CASCADE,
                    position INTEGER NOT NULL,
                    uuid BLOB NOT NULL,
                    PRIMARY KEY (restoration, position)
                ) STRICT, WITHOUT ROWID;
                ALTER TABLE host_scan ADD COLUMN procedure INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE host_scan ADD COLUMN is_passive INTEGER NOT NULL DEFAULT 0;
                """),
            // For rows that are read when they are asked for. 2 is a confirmed bond: the others are read by every launch.
            Migration(
                "3 indexes of bonds and peers",
                """
                CREATE INDEX host_bond_peer ON host_bond (identity, peer_address);
                CREATE INDEX host_bond_unproven ON host_bond (identity, id) WHERE state < 2;
                CREATE INDEX host_peer_address ON host_peer (identity, address);
                """),
            // What an older version kept runs until a launch finds that nobody claims it.
            Migration("4 managers at rest", "ALTER TABLE host_restoration ADD COLUMN rest INTEGER;"),
            // NULL until the first launch that authenticates rows (``StateStore``).
            Migration("5 bonds that are authenticated", "ALTER TABLE host_bond ADD COLUMN mac BLOB;"),
        ])
}
