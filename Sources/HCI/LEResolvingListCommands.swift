import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.38 (LE Add Device To Resolving List command)
package struct HCILEAddDeviceToResolvingList: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2027)

    /// Its kind is public or random: of identity addresses there are no others here.
    package var peerIdentityAddress: LEPeerAddress
    /// All zeros: the peer uses no private addresses.
    package var peerIRK: HCIKey
    /// All zeros: none are used towards the peer.
    package var localIRK: HCIKey

    package init(peerIdentityAddress: LEPeerAddress, peerIRK: HCIKey, localIRK: HCIKey) {
        self.peerIdentityAddress = peerIdentityAddress
        self.peerIRK = peerIRK
        self.localIRK = localIRK
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        peerIdentityAddress = try LEPeerAddress(decoding: &reader)
        peerIRK = try HCIKey(decoding: &reader)
        localIRK = try HCIKey(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        peerIdentityAddress.encode(into: &writer)
        peerIRK.encode(into: &writer)
        localIRK.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.39 (LE Remove Device From Resolving List command)
package struct HCILERemoveDeviceFromResolvingList: HCICompletingCommand, LEIdentityCommand {
    package static let opcode = HCIOpcode(0x2028)

    package var peerIdentityAddress: LEPeerAddress

    package init(peerIdentityAddress: LEPeerAddress) { self.peerIdentityAddress = peerIdentityAddress }
}

/// Core 5.4, Vol 4, Part E, 7.8.40 (LE Clear Resolving List command)
package struct HCILEClearResolvingList: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x2029)

    package init() {}
}

/// Core 5.4, Vol 4, Part E, 7.8.41 (LE Read Resolving List Size command)
package struct HCILEReadResolvingListSize: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x202A)

    package init() {}

    package typealias ReturnParameters = LEListSize
}

/// Core 5.4, Vol 4, Part E, 7.8.42 (LE Read Peer Resolvable Address command)
package struct HCILEReadPeerResolvableAddress: HCICompletingCommand, LEIdentityCommand {
    package static let opcode = HCIOpcode(0x202B)

    package var peerIdentityAddress: LEPeerAddress

    package init(peerIdentityAddress: LEPeerAddress) { self.peerIdentityAddress = peerIdentityAddress }

    package typealias ReturnParameters = LEResolvableAddress
}

/// Core 5.4, Vol 4, Part E, 7.8.43 (LE Read Local Resolvable Address command)
package struct HCILEReadLocalResolvableAddress: HCICompletingCommand, LEIdentityCommand {
    package static let opcode = HCIOpcode(0x202C)

    package var peerIdentityAddress: LEPeerAddress

    package init(peerIdentityAddress: LEPeerAddress) { self.peerIdentityAddress = peerIdentityAddress }

    package typealias ReturnParameters = LEResolvableAddress
}

/// Core 5.4, Vol 4, Part E, 7.8.44 (LE Set Address Resolution Enable command)
package struct HCILESetAddressResolutionEnable: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x202D)

    package var enable: Bool

    package init(enable: Bool) {
        self.enable = enable
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        enable = try reader.readBool("Address_Resolution_Enable")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(enable)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.45 (LE Set Resolvable Private Address Timeout command)
package struct HCILESetResolvablePrivateAddressTimeout: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x202E)

    /// Seconds, 1–3600.
    package var timeout: UInt16

    package init(timeout: UInt16) {
        self.timeout = timeout
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        timeout = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(timeout)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.77 (LE Set Privacy Mode command)
package struct HCILESetPrivacyMode: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x204E)

    package var peerIdentityAddress: LEPeerAddress
    package var mode: LEPrivacyMode

    package init(peerIdentityAddress: LEPeerAddress, mode: LEPrivacyMode) {
        self.peerIdentityAddress = peerIdentityAddress
        self.mode = mode
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        peerIdentityAddress = try LEPeerAddress(decoding: &reader)
        mode = try reader.readCase("Privacy_Mode")
    }

    package func encode(into writer: inout ByteWriter) {
        peerIdentityAddress.encode(into: &writer)
        writer.write(mode.rawValue)
    }
}

/// Whether a peer that uses private addresses may also show its identity address.
///
/// Core 5.4, Vol 4, Part E, 7.8.77 (LE Set Privacy Mode command, Privacy_Mode)
package enum LEPrivacyMode: UInt8, Sendable, CaseIterable {
    case network = 0x00
    case device = 0x01
}
