// Made by scripts/make-store-fixture when schema 5 was new. Never edited: files in the field look like this.
// swift-format-ignore-file
extension HostFixture {
    static let schema5 = #"""
        BEGIN TRANSACTION;
        CREATE TABLE schema_migration (
            component TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (component, ordinal)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO schema_migration VALUES('host',1,'1 identities, bonds, clients, peers, restoration');
        INSERT INTO schema_migration VALUES('host',2,'2 modes of advertising and scanning, advertised data');
        INSERT INTO schema_migration VALUES('host',3,'3 indexes of bonds and peers');
        INSERT INTO schema_migration VALUES('host',4,'4 managers at rest');
        INSERT INTO schema_migration VALUES('host',5,'5 bonds that are authenticated');
        INSERT INTO schema_migration VALUES('store',1,'1 migrations and facts');
        CREATE TABLE store_fact (
            name TEXT NOT NULL PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO store_fact VALUES('bonds authenticated',X'1fe846fa4fa283df2eeeb41cffac722488d036b93a09ee3db9e544a4');
        INSERT INTO store_fact VALUES('machine key check',X'b1a5532b58d78d1e62933107bccfbce7052b2d17cb7de08052c18578');
        CREATE TABLE host_identity (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            address_kind INTEGER,
            address INTEGER,
            irk BLOB
        ) STRICT;
        INSERT INTO host_identity VALUES(1,'lock',1,211106232532993,X'2a4db1f11ed44cc0cd12e887a47d9fb7753a5531429fde63ae8dd5acebd582932d6eb1775f702e0bbd618c2a');
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
            local_sign_counter_reserved INTEGER NOT NULL, mac BLOB,
            PRIMARY KEY (identity, id)
        ) STRICT;
        INSERT INTO host_bond VALUES(1,5,1,1,211106232532997,X'9337f93de6f7fc32d0086e37229b5976328ff93ab0de117e994632c5269f39d286c86f6a3accd0acb7fa2e6f21fa827fa855f38087e704c893e43e768c6c39f2d8590ca79035823c31644c5032ea8632d9e81379ad725ac0904d05b15903ccb17b',16,0,-6,1,3,'credential 5',77,64,X'e68d7ace0397b2bccb7f2e6522678c06');
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
            identifier TEXT NOT NULL, rest INTEGER,
            UNIQUE (identity, role, identifier)
        ) STRICT;
        INSERT INTO host_restoration VALUES(1,1,'central','door 1 — central',NULL);
        INSERT INTO host_restoration VALUES(2,1,'peripheral','door 1 — central',NULL);
        INSERT INTO host_restoration VALUES(3,1,'peripheral','bell',NULL);
        INSERT INTO host_restoration VALUES(4,1,'central','bell',7);
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
        , procedure INTEGER NOT NULL DEFAULT 0, is_passive INTEGER NOT NULL DEFAULT 0) STRICT;
        INSERT INTO host_scan VALUES(1,1,0,0);
        INSERT INTO host_scan VALUES(4,0,1,1);
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
        , discoverability INTEGER NOT NULL DEFAULT 2, connectability INTEGER NOT NULL DEFAULT 0, limited_boot BLOB, limited_until INTEGER, tx_power_level INTEGER, includes_appearance INTEGER NOT NULL DEFAULT 0, manufacturer_data BLOB) STRICT;
        INSERT INTO host_advertising VALUES(2,'door',2,0,NULL,NULL,NULL,0,NULL);
        INSERT INTO host_advertising VALUES(3,'bell 1',1,1,X'fffffffffffffffffffffffffffffffe',1099511627776,-1,1,X'4c0001');
        CREATE TABLE host_advertised_service (
            restoration INTEGER NOT NULL REFERENCES host_advertising (restoration) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            uuid BLOB NOT NULL,
            PRIMARY KEY (restoration, position)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_advertised_service VALUES(2,0,X'0000180a00001000800000805f9b34fb');
        INSERT INTO host_advertised_service VALUES(3,0,X'0000180a00001000800000805f9b34fb');
        INSERT INTO host_advertised_service VALUES(3,1,X'ffffffffffffffffffffffffffffffff');
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
        CREATE TABLE host_advertised_service_data (
            restoration INTEGER NOT NULL REFERENCES host_advertising (restoration) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            uuid BLOB NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (restoration, position)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_advertised_service_data VALUES(3,0,X'0000180f00001000800000805f9b34fb',X'01');
        INSERT INTO host_advertised_service_data VALUES(3,1,X'00000000000000000000000000000001',X'0102');
        INSERT INTO host_advertised_service_data VALUES(3,2,X'0000180f00001000800000805f9b34fb',X'00');
        CREATE TABLE host_solicited_service (
            restoration INTEGER NOT NULL REFERENCES host_advertising (restoration) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            uuid BLOB NOT NULL,
            PRIMARY KEY (restoration, position)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO host_solicited_service VALUES(3,0,X'0000180600001000800000805f9b34fb');
        INSERT INTO host_solicited_service VALUES(3,1,X'0000180500001000800000805f9b34fb');
        CREATE INDEX host_queued_update_bond ON host_queued_update (identity, bond);
        CREATE INDEX host_bond_peer ON host_bond (identity, peer_address);
        CREATE INDEX host_bond_unproven ON host_bond (identity, id) WHERE state < 2;
        CREATE INDEX host_peer_address ON host_peer (identity, address);
        COMMIT;
        """#
}
