import BluetoothCore
import BluetoothCrypto

/// Says whether a row that is no secret is as this machine wrote it: AES-CMAC under a key that is derived from the machine
/// key, over the table, the row's key and every column that rights rest on (``RowMessage``). So no row passes for a row of
/// another table.
///
/// A MAC says who wrote a row, and not when: an old row has its MAC still. `LockSeal` is about that.
package final class RowAuthenticator {
    package static let macOctets = 16

    private let rows: CMAC
    private let contributions: AES128
    private let anchors: CMAC
    private var message = RowMessage()

    init(_ key: MachineKey) {
        rows = CMAC(key: HMACSHA256.derive("latch row 1", octets: Self.macOctets, from: key.secret))
        contributions = AES128(key: HMACSHA256.derive("latch row set 1", octets: Self.macOctets, from: key.secret))
        anchors = CMAC(key: HMACSHA256.derive("latch anchor 1", octets: Self.macOctets, from: key.secret))
    }

    package func mac(_ table: StaticString, _ values: [SQLValue]) -> [UInt8] {
        message.begin(table)
        for value in values { message.append(value) }
        return Self.octets(rows.authenticate(message.octets))
    }

    /// Whether the row's MAC is over `first` and these of its columns, as they are kept.
    ///
    /// - Throws: ``StoreError/corrupt(path:reason:)`` for a number with a fraction, which was never written.
    package func isAuthentic(
        _ row: Row, _ table: StaticString, behind first: SQLValue? = nil, columns: Range<Int32>, mac: Int32
    ) throws(StoreError) -> Bool {
        message.begin(table)
        if let first { message.append(first) }
        for column in columns { try row.append(column, to: &message) }
        guard let kept = row.optionalUInt128(mac) else { return false }
        #if LATCH_PLANTS
        if Plant.active == .row { return true }
        #endif
        return ConstantTime.equal(kept, rows.authenticate(message.octets))
    }

    /// What a row adds to the sum over its set: the MAC under another key, so that nobody who sees MACs can compute it. A row
    /// without a MAC is in no set.
    package func contribution(of mac: UInt128?) -> UInt128 { mac.map(contributions.encrypt) ?? 0 }

    /// The same; what is not as long as a MAC is none.
    package func contribution(of mac: [UInt8]?) -> UInt128 {
        guard let mac, mac.count == Self.macOctets else { return 0 }
        return contribution(of: mac.reduce(0 as UInt128) { $0 << 8 | UInt128($1) })
    }

    func anchorMAC(_ octets: [UInt8]) -> [UInt8] { Self.octets(anchors.authenticate(octets)) }

    package static func octets(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
