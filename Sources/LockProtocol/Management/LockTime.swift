import BluetoothCore

/// What time a lock has, and from whom.
package struct LockTime: WireCodable, Hashable {
    package struct Source: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Nothing that depends on the time of day is granted.
        package static let none = Self(rawValue: 0)
        /// The clock of the lock's machine.
        package static let machine = Self(rawValue: 1)
        /// A manager has told it since the machine's start.
        package static let manager = Self(rawValue: 2)
    }

    /// What a manager may tell, in seconds since 1970: from 2026 to the end of 2099. A time that is told by mistake cannot be taken back.
    package static let settableSeconds: ClosedRange<Int64> = 1_767_225_600...4_102_444_799

    package var source: Source
    /// Since 1970; nil without a source.
    package var seconds: Int64?
    /// The latest time that the lock has ever believed: no earlier one is believed again.
    package var markSeconds: Int64?

    private static let noTime = Int64.min

    package init(source: Source, seconds: Int64?, markSeconds: Int64?) {
        self.source = source
        self.seconds = seconds
        self.markSeconds = markSeconds
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        source = Source(rawValue: try reader.readUInt8())
        seconds = Self.time(try reader.readUInt64())
        markSeconds = Self.time(try reader.readUInt64())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(source.rawValue)
        writer.write(UInt64(bitPattern: seconds ?? Self.noTime))
        writer.write(UInt64(bitPattern: markSeconds ?? Self.noTime))
    }

    private static func time(_ bits: UInt64) -> Int64? {
        let seconds = Int64(bitPattern: bits)
        return seconds == noTime ? nil : seconds
    }
}
