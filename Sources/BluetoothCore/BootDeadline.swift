/// One run of the machine's kernel. A deadline in boot time means something only together with it.
package struct BootID: Hashable, Sendable {
    package let bits: UInt128
    package init(bits: UInt128) { self.bits = bits }
}

/// A deadline that outlives the process, and is still the same moment for the next one.
package struct BootDeadline: Hashable, Sendable {
    package var boot: BootID
    package var at: Instant

    package init(boot: BootID, at: Instant) {
        self.boot = boot
        self.at = at
    }

    /// When it is due in this boot. Boot time starts over with the machine, so that a deadline of another boot says nothing
    /// but "now".
    package func due(in boot: BootID) -> Instant { boot == self.boot ? at : Instant(nanoseconds: 0) }
}
