/// A place in a configuration file, counted from 1.
package struct TextPosition: Equatable, Sendable {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// What is wrong with a configuration file, where, and what to do.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    package var file: String
    package var position: TextPosition
    package var problem: String
    package var remedy: String

    package init(file: String, position: TextPosition, problem: String, remedy: String) {
        self.file = file
        self.position = position
        self.problem = problem
        self.remedy = remedy
    }

    package var description: String {
        "\(problem) in \(file) line \(position.line) column \(position.column): \(remedy)"
    }
}

/// A configuration file's entries, each with its place: the part of TOML 1.0 that is written on one line, which is
/// `[section]`, `key = value`, basic and literal strings, decimal integers, booleans and comments.
///
/// https://toml.io/en/v1.0.0
package struct ConfigurationText: Sendable {
    /// Octets of a file; a larger one is no configuration.
    package static let maximumFileOctets = 64 * 1024

    package enum Value: Equatable, Sendable {
        case string(String)
        case integer(Int64)
        case boolean(Bool)

        package var kind: String {
            switch self {
            case .string: "a string"
            case .integer: "an integer"
            case .boolean: "a boolean"
            }
        }
    }

    package struct Entry: Equatable, Sendable {
        /// Empty before the first section.
        package var section: String
        package var key: String
        package var value: Value
        package var keyPosition: TextPosition
        package var valuePosition: TextPosition
    }

    package private(set) var entries: [Entry] = []

    /// Reads all lines; `file` is for the errors.
    ///
    /// - Throws: ``ConfigurationError``, with file, line and column, for the first line that is not read.
    package init(_ text: String, file: String) throws(ConfigurationError) {
        var faults: [ConfigurationError] = []
        self.init(text, file: file, faults: &faults)
        if let first = faults.first { throw first }
    }

    /// Reads the lines that can be read. What is wrong with each of the others is added to `faults`.
    package init(_ text: String, file: String, faults: inout [ConfigurationError]) {
        var reading = Reading(file: file)
        for (index, line) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            do throws(ConfigurationError) { try reading.take(line, number: index + 1) } catch { faults.append(error) }
        }
        entries = reading.entries
    }

    /// What the lines before have said.
    private struct Reading {
        let file: String
        var entries: [Entry] = []
        private var sections: [String: Int] = [:]
        private var section = ""

        init(file: String) { self.file = file }

        mutating func take(_ line: some Sequence<Unicode.Scalar>, number: Int) throws(ConfigurationError) {
            var scanner = LineScanner(line: line, number: number, file: file)
            switch try scanner.read() {
            case .nothing: return
            case .section(let name, let position):
                // Keys behind a heading belong to it, also behind its second one.
                section = name
                if let first = sections[name] {
                    throw ConfigurationError(
                        file: file, position: position, problem: "section [\(name)] is there twice",
                        remedy: "put its keys under the first one, in line \(first)")
                }
                sections[name] = number
            case .entry(var entry):
                entry.section = section
                if let first = entries.first(where: { $0.section == section && $0.key == entry.key }) {
                    throw ConfigurationError(
                        file: file, position: entry.keyPosition, problem: "key `\(entry.key)` is there twice",
                        remedy: "keep this one or the one in line \(first.keyPosition.line)")
                }
                entries.append(entry)
            }
        }
    }
}
