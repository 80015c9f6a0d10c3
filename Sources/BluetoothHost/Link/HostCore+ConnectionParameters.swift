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
        linkLayer(link, .preferred(preferred.parameters))
        return true
    }

    /// What the operator prefers for every link that a central has made.
    mutating func preferConfiguredConnection(_ link: Link) {
        guard let preferred = configuration.preferredConnection else { return }
        preferConnection(preferred, on: link.id)
    }
}
