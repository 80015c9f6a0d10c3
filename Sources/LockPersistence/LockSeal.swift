import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import StatePersistence

/// Makes the rows that rights rest on one whole: none of them can be taken away or put back, and no older file passes for
/// the present one.
///
/// **The set.** Each row with a MAC adds a number to the sum of its part (``SetSums``): its MAC, encrypted by AES under a key of its own. The sums are
/// modulo 2^128, and are kept wrapped: nobody without the machine key sees a number or a sum, so another set has the same sums by chance alone,
/// once in 2^128. They are sums and not an exclusive or, because of two copies of one row nothing would be left there. A row that
/// is altered keeps its MAC and with it its number: it costs itself (``RowAuthenticator``).
///
/// **What is believed when.** A credential is believed when the part that it lies in and the settings are what the seal says, and it was counted
/// there itself. The other parts are looked at while the loop has nothing else to do. A row that is missing gives nobody a right: a bond
/// has one credential at the most, so that a second one in another part is never the present one, and is counted before it is believed.
///
/// **The generation.** The seal is the wrapped sums, with the number of the generation authenticated beside it. Its digest is the
/// state's name, and ``GenerationAnchor`` keeps that outside of the file. Every change of the set makes the next generation, and so does
/// every launch, behind its check (``makeGenerationOfLaunch()``), in this order: the anchor says "present or next"; the seal is written
/// into the open transaction; commit; the anchor says "next". Nothing is acknowledged before the last of these. A kill between any two leaves a file
/// in the present state or the next one, and an anchor that admits both.
///
/// Used by the loop's thread alone. One process has the lock's identity, so nobody else writes these rows.
package final class LockSeal {
    /// One state of the set.
    private struct State {
        var name: StateName
        var sums: SetSums
    }

    private let database: Database
    private let keys: KeyWrap
    private let rows: SealedRows
    private let anchor: any GenerationAnchor
    private var current: State?
    /// In the open transaction, and on disk when it is.
    private var next: State?
    private var change = SetSums()
    /// What the anchor says.
    private var remembered: AnchorRecord?
    /// Until the first commit that makes a generation.
    private var owesGeneration = true
    private var isConfirmed = false
    private var adoptsUnauthenticated = true
    private var check = Check.beginning

    private enum Check {
        /// From this credential on.
        case from(Int64, sums: SetSums)
        case done

        static let beginning = Self.from(.min, sums: SetSums())
    }

    /// Why nothing is granted; nil while the rows are believed.
    package private(set) var doubt: StateDoubt? {
        didSet { if let doubt, doubt != oldValue { onDoubt?(doubt) } }
    }
    /// Hears of a doubt once, also of one that was there before it was set.
    package var onDoubt: ((StateDoubt) -> Void)? {
        didSet { if let onDoubt, let doubt { onDoubt(doubt) } }
    }

    /// The anchor could not take what changes nobody's rights: it goes on admitting the state before as well. Whatever changes
    /// rights fails until it can be written. Heard once, also where it was so before this was set.
    package var onAnchorStuck: ((StoreError) -> Void)? {
        didSet { if let onAnchorStuck, let stuck { onAnchorStuck(stuck) } }
    }
    private var stuck: StoreError? {
        didSet { if let stuck, oldValue == nil { onAnchorStuck?(stuck) } }
    }

    /// Compares the file with what is remembered. A file that was never sealed, and of which nothing is remembered, is sealed
    /// as it is: a new one, or one of an earlier version.
    ///
    /// - Throws: A ``StoreError``: the anchor can be neither read nor written, or what the disk says.
    package init(_ state: StateStore, anchor: any GenerationAnchor) throws {
        database = state.database
        keys = state.keys
        rows = SealedRows(database: state.database, keys: state.keys)
        self.anchor = anchor
        try Self.requireOwnSchema(database)
        let reading = try anchor.read()
        if case .record(let record) = reading { remembered = record }
        let found = try Self.kept(in: database)
        if let found {
            if let sums = Self.sums(of: found.seal, found.generation, keys) {
                current = State(name: Self.name(found.generation, found.seal), sums: sums)
            } else {
                doubt = .sealDamaged
            }
        }
        doubt = doubt ?? Self.doubt(of: current?.name, reading)
        guard doubt == nil else { return }
        guard let current else {
            try sealAsFound()
            return
        }
        if remembered?.next != nil { decide(current.name) }
    }

    /// What speaks against a file in this state; nil where there is no seal either.
    static func doubt(of state: StateName?, _ reading: AnchorReading) -> StateDoubt? {
        #if LATCH_PLANTS
        if Plant.active == .anchor { return nil }
        #endif
        switch reading {
        case .nothing: return state == nil ? nil : .anchorMissing
        case .damaged: return .anchorDamaged
        case .record(let record):
            if record.admits(state) { return nil }
            return state.map { $0.generation < record.generation ? .older : .other } ?? .unsealed
        }
    }

    /// A kill in the middle of a commit has left an anchor that admits two states: the one that is on disk is the present one, and
    /// the other passes no more, before anybody reads here whom the lock knows.
    private func decide(_ state: StateName) {
        let record = AnchorRecord(current: state)
        do throws(StoreError) {
            try anchor.write(record)
            remembered = record
        } catch {
            stuck = error
        }
    }

    /// The file's generation and the one that is remembered; nil where there is none.
    package var generations: (file: UInt64?, anchor: UInt64?) {
        (current?.name.generation, remembered?.generation)
    }

    /// A view in the place of a table could show the set to the check and another row to a command, and a trigger could put a
    /// row back behind the check. So whatever computes, and the tables of the set, have the text of the migrations.
    private static func requireOwnSchema(_ database: Database) throws(StoreError) {
        try database.statement(
            """
            SELECT name, replace(replace(replace(replace(sql, ', user TEXT, kind INTEGER', ''), ', mode INTEGER', ''),
                ', schedules BLOB', ''), ', mac BLOB', '')
            FROM sqlite_schema
            WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'
                OR name COLLATE NOCASE IN ('lock_credential', 'lock_settings', 'lock_seal')
            """
        ).forEachRow { (row) throws(StoreError) in
            // But for the columns that later steps have added.
            let text = try row.text(1)
            guard SchemaComponent.lock.migrations.contains(where: { $0.has(text) }) else {
                throw .corrupt(path: database.path, reason: "\(try row.text(0)) is not as this program made it")
            }
        }
    }

    static func kept(in database: some StatementSource) throws(StoreError) -> (generation: UInt64, seal: [UInt8])? {
        try database.statement("SELECT generation, seal FROM lock_seal WHERE only = 1")
            .firstRow { (row) throws(StoreError) in
                // What cannot be read is no seal of anything.
                ((try? row.integer(0)) ?? 0, (try? row.blob(1)) ?? [])
            }
    }

    private static func sums(of seal: [UInt8], _ generation: UInt64, _ keys: KeyWrap) -> SetSums? {
        let octets = try? keys.unwrap(seal, table: "lock_seal", column: "seal", row: "\(generation)")
        return octets.flatMap(SetSums.init(octets:))
    }

    static func name(_ generation: UInt64, _ seal: [UInt8]) -> StateName {
        StateName(generation: generation, digest: Array(SHA256.digest(seal).prefix(StateName.digestOctets)))
    }

    // MARK: Rows

    func mac(_ columns: SealedColumns, _ values: [SQLValue]) -> [UInt8] { columns.mac(values, keys.rows) }

    /// The columns of a row come first, and then its MAC.
    ///
    /// - Throws: ``StoreError/rowAltered(path:table:row:)``.
    func requireAuthentic(_ row: Row, _ columns: SealedColumns, number: Int64) throws(StoreError) {
        guard try columns.isAuthentic(row, keys.rows) else {
            throw .rowAltered(path: database.path, table: columns.table.description, row: "\(number)")
        }
    }

    /// Whether the whole set is what the seal says. What has not been looked at yet is looked at now.
    package var isTrusted: Bool {
        while checkSlice() {}
        guard doubt == nil, case .done = check else { return false }
        return true
    }

    /// Rows that one slice of the check reads.
    package static let checkSliceRows = 256

    /// Looks at one slice of the set; false once there are no more. For moments when the loop has nothing else to do.
    package func checkSlice() -> Bool {
        guard doubt == nil, case .from(let first, var sums) = check else { return false }
        let read = database.reading(nil as (next: Int64?, sums: SetSums)?) { () throws(StoreError) in
            let next = try rows.addSlice(from: first, to: &sums)
            return (next, sums)
        }
        // The next commit says why.
        guard let read else { return false }
        if let next = read.next {
            check = .from(next, sums: read.sums)
            return true
        }
        check = .done
        for part in 0..<SetSums.partsCount {
            if let lack = lack(of: part, read.sums[part]), !rows.mend(part, lacking: lack) { doubtRows() }
        }
        return false
    }

    /// The MACs that are counted under these credentials, by the sums of their parts and of the settings; nil, and a doubt, where
    /// one of these is not what the seal says. An operator's word counts in the place of the seal until the commit that makes it.
    func counted(_ credentials: [Int64]) -> [Int64: UInt128]? {
        guard doubt == nil else { return nil }
        var counted: [Int64: UInt128] = [:]
        for part in Set(credentials.map(SetSums.part(of:))).sorted() + [SetSums.settingsPart] {
            func read() -> UInt128? {
                database.reading(nil as UInt128?) { () throws(StoreError) in
                    try rows.sum(of: part) { number, mac in
                        if credentials.contains(number) { counted[number] = mac }
                    }
                }
            }
            guard let sum = read() else { return nil }
            guard let lack = lack(of: part, sum) else { continue }
            // What is mended is counted again.
            guard rows.mend(part, lacking: lack), read() != nil else {
                doubtRows()
                return nil
            }
        }
        return counted
    }

    /// A credential that a lookup has shown, and that the part's rows do not show: the file is no sound tree.
    func doubtRows() { doubt = doubt ?? .rowsDiffer }

    /// What this part's sum lacks to be what the seal says; nil where that is nothing.
    private func lack(of part: Int, _ sum: UInt128) -> UInt128? {
        guard !isConfirmed, let sealed = current?.sums[part], sealed != sum else { return nil }
        return sealed &- sum
    }

    /// Settings that are damaged are written anew by the launch. Whether their MAC is all that is damaged has to be known
    /// before: the sum of their part has the right one.
    func settleSettings() throws(StoreError) {
        if try rows.areSettingsWhole() == false { _ = counted([]) }
    }

    // MARK: Commits

    /// The lock's facts are about to be written.
    func begin() {
        change = SetSums()
        next = nil
    }

    /// The row of this credential has this MAC now; nil: there is none.
    func replace(_ old: [UInt8]?, by new: [UInt8]?, credential: Int64) {
        replace(old, by: new, SetSums.part(of: credential))
    }

    func replaceSettings(_ old: [UInt8]?, by new: [UInt8]?) { replace(old, by: new, SetSums.settingsPart) }

    private func replace(_ old: [UInt8]?, by new: [UInt8]?, _ part: Int) {
        change[part] &+= keys.rows.contribution(of: new) &- keys.rows.contribution(of: old)
    }

    /// Behind all facts, in the same transaction. While the file is in doubt its generation stays, so that the doubt does.
    func prepare() throws(StoreError) {
        if isConfirmed {
            if adoptsUnauthenticated { try rows.adopt() }
            return try write(try rows.sums())
        }
        guard doubt == nil, let current, !change.isZero else { return }
        // Who had come half way through the rows begins again.
        if case .from = check { check = .beginning }
        try write(current.sums &+ change)
    }

    /// The generation of this launch: an old copy from the launch before is told by it. For a moment when the loop has
    /// nothing else to do, so that neither the way onto the air nor a command pays for it. A launch that changes rights before
    /// has made its generation with that; one that ends before makes none, and has changed nobody's rights.
    ///
    /// It waits for nobody who holds the file: false says that it is still owed. Nor does an anchor on a full disk keep an
    /// owner out.
    package func makeGenerationOfLaunch() -> Bool {
        guard owesGeneration, doubt == nil, !isConfirmed, case .done = check, let current else { return true }
        begin()
        do {
            try database.transaction(waiting: 0) {
                do throws(StoreError) {
                    try write(current.sums)
                } catch {
                    // Not a pattern of the clause: Swift before 6.3 fails over what it does not catch of a typed error in here.
                    guard case .anchorUnusable(let path, let reason) = error else { throw error }
                    stuck = .anchorUnusable(path: path, reason: reason)
                }
            }
        } catch {
            next = nil
            if case StoreError.busy = error { return false }
            // What the disk says the database keeps, and the next commit throws it.
            return true
        }
        owesGeneration = false
        settle()
        return true
    }

    private func write(_ sums: SetSums) throws(StoreError) {
        let generation = max(current?.name.generation ?? 0, remembered?.generation ?? 0) + 1
        let seal = keys.wrap(
            sums.octets, table: "lock_seal", column: "seal", row: "\(generation)")
        let made = State(name: Self.name(generation, seal), sums: sums)
        // A kill before the commit may go back to what was believed, and to nothing else: a confirmation that is not on disk is
        // none.
        let present = isConfirmed ? remembered?.current : current?.name
        try anchor.write(AnchorRecord(current: present, next: made.name))
        try database.statement("INSERT OR REPLACE INTO lock_seal VALUES (1, ?, ?)").run([
            SQLValue(generation), .blob(seal),
        ])
        next = made
    }

    /// The transaction is on disk. When the anchor cannot say so, nothing more is committed, and nothing that waits for this
    /// commit leaves; unless nobody's rights have changed.
    func settle() {
        guard let made = next else { return }
        let record = AnchorRecord(current: made.name)
        do throws(StoreError) {
            try anchor.write(record)
            remembered = record
        } catch {
            guard !isConfirmed, change.isZero else { return database.fail(error) }
            stuck = error
        }
        current = made
        next = nil
        owesGeneration = false
        isConfirmed = false
    }

    // MARK: Adoption

    /// The owner says that the file is to be believed as it is: the next commit seals it. Rows whose MAC is wrong stay out; rows
    /// without one get theirs where the whole file was found without a seal, as in a copy from an earlier version.
    package func confirm() {
        guard let doubt else { return }
        adoptsUnauthenticated = doubt == .unsealed
        isConfirmed = true
        self.doubt = nil
        check = .done
    }

    private func sealAsFound() throws {
        isConfirmed = true
        check = .done
        try database.transaction {
            begin()
            try prepare()
        }
        settle()
        // What the anchor could not take.
        if database.hasFailed { try database.transaction {} }
    }
}
