// Made by scripts/make-store-fixture when schema 1 was new. Never edited: files in the field look like this.
// swift-format-ignore-file
extension HostFixture {
    static let schema1 = #"""
        BEGIN TRANSACTION;
        CREATE TABLE schema_migration (
            component TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (component, ordinal)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO schema_migration VALUES('host',1,'1 identities, bonds, clients, peers, restoration');
        INSERT INTO schema_migration VALUES('store',1,'1 migrations and facts');
        CREATE TABLE store_fact (
            name TEXT NOT NULL PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO store_fact VALUES('machine key check',X'4a4f8d39b6be46e141aaf0385b7872417e9a24cdaf9956f0715323ad');
        CREATE TABLE host_identity (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            address_kind INTEGER,
            address INTEGER,
            irk BLOB
        ) STRICT;
        INSERT INTO host_identity VALUES(1,'lock',1,211106232532993,X'83ca9ff3cb5a563e53c33d1bc051d1c4e5baa0c1c79c8bb5438b3f23d2cd06fdfecadb37aca0c25b283259d8');
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
        INSERT INTO host_bond VALUES(1,5,1,1,211106232532997,X'd7de13b5d5022c49cae46d228be4deb86bd92b14ec75afa73a6eb0c18e866292bb7fa12ed6156e1c899f86f20770d859e7aef74ce17658acf1c5b8a62a19fc374823aadeea1e254b4416bc731a4b5a922008bff9f6eabc90a568eb63454a836102',16,0,-6,1,3,'credential 5',77,64);
        CREATE TABLE host_client (
            identity INTEGER NOT NULL,
            bond INTEGER NOT NULL,
            supported_features BLOB NOT NULL,
            aware_database_hash BLOB,
            PRIMARY KEY (identity, bond),
            FOREIGN KEY (identity, bond) REFERENCES host_bond (identity, id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_client VALUES(1,5,X'01',X'010203');
        CREATE TABLE host_client_configuration (
            identity INTEGER NOT NULL,
            bond INTEGER NOT NULL,
            handle INTEGER NOT NULL,
            value INTEGER NOT NULL,
            PRIMARY KEY (identity, bond, handle),
            FOREIGN KEY (identity, bond) REFERENCES host_bond (identity, id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_client_configuration VALUES(1,5,9,2);
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
        INSERT INTO host_peer VALUES(1,X'010000000000000000000000000000fe',1,211106232532993,'peer 1',X'01',X'abababababababababababababababab');
        CREATE TABLE host_restoration (
            id INTEGER PRIMARY KEY,
            identity INTEGER NOT NULL REFERENCES host_identity (id),
            role TEXT NOT NULL,
            identifier TEXT NOT NULL,
            UNIQUE (identity, role, identifier)
        ) STRICT;
        INSERT INTO host_restoration VALUES(1,1,'central','door 1 — central');
        INSERT INTO host_restoration VALUES(2,1,'peripheral','door 1 — central');
        CREATE TABLE host_pending_connection (
            restoration INTEGER NOT NULL REFERENCES host_restoration (id),
            peer BLOB NOT NULL,
            options INTEGER NOT NULL,
            asked_at_seconds INTEGER NOT NULL,
            PRIMARY KEY (restoration, peer)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_pending_connection VALUES(1,X'010000000000000000000000000000fe',1,1800000001);
        CREATE TABLE host_subscription (
            restoration INTEGER NOT NULL REFERENCES host_restoration (id),
            peer BLOB NOT NULL,
            value_handle INTEGER NOT NULL,
            ccc_handle INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            PRIMARY KEY (restoration, peer, value_handle)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_subscription VALUES(1,X'010000000000000000000000000000fe',9,10,1);
        CREATE TABLE host_scan (
            restoration INTEGER PRIMARY KEY REFERENCES host_restoration (id),
            allow_duplicates INTEGER NOT NULL
        ) STRICT;
        INSERT INTO host_scan VALUES(1,1);
        CREATE TABLE host_scan_service (
            restoration INTEGER NOT NULL REFERENCES host_scan (restoration) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            uuid BLOB NOT NULL,
            PRIMARY KEY (restoration, position)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_scan_service VALUES(1,0,X'0000180a00001000800000805f9b34fb');
        CREATE TABLE host_published_service (
            restoration INTEGER NOT NULL REFERENCES host_restoration (id),
            handle INTEGER NOT NULL,
            definition BLOB NOT NULL,
            PRIMARY KEY (restoration, handle)
        ) STRICT;
        INSERT INTO host_published_service VALUES(2,4,X'07070707');
        CREATE TABLE host_advertising (
            restoration INTEGER PRIMARY KEY REFERENCES host_restoration (id),
            local_name TEXT
        ) STRICT;
        INSERT INTO host_advertising VALUES(2,'door');
        CREATE TABLE host_advertised_service (
            restoration INTEGER NOT NULL REFERENCES host_advertising (restoration) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            uuid BLOB NOT NULL,
            PRIMARY KEY (restoration, position)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_advertised_service VALUES(2,0,X'0000180a00001000800000805f9b34fb');
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
        INSERT INTO host_queued_update VALUES(2,3,1,5,3,0,X'010203');
        CREATE INDEX host_queued_update_bond ON host_queued_update (identity, bond);
        COMMIT;
        """#
}
