/// Core 5.4, Vol 4, Part E, 3.1.1 (Legacy and extended advertising): from one reset to the next a host uses one of them.
enum CommandFamily: Sendable {
    case legacy
    case extended
}

/// How long the parameters of a command are.
enum ParameterLength: Sendable {
    case exact(Int)
    /// `head` octets, and then as many elements of `each` octets as the octet at `count` says.
    case counted(head: Int, count: Int, each: Int)
    /// `head` octets, and then an element of `each` octets for every bit set in the octet at `mask`.
    case masked(head: Int, mask: Int, each: Int)

    func fits(_ parameters: borrowing CommandParameters) -> Bool {
        switch self {
        case .exact(let length): parameters.count == length
        case .counted(let head, let count, let each):
            parameters.count >= head && parameters.count == head + Int(parameters.u8(count)) * each
        case .masked(let head, let mask, let each):
            parameters.count >= head && parameters.count == head + parameters.u8(mask).nonzeroBitCount * each
        }
    }

    /// What no parameters can be shorter than.
    var minimum: Int {
        switch self {
        case .exact(let length): length
        case .counted(let head, _, _), .masked(let head, _, _): head
        }
    }
}

/// A command that controllers know: its opcode, the length of its parameters, how it is answered, and its bit in
/// Supported_Commands. The table below is the only place that says so.
///
/// Core 5.4, Vol 4, Part E, 6.27 (Supported Commands)
struct CommandDescription: Sendable {
    enum Answer: Sendable {
        case complete
        /// Command Complete whose second return parameter is the connection handle, which errors repeat.
        case completeWithHandle
        case status
    }

    let opcode: UInt16
    let length: ParameterLength
    let answer: Answer
    let octet: Int
    let bit: UInt8
    /// Without these it is unknown.
    let features: LEFeatures
    let family: CommandFamily?

    fileprivate init(
        _ opcode: UInt16, _ length: ParameterLength, _ answer: Answer = .complete, bit: (Int, UInt8),
        _ features: LEFeatures = [], _ family: CommandFamily? = nil
    ) {
        self.opcode = opcode
        self.length = length
        self.answer = answer
        self.octet = bit.0
        self.bit = bit.1
        self.features = features
        self.family = family
    }

    fileprivate init(
        _ opcode: UInt16, _ length: Int, _ answer: Answer = .complete, bit: (Int, UInt8), _ features: LEFeatures = [],
        _ family: CommandFamily? = nil
    ) { self.init(opcode, .exact(length), answer, bit: bit, features, family) }

