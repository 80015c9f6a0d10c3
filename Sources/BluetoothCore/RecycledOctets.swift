/// Storage for octets that are handed out one after the other. It is used again once whoever was given the last ones has
/// let go of them, and made anew while somebody still holds them: nobody sees octets change.
package struct RecycledOctets: Sendable {
    private var writer = ByteWriter()

    package init() {}

    /// What `write` writes.
    package mutating func make(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        writer.removeAll()
        write(&writer)
        return writer.bytes
    }

    package mutating func copy(_ octets: RawSpan) -> [UInt8] {
        writer.removeAll()
        writer.write(octets)
        return writer.bytes
    }
}
