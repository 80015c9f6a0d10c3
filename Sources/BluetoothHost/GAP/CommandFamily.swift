import BluetoothCore
import HCI

/// The commands of Core 4.0, or those of Core 5 that replace them. A controller hears only one of the two between two
/// resets.
///
/// Core 5.4, Vol 4, Part E, 3.1.1 (Legacy and extended advertising)
package enum CommandFamily: Equatable, Sendable { case legacy, extended }

/// How GAP's machines are put into commands: the machines say what, the family says how.
package struct GAPCommands {
    package var family: CommandFamily
    /// Units of 0.625 ms.
    package var advertisingInterval: UInt16
    /// Units of 1.25 ms, as central.
    package var connectionInterval: UInt16
    /// Units of 10 ms, as central.
    package var supervisionTimeout: UInt16

    package init(
        family: CommandFamily, advertisingInterval: UInt16, connectionInterval: UInt16, supervisionTimeout: UInt16
    ) {
        self.family = family
        self.advertisingInterval = advertisingInterval
        self.connectionInterval = connectionInterval
        self.supervisionTimeout = supervisionTimeout
    }

    /// Core 5.4, Vol 3, Part C, Appendix A (Timers and Constants: TGAP(scan_fast_interval), TGAP(scan_fast_window))
    private static let scanInterval: UInt16 = 0x0060
    private static let scanWindow: UInt16 = 0x0030

    private static let nobody = LEPeerAddress(kind: .public, bits: 0)
    private static let ownAddressType = LEOwnAddressType.random
}

// MARK: Advertising

extension GAPCommands {
    /// nil for what the family has no command for: a legacy set is there by itself, and has no address of its own.
    package func command(for action: Advertiser.Action, of set: LEAdvertisingHandle) -> (any HCICommand)? {
        switch family {
        case .legacy: legacyCommand(for: action)
        case .extended: extendedCommand(for: action, of: set)
        }
    }

    private func legacyCommand(for action: Advertiser.Action) -> (any HCICommand)? {
        switch action {
        case .setParameters(_, let mode):
            HCILESetAdvertisingParameters(
                intervalMin: legacyInterval(mode), intervalMax: legacyInterval(mode),
                advertisingType: LEAdvertisingType(mode), ownAddressType: Self.ownAddressType,
                peerAddress: Self.nobody, channelMap: .all, filterPolicy: .all)
        case .setData(let piece): HCILESetAdvertisingData(data: LegacyAdvertisingData(truncating: piece.octets))
        case .setScanResponse(let piece):
            HCILESetScanResponseData(data: LegacyAdvertisingData(truncating: piece.octets))
        case .enable: HCILESetAdvertisingEnable(enable: true)
        case .disable: HCILESetAdvertisingEnable(enable: false)
        case .setAddress, .remove: nil
        }
    }

    /// Controllers before Core 5.0 take no less than 100 ms for what nobody can connect to.
    ///
    /// Core 4.2, Vol 2, Part E, 7.8.5 (LE Set Advertising Parameters command)
    private func legacyInterval(_ mode: ConnectableMode) -> UInt16 {
        mode == .connectable ? advertisingInterval : max(advertisingInterval, 0x00A0)
    }

    private func extendedCommand(for action: Advertiser.Action, of set: LEAdvertisingHandle) -> any HCICommand {
        switch action {
        case .setParameters(let pdus, let mode):
            HCILESetExtendedAdvertisingParameters(
                advertisingHandle: set,
                properties: LEAdvertisingEventProperties(pdus, mode),
                intervalMin: UInt32(advertisingInterval), intervalMax: UInt32(advertisingInterval), channelMap: .all,
                ownAddressType: Self.ownAddressType, peerAddress: Self.nobody, filterPolicy: .all,
                txPower: HCILESetExtendedAdvertisingParameters.noTxPowerPreference, primaryPHY: .le1M,
                secondaryMaxSkip: 0, secondaryPHY: .le1M, advertisingSID: set.rawValue & 0x0F,
                reportsScanRequests: false)
        case .setAddress(let address):
            HCILESetAdvertisingSetRandomAddress(advertisingHandle: set, address: address.bits)
        case .setData(let piece): HCILESetExtendedAdvertisingData(data: .init(advertisingHandle: set, piece: piece))
        case .setScanResponse(let piece):
            HCILESetExtendedScanResponseData(data: .init(advertisingHandle: set, piece: piece))
        case .enable: HCILESetExtendedAdvertisingEnable(enable: true, sets: [.init(advertisingHandle: set)])
        case .disable: HCILESetExtendedAdvertisingEnable(enable: false, sets: [.init(advertisingHandle: set)])
        case .remove: HCILERemoveAdvertisingSet(advertisingHandle: set)
        }
    }
}

extension LEAdvertisingType {
    fileprivate init(_ mode: ConnectableMode) {
        switch mode {
        case .connectable: self = .connectableScannableUndirected
        case .scannable: self = .scannableUndirected
        case .nonConnectable: self = .nonconnectableUndirected
        }
    }
}

