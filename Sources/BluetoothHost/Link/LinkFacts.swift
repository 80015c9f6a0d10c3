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

    /// Units of 1.25 ms.
    package var connectionInterval: UInt16
    /// Connection events that the peripheral may skip.
    package var peripheralLatency: UInt16
    /// Units of 10 ms.
    package var supervisionTimeout: UInt16
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

    package init(connectionInterval: UInt16 = 0, peripheralLatency: UInt16 = 0, supervisionTimeout: UInt16 = 0) {
        self.connectionInterval = connectionInterval
        self.peripheralLatency = peripheralLatency
        self.supervisionTimeout = supervisionTimeout
    }
}
