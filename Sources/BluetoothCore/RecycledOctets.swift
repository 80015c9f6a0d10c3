/// Storage for octets that are handed out one after the other. It is used again once whoever was given them has let go of
/// them, and made anew while somebody still holds them: nobody sees octets change.
package struct RecycledOctets: Sendable {
    private var writer = ByteWriter()
    /// Storage of the values before the one in ``writer``. It is used again in turn, the oldest first.
    private var others: [ByteWriter] = []
    private var next = 0
    private let places: Int

    /// `places`: how many of those that were handed out last may still be held without anything being made anew.
    package init(places: Int = 1) { self.places = places }

    /// What `write` writes.
    package mutating func make(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        turn()
        writer.removeAll()
        write(&writer)
        return writer.bytes
    }

    package mutating func copy(_ octets: RawSpan) -> [UInt8] {
        turn()
        writer.removeAll()
        writer.write(octets)
        return writer.bytes
    }

    private mutating func turn() {
        guard places > 1 else { return }
        if others.count < places - 1 {
            others.append(ByteWriter())
            next = others.count - 1
        } else {
            next = next + 1 < others.count ? next + 1 : 0
        }
        swap(&writer, &others[next])
    }
}
