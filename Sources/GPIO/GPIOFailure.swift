import Glibc

/// What could not be done with a chip or one of its lines.
package struct GPIOFailure: Error, Equatable, CustomStringConvertible {
    /// For a person: which chip or line, and what was asked of it.
    package let what: String
    /// errno.
    package let code: Int32

    package init(_ what: String, _ code: Int32) {
        self.what = what
        self.code = code
    }

    package var description: String { "\(what): \(String(cString: strerror(code)))" }
}
