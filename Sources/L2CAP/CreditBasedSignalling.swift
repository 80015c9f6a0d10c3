import BluetoothCore

/// What both sides of a credit-based channel say of their own end.
package struct ChannelParameters: Hashable, Sendable {
    /// The longest SDU that this end takes, in octets.
    package var mtu: UInt16
    /// The longest information payload of a K-frame that this end takes, in octets.
    package var mps: UInt16
    /// K-frames that the other end may send at first.
    package var initialCredits: UInt16

    /// Core 5.4, Vol 3, Part A, 4.22: the least of either, and the most that an MPS may be.
    package static let minimumMTU: UInt16 = 23
    package static let mpsRange: ClosedRange<UInt16> = 23...65_533

    package init(mtu: UInt16, mps: UInt16, initialCredits: UInt16) {
        self.mtu = mtu
        self.mps = mps
        self.initialCredits = initialCredits
    }

    package var isAcceptable: Bool { mtu >= Self.minimumMTU && Self.mpsRange.contains(mps) }

    /// As a refusal carries them.
    static let none = Self(mtu: 0, mps: 0, initialCredits: 0)

    init(decoding reader: inout ByteReader) throws(DecodingError) {
        mtu = try reader.readUInt16()
        mps = try reader.readUInt16()
        initialCredits = try reader.readUInt16()
    }

    func encode(into writer: inout ByteWriter) {
        writer.write(mtu)
        writer.write(mps)
        writer.write(initialCredits)
    }
}

/// Core 5.4, Vol 3, Part A, 4.22 (L2CAP_LE_CREDIT_BASED_CONNECTION_REQ)
package struct LECreditBasedConnectionRequest: WireCodable {
    package var spsm: SPSM
    package var sourceCID: ChannelIdentifier
    package var parameters: ChannelParameters

    package init(spsm: SPSM, sourceCID: ChannelIdentifier, parameters: ChannelParameters) {
        self.spsm = spsm
        self.sourceCID = sourceCID
        self.parameters = parameters
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        spsm = SPSM(rawValue: try reader.readUInt16())
        sourceCID = ChannelIdentifier(rawValue: try reader.readUInt16())
        parameters = try ChannelParameters(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(spsm.rawValue)
        writer.write(sourceCID.rawValue)
        parameters.encode(into: &writer)
    }
}

/// Core 5.4, Vol 3, Part A, 4.23 (Table 4.20)
package struct LECreditBasedConnectionResult: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let successful = Self(rawValue: 0x0000)
    package static let spsmNotSupported = Self(rawValue: 0x0002)
    package static let noResources = Self(rawValue: 0x0004)
    package static let insufficientAuthentication = Self(rawValue: 0x0005)
    package static let insufficientAuthorization = Self(rawValue: 0x0006)
    package static let insufficientEncryptionKeySize = Self(rawValue: 0x0007)
    package static let insufficientEncryption = Self(rawValue: 0x0008)
    package static let invalidSourceCID = Self(rawValue: 0x0009)
    package static let sourceCIDAlreadyAllocated = Self(rawValue: 0x000A)
    package static let unacceptableParameters = Self(rawValue: 0x000B)
}

/// Core 5.4, Vol 3, Part A, 4.23 (L2CAP_LE_CREDIT_BASED_CONNECTION_RSP)
package struct LECreditBasedConnectionResponse: WireCodable {
    /// Means nothing in a refusal, like the parameters.
    package var destinationCID: ChannelIdentifier
    package var parameters: ChannelParameters
    package var result: LECreditBasedConnectionResult

    package init(
        destinationCID: ChannelIdentifier, parameters: ChannelParameters,
        result: LECreditBasedConnectionResult = .successful
    ) {
        self.destinationCID = destinationCID
        self.parameters = parameters
        self.result = result
    }

    package init(refusing result: LECreditBasedConnectionResult) {
        self.init(destinationCID: ChannelIdentifier(rawValue: 0), parameters: .none, result: result)
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        destinationCID = ChannelIdentifier(rawValue: try reader.readUInt16())
        parameters = try ChannelParameters(decoding: &reader)
        result = LECreditBasedConnectionResult(rawValue: try reader.readUInt16())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(destinationCID.rawValue)
        parameters.encode(into: &writer)
        writer.write(result.rawValue)
    }
}

/// Core 5.4, Vol 3, Part A, 4.24 (L2CAP_FLOW_CONTROL_CREDIT_IND)
package struct FlowControlCredit: WireCodable {
    /// The sender's own end of the channel.
    package var cid: ChannelIdentifier
    package var credits: UInt16

    package init(cid: ChannelIdentifier, credits: UInt16) {
        self.cid = cid
        self.credits = credits
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        cid = ChannelIdentifier(rawValue: try reader.readUInt16())
        credits = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(cid.rawValue)
        writer.write(credits)
    }
}

/// A channel by both its ends, as a disconnection names it: the destination is the end of whoever was asked, in the request
/// and in its response.
///
/// Core 5.4, Vol 3, Part A, 4.6 (L2CAP_DISCONNECTION_REQ), 4.7 (L2CAP_DISCONNECTION_RSP)
package struct ChannelEndpoints: WireCodable, Hashable {
    package var destinationCID: ChannelIdentifier
    package var sourceCID: ChannelIdentifier

    package init(destinationCID: ChannelIdentifier, sourceCID: ChannelIdentifier) {
        self.destinationCID = destinationCID
        self.sourceCID = sourceCID
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        destinationCID = ChannelIdentifier(rawValue: try reader.readUInt16())
        sourceCID = ChannelIdentifier(rawValue: try reader.readUInt16())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(destinationCID.rawValue)
        writer.write(sourceCID.rawValue)
    }
}
