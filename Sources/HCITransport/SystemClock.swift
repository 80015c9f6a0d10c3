import BluetoothCore
import CLinux
import Glibc

/// The machine's clock, for shells to read and machines to be told.
package enum SystemClock {
    /// Boot time: it goes on through suspend.
    package static func now() -> Instant { Instant(nanoseconds: latch_boottime_nanoseconds()) }

    /// 128 bits that are others after each boot: instants of different boots cannot be compared. nil when the kernel
    /// does not say.
    package static func bootIdentifier(path: String = "/proc/sys/kernel/random/boot_id") -> UInt128? {
        let raw = latch_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard raw >= 0 else { return nil }
        let descriptor = OwnedDescriptor(raw)
        var text = [UInt8](repeating: 0, count: 64)
        let count = text.withUnsafeMutableBytes { read(descriptor.rawValue, $0.baseAddress, $0.count) }
        guard count == 36 || count == 37 else { return nil }
        return BluetoothUUID(String(decoding: text.prefix(36), as: UTF8.self))?.bits
    }
}
