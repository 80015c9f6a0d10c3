import BluetoothCore
import BluetoothCrypto

/// Says whether a row that is no secret is as this machine wrote it: AES-CMAC under a key that is derived from the machine
/// key, over the table, the row's key and every column that rights rest on, each with its type and its length before it. So
/// no row passes for a row of another table, and no value for two others.
///
/// A MAC says who wrote a row, and not when: an old row has its MAC still. `LockSeal` is about that.
package final class RowAuthenticator {
    package static let macOctets = 16

    private let rows: CMAC
    private let contributions: AES128
    private let anchors: CMAC

    init(_ key: MachineKey) {
        rows = CMAC(key: HMACSHA256.derive("latch row 1", octets: Self.macOctets, from: key.secret))
        contributions = AES128(key: HMACSHA256.derive("latch row set 1", octets: Self.macOctets, from: key.secret))
        anchors = CMAC(key: HMACSHA256.derive("latch anchor 1", octets: Self.macOctets, from: key.secret))
    }

    package func mac(_ table: StaticString, _ values: [SQLValue]) -> [UInt8] {
        var octets: [UInt8] = []
        Self.append(Array(table.description.utf8), to: &octets)
        for value in values {
            switch value {
            case .null: octets.append(0)
            case .integer(let integer):
                octets.append(1)
                octets += Self.octets(UInt64(bitPattern: integer))
            case .text(let text):
                octets.append(2)
                Self.append(Array(text.utf8), to: &octets)
            case .blob(let blob):
                octets.append(3)
                Self.append(blob, to: &octets)
            }
        }
        return Self.octets(rows.authenticate(octets))
    }

    /// In constant time.
    package func isAuthentic(_ mac: [UInt8]?, _ table: StaticString, _ values: [SQLValue]) -> Bool {
        guard let mac else { return false }
        return ConstantTime.equal(mac, self.mac(table, values))
    }

    /// What a row adds to the sum over its set: the MAC under another key, so that nobody who sees MACs can compute it. A row
    /// without a MAC is in no set.
    package func contribution(of mac: [UInt8]?) -> UInt128 {
        guard let mac, mac.count == Self.macOctets else { return 0 }
        return contributions.encrypt(mac.reduce(0) { $0 << 8 | UInt128($1) })
    }

    func anchorMAC(_ octets: [UInt8]) -> [UInt8] { Self.octets(anchors.authenticate(octets)) }

    private static func append(_ octets: [UInt8], to message: inout [UInt8]) {
        message += Self.octets(UInt64(octets.count))
        message += octets
    }

    package static func octets(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
