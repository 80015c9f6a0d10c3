import BluetoothCore
import HCI

/// What a controller says of itself before anything is asked of it.
package struct ControllerFacts: Sendable {
    package var version = CoreVersion(rawValue: 0)
    package var supportedCommands: SupportedCommands?
    package var features: LEFeatures = []
    package var publicAddress = DeviceAddress(kind: .public, bits: 0)
    /// Octets of the largest ACL data packet that it takes, and how many it holds.
    package var aclDataPacketLength = 0
    package var aclDataPacketCount = 0
    package var acceptListCapacity = 0

    package init() {}
}

/// The commands from Reset to an adapter that can be used, in their order, one at a time.
///
/// Core 5.4, Vol 6, Part D, 2.1 (Initial setup)
package struct BringUp {
    package enum Step: CaseIterable, Sendable {
        case reset, localVersion, supportedCommands, localFeatures, address, eventMask, leEventMask
        case leBufferSize, bufferSize, leFeatures, randomAddress, acceptListSize, clearAcceptList
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
        guard status == .success else { return .unsupported(step, .status(status)) }
        do {
            try take(returnParameters)
        } catch {
            return .unsupported(step, .malformed(error))
        }
        guard let next = following() else { return .ready(facts) }
        step = next
        return .next(next)
    }

    /// A controller without buffers of its own for LE shares those of BR/EDR; any other is not asked for them.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.2 (LE Read Buffer Size command)
    private func following() -> Step? {
        let all = Step.allCases
        guard let index = all.firstIndex(of: step), index + 1 < all.count else { return nil }
        let next = all[index + 1]
        return next == .bufferSize && facts.aclDataPacketCount > 0 ? .leFeatures : next
    }

    private mutating func take(_ octets: [UInt8]) throws(DecodingError) {
        switch step {
        case .reset, .eventMask, .leEventMask, .randomAddress, .clearAcceptList: break
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
        case .acceptListSize:
            facts.acceptListCapacity = Int(try HCILEReadFilterAcceptListSize.ReturnParameters(exactly: octets).size)
        }
    }

    /// Core 5.4, Vol 2, Part C, 3.3 (Feature Mask Definition, bit 38)
    private static let leSupportedByController: UInt64 = 1 << 38

    /// The command of a step. `randomAddress` is the host's identity.
    package static func command(_ step: Step, randomAddress: DeviceAddress) -> any HCICommand {
        switch step {
        case .reset: HCIReset()
        case .localVersion: HCIReadLocalVersionInformation()
        case .supportedCommands: HCIReadLocalSupportedCommands()
        case .localFeatures: HCIReadLocalSupportedFeatures()
        case .address: HCIReadBDADDR()
        case .eventMask:
            HCISetEventMask(eventMask: [
                .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .hardwareError,
                .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
            ])
        case .leEventMask:
            HCILESetEventMask(eventMask: [
                .connectionComplete, .advertisingReport, .connectionUpdateComplete, .readRemoteFeaturesComplete,
                .longTermKeyRequest, .remoteConnectionParameterRequest, .dataLengthChange,
            ])
        case .leBufferSize: HCILEReadBufferSize()
        case .bufferSize: HCIReadBufferSize()
        case .leFeatures: HCILEReadLocalSupportedFeatures()
        case .randomAddress: HCILESetRandomAddress(address: randomAddress.bits)
        case .acceptListSize: HCILEReadFilterAcceptListSize()
        case .clearAcceptList: HCILEClearFilterAcceptList()
        }
    }
}
