/// One run of the machine's kernel. A deadline in boot time means something only together with it.
package struct BootID: Hashable, Sendable {
    package let bits: UInt128
    package init(bits: UInt128) { self.bits = bits }
}
