/// How an air behaves.
package struct AirConfiguration: Sendable {
    /// When data crosses a link.
    package enum Pacing: String, Sendable {
        /// At the connection events that the central's parameters grant.
        case paced
        /// At once, for benchmarks; scan windows do not matter either.
        case immediate
    }

    package var pacing: Pacing
    /// Feeds advDelay, loss and LE Rand.
    package var seed: UInt64
    /// The clock's first instant in nanoseconds.
    package var startNanoseconds: UInt64

    package init(pacing: Pacing = .paced, seed: UInt64 = 1, startNanoseconds: UInt64 = 0) {
        self.pacing = pacing
        self.seed = seed
        self.startNanoseconds = startNanoseconds
    }
}

/// What one controller is made of.
package struct ControllerConfiguration: Sendable {
    /// The public device address; nil derives one from the ordinal.
    package var publicAddress: RadioAddress?
    /// LE_ACL_Data_Packet_Length, at least 27.
    package var aclDataPacketLength: UInt16
    /// Total_Num_LE_ACL_Data_Packets, at least 1.
    package var aclDataPacketCount: UInt8
    package var acceptListSize: UInt8
    package var resolvingListSize: UInt8
    package var maximumLinks: Int
    /// Num_HCI_Command_Packets: how many commands may be on their way to the controller.
    package var commandCredits: UInt8
    package var generation: ControllerGeneration
    /// Num_Supported_Advertising_Sets
    package var advertisingSetCount: UInt8
    /// Max_Advertising_Data_Length
    package var advertisingDataLength: UInt16

    package init(
        publicAddress: RadioAddress? = nil, aclDataPacketLength: UInt16 = 27, aclDataPacketCount: UInt8 = 20,
        acceptListSize: UInt8 = 16, resolvingListSize: UInt8 = 16, maximumLinks: Int = 64, commandCredits: UInt8 = 4,
        generation: ControllerGeneration = .core54,
        advertisingSetCount: UInt8 = 4, advertisingDataLength: UInt16 = 1650
    ) {
        self.publicAddress = publicAddress
        self.aclDataPacketLength = max(aclDataPacketLength, 27)
        self.aclDataPacketCount = max(aclDataPacketCount, 1)
        self.acceptListSize = acceptListSize
        self.resolvingListSize = resolvingListSize
        self.maximumLinks = maximumLinks
        self.commandCredits = max(commandCredits, 1)
        self.generation = generation
        self.advertisingSetCount = advertisingSetCount
        // Core 5.4, Vol 4, Part E, 7.8.57 (LE Read Maximum Advertising Data Length command): the range.
        self.advertisingDataLength = min(max(advertisingDataLength, 31), 1650)
    }
}

/// A controller, named by the order of plugging in, from 1.
package struct ControllerID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let ordinal: Int

    package static func < (a: Self, b: Self) -> Bool { a.ordinal < b.ordinal }
    package var description: String { String(ordinal) }
}
