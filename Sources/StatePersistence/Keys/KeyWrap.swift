import BluetoothCrypto

/// Wraps secrets for their columns: AES-256-GCM under the machine key, a random nonce each time, and as associated data
/// the table, column and row, so that a wrapped secret opens nowhere but in its own place.
///
/// NIST SP 800-38D, 8.2.2 (RBG-based Construction of nonces): good for 2^32 wrappings under one key.
package final class KeyWrap {
    private let cipher: AESGCM
    /// What keys for one purpose are derived from.
    private let root: Secret
    /// For rows that are no secret.
    package let rows: RowAuthenticator
    private let path: String
    private let keyPath: String

    private static let checkName = "machine key check"

    /// The key by itself, for `database`.
    private init(_ key: MachineKey, path database: String) {
        cipher = AESGCM(key: key.secret)
        root = key.root
        rows = RowAuthenticator(key)
        path = database
        keyPath = key.path
    }

    /// Refuses the key when the file remembers another one. Only reads: comes before anything is written to the file.
    static func look(_ key: MachineKey, at connection: Connection) throws(StoreError) {
        let known = try connection.statement("SELECT 1 FROM sqlite_schema WHERE name = 'store_fact'")
        guard try known.firstRow([], { (_) throws(StoreError) in true }) == true,
            let check = try kept(in: connection)
        else { return }
        guard Self(key, path: connection.path).open(check, associated: checkName) != nil else {
            throw .wrongMachineKey(path: key.path)
        }
    }

    /// Takes `key` for `database`: the first key is remembered by a value that it wraps, and any other is refused.
    ///
    /// - Throws: ``StoreError/wrongMachineKey(path:)`` for any key but the first; else why the file cannot be read or
    /// written.
    package convenience init(_ key: MachineKey, for database: Database) throws {
        self.init(key, path: database.path)
        if try Self.kept(in: database.connection) == nil {
            let check = seal([], associated: Self.checkName)
            // Two processes may be at their first launch at once: the check of the first one stands, and binds the second.
            try database.transaction {
                try database.statement("INSERT OR IGNORE INTO store_fact VALUES (?, ?)").run([
                    .text(Self.checkName), .blob(check),
                ])
            }
        }
        guard let check = try Self.kept(in: database.connection), open(check, associated: Self.checkName) != nil else {
            throw StoreError.wrongMachineKey(path: keyPath)
        }
    }

    /// One that is to become the database's. Whatever it wraps is nobody's until ``becomeKey(of:)`` is on disk.
    convenience init(_ key: MachineKey, unlookedFor database: Database) { self.init(key, path: database.path) }

    /// In an open transaction: any other key is refused from its end on.
    func becomeKey(of database: Database) throws(StoreError) {
        try database.statement("INSERT OR REPLACE INTO store_fact VALUES (?, ?)").run([
            .text(Self.checkName), .blob(seal([], associated: Self.checkName)),
        ])
    }

    private static func kept(in connection: Connection) throws(StoreError) -> [UInt8]? {
        try connection.statement("SELECT value FROM store_fact WHERE name = ?")
            .firstRow([.text(checkName)]) { (row) throws(StoreError) in try row.blob(0) }
    }

    /// The machine's own key for what `purpose` names.
    package func signingKey(_ purpose: String) -> Ed25519SigningKey {
        Ed25519SigningKey(derived: purpose, from: root)
    }

    /// Nonce, ciphertext and tag. `row` is the row's key as text.
    package func wrap(_ message: [UInt8], table: StaticString, column: StaticString, row: String) -> [UInt8] {
        seal(message, associated: Self.place(table, column, row))
    }

    /// What ``wrap(_:table:column:row:)-([UInt8],_,_,_)`` was given.
    ///
    /// - Throws: ``StoreError/secretAltered(path:table:row:)`` when the octets were altered or belong to another place.
    package func unwrap(_ wrapped: [UInt8], table: StaticString, column: StaticString, row: String)
        throws(StoreError) -> [UInt8]
    {
        guard let message = open(wrapped, associated: Self.place(table, column, row)) else {
            throw .secretAltered(path: path, table: table.description, row: row)
        }
        return message
    }

    package func wrap(_ secret: Secret, table: StaticString, column: StaticString, row: String) -> [UInt8] {
        var octets = secret.withBytes { Array($0) }
        defer { octets.wipe() }
        return wrap(octets, table: table, column: column, row: row)
    }

    /// The same for a secret.
    ///
    /// - Throws: ``StoreError/secretAltered(path:table:row:)`` when the octets were altered or belong to another place.
    package func unwrapSecret(_ wrapped: [UInt8], table: StaticString, column: StaticString, row: String)
        throws(StoreError) -> Secret
    {
        var octets = try unwrap(wrapped, table: table, column: column, row: row)
        return Secret(wiping: &octets)
    }

    private static func place(_ table: StaticString, _ column: StaticString, _ row: String) -> String {
        "\(table)\u{1F}\(column)\u{1F}\(row)"
    }

    private func seal(_ message: [UInt8], associated: String) -> [UInt8] {
        let nonce = SystemRandom.bytes(AESGCM.nonceOctets)
        let sealed = cipher.seal(message, nonce: nonce, authenticating: Array(associated.utf8))
        return nonce + sealed.ciphertext + sealed.tag
    }

    private func open(_ wrapped: [UInt8], associated: String) -> [UInt8]? {
        guard wrapped.count >= AESGCM.nonceOctets + AESGCM.tagOctets else { return nil }
        let sealed = SealedMessage(
            ciphertext: Array(wrapped[AESGCM.nonceOctets..<(wrapped.count - AESGCM.tagOctets)]),
            tag: Array(wrapped.suffix(AESGCM.tagOctets)))
        return cipher.open(
            sealed, nonce: Array(wrapped.prefix(AESGCM.nonceOctets)), authenticating: Array(associated.utf8))
    }
}

extension [UInt8] {
    /// Overwrites octets that were a secret; going through `Secret` keeps the compiler from leaving it out.
    mutating func wipe() { _ = Secret(wiping: &self) }
}
