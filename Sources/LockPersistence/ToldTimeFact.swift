import BluetoothCore
import LockPeripheral
import StatePersistence

/// The time that a manager has told, as a fact of the file. It is wrapped: whoever writes the file would choose the time of day otherwise,
/// and with it whom a schedule lets in.
enum ToldTimeFact {
    static let name = "lock.told-time"

    static func value(_ told: ToldTime, _ keys: KeyWrap) -> [UInt8] {
        var writer = ByteWriter(capacity: 24)
        writer.write(told.boot.bits)
        writer.write(UInt64(bitPattern: told.bootSeconds))
        return keys.wrap(writer.bytes, table: "store_fact", column: "value", row: name)
    }

    /// - Throws: A ``StoreError`` for what this machine has not wrapped.
    static func told(_ value: [UInt8], _ keys: KeyWrap) throws(StoreError) -> ToldTime? {
        let octets = try keys.unwrap(value, table: "store_fact", column: "value", row: name)
        var reader = ByteReader(octets.span.bytes)
        guard let boot = try? reader.readUInt128(), let seconds = try? reader.readUInt64() else { return nil }
        return ToldTime(boot: BootID(bits: boot), bootSeconds: Int64(bitPattern: seconds))
    }
}

extension LockReader {
    /// Nil where none was told. What cannot be read is told and counts for nothing.
    func toldTime() throws(StoreError) -> ToldTime? {
        guard let keys else { return nil }
        let found = try database.statement("SELECT value FROM store_fact WHERE name = ?")
            .firstRow([.text(ToldTimeFact.name)]) { (row) throws(StoreError) in
                try whole("store_fact", ToldTimeFact.name) { () throws(StoreError) in
                    try ToldTimeFact.told(try row.blob(0), keys)
                }
            }
        return ((found ?? nil) ?? nil) ?? nil
    }
}

extension SQLiteLockStore {
    func write(_ told: ToldTime, _ keys: KeyWrap) throws(StoreError) {
        try database.statement("INSERT OR REPLACE INTO store_fact VALUES (?, ?)")
            .run([.text(ToldTimeFact.name), .blob(ToldTimeFact.value(told, keys))])
    }
}
