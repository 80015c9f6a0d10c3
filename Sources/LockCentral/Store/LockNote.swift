/// What a key's user has written down about a lock, for instance "left door, turn twice": one line for people, which decides nothing.
package struct LockNote: Hashable, Sendable {
    package static let octetsMaximum = 128

    /// Why a text is no note.
    package enum Fault: Error, Equatable, Sendable, CustomStringConvertible {
        case empty
        case tooLong
        /// It would move a terminal's cursor, or begin another line.
        case control

        package var description: String {
            switch self {
            case .empty: "a note has a text"
            case .tooLong: "a note has at most \(LockNote.octetsMaximum) octets"
            case .control: "a note is one line, without control characters"
            }
        }
    }

    package let text: String

    /// - Throws: ``Fault``.
    package init(_ text: String) throws(Fault) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.octetsMaximum else { throw .tooLong }
        guard Self.isOneLine(text) else { throw .control }
        self.text = text
    }

    /// Whether a terminal shows all of it, on one line.
    static func isOneLine(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }
}
