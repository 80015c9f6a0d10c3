import BluetoothCore
import BluetoothCrypto
import SecurityManager

/// The keys of one bond as one message to wrap: a bond is read whole, so one unwrapping does for all of them.
///
/// Octets: which of the optional keys are there (bit 0 IRK, 1 local CSRK, 2 remote CSRK, 3 the application's secret), then LTK and those
/// keys in that order, each with its length before it.
struct BondKeys {
    var ltk: Secret
    var peerIRK: Secret?
    var localCSRK: Secret?
    var remoteCSRK: Secret?
    var application: Secret?

    static let table: StaticString = "host_bond"
    static let column: StaticString = "keys"

    static func row(identity: Int64, bond: BondID) -> String { "\(identity) \(bond.rawValue)" }

    init(_ bond: Bond) {
        ltk = bond.ltk
        peerIRK = bond.peerIRK
        localCSRK = bond.localCSRK
        remoteCSRK = bond.remoteCSRK
        application = bond.applicationSecret
    }

    /// The octets are for wrapping at once, and for wiping then.
    func encoded() -> [UInt8] {
        let optional = [peerIRK, localCSRK, remoteCSRK, application]
        var octets: [UInt8] = []
        // Room for all, so that no half-written copy is left behind by growing.
        octets.reserveCapacity(1 + 5 * (1 + 255))
        octets.append(optional.enumerated().reduce(0) { $0 | ($1.element == nil ? 0 : 1 << UInt8($1.offset)) })
        for key in [ltk] + optional.compactMap({ $0 }) {
            octets.append(UInt8(key.count))
            key.withBytes { octets.append(contentsOf: $0) }
        }
        return octets
    }

    init(decoding octets: [UInt8]) throws(DecodingError) {
        var reader = ByteReader(octets.span.bytes)
        let present = try reader.readUInt8()
        guard present < 16 else { throw .invalidValue(field: "keys present") }
        ltk = try Self.key(&reader)
        peerIRK = present & 1 == 0 ? nil : try Self.key(&reader)
        localCSRK = present & 2 == 0 ? nil : try Self.key(&reader)
        remoteCSRK = present & 4 == 0 ? nil : try Self.key(&reader)
        application = present & 8 == 0 ? nil : try Self.key(&reader)
        try reader.expectEnd()
    }

    private static func key(_ reader: inout ByteReader) throws(DecodingError) -> Secret {
        let count = Int(try reader.readUInt8())
        var octets = try reader.readBytes(count)
        return Secret(wiping: &octets)
    }
}
