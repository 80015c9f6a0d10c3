import BluetoothCore

/// What time a manager told a lock whose machine does not know it. It counts in one boot, whose time goes on with it, and only while the
/// machine has no time of its own.
package struct ToldTime: Hashable, Sendable {
    package let boot: BootID
    /// Seconds since 1970 when that boot began.
    package let bootSeconds: Int64

    package init(boot: BootID, bootSeconds: Int64) {
        self.boot = boot
        self.bootSeconds = bootSeconds
    }

    package init(_ seconds: Int64, boot: BootID, at now: Instant) {
        self.init(boot: boot, bootSeconds: seconds - Self.seconds(now))
    }

    /// nil in another boot: nobody knows how long the machine was off.
    package func seconds(in boot: BootID, at now: Instant) -> Int64? {
        guard boot == self.boot else { return nil }
        let (seconds, isTooLate) = bootSeconds.addingReportingOverflow(Self.seconds(now))
        return isTooLate ? nil : seconds
    }

    private static func seconds(_ now: Instant) -> Int64 { Int64(now.nanoseconds / 1_000_000_000) }
}
