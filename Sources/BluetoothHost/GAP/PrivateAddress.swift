import BluetoothCore
import BluetoothCrypto
import SecurityManager

/// This side's resolvable private address, made anew when its time is over. It is in memory only: one that outlived the
/// process would let a passer-by follow a device over its restarts, and no peer needs the old one to find the new.
///
/// Core 5.4, Vol 3, Part C, 10.7 (Privacy feature); Vol 6, Part B, 1.3.2.2 (Private device address generation)
package struct PrivateAddress {
    /// Core 5.4, Vol 3, Part C, Appendix A (Timers and constants): TGAP(private_addr_int), 15 minutes
    package static let lifeMilliseconds: UInt64 = 900_000

    private let irk: AES128
    private let lifeMilliseconds: UInt64
    private var current: (address: DeviceAddress, until: Instant)?

    package init(irk: Secret, lifeMilliseconds: UInt64 = Self.lifeMilliseconds) {
        self.irk = AES128(key: irk)
        self.lifeMilliseconds = lifeMilliseconds
    }

    /// When the address is to be asked for again; nil before it was asked for.
    package var deadline: Instant? { current?.until }

    /// The address of this moment.
    package mutating func address(at now: Instant, random: inout any RandomSource) -> DeviceAddress {
        if let current, now < current.until { return current.address }
        let address = Toolbox.resolvablePrivateAddress(irk: irk, random: Self.randomPart(&random))
        current = (address, now.advanced(byMilliseconds: lifeMilliseconds))
        return address
    }

    /// The next one is another.
    package mutating func forget() { current = nil }

    /// 22 bits, of which neither all are 0 nor all are 1.
    private static func randomPart(_ random: inout any RandomSource) -> UInt32 {
        while true {
            let bits = UInt32(truncatingIfNeeded: random.uint64()) & 0x3F_FFFF
            if bits != 0, bits != 0x3F_FFFF { return bits }
        }
    }
}
