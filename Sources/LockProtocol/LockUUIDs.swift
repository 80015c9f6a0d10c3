import BluetoothCore

/// The attribute types of the Lock profile: `FD51xxxx-D1DB-463D-86FD-15EFB82160A8`.
package enum LockUUID {
    private static let base: UInt128 = 0xFD51_0000_D1DB_463D_86FD_15EF_B821_60A8

    private static func assigned(_ number: UInt16) -> BluetoothUUID {
        BluetoothUUID(bits: base | UInt128(number) << 96)
    }

    /// The primary service, and what a lock advertises.
    package static let lockService = assigned(0x0000)
    package static let lockState = assigned(0x0001)
    package static let lockCommand = assigned(0x0002)
    package static let challenge = assigned(0x0003)
    package static let lockControlPoint = assigned(0x0004)
    package static let auditRecord = assigned(0x0005)
    package static let capabilities = assigned(0x0006)
    package static let commandReceipt = assigned(0x0007)
    /// The SIG's number: Record Access Control Point.
    package static let recordAccessControlPoint = BluetoothUUID(0x2A52)
    package static let alarm = assigned(0x0008)
}
