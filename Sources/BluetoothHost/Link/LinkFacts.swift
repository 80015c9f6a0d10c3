import BluetoothCore
import HCI

/// What is known of a link below L2CAP: what the controllers agreed on, and what the peer's says of itself.
package struct LinkFacts: Equatable, Sendable {
    /// Core 5.4, Vol 4, Part E, 7.7.12 (Read Remote Version Information Complete event)
    package struct Version: Equatable, Sendable {
        package var core: CoreVersion
        package var companyIdentifier: UInt16
        package var subversion: UInt16

        package init(core: CoreVersion, companyIdentifier: UInt16, subversion: UInt16) {
            self.core = core
            self.companyIdentifier = companyIdentifier
            self.subversion = subversion
        }
    }

    package var parameters: LELinkParameters
    package var txPHY = LEPHY.le1M
    package var rxPHY = LEPHY.le1M
    package var txDataLength = DataLength.minimum
    package var rxDataLength = DataLength.minimum
    /// nil until the controller has told.
    package var channelSelection: LEChannelSelectionAlgorithm?
    /// Of the peer's link layer; nil until it has told.
    package var features: LEFeatures?
    package var version: Version?
    /// As it was when it was last asked for.
    package var channelMap: LEChannelMap?

    package init(
        _ parameters: LELinkParameters = LELinkParameters(
            connectionInterval: 0, peripheralLatency: 0, supervisionTimeout: 0)
    ) {
        self.parameters = parameters
    }
}
