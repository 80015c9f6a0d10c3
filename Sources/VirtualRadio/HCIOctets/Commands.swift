/// A command that this controller knows: its opcode, the one length its parameters can have, how it is answered, and its
/// bit in Supported_Commands. The table below is the only place that says so.
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
    let parameterLength: Int
    let answer: Answer
    let octet: Int
    let bit: UInt8

    fileprivate init(_ opcode: UInt16, _ parameterLength: Int, _ answer: Answer = .complete, bit: (Int, UInt8)) {
        self.opcode = opcode
        self.parameterLength = parameterLength
        self.answer = answer
        self.octet = bit.0
        self.bit = bit.1
    }

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
        Self(Opcode.leSetAdvertisingParameters, 15, bit: (25, 5)),
        Self(Opcode.leReadAdvertisingChannelTxPower, 0, bit: (25, 6)),
        Self(Opcode.leSetAdvertisingData, 32, bit: (25, 7)),
        Self(Opcode.leSetScanResponseData, 32, bit: (26, 0)),
        Self(Opcode.leSetAdvertisingEnable, 1, bit: (26, 1)),
        Self(Opcode.leSetScanParameters, 7, bit: (26, 2)),
        Self(Opcode.leSetScanEnable, 2, bit: (26, 3)),
        Self(Opcode.leCreateConnection, 25, .status, bit: (26, 4)),
        Self(Opcode.leCreateConnectionCancel, 0, bit: (26, 5)),
        Self(Opcode.leReadFilterAcceptListSize, 0, bit: (26, 6)),
        Self(Opcode.leClearFilterAcceptList, 0, bit: (26, 7)),
        Self(Opcode.leAddDeviceToFilterAcceptList, 7, bit: (27, 0)),
        Self(Opcode.leRemoveDeviceFromFilterAcceptList, 7, bit: (27, 1)),
        Self(Opcode.leConnectionUpdate, 14, .status, bit: (27, 2)),
        Self(Opcode.leReadRemoteFeatures, 2, .status, bit: (27, 5)),
        Self(Opcode.leEncrypt, 32, bit: (27, 6)),
        Self(Opcode.leRand, 0, bit: (27, 7)),
        Self(Opcode.leEnableEncryption, 28, .status, bit: (28, 0)),
        Self(Opcode.leLongTermKeyRequestReply, 18, .completeWithHandle, bit: (28, 1)),
        Self(Opcode.leLongTermKeyRequestNegativeReply, 2, .completeWithHandle, bit: (28, 2)),
        Self(Opcode.leReadSupportedStates, 0, bit: (28, 3)),
        Self(Opcode.leSetDataLength, 6, .completeWithHandle, bit: (33, 6)),
        Self(Opcode.leReadSuggestedDefaultDataLength, 0, bit: (33, 7)),
        Self(Opcode.leWriteSuggestedDefaultDataLength, 4, bit: (34, 0)),
        Self(Opcode.leReadMaximumDataLength, 0, bit: (35, 3)),
    ]

    private static let byOpcode = Dictionary(uniqueKeysWithValues: all.map { ($0.opcode, $0) })

    static func of(_ opcode: UInt16) -> Self? { byOpcode[opcode] }

    /// The 64 octets of Read Local Supported Commands.
    static let supportedCommands: [UInt8] = {
        var octets = [UInt8](repeating: 0, count: 64)
        for command in all { octets[command.octet] |= 1 << command.bit }
        return octets
    }()
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
    static let leReadRemoteFeatures: UInt16 = 0x2016
    static let leEncrypt: UInt16 = 0x2017
    static let leRand: UInt16 = 0x2018
    static let leEnableEncryption: UInt16 = 0x2019
    static let leLongTermKeyRequestReply: UInt16 = 0x201A
    static let leLongTermKeyRequestNegativeReply: UInt16 = 0x201B
    static let leReadSupportedStates: UInt16 = 0x201C
    static let leSetDataLength: UInt16 = 0x2022
    static let leReadSuggestedDefaultDataLength: UInt16 = 0x2023
    static let leWriteSuggestedDefaultDataLength: UInt16 = 0x2024
    static let leReadMaximumDataLength: UInt16 = 0x202F
}
