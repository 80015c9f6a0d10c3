import BluetoothCore
import LockPeripheral
import StatePersistence

/// One bond's time to prove itself, among the facts of the file. It gives no right, so that nothing authenticates it: somebody who
/// can write the file can also write the bond's key away.
struct UnprovenBondFact: Equatable {
    /// What the name of each of them begins with. The bond's number follows, with as many digits for each.
    static let prefix = "lock.unproven."
    /// Behind every such name: `/` comes behind `.`.
    static let end = "lock.unproven/"
    private static let digits = 16

    let bond: UInt64
    let life: BondLife

    static func name(of bond: UInt64) -> String {
        let digits = String(bond, radix: 16)
        return prefix + String(repeating: "0", count: Self.digits - digits.count) + digits
    }

    init(bond: UInt64, life: BondLife) {
        self.bond = bond
        self.life = life
    }

    /// Nil for anything but what ``name(of:)`` and ``value`` make.
    init?(name: String, value: [UInt8]) {
        var reader = ByteReader(value.span.bytes)
        guard let bond = UInt64(name.dropFirst(Self.prefix.count), radix: 16), name == Self.name(of: bond),
            let boot = try? reader.readUInt128(), let until = try? reader.readUInt64(),
            let milliseconds = try? reader.readUInt64(), reader.remaining == 0
        else { return nil }
        self.bond = bond
        life = BondLife(
            boot: BootID(bits: boot), until: Instant(nanoseconds: until), milliseconds: milliseconds)
    }

    var value: [UInt8] {
        var writer = ByteWriter(capacity: 32)
        writer.write(life.boot.bits)
        writer.write(life.until.nanoseconds)
        writer.write(life.milliseconds)
        return writer.bytes
    }
}

extension LockReader {
    /// A fact that cannot be read is told and left out: its bond begins a new life.
    func unproven() throws(StoreError) -> [UInt64: BondLife] {
        var found: [UInt64: BondLife] = [:]
        try database.statement("SELECT name, value FROM store_fact WHERE name >= ? AND name < ?")
            .forEachRow([.text(UnprovenBondFact.prefix), .text(UnprovenBondFact.end)]) { (row) throws(StoreError) in
                let name = try row.text(0)
                let fact = try whole("store_fact", name) { () throws(StoreError) in
                    guard let fact = UnprovenBondFact(name: name, value: try row.blob(1)) else { throw row.misfit(1) }
                    return fact
                }
                if let fact { found[fact.bond] = fact.life }
            }
        return found
    }
}

extension SQLiteLockStore {
    func write(_ life: BondLife?, of bond: UInt64) throws(StoreError) {
        let name = SQLValue.text(UnprovenBondFact.name(of: bond))
        guard let life else {
            return try database.statement("DELETE FROM store_fact WHERE name = ?").run([name])
        }
        try database.statement("INSERT OR REPLACE INTO store_fact VALUES (?, ?)")
            .run([name, .blob(UnprovenBondFact(bond: bond, life: life).value)])
    }
}