    /// Ordered by opcode.
    static let all: [Self] = [
        Self(Opcode.disconnect, 3, .status, bit: (0, 5)),
        Self(Opcode.readRemoteVersionInformation, 2, .status, bit: (2, 7)),
        Self(Opcode.setEventMask, 8, bit: (5, 6)),
        Self(Opcode.reset, 0, bit: (5, 7)),
        Self(Opcode.readLocalVersionInformation, 0, bit: (14, 3)),
        Self(Opcode.readLocalSupportedCommands, 0, bit: (14, 4)),
        Self(Opcode.readLocalSupportedFeatures, 0, bit: (14, 5)),
        Self(Opcode.readBufferSize, 0, bit: (14, 7)),
        Self(Opcode.readBDADDR, 0, bit: (15, 1)),
        Self(Opcode.readRSSI, 2, .completeWithHandle, bit: (15, 5)),
        Self(Opcode.leSetEventMask, 8, bit: (25, 0)),
        Self(Opcode.leReadBufferSize, 0, bit: (25, 1)),
        Self(Opcode.leReadLocalSupportedFeatures, 0, bit: (25, 2)),
        Self(Opcode.leSetRandomAddress, 6, bit: (25, 4)),
        Self(Opcode.leSetAdvertisingParameters, 15, bit: (25, 5), [], .legacy),
        Self(Opcode.leReadAdvertisingChannelTxPower, 0, bit: (25, 6), [], .legacy),
        Self(Opcode.leSetAdvertisingData, 32, bit: (25, 7), [], .legacy),
        Self(Opcode.leSetScanResponseData, 32, bit: (26, 0), [], .legacy),
        Self(Opcode.leSetAdvertisingEnable, 1, bit: (26, 1), [], .legacy),
        Self(Opcode.leSetScanParameters, 7, bit: (26, 2), [], .legacy),
        Self(Opcode.leSetScanEnable, 2, bit: (26, 3), [], .legacy),
        Self(Opcode.leCreateConnection, 25, .status, bit: (26, 4), [], .legacy),
        Self(Opcode.leCreateConnectionCancel, 0, bit: (26, 5)),
        Self(Opcode.leReadFilterAcceptListSize, 0, bit: (26, 6)),
        Self(Opcode.leClearFilterAcceptList, 0, bit: (26, 7)),
        Self(Opcode.leAddDeviceToFilterAcceptList, 7, bit: (27, 0)),
        Self(Opcode.leRemoveDeviceFromFilterAcceptList, 7, bit: (27, 1)),
        Self(Opcode.leConnectionUpdate, 14, .status, bit: (27, 2)),
        Self(Opcode.leSetHostChannelClassification, 5, bit: (27, 3)),
        Self(Opcode.leReadChannelMap, 2, .completeWithHandle, bit: (27, 4)),
        Self(Opcode.leReadRemoteFeatures, 2, .status, bit: (27, 5)),
        Self(Opcode.leEncrypt, 32, bit: (27, 6)),
        Self(Opcode.leRand, 0, bit: (27, 7)),
        Self(Opcode.leEnableEncryption, 28, .status, bit: (28, 0)),
        Self(Opcode.leLongTermKeyRequestReply, 18, .completeWithHandle, bit: (28, 1)),
        Self(Opcode.leLongTermKeyRequestNegativeReply, 2, .completeWithHandle, bit: (28, 2)),
        Self(Opcode.leReadSupportedStates, 0, bit: (28, 3)),
        Self(
            Opcode.leRemoteConnectionParameterRequestReply, 14, .completeWithHandle, bit: (33, 4),
            .connectionParametersRequest),
        Self(
            Opcode.leRemoteConnectionParameterRequestNegativeReply, 3, .completeWithHandle, bit: (33, 5),
            .connectionParametersRequest),
        Self(Opcode.leSetDataLength, 6, .completeWithHandle, bit: (33, 6), .dataPacketLengthExtension),
        Self(Opcode.leReadSuggestedDefaultDataLength, 0, bit: (33, 7), .dataPacketLengthExtension),
        Self(Opcode.leWriteSuggestedDefaultDataLength, 4, bit: (34, 0), .dataPacketLengthExtension),
        Self(Opcode.leReadMaximumDataLength, 0, bit: (35, 3), .dataPacketLengthExtension),
        Self(Opcode.leAddDeviceToResolvingList, 39, bit: (34, 3), .privacy),
        Self(Opcode.leRemoveDeviceFromResolvingList, 7, bit: (34, 4), .privacy),
        Self(Opcode.leClearResolvingList, 0, bit: (34, 5), .privacy),
        Self(Opcode.leReadResolvingListSize, 0, bit: (34, 6), .privacy),
        Self(Opcode.leReadPeerResolvableAddress, 7, bit: (34, 7), .privacy),
        Self(Opcode.leReadLocalResolvableAddress, 7, bit: (35, 0), .privacy),
        Self(Opcode.leSetAddressResolutionEnable, 1, bit: (35, 1), .privacy),
        Self(Opcode.leSetResolvablePrivateAddressTimeout, 2, bit: (35, 2), .privacy),
        Self(Opcode.leReadPHY, 2, .completeWithHandle, bit: (35, 4), .phy2M),
        Self(Opcode.leSetDefaultPHY, 3, bit: (35, 5), .phy2M),
        Self(Opcode.leSetPHY, 7, .status, bit: (35, 6), .phy2M),
        Self(Opcode.leSetAdvertisingSetRandomAddress, 7, bit: (36, 1), .extendedAdvertising, .extended),
        Self(Opcode.leSetExtendedAdvertisingParameters, 25, bit: (36, 2), .extendedAdvertising, .extended),
        Self(
            Opcode.leSetExtendedAdvertisingData, .counted(head: 4, count: 3, each: 1), bit: (36, 3),
            .extendedAdvertising, .extended),
        Self(
            Opcode.leSetExtendedScanResponseData, .counted(head: 4, count: 3, each: 1), bit: (36, 4),
            .extendedAdvertising, .extended),
        Self(
            Opcode.leSetExtendedAdvertisingEnable, .counted(head: 2, count: 1, each: 4), bit: (36, 5),
            .extendedAdvertising, .extended),
        Self(Opcode.leReadMaximumAdvertisingDataLength, 0, bit: (36, 6), .extendedAdvertising, .extended),
        Self(Opcode.leReadNumberOfSupportedAdvertisingSets, 0, bit: (36, 7), .extendedAdvertising, .extended),
        Self(Opcode.leRemoveAdvertisingSet, 1, bit: (37, 0), .extendedAdvertising, .extended),
        Self(Opcode.leClearAdvertisingSets, 0, bit: (37, 1), .extendedAdvertising, .extended),
        Self(
            Opcode.leSetExtendedScanParameters, .masked(head: 3, mask: 2, each: 5), bit: (37, 5), .extendedAdvertising,
            .extended),
        Self(Opcode.leSetExtendedScanEnable, 6, bit: (37, 6), .extendedAdvertising, .extended),
        Self(
            Opcode.leExtendedCreateConnection, .masked(head: 10, mask: 9, each: 16), .status, bit: (37, 7),
            .extendedAdvertising, .extended),
        // It came with Core 5.0, as the LE 2M PHY did.
        Self(Opcode.leSetPrivacyMode, 8, bit: (39, 2), [.privacy, .phy2M]),
    ]

    private static let byOpcode = Dictionary(uniqueKeysWithValues: all.map { ($0.opcode, $0) })

