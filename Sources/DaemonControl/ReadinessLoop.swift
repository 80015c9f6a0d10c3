/// What a descriptor is watched for, or is ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let readable = Self(rawValue: 1)
    package static let writable = Self(rawValue: 2)
    /// The other side is gone, or the descriptor is broken: reading says which.
    package static let hangup = Self(rawValue: 4)
}

/// The loop that the control socket lives on: the daemon's own, so that a request joins its iteration.
package protocol ReadinessLoop: AnyObject {
    /// Calls `ready` on the loop's thread whenever the descriptor is. False: the loop cannot watch it.
    func watch(_ descriptor: Int32, for interest: Readiness, _ ready: @escaping (Readiness) -> Void) -> Bool
    func change(_ descriptor: Int32, to interest: Readiness)
    /// Before the descriptor is closed.
    func unwatch(_ descriptor: Int32)
}
