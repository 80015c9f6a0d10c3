import BluetoothCore
import LockPeripheral
import StatePersistence

/// The alarms that are on record and were not told yet, as a fact of the file. It is wrapped: whoever writes the file would have the lock
/// tell of whatever he likes otherwise. Who takes the fact away silences what was owed; the audit has the records.
enum OwedAlarmsFact {
    static let name = "lock.alarms"

    static func value(_ alarms: [OwedAlarm], _ keys: KeyWrap) -> [UInt8] {
        var writer = ByteWriter()
        for alarm in alarms { alarm.encode(into: &writer) }
        return keys.wrap(writer.bytes, table: "store_fact", column: "value", row: name)
    }

    /// - Throws: A ``StoreError`` for what this machine has not wrapped.
    static func alarms(_ value: [UInt8], _ keys: KeyWrap) throws(StoreError) -> [OwedAlarm]? {
        let octets = try keys.unwrap(value, table: "store_fact", column: "value", row: name)
        var reader = ByteReader(octets.span.bytes)
        var alarms: [OwedAlarm] = []
        while reader.remaining > 0 {
            guard let alarm = try? OwedAlarm(decoding: &reader) else { return nil }
            alarms.append(alarm)
        }
        return alarms
    }
}

extension LockReader {
    /// What cannot be read is told, and nothing is owed then.
    func owedAlarms() throws(StoreError) -> [OwedAlarm] {
        guard let keys else { return [] }
        let found = try database.statement("SELECT value FROM store_fact WHERE name = ?")
            .firstRow([.text(OwedAlarmsFact.name)]) { (row) throws(StoreError) in
                try whole("store_fact", OwedAlarmsFact.name) { () throws(StoreError) in
                    guard let alarms = try OwedAlarmsFact.alarms(try row.blob(0), keys) else { throw row.misfit(0) }
                    return alarms
                }
            }
        return (found ?? nil) ?? []
    }
}

extension SQLiteLockStore {
    func write(_ alarms: [OwedAlarm], _ keys: KeyWrap) throws(StoreError) {
        try database.statement("INSERT OR REPLACE INTO store_fact VALUES (?, ?)")
            .run([.text(OwedAlarmsFact.name), .blob(OwedAlarmsFact.value(alarms, keys))])
    }
}
