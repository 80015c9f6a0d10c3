/// Why a controller cannot be reached, in one line that names what was tried and what to do about it.
package struct TransportError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        /// The address is not one.
        case malformedAddress
        /// Nothing is there.
        case notFound
        /// Something is there and refuses.
        case refused
        case timedOut
        case notPermitted
        /// Somebody else holds it.
        case busy
        /// It is there, and is not ready for anybody: being set up, or switched off.
        case notReady
        /// This kernel or this device cannot do it.
        case unsupported
        /// Any other answer of the system's.
        case system(Int32)
    }

    package let kind: Kind
    package let description: String

    /// Whether a controller that is plugged in or started later mends it by itself. What does not is an operator's
    /// mistake, and better said at once than waited for.
    package var isMendedByWaiting: Bool {
        switch kind {
        case .notFound, .refused, .timedOut, .notReady: true
        case .malformedAddress, .notPermitted, .busy, .unsupported, .system: false
        }
    }

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    init(system number: Int32, _ what: String) {
        self.init(.system(number), "\(what): \(systemMessage(number))")
    }
}
