import BluetoothCore
import HCI

/// Octets cut anywhere give the packets that they give uncut.
@Sendable func fuzzH4Deframer(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let cut = max(1, Int(input.octet()))
    let stream = input.rest()
    let whole = packets(stream, cutEvery: stream.count + 1)
    require(packets(stream, cutEvery: cut) == whole, "packets depend on where the stream is cut")
    for packet in whole.packets {
        require(packet.octets.count <= H4Deframer.maximumPacketOctets, "a packet is longer than any can be")
        _ = try? HCIPacket(type: packet.type, packet.octets.span.bytes)
    }
}

private struct FramedPacket: Equatable {
    var type: HCIPacketType
    var octets: [UInt8]
}

private struct FramedStream: Equatable {
    var packets: [FramedPacket] = []
    var isBroken = false
}

private func packets(_ stream: [UInt8], cutEvery size: Int) -> FramedStream {
    var framed = FramedStream()
    var deframer = H4Deframer()
    for start in stride(from: 0, to: stream.count, by: size) {
        let end = min(start + size, stream.count)
        do throws(H4FramingError) {
            try deframer.receive(stream.span.bytes.extracting(start..<end)) { type, octets in
                framed.packets.append(FramedPacket(type: type, octets: octets.withUnsafeBytes { Array($0) }))
            }
        } catch {
            framed.isBroken = true
            return framed
        }
    }
    return framed
}

@Sendable func fuzzHCIEvent(_ octets: [UInt8]) {
    requireRoundTrip(HCIEvent.self, octets)
    requireRoundTrip(ACLDataHeader.self, octets)
    guard case .commandComplete(let complete) = try? HCIEvent(exactly: octets) else { return }
    let completion = HCICommandCompletion(
        token: 0, opcode: complete.opcode, outcome: .returned(complete.returnParameters))
    for command in HCICommandTable.all where command.opcode == complete.opcode { command.readAnswer(completion) }
}

/// Opcode, then parameters.
@Sendable func fuzzHCICommand(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let opcode = HCIOpcode(input.uint16())
    let parameters = input.rest()
    for command in HCICommandTable.all where command.opcode == opcode { command.roundTrip(parameters) }
}

/// Every command that the host knows, without its type.
struct HCICommandTable: Sendable {
    let opcode: HCIOpcode
    let roundTrip: @Sendable ([UInt8]) -> Void
    let readAnswer: @Sendable (HCICommandCompletion) -> Void

    private static func status<Command: HCICommand>(_ type: Command.Type) -> Self {
        Self(opcode: Command.opcode, roundTrip: { requireRoundTrip(Command.self, $0) }, readAnswer: { _ in })
    }

    private static func completing<Command: HCICompletingCommand>(_ type: Command.Type) -> Self {
        Self(
            opcode: Command.opcode, roundTrip: { requireRoundTrip(Command.self, $0) },
            readAnswer: { completion in
                guard let returned = try? completion.returnParameters(of: Command.self) else { return }
                requireRoundTrip(Command.ReturnParameters.self, returned.encoded)
            })
    }

    static let all: [Self] = [
        completing(HCISetEventMask.self),
        completing(HCIReset.self),
        completing(HCIReadLocalVersionInformation.self),
        completing(HCIReadLocalSupportedCommands.self),
        completing(HCIReadLocalSupportedFeatures.self),
        completing(HCIReadBufferSize.self),
        completing(HCIReadBDADDR.self),
        completing(HCILESetAdvertisingParameters.self),
        completing(HCILEReadAdvertisingPhysicalChannelTxPower.self),
        completing(HCILESetAdvertisingData.self),
        completing(HCILESetScanResponseData.self),
        completing(HCILESetAdvertisingEnable.self),
        status(HCILECreateConnection.self),
        completing(HCILECreateConnectionCancel.self),
        status(HCILEConnectionUpdate.self),
        status(HCILEReadRemoteFeatures.self),
        completing(HCILERemoteConnectionParameterRequestReply.self),
        completing(HCILERemoteConnectionParameterRequestNegativeReply.self),
        completing(HCILESetEventMask.self),
        completing(HCILEReadBufferSize.self),
        completing(HCILEReadLocalSupportedFeatures.self),
        completing(HCILESetRandomAddress.self),
        completing(HCILESetDataLength.self),
        completing(HCILEReadSuggestedDefaultDataLength.self),
        completing(HCILEWriteSuggestedDefaultDataLength.self),
        completing(HCILEReadMaximumDataLength.self),
        completing(HCILEEncrypt.self),
        completing(HCILERand.self),
        status(HCILEEnableEncryption.self),
        completing(HCILELongTermKeyRequestReply.self),
        completing(HCILELongTermKeyRequestNegativeReply.self),
        completing(HCILEReadFilterAcceptListSize.self),
        completing(HCILEClearFilterAcceptList.self),
        completing(HCILEAddDeviceToFilterAcceptList.self),
        completing(HCILERemoveDeviceFromFilterAcceptList.self),
        completing(HCILESetScanParameters.self),
        completing(HCILESetScanEnable.self),
        status(HCIDisconnect.self),
        status(HCIReadRemoteVersionInformation.self),
        completing(HCIReadRSSI.self),
        completing(HCILESetAdvertisingSetRandomAddress.self),
        completing(HCILESetExtendedAdvertisingParameters.self),
        completing(HCILESetExtendedAdvertisingData.self),
        completing(HCILESetExtendedScanResponseData.self),
        completing(HCILESetExtendedAdvertisingEnable.self),
        completing(HCILEReadMaximumAdvertisingDataLength.self),
        completing(HCILEReadNumberOfSupportedAdvertisingSets.self),
        completing(HCILERemoveAdvertisingSet.self),
        completing(HCILEClearAdvertisingSets.self),
        completing(HCILESetExtendedScanParameters.self),
        completing(HCILESetExtendedScanEnable.self),
        completing(HCILEReadPHY.self),
        completing(HCILESetDefaultPHY.self),
        completing(HCILEAddDeviceToResolvingList.self),
        completing(HCILERemoveDeviceFromResolvingList.self),
        completing(HCILEClearResolvingList.self),
        completing(HCILEReadResolvingListSize.self),
        completing(HCILEReadPeerResolvableAddress.self),
        completing(HCILEReadLocalResolvableAddress.self),
        completing(HCILESetAddressResolutionEnable.self),
        completing(HCILESetResolvablePrivateAddressTimeout.self),
        completing(HCILESetPrivacyMode.self),
        completing(HCILESetHostChannelClassification.self),
        completing(HCILEReadChannelMap.self),
        completing(HCIReadTransmitPowerLevel.self),
        completing(HCILEReadTransmitPower.self),
        status(HCILEExtendedCreateConnection.self),
        status(HCILESetPHY.self),
    ]
}
