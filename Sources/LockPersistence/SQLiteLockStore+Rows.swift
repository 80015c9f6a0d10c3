import LockPeripheral
import LockProtocol
import StatePersistence

/// What is on disk, and on top of it the facts that are still to be committed, in their order. A damaged row is told and left
/// out.
extension SQLiteLockStore: LockRows {
    package func holder(of bond: UInt64) -> BondHolder {
        var holder = database.reading(BondHolder(bond: bond)) { () throws(StoreError) in try keptHolder(of: bond) }
        for mutation in pending { holder.apply(mutation) }
        holder.credentials.sort { $0.id.row < $1.id.row }
        holder.otherDevices = otherDevices(of: holder)
        return holder
    }

    /// While the rows are in doubt nobody is let in by them, and nobody is put out.
    private var isTrusted: Bool { seal?.isTrusted ?? true }

    package var isInDoubt: Bool { seal?.doubt != nil }

    package var hasFailed: Bool { database.hasFailed }

    package func isNamed(_ bond: UInt64) -> Bool {
        let isKept = database.reading(false) { () throws(StoreError) in
            try database.statement("SELECT 1 FROM lock_credential WHERE bond = ? LIMIT 1")
                .firstRow([SQLValue(bond)]) { (_) throws(StoreError) in true } ?? false
        }
        // Pending facts may have named it, or taken its name away.
        if pending.isEmpty ? isKept : !holder(of: bond).credentials.isEmpty { return true }
        // A row that is not there puts somebody out: only all of them say that none is missing.
        return !isTrusted
    }

    private func keptHolder(of bond: UInt64) throws(StoreError) -> BondHolder {
        var holder = BondHolder(bond: bond)
        holder.credentials = try credentials(of: SQLValue(bond))
        try database.statement(
            """
            SELECT bond, challenge, sign_counter, result, phase, receipts_reserved_below, lockout FROM lock_bond
            WHERE bond = ?
            """
        ).forEachRow([SQLValue(bond)]) { (row) throws(StoreError) in
            let number = "\(Int64(bitPattern: bond))"
            holder.lastCommand =
                database.whole("lock_bond", number) { () throws(StoreError) in try LockReader.lastCommand(row) } ?? nil
            // A counter that is not known may have been used: all of them are spent then.
            holder.receiptCounter =
                database.whole("lock_bond", number) { () throws(StoreError) in try row.optionalInteger(5) } ?? .max
            holder.lockout =
                database.whole("lock_bond", number) { () throws(StoreError) in try LockReader.kept(row, 6) } ?? nil
        }
        return holder
    }

    /// First which rows there are, then their parts of the set, which may mend one of them, and then the rows.
    private func credentials(of bond: SQLValue) throws(StoreError) -> [Credential] {
        var numbers: [Int64] = []
        try database.statement("SELECT id FROM lock_credential WHERE bond = ?")
            .forEachRow([bond]) { (row) throws(StoreError) in numbers.append(try row.integer(0)) }
        guard !numbers.isEmpty else { return [] }
        var counted: [Int64: UInt128] = [:]
        if let seal {
            guard let found = seal.counted(numbers) else { return [] }
            counted = found
        }
        var isCounted = true
        let found = try keptCredentials(of: bond) { number, mac in
            if seal != nil, mac != counted[number] { isCounted = false }
        }
        guard isCounted else {
            seal?.doubtRows()
            return []
        }
        return found
    }

    private func keptCredentials(
        of bond: SQLValue, seen: (Int64, UInt128?) -> Void = { _, _ in }
    ) throws(StoreError) -> [Credential] {
        try credentials(
            """
            SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                user, kind, mac
            FROM lock_credential WHERE bond = ? ORDER BY id
            """, bond, seen: seen)
    }

    package func credentials(named name: String) -> [Credential] {
        guard isTrusted else { return [] }
        let kept = database.reading([]) { () throws(StoreError) in
            try credentials(
                """
                SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                    user, kind, mac
                FROM lock_credential WHERE name = ? ORDER BY id
                """, .text(name))
        }
        return overlaid(kept) { $0.name == name }
    }

    package func credentials(ofUser user: String) -> [Credential] {
        isTrusted ? listed(ofUser: user) : []
    }

    package func listed(ofUser user: String) -> [Credential] {
        guard !isInDoubt else { return [] }
        let kept = database.reading([]) { () throws(StoreError) in try keptCredentials(ofUser: user) }
        return overlaid(kept) { $0.userName == user }
    }

    package func listed(of bond: UInt64) -> [Credential] {
        guard !isInDoubt else { return [] }
        let kept = database.reading([]) { () throws(StoreError) in try keptCredentials(of: SQLValue(bond)) }
        return overlaid(kept) { $0.bond == bond }
    }

    private func keptCredentials(
        ofUser user: String, seen: (Int64, UInt128?) -> Void = { _, _ in }
    ) throws(StoreError) -> [Credential] {
        try credentials(
            """
            SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                user, kind, mac
            FROM lock_credential WHERE coalesce(user, name) = ? ORDER BY id
            """, .text(user), seen: seen)
    }