extension LEAdvertisingEventProperties {
    fileprivate init(_ pdus: Advertiser.PDUs, _ mode: ConnectableMode) {
        switch (pdus, mode) {
        case (.legacy, .connectable): self = .legacyConnectableScannableUndirected
        case (.legacy, .scannable): self = .legacyScannableUndirected
        case (.legacy, .nonConnectable): self = .legacyPDUs
        case (.extended, .connectable): self = .connectable
        // Of extended PDUs those that can be scanned have no data of their own.
        case (.extended, .scannable), (.extended, .nonConnectable): self = []
        }
    }
}

// MARK: Scanning

extension GAPCommands {
    package func command(for action: Scanner.Action) -> any HCICommand {
        switch (family, action) {
        case (.legacy, .setParameters(let isActive)):
            HCILESetScanParameters(
                scanType: isActive ? .active : .passive, interval: Self.scanInterval, window: Self.scanWindow,
                ownAddressType: Self.ownAddressType, filterPolicy: .basicUnfiltered)
        case (.legacy, .enable(let filterDuplicates)):
            HCILESetScanEnable(enable: true, filterDuplicates: filterDuplicates)
        case (.legacy, .disable): HCILESetScanEnable(enable: false, filterDuplicates: false)
        case (.extended, .setParameters(let isActive)):
            HCILESetExtendedScanParameters(
                ownAddressType: Self.ownAddressType, filterPolicy: .basicUnfiltered,
                phys: .init(
                    le1M: .init(
                        scanType: isActive ? .active : .passive, interval: Self.scanInterval, window: Self.scanWindow)))
        case (.extended, .enable(let filterDuplicates)):
            HCILESetExtendedScanEnable(enable: true, duplicateFilter: filterDuplicates ? .on : .off)
        case (.extended, .disable): HCILESetExtendedScanEnable(enable: false, duplicateFilter: .off)
        }
    }
}

// MARK: Resolving

extension GAPCommands {
    /// The same in both families.
    package func command(for action: ResolvingList.Action) -> any HCICommand {
        switch action {
        case .add(let entry):
            HCILEAddDeviceToResolvingList(
                peerIdentityAddress: LEPeerAddress(entry.identity.address), peerIRK: HCIKey(entry.irk),
                localIRK: HCIKey(bits: 0))
        case .setDevicePrivacyMode(let identity):
            HCILESetPrivacyMode(peerIdentityAddress: LEPeerAddress(identity.address), mode: .device)
        case .remove(let identity):
            HCILERemoveDeviceFromResolvingList(peerIdentityAddress: LEPeerAddress(identity.address))
        case .setResolution(let enable): HCILESetAddressResolutionEnable(enable: enable)
        }
    }
}

// MARK: Connecting

extension GAPCommands {
    package func command(for action: Initiator.Action) -> any HCICommand {
        switch action {
        case .addToAcceptList(let address): HCILEAddDeviceToFilterAcceptList(address: LEPeerAddress(address))
        case .removeFromAcceptList(let address): HCILERemoveDeviceFromFilterAcceptList(address: LEPeerAddress(address))
        case .connect(let address):
            createConnection(
                to: LEPeerAddress(address), usesFilterAcceptList: false, supervisionTimeout: supervisionTimeout)
        case .connectBriefly(let address):
            createConnection(
                to: LEPeerAddress(address), usesFilterAcceptList: false,
                supervisionTimeout: min(supervisionTimeout, briefSupervisionTimeout))
        case .connectByAcceptList:
            createConnection(to: Self.nobody, usesFilterAcceptList: true, supervisionTimeout: supervisionTimeout)
        case .cancel: HCILECreateConnectionCancel()
        }
    }

    /// Units of 10 ms: half a second, or what the connection interval needs at least.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.12: Supervision_Timeout is larger than twice the interval
    private var briefSupervisionTimeout: UInt16 { max(50, connectionInterval / 4 + 1) }

    private func createConnection(
        to address: LEPeerAddress, usesFilterAcceptList: Bool, supervisionTimeout: UInt16
    ) -> any HCICommand {
        let connection = LEConnectionIntervals(
            intervalMin: connectionInterval, intervalMax: connectionInterval, maxLatency: 0,
            supervisionTimeout: supervisionTimeout, minCELength: 0, maxCELength: 0)
        return switch family {
        case .legacy:
            HCILECreateConnection(
                scanInterval: Self.scanInterval, scanWindow: Self.scanWindow,
                usesFilterAcceptList: usesFilterAcceptList, peerAddress: address,
                ownAddressType: Self.ownAddressType, connection: connection)
        case .extended:
            HCILEExtendedCreateConnection(
                usesFilterAcceptList: usesFilterAcceptList, ownAddressType: Self.ownAddressType,
                peerAddress: address,
                phys: .init(
                    le1M: .init(
                        scanInterval: Self.scanInterval, scanWindow: Self.scanWindow, connection: connection)))
        }
    }
}