    static func of(_ opcode: UInt16) -> Self? { byOpcode[opcode] }

    /// The 64 octets of Read Local Supported Commands.
    static func supportedCommands(_ features: LEFeatures) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: 64)
        for command in all where features.isSuperset(of: command.features) { octets[command.octet] |= 1 << command.bit }
        return octets
    }
}

/// Core 5.4, Vol 4, Part E, 7 (HCI commands and events)
enum Opcode {
    static let disconnect: UInt16 = 0x0406
    static let readRemoteVersionInformation: UInt16 = 0x041D
    static let setEventMask: UInt16 = 0x0C01
    static let reset: UInt16 = 0x0C03
    static let readLocalVersionInformation: UInt16 = 0x1001
    static let readLocalSupportedCommands: UInt16 = 0x1002
    static let readLocalSupportedFeatures: UInt16 = 0x1003
    static let readBufferSize: UInt16 = 0x1005
    static let readBDADDR: UInt16 = 0x1009
    static let readRSSI: UInt16 = 0x1405
    static let leSetEventMask: UInt16 = 0x2001
    static let leReadBufferSize: UInt16 = 0x2002
    static let leReadLocalSupportedFeatures: UInt16 = 0x2003
    static let leSetRandomAddress: UInt16 = 0x2005
    static let leSetAdvertisingParameters: UInt16 = 0x2006
    static let leReadAdvertisingChannelTxPower: UInt16 = 0x2007
    static let leSetAdvertisingData: UInt16 = 0x2008
    static let leSetScanResponseData: UInt16 = 0x2009
    static let leSetAdvertisingEnable: UInt16 = 0x200A
    static let leSetScanParameters: UInt16 = 0x200B
    static let leSetScanEnable: UInt16 = 0x200C
    static let leCreateConnection: UInt16 = 0x200D
    static let leCreateConnectionCancel: UInt16 = 0x200E
    static let leReadFilterAcceptListSize: UInt16 = 0x200F
    static let leClearFilterAcceptList: UInt16 = 0x2010
    static let leAddDeviceToFilterAcceptList: UInt16 = 0x2011
    static let leRemoveDeviceFromFilterAcceptList: UInt16 = 0x2012
    static let leConnectionUpdate: UInt16 = 0x2013
    static let leSetHostChannelClassification: UInt16 = 0x2014
    static let leReadChannelMap: UInt16 = 0x2015
    static let leReadRemoteFeatures: UInt16 = 0x2016
    static let leEncrypt: UInt16 = 0x2017
    static let leRand: UInt16 = 0x2018
    static let leEnableEncryption: UInt16 = 0x2019
    static let leLongTermKeyRequestReply: UInt16 = 0x201A
    static let leLongTermKeyRequestNegativeReply: UInt16 = 0x201B
    static let leReadSupportedStates: UInt16 = 0x201C
    static let leRemoteConnectionParameterRequestReply: UInt16 = 0x2020
    static let leRemoteConnectionParameterRequestNegativeReply: UInt16 = 0x2021
    static let leSetDataLength: UInt16 = 0x2022
    static let leReadSuggestedDefaultDataLength: UInt16 = 0x2023
    static let leWriteSuggestedDefaultDataLength: UInt16 = 0x2024
    static let leReadMaximumDataLength: UInt16 = 0x202F
    static let leAddDeviceToResolvingList: UInt16 = 0x2027
    static let leRemoveDeviceFromResolvingList: UInt16 = 0x2028
    static let leClearResolvingList: UInt16 = 0x2029
    static let leReadResolvingListSize: UInt16 = 0x202A
    static let leReadPeerResolvableAddress: UInt16 = 0x202B
    static let leReadLocalResolvableAddress: UInt16 = 0x202C
    static let leSetAddressResolutionEnable: UInt16 = 0x202D
    static let leSetResolvablePrivateAddressTimeout: UInt16 = 0x202E
    static let leReadPHY: UInt16 = 0x2030
    static let leSetDefaultPHY: UInt16 = 0x2031
    static let leSetPHY: UInt16 = 0x2032
    static let leSetAdvertisingSetRandomAddress: UInt16 = 0x2035
    static let leSetExtendedAdvertisingParameters: UInt16 = 0x2036
    static let leSetExtendedAdvertisingData: UInt16 = 0x2037
    static let leSetExtendedScanResponseData: UInt16 = 0x2038
    static let leSetExtendedAdvertisingEnable: UInt16 = 0x2039
    static let leReadMaximumAdvertisingDataLength: UInt16 = 0x203A
    static let leReadNumberOfSupportedAdvertisingSets: UInt16 = 0x203B
    static let leRemoveAdvertisingSet: UInt16 = 0x203C
    static let leClearAdvertisingSets: UInt16 = 0x203D
    static let leSetExtendedScanParameters: UInt16 = 0x2041
    static let leSetExtendedScanEnable: UInt16 = 0x2042
    static let leExtendedCreateConnection: UInt16 = 0x2043
    static let leSetPrivacyMode: UInt16 = 0x204E
}
