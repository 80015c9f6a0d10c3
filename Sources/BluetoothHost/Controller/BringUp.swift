import BluetoothCore
import HCI

/// The commands from Reset to an adapter that can be used, in their order, one at a time. What a controller need not have
/// is asked of it only when it says that it has it, and may be refused.
///
/// Core 5.4, Vol 6, Part D, 2.1 (Initial setup)
package struct BringUp {
    package enum Step: CaseIterable, Sendable {
        case reset, localVersion, supportedCommands, localFeatures, address, leFeatures, eventMask, leEventMask
        case leBufferSize, bufferSize, maximumDataLength, suggestedDataLength, defaultPHY
        case advertisingSetCount, advertisingDataLength, resolvingListSize, acceptListSize, clearAcceptList
    }

    package enum Outcome {
        case next(Step)
        case ready(ControllerFacts)
        /// The controller has no LE, or refuses what LE cannot do without.
        case unsupported(Step, HCICommandFailure)
    }

    package private(set) var step = Step.reset
    private var facts = ControllerFacts()

    package init() {}

    /// The controller answered the command of the current step.
    package mutating func completed(_ status: HCIErrorCode, _ returnParameters: [UInt8]) -> Outcome {
        if status == .success {
            do {
                try take(returnParameters)
            } catch {
                if !isOptional { return .unsupported(step, .malformed(error)) }
            }
        } else if !isOptional {
            return .unsupported(step, .status(status))
        }
        guard let next = following() else { return .ready(facts) }
        step = next
        return .next(next)
    }

    private func following() -> Step? {
        let all = Step.allCases
        guard let index = all.firstIndex(of: step) else { return nil }
        return all[(index + 1)...].first(where: applies)
    }

    /// Without it there is still an adapter.
    private var isOptional: Bool {
        switch step {
        case .maximumDataLength, .suggestedDataLength, .defaultPHY, .advertisingSetCount, .advertisingDataLength,
            .resolvingListSize:
            true
        case .reset, .localVersion, .supportedCommands, .localFeatures, .address, .leFeatures, .eventMask, .leEventMask,
            .leBufferSize, .bufferSize, .acceptListSize, .clearAcceptList:
            false
        }
    }

    private func applies(_ step: Step) -> Bool {
        switch step {
        case .reset, .localVersion, .supportedCommands, .localFeatures, .address, .leFeatures, .eventMask, .leEventMask,
            .leBufferSize, .acceptListSize, .clearAcceptList:
            true
        // Core 5.4, Vol 4, Part E, 7.8.2: a controller without buffers of its own for LE shares those of BR/EDR; any
        // other is not asked for them.
        case .bufferSize: facts.aclDataPacketCount == 0
        case .maximumDataLength: facts.supports(.leReadMaximumDataLength)
        case .suggestedDataLength: facts.supports(.leWriteSuggestedDefaultDataLength)
        case .defaultPHY: facts.features.contains(.le2MPHY) && facts.supports(.leSetDefaultPHY)
        case .advertisingSetCount:
            facts.commandFamily == .extended && facts.supports(.leReadNumberOfSupportedAdvertisingSets)
        case .advertisingDataLength:
            facts.commandFamily == .extended && facts.supports(.leReadMaximumAdvertisingDataLength)
        case .resolvingListSize: facts.features.contains(.privacy) && facts.supports(.leReadResolvingListSize)
        }
    }

    private mutating func take(_ octets: [UInt8]) throws(DecodingError) {
        switch step {
        case .reset, .eventMask, .leEventMask, .suggestedDataLength, .defaultPHY, .clearAcceptList: break
        case .localVersion:
            facts.version = try HCIReadLocalVersionInformation.ReturnParameters(exactly: octets).hciVersion
        case .supportedCommands: facts.supportedCommands = try SupportedCommands(exactly: octets)
        case .localFeatures:
            let features = try HCIReadLocalSupportedFeatures.ReturnParameters(exactly: octets).lmpFeatures
            guard features & Self.leSupportedByController != 0 else {
                throw .invalidValue(field: "LMP_Features: no LE")
            }
        case .address:
            let bits = try HCIReadBDADDR.ReturnParameters(exactly: octets).address
            facts.publicAddress = DeviceAddress(kind: .public, bits: bits)
        case .leBufferSize:
            let size = try HCILEReadBufferSize.ReturnParameters(exactly: octets)
            guard size.aclDataPacketLength > 0 else { break }
            facts.aclDataPacketLength = Int(size.aclDataPacketLength)
            facts.aclDataPacketCount = Int(size.totalNumACLDataPackets)
        case .bufferSize:
            let size = try HCIReadBufferSize.ReturnParameters(exactly: octets)
            guard size.aclDataPacketLength > 0, size.totalNumACLDataPackets > 0 else {
                throw .invalidValue(field: "Total_Num_ACL_Data_Packets")
            }
            facts.aclDataPacketLength = Int(size.aclDataPacketLength)
            facts.aclDataPacketCount = Int(size.totalNumACLDataPackets)
        case .leFeatures:
            facts.features = try HCILEReadLocalSupportedFeatures.ReturnParameters(exactly: octets).features
        case .maximumDataLength:
            let most = try HCILEReadMaximumDataLength.ReturnParameters(exactly: octets)
            facts.maximumDataLength = DataLength(octets: most.maxTxOctets, microseconds: most.maxTxTime)
        case .advertisingSetCount:
            facts.advertisingSetCount =
                Int(try HCILEReadNumberOfSupportedAdvertisingSets.ReturnParameters(exactly: octets).count)
        case .advertisingDataLength:
            facts.advertisingDataOctets =
                Int(try HCILEReadMaximumAdvertisingDataLength.ReturnParameters(exactly: octets).octets)
        case .resolvingListSize:
            facts.resolvingListCapacity = Int(try HCILEReadResolvingListSize.ReturnParameters(exactly: octets).size)
        case .acceptListSize:
            facts.acceptListCapacity = Int(try HCILEReadFilterAcceptListSize.ReturnParameters(exactly: octets).size)
        }
    }

    /// Core 5.4, Vol 2, Part C, 3.3 (Feature Mask Definition, bit 38)
    private static let leSupportedByController: UInt64 = 1 << 38

    /// The command of the current step.
    package var command: any HCICommand {
        switch step {
        case .reset: HCIReset()
        case .localVersion: HCIReadLocalVersionInformation()
        case .supportedCommands: HCIReadLocalSupportedCommands()
        case .localFeatures: HCIReadLocalSupportedFeatures()
        case .address: HCIReadBDADDR()
        case .leFeatures: HCILEReadLocalSupportedFeatures()
        case .eventMask:
            HCISetEventMask(eventMask: [
                .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .hardwareError,
                .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
            ])
        case .leEventMask: HCILESetEventMask(eventMask: facts.leEventMask)
        case .leBufferSize: HCILEReadBufferSize()
        case .bufferSize: HCIReadBufferSize()
        case .maximumDataLength: HCILEReadMaximumDataLength()
        case .suggestedDataLength:
            HCILEWriteSuggestedDefaultDataLength(
                maxTxOctets: facts.maximumDataLength.octets, maxTxTime: facts.maximumDataLength.microseconds)
        case .defaultPHY: HCILESetDefaultPHY(indifference: [], tx: [.le1M, .le2M], rx: [.le1M, .le2M])
        case .advertisingSetCount: HCILEReadNumberOfSupportedAdvertisingSets()
        case .advertisingDataLength: HCILEReadMaximumAdvertisingDataLength()
        case .resolvingListSize: HCILEReadResolvingListSize()
        case .acceptListSize: HCILEReadFilterAcceptListSize()
        case .clearAcceptList: HCILEClearFilterAcceptList()
        }
    }
}
