/// Where statements on the state's tables come from.
package protocol StatementSource {
    var path: String { get }
    /// Prepared at its first use and kept.
    func statement(_ sql: StaticString) throws(StoreError) -> Statement
}

extension Database: StatementSource {}

/// The last commit of a file that cannot be used as it should: read and never written, whatever else is wrong with it.
package final class StateLook: StatementSource {
    /// Somebody who is just done with the file is not taken for damage.
    private static let waitMilliseconds: Int32 = 2_000

    private let connection: Connection

    /// Opens the file for reading. Changes nothing.
    ///
    /// - Throws: A ``StoreError`` when the file cannot be opened, or is not ours.
    package init(path: String) throws(StoreError) {
        connection = try DatabaseFile.lookingConnection(path)
        connection.setBusyTimeout(milliseconds: Self.waitMilliseconds)
        try DatabaseFile.requireOurs(connection)
    }

    package var path: String { connection.path }

    /// Prepared at its first use and kept.
    ///
    /// - Throws: A ``StoreError`` when SQLite does not understand the statement or cannot read the file.
    package func statement(_ sql: StaticString) throws(StoreError) -> Statement { try connection.statement(sql) }
}
