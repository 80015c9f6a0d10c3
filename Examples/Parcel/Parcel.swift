import Foundation

/// A file as it crosses a channel, which carries octets and knows of no files: a header of eight octets, and the contents.
///
/// The header has the length of the contents and their checksum, four octets each, most significant first.
package struct Parcel: Equatable, Sendable {
    package let contents: Data
    /// The CRC-32 of the contents, as in Ethernet and in gzip.
    package let checksum: UInt32

    package init(_ contents: Data) {
        self.contents = contents
        checksum = ~contents.reduce(~UInt32(0)) { crc, octet in
            Self.table[Int(UInt8(truncatingIfNeeded: crc) ^ octet)] ^ crc >> 8
        }
    }

    /// What crosses the channel.
    package var octets: Data {
        Data(Self.octets(UInt32(truncatingIfNeeded: contents.count)) + Self.octets(checksum)) + contents
    }

    /// A number of the header.
    package static func octets(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    /// The other way round: of four octets, or the first ones of them.
    package static func number(_ octets: some Sequence<UInt8>) -> UInt32 {
        octets.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static let table: [UInt32] = (0..<256).map { octet in
        var rest = UInt32(octet)
        for _ in 0..<8 { rest = rest & 1 == 0 ? rest >> 1 : rest >> 1 ^ 0xEDB8_8320 }
        return rest
    }
}

/// Puts a parcel together from the octets of a channel, however they were cut.
package struct ParcelReader: Sendable {
    /// What a parcel may not be.
    package enum Refusal: Error {
        /// Longer than ``contentsOctetsMaximum``.
        case tooLong
        /// There is more than its header says.
        case trailing
        /// The contents have another checksum than the header says.
        case damaged
    }

    package static let contentsOctetsMaximum = 16 << 20
    private static let headerOctets = 8

    private var octets = Data()

    package init() {}

    /// How long the contents will be, once the header is there.
    package var length: Int? { octets.count < Self.headerOctets ? nil : Int(Parcel.number(octets.prefix(4))) }

    /// Takes what has arrived, and gives the parcel when it is whole.
    package mutating func take(_ arrived: Data) throws(Refusal) -> Parcel? {
        octets += arrived
        guard let length else { return nil }
        guard length <= Self.contentsOctetsMaximum else { throw .tooLong }
        let missing = Self.headerOctets + length - octets.count
        guard missing >= 0 else { throw .trailing }
        guard missing == 0 else { return nil }
        let parcel = Parcel(octets.dropFirst(Self.headerOctets))
        guard parcel.checksum == Parcel.number(octets.dropFirst(4).prefix(4)) else { throw .damaged }
        return parcel
    }
}
