/// Text that opens something: a setup code on its way from the operator's terminal to a daemon. It has no description,
/// so that no log line and no dump can carry it by accident.
package struct SecretText: Sendable {
    private let text: String

    package init(_ text: String) { self.text = text }

    /// For the one place that reads it.
    ///
    /// - Throws: What `body` throws.
    package func withText<Result, Failure: Error>(_ body: (String) throws(Failure) -> Result) throws(Failure) -> Result
    {
        try body(text)
    }

    /// Takes as long for any two texts of one length.
    package func isEqual(to other: SecretText) -> Bool {
        let (mine, others) = (Array(text.utf8), Array(other.text.utf8))
        guard mine.count == others.count else { return false }
        return zip(mine, others).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension SecretText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
