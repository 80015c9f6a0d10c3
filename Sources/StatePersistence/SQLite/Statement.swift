import BluetoothCore
import CSQLite

/// What a statement is given for one of its parameters.
package enum SQLValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    package init(_ value: some FixedWidthInteger) { self = .integer(Int64(truncatingIfNeeded: value)) }
    package init(_ value: Bool) { self = .integer(value ? 1 : 0) }
    package init(_ value: String?) { self = value.map(Self.text) ?? .null }
    package init(_ value: [UInt8]?) { self = value.map(Self.blob) ?? .null }
    /// 16 octets, most significant first: sorts as the number does.
    package init(_ value: UInt128) { self = .blob(withUnsafeBytes(of: value.bigEndian) { Array($0) }) }
    /// NULL, or the integer.
    package init<T: FixedWidthInteger>(optional value: T?) { self = value.map { Self($0) } ?? .null }
}

/// A prepared statement.
package final class Statement {
    private let handle: OpaquePointer
    private unowned let connection: Connection

    init(_ handle: OpaquePointer, of connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    var columnNames: [String] {
        (0..<sqlite3_column_count(handle)).map { sqlite3_column_name(handle, $0).map { String(cString: $0) } ?? "" }
    }

    /// Runs it for its effect.
    ///
    /// - Throws: A ``StoreError``: what SQLite or the disk says.
    package func run(_ arguments: [SQLValue] = []) throws(StoreError) {
        try forEachRow(arguments) { _ throws(StoreError) in }
    }

    /// Runs a change of rows that a medium may have damaged. False where one of them has a value that fits no column of a STRICT table: SQLite
    /// changes no such row, whatever the column, and nothing has changed then.
    ///
    /// - Throws: A ``StoreError``: what SQLite or the disk says.
    package func runIfFitting(_ arguments: [SQLValue]) throws(StoreError) -> Bool {
        try step(arguments, tolerating: latchUnfitting) { _ throws(StoreError) in } == SQLITE_DONE
    }

    /// Runs it and lends each row to `body`.
    ///
    /// - Throws: A ``StoreError``: what SQLite or the disk says, or what `body` throws, which ends the rows.
    package func forEachRow(_ arguments: [SQLValue] = [], _ body: (Row) throws(StoreError) -> Void)
        throws(StoreError)
    {
        _ = try step(arguments, tolerating: SQLITE_DONE, body)
    }

    /// The status at its end: SQLITE_DONE, or the one that is tolerated beside it.
    private func step(
        _ arguments: [SQLValue], tolerating tolerated: Int32, _ body: (Row) throws(StoreError) -> Void
    ) throws(StoreError) -> Int32 {
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, argument) in arguments.enumerated() { try bind(argument, at: Int32(index + 1)) }
        while true {
            let status = sqlite3_step(handle)
            switch status {
            case SQLITE_ROW: try body(Row(handle: handle, path: connection.path))
            case SQLITE_DONE, tolerated: return status
            default: try connection.check(status)
            }
        }
    }

    /// What `body` makes of the first row; nil when there is none.
    ///
    /// - Throws: A ``StoreError``: what SQLite or the disk says, or what `body` throws.
    package func firstRow<T>(_ arguments: [SQLValue] = [], _ body: (Row) throws(StoreError) -> T)
        throws(StoreError) -> T?
    {
        var result: T?
        try forEachRow(arguments) { (row) throws(StoreError) in
            if result == nil { result = try body(row) }
        }
        return result
    }

    private func bind(_ value: SQLValue, at index: Int32) throws(StoreError) {
        let status =
            switch value {
            case .null: sqlite3_bind_null(handle, index)
            case .integer(let integer): sqlite3_bind_int64(handle, index, integer)
            case .text(let text):
                sqlite3_bind_text64(
                    handle, index, text, UInt64(text.utf8.count), latch_sqlite_transient(), UInt8(SQLITE_UTF8))
            case .blob(let octets) where octets.isEmpty: sqlite3_bind_zeroblob(handle, index, 0)
            case .blob(let octets):
                sqlite3_bind_blob64(handle, index, octets, UInt64(octets.count), latch_sqlite_transient())
            }
        try connection.check(status)
    }
}

/// SQLITE_CONSTRAINT_DATATYPE, an expression that the importer does not see.
private let latchUnfitting = SQLITE_CONSTRAINT | (12 << 8)

