import BluetoothCore
import HCI
import L2CAP

/// What one side would like its link to be: quick to answer, or cheap to keep.
package struct PreferredConnection: Equatable, Sendable {
    /// Units of 1.25 ms.
    package var interval: ClosedRange<UInt16>
    /// Connection events that the peripheral may skip.
    package var latency: UInt16
    /// Supervision timeout in units of 10 ms.
    package var timeout: UInt16

    package init(interval: ClosedRange<UInt16>, latency: UInt16, timeout: UInt16) {
        self.interval = interval
        self.latency = latency
        self.timeout = timeout
    }

    fileprivate var parameters: ConnectionParameters {
        ConnectionParameters(
            intervalMin: interval.lowerBound, intervalMax: interval.upperBound, latency: latency, timeout: timeout)
    }
}

extension HostCore {
    @discardableResult
    mutating func preferConnection(_ preferred: PreferredConnection, on link: LinkID) -> Bool {
        guard let link = links[link], !link.isDisconnecting, preferred.parameters.isValid else { return false }
        switch link.role {
        case .central:
            link.isBrief = false
            updateConnection(link, preferred.parameters)
        case .peripheral: negotiate(link) { $0.want(preferred.parameters, now: $1) }
        }
        return true
    }

    /// What the operator prefers for every link that a central has made.
    mutating func preferConfiguredConnection(_ link: Link) {
        guard let preferred = configuration.preferredConnection else { return }
        preferConnection(preferred, on: link.id)
    }

    /// Runs `body` on a link's negotiation, then what it wants.
    mutating func negotiate(
        _ link: Link,
        _ body: (inout ConnectionParameterNegotiation, Instant) -> ConnectionParameterNegotiation.Output?
    ) {
        guard !link.isDisconnecting else { return }
        switch body(&link.negotiation, now) {
        case .askLinkLayer(let parameters):
            submit(
                HCILEConnectionUpdate(handle: link.handle, connection: .init(parameters)),
                for: .link(link.id, .connectionParametersRequest))
        case .askL2CAP(let parameters):
            withLogicalLink(link) { logical, now, outputs in
                // Nothing waits, and what is asked for was checked: it cannot be refused here.
                try? logical.requestUpdate(parameters, now: now, into: &outputs)
            }
        case nil: return
        }
    }
}
