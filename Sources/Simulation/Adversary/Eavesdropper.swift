import BluetoothCore

/// Hears what goes over the air in clear, and who is there under which address.
struct Eavesdropper {
    /// So many of the newest are worth keeping: older ones tell a lock nothing else.
    private static let most = 16

    /// Signed Write Commands of each key, as PDUs of the attribute protocol.
    private(set) var commands: [Int: [[UInt8]]] = [:]
    /// Notifications that sealed something.
    private(set) var receipts: [[UInt8]] = []
    private(set) var challengeHandle: UInt16 = 0
    private(set) var lockAddresses: [Int: DeviceAddress] = [:]
    private(set) var keyAddresses: [Int: DeviceAddress] = [:]

    private static let receiptOctets = 19
    private static let challengeOctets = 8

    /// Core 5.4, Vol 3, Part F, 3.4.5.4 (ATT_SIGNED_WRITE_CMD)
    mutating func heardKey(_ key: Int, _ packet: [UInt8]) {
        guard let pdu = RawController.attributePDU(packet), pdu[0] == 0xD2 else { return }
        commands[key] = Array((commands[key, default: []] + [pdu]).suffix(Self.most))
    }

    /// Core 5.4, Vol 3, Part F, 3.4.7.1 (ATT_HANDLE_VALUE_NTF)
    mutating func heardLock(_ packet: [UInt8]) {
        guard let pdu = RawController.attributePDU(packet), pdu[0] == 0x1B else { return }
        switch pdu.count - 3 {
        case Self.receiptOctets: receipts = Array((receipts + [pdu]).suffix(Self.most))
        case Self.challengeOctets: challengeHandle = UInt16(pdu[1]) | UInt16(pdu[2]) << 8
        default: break
        }
    }

    mutating func sawLock(_ door: Int, _ address: DeviceAddress?) {
        if let address { lockAddresses[door] = address }
    }

    mutating func sawKey(_ key: Int, _ address: DeviceAddress?) {
        if let address { keyAddresses[key] = address }
    }
}
