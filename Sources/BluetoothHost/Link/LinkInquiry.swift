import BluetoothCore
import HCI

/// As central, gets to know the peer's link layer and agrees with it on the best of what both have: once, one procedure
/// at a time, and not before the link has done what it was made for. A user at a door waits for one command and its answer, which
/// need none of this. Link layers that lose a link over two procedures at once, or over one that comes with the
/// connection, are real.
///
/// Core 5.4, Vol 6, Part B, 5.1 (Link Layer control procedures); Vol 3, Part G, 4.3.1 (Exchange MTU)
package struct LinkInquiry: Equatable, Sendable {
    /// In their order: what a peer can is known before it is asked for it.
    package enum Step: CaseIterable, Sendable {
        /// Core 5.4, Vol 4, Part E, 7.8.21 (LE Read Remote Features command)
        case features
        /// Core 5.4, Vol 4, Part E, 7.1.23 (Read Remote Version Information command)
        case version
        /// Core 5.4, Vol 4, Part E, 7.8.33 (LE Set Data Length command)
        case dataLength
        /// Core 5.4, Vol 4, Part E, 7.8.49 (LE Set PHY command)
        case phy
    }

    private enum State: Equatable, Sendable {
        case waiting(until: Instant)
        case asking(Step)
        case done
    }

    /// After the connection.
    package static let delayMilliseconds: UInt64 = 1_000

    private var state: State
    /// Whether the MTU has yet to be exchanged, once: with the first operation, or with what is asked of the link layer.
    package private(set) var owesMTUExchange = true

    /// `now` is when the link was made.
    package init(now: Instant) { state = .waiting(until: now.advanced(byMilliseconds: Self.delayMilliseconds)) }

    /// Whether it was owed until now.
    package mutating func takeMTUExchange() -> Bool {
        defer { owesMTUExchange = false }
        return owesMTUExchange
    }

    /// Something else is asked of the link layer.
    package mutating func postpone(now: Instant) {
        if case .waiting = state { state = .waiting(until: now.advanced(byMilliseconds: Self.delayMilliseconds)) }
    }

    package var deadline: Instant? {
        if case .waiting(let until) = state { until } else { nil }
    }

    /// Whether ``begin(_:_:)`` is due.
    package func isDue(_ now: Instant) -> Bool { deadline.map { $0 <= now } ?? false }

    /// The link has waited long enough. The step to ask for, if any.
    package mutating func begin(_ controller: ControllerFacts, _ link: LinkFacts) -> Step? {
        guard case .waiting = state else { return nil }
        return move(to: Step.allCases[...], controller, link)
    }

    /// The step has come to its end, well or not: its event came, or the controller refused the command. The next one.
    package mutating func ended(_ step: Step, _ controller: ControllerFacts, _ link: LinkFacts) -> Step? {
        guard state == .asking(step), let index = Step.allCases.firstIndex(of: step) else { return nil }
        return move(to: Step.allCases[(index + 1)...], controller, link)
    }

    private mutating func move(
        to steps: ArraySlice<Step>, _ controller: ControllerFacts, _ link: LinkFacts
    ) -> Step? {
        let next = steps.first { Self.applies($0, controller, link) }
        state = next.map(State.asking) ?? .done
        return next
    }

    /// Nothing is asked of a controller that lacks the command, nor of a peer that lacks the feature.
    private static func applies(_ step: Step, _ controller: ControllerFacts, _ link: LinkFacts) -> Bool {
        func both(_ feature: LEFeatures) -> Bool {
            controller.features.contains(feature) && link.features?.contains(feature) == true
        }
        return switch step {
        case .features: link.features == nil && controller.supports(.leReadRemoteFeatures)
        case .version: link.version == nil && controller.supports(.readRemoteVersionInformation)
        case .dataLength:
            both(.dataPacketLengthExtension) && controller.supports(.leSetDataLength)
                && link.txDataLength.octets < controller.maximumDataLength.octets
        case .phy:
            both(.le2MPHY) && controller.supports(.leSetPHY) && (link.txPHY != .le2M || link.rxPHY != .le2M)
        }
    }
}
