/// What an error carries besides its code: Apple's user info. Errors are equal whatever they carry.
package struct ErrorDetails: Hashable, @unchecked Sendable {
    package let values: [String: Any]

    package init(_ values: [String: Any] = [:]) { self.values = values }

    package static func == (a: Self, b: Self) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}