    package func users(after last: String?, limit: Int) -> [String] {
        guard !isInDoubt else { return [] }
        var found: Set<String> = database.reading([]) { () throws(StoreError) in
            var names: Set<String> = []
            try database.statement(
                """
                SELECT DISTINCT coalesce(user, name) FROM lock_credential WHERE coalesce(user, name) > ?
                ORDER BY coalesce(user, name) LIMIT ?
                """
            ).forEachRow([.text(last ?? ""), SQLValue(limit)]) { (row) throws(StoreError) in
                if let name = try? row.text(0) { names.insert(name) }
            }
            return names
        }
        for case .credential(let credential) in pending { found.insert(credential.userName) }
        return found.page(after: last, limit: limit)
    }

    package func unreadableCredentials(ofUser user: String) -> [UnreadableCredential] {
        unreadable { (seen) throws(StoreError) in try keptCredentials(ofUser: user, seen: seen) }
    }

    /// By its number, which its warning has, also where its name is what was damaged.
    package func unreadableCredentials(named name: String) -> [UnreadableCredential] {
        unreadable { (seen) throws(StoreError) in
            try credentials(
                """
                SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                    user, kind, mac
                FROM lock_credential WHERE name = ? OR id = ?
                """, .text(name), Int64(name).map { .integer($0) } ?? .null, seen: seen)
        }
    }

    package func unreadableCredentials() -> [UnreadableCredential] {
        unreadable { (seen) throws(StoreError) in
            try credentials(
                """
                SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                    user, kind, mac
                FROM lock_credential
                """, seen: seen)
        }
    }

    /// Of the rows that `read` sees those that it does not return.
    private func unreadable(
        _ read: ((Int64, UInt128?) -> Void) throws(StoreError) -> [Credential]
    ) -> [UnreadableCredential] {
        guard isTrusted else { return [] }
        var numbers: Set<Int64> = []
        let readable = database.reading([]) { () throws(StoreError) in
            try read { number, _ in numbers.insert(number) }
        }
        // A pending fact has written its row anew, or takes it away.
        let changed = pending.compactMap { mutation -> Int64? in
            switch mutation {
            case .credential(let credential): credential.id.row
            case .credentialRemoved(let id): id.row
            default: nil
            }
        }
        return numbers.subtracting(readable.map(\.id.row)).subtracting(changed).sorted().map { number in
            UnreadableCredential(id: CredentialID(rawValue: UInt64(bitPattern: number)), bond: bond(inRow: number))
        }
    }

    private func bond(inRow number: Int64) -> UInt64? {
        database.reading(nil) { () throws(StoreError) in
            try database.statement("SELECT bond FROM lock_credential WHERE id = ?")
                .firstRow([.integer(number)]) { (row) throws(StoreError) in (try? row.optionalInteger(0)) ?? nil }
                ?? nil
        }
    }

    package func credentials(after cursor: CredentialID?, limit: Int) -> [Credential] {
        var found: [Credential] = []
        var next: Int64? = cursor?.row ?? .min
        // A pending fact may take a row away, and a damaged one is none: then more are read.
        while let first = next, found.count < limit {
            let page = database.reading(([], nil)) { () throws(StoreError) in try credentials(behind: first, limit) }
            next = page.1
            found += overlaid(page.0) { first < $0.id.row && $0.id.row <= page.1 ?? .max }
        }
        return Array(found.prefix(limit))
    }

    /// With the last row's number, while there may be more.
    private func credentials(behind first: Int64, _ limit: Int) throws(StoreError) -> ([Credential], Int64?) {
        var last: Int64?
        var count = 0
        let found = try credentials(
            """
            SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                user, kind, mac
            FROM lock_credential WHERE id > ? ORDER BY id LIMIT ?
            """, .integer(first), SQLValue(limit)
        ) { row, _ in
            last = row
            count += 1
        }
        return (found, count < limit ? nil : last)
    }

    package func credentialNames() -> [String] {
        var names: Set<String> = []
        var cursor: CredentialID?
        while case let page = credentials(after: cursor, limit: 512), let last = page.last {
            names.formUnion(page.map(\.name))
            cursor = last.id
        }
        return names.sorted()
    }

    private func overlaid(_ kept: [Credential], where isIncluded: (Credential) -> Bool) -> [Credential] {
        var found = Dictionary(kept.map { ($0.id, $0) }) { _, last in last }
        for mutation in pending {
            switch mutation {
            case .credential(let credential): found[credential.id] = credential
            case .credentialRemoved(let id): found[id] = nil
            default: break
            }
        }
        return found.values.filter(isIncluded).sorted { $0.id.row < $1.id.row }
    }

    /// `seen` hears of every row, and its MAC.
    private func credentials(
        _ sql: StaticString, _ arguments: SQLValue..., seen: (Int64, UInt128?) -> Void = { _, _ in }
    ) throws(StoreError) -> [Credential] {
        var found: [Credential] = []
        try database.statement(sql).forEachRow(arguments) { (row) throws(StoreError) in
            let number: Int64 = try row.integer(0)
            seen(number, row.optionalUInt128(SealedColumns.credential.mac))
            let read: Credential? = database.whole("lock_credential", "\(number)") {
                () throws(StoreError) in
                let credential = try LockReader.credential(row)
                try seal?.requireAuthentic(row, .credential, number: number)
                return credential
            }
            if let read { found.append(read) }
        }
        return found
    }
}

extension CredentialID {
    /// As the row has it.
    var row: Int64 { Int64(bitPattern: rawValue) }
}
