/// What somebody does to a lock's disk while its process is away. The house is of no more use behind it.
package enum Vandalism: Sendable, CaseIterable {
    /// Makes an owner of a guest.
    case alteredRow
    /// Puts back what the disk had before a guest was shown the door.
    case olderDatabase
}

extension Vandalism: CustomStringConvertible {
    package var description: String {
        switch self {
        case .alteredRow: "somebody makes an owner of a guest, on the lock's disk"
        case .olderDatabase: "a guest is removed, and somebody puts the lock's old disk back"
        }
    }
}