/// One row, while a statement stands on it. Tables are STRICT, so a value that does not fit its Swift type was not
/// written by this program: the file is corrupt.
package struct Row {
    fileprivate let handle: OpaquePointer
    fileprivate let path: String

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// An integer column. All 64 bits of an unsigned type are kept as a signed integer with the same bits.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` when the value does not fit `T`.
    package func integer<T: FixedWidthInteger>(_ column: Int32, as type: T.Type = T.self) throws(StoreError) -> T {
        try require(SQLITE_INTEGER, column)
        let stored = sqlite3_column_int64(handle, column)
        if let value = T(exactly: stored) { return value }
        // 64 unsigned bits are kept as the same 64 signed ones.
        if T.bitWidth == 64 { return T(truncatingIfNeeded: stored) }
        throw misfit(column)
    }

    /// The same for what is kept as it is. A generic conversion costs several times as much, where a million rows are read.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for what is no integer.
    package func integer(_ column: Int32) throws(StoreError) -> Int64 {
        try require(SQLITE_INTEGER, column)
        return sqlite3_column_int64(handle, column)
    }

    /// The same of the same 64 bits.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for what is no integer.
    package func integer(_ column: Int32) throws(StoreError) -> UInt64 {
        UInt64(bitPattern: try integer(column) as Int64)
    }

    /// The same; nil for NULL.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for what is no integer.
    package func optionalInteger(_ column: Int32) throws(StoreError) -> Int64? {
        isNull(column) ? nil : try integer(column) as Int64
    }

    /// The same; nil for NULL.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` when the value does not fit `T`.
    package func optionalInteger<T: FixedWidthInteger>(_ column: Int32, as type: T.Type = T.self)
        throws(StoreError) -> T?
    {
        isNull(column) ? nil : try integer(column)
    }

    /// 0 is false, everything else true.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` when the value does not fit an octet.
    package func bool(_ column: Int32) throws(StoreError) -> Bool { try integer(column, as: UInt8.self) != 0 }

    /// A text column.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for what is no text.
    package func text(_ column: Int32) throws(StoreError) -> String {
        try require(SQLITE_TEXT, column)
        guard let text = String(validating: characters(column), as: UTF8.self) else { throw misfit(column) }
        return text
    }

    /// The same; nil for NULL.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for what is no text.
    package func optionalText(_ column: Int32) throws(StoreError) -> String? {
        isNull(column) ? nil : try text(column)
    }

    /// A column of octets.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for what are no octets.
    package func blob(_ column: Int32) throws(StoreError) -> [UInt8] {
        try require(SQLITE_BLOB, column)
        return octets(column)
    }

    /// The same; nil for NULL.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for what are no octets.
    package func optionalBlob(_ column: Int32) throws(StoreError) -> [UInt8]? {
        isNull(column) ? nil : try blob(column)
    }

    /// Tables are STRICT, but a medium is not: a value of another type was not written by this program.
    private func require(_ type: Int32, _ column: Int32) throws(StoreError) {
        guard sqlite3_column_type(handle, column) == type else { throw misfit(column) }
    }

    private func characters(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: sqlite3_column_text(handle, column), count: Int(sqlite3_column_bytes(handle, column)))
    }

    private func octets(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// Sixteen octets, most significant first.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for any other number of octets.
    package func uint128(_ column: Int32) throws(StoreError) -> UInt128 {
        guard let number = optionalUInt128(column) else { throw misfit(column) }
        return number
    }

    /// The same; nil for NULL, and for any other number of octets.
    package func optionalUInt128(_ column: Int32) -> UInt128? {
        guard sqlite3_column_type(handle, column) == SQLITE_BLOB, let start = sqlite3_column_blob(handle, column),
            sqlite3_column_bytes(handle, column) == 16
        else { return nil }
        return UInt128(bigEndian: start.loadUnaligned(as: UInt128.self))
    }

    /// The columns as they were bound. A number with a fraction was never written.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for such a number.
    package func values(_ columns: Range<Int32>) throws(StoreError) -> [SQLValue] {
        var values: [SQLValue] = []
        for column in columns {
            guard sqlite3_column_type(handle, column) != SQLITE_FLOAT else { throw misfit(column) }
            values.append(value(column))
        }
        return values
    }

    /// The column as it is kept, without a copy of it.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for a number with a fraction.
    func append(_ column: Int32, to message: inout RowMessage) throws(StoreError) {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: message.append(sqlite3_column_int64(handle, column))
        // First where the octets are: the count is of their form.
        case SQLITE_TEXT:
            let start = sqlite3_column_text(handle, column)
            message.append(text: octets(UnsafeRawPointer(start), column))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(handle, column)
            message.append(blob: octets(start, column))
        case SQLITE_FLOAT: throw misfit(column)
        default: message.appendNull()
        }
    }

    private func octets(_ start: UnsafeRawPointer?, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    /// The column as part of a row's name.
    func name(_ column: Int32) -> String {
        switch value(column) {
        case .null: "?"
        case .integer(let integer): "\(integer)"
        case .text(let text): text
        case .blob(let octets): HexText.encode(octets)
        }
    }

    /// The column as it is, for lists that people read.
    func value(_ column: Int32) -> SQLValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(handle, column))
        case SQLITE_TEXT: .text(String(decoding: characters(column), as: UTF8.self))
        case SQLITE_BLOB: .blob(octets(column))
        default: .null
        }
    }

    /// For values that fit their column but not what is kept in it.
    package func misfit(_ column: Int32) -> StoreError {
        let name = sqlite3_column_name(handle, column).map { String(cString: $0) } ?? "?"
        return .corrupt(path: path, reason: "column \(name) holds what was never written there")
    }
}
