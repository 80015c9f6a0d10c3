import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import Foundation
import GATT
import LockCentral
import LockPeripheral
import LockProtocol
import SecurityManager
import TestSupport
import Testing

@testable import LockPersistence
@testable import StatePersistence

/// Each column of each table, damaged in turn, in its table's first row.
@Suite("A damaged row costs itself")
struct DamagedColumnTests {
    /// What a launch of both roles finds, by whose it is.
    private struct Found: Equatable {
        var facts: [String: String] = [:]
        var told: Set<String> = []

        init(_ home: Household, commits: Bool) throws {
            let state = try home.open()
            var told: Set<String> = []
            state.database.onDamagedRow = { told.insert($0.table) }
            let lock = SQLiteLockStore(state.database, auditRecordsMaximum: 2)
            let key = SQLiteKeyStore(state.database)
            // As the daemon does: the bolt first.
            let duties = try lock.launch()
            let reading = BoltReading(position: .unlocked, door: .closed)
            facts["bolt"] = "\(UnrecordedSecuring.isOwed(duties, reading: reading, boot: Household.boot, now: now))"
            var outputs: [LockOutput] = []
            _ = LockMachine(
                restoring: duties, reading: reading, boot: Household.boot, receiptHandle: AttributeHandle(1),
                at: LockMoment(now: now, wallClockSeconds: 1_900_000_000), into: &outputs)
            for case .actuate(let order) in outputs { facts["actuator"] = "\(order.movement)" }
            facts["settings"] = "\(duties.settings)"
            for credential in lock.credentials(after: nil, limit: 9) {
                facts["credential \(credential.id.rawValue)"] = "\(credential)"
            }
            for bond in 1...2 as ClosedRange<UInt64> {
                let holder = lock.holder(of: bond)
                facts["commands \(bond)"] = holder.lastCommand.map { "\($0)" }
                facts["lockout \(bond)"] = holder.lockout.map { "\($0)" }
                facts["counters \(bond)"] = holder.receiptCounter == .max ? nil : holder.receiptCounter.map { "\($0)" }
            }
            let keys = try key.load()
            var keyOutputs: [KeyOutput] = []
            _ = KeyMachine(restoring: keys, boot: Household.boot, now: now, into: &keyOutputs)
            for number in 1...2 as ClosedRange<UInt64> {
                let known = keys.locks[Household.peer(number)]
                facts["lock \(number)"] = known.map { "\($0.record) \($0.receiptCounter ?? 0)" }
                facts["thresholds \(number)"] = known?.thresholds.map { "\($0)" }
                facts["note \(number)"] = known?.note.map { $0.text }
                facts["preferred \(number)"] = keys.preferred.contains(Household.peer(number)) ? "yes" : nil
                facts["request \(number)"] = known?.request.map { "\($0)" }
            }
            var stores: [any CommitParticipant] = [lock, key]
            for role in [RestoreKey.Role.peripheral, .central] {
                stores.append(try launch(role, state))
            }
            if commits {
                for case .persist(let fact) in outputs { lock.append(fact) }
                for case .persist(let fact) in keyOutputs { key.append(fact) }
                lock.append(.bolt(BoltRecord(position: .locked)))
                lock.append(.relock(nil))
                lock.append(.intent(nil))
                try state.database.commit(stores)
            }
            self.told = told
        }

        private var now: Instant { Instant(nanoseconds: 1_000_000_000_000) }

        private mutating func launch(_ role: RestoreKey.Role, _ state: StateStore) throws -> SQLiteHostStore {
            let name = role.rawValue
            let store = SQLiteHostStore(state, name: name)
            let snapshot = try store.launch()
            let host = Host(
                configuration: HostConfiguration(deviceName: name), boot: Household.boot, snapshot: snapshot,
                rows: store, store: store, random: NoRandom(), makeKeyPair: P256KeyPair.generate)
            facts["\(name): identity"] = "\(host.identity.address)"
            for (key, record) in snapshot.restorations {
                let whose = "\(name): \(key.identifier)"
                for each in record.pendingConnections { facts["\(whose): to \(each.peer)"] = "\(each)" }
                for each in record.subscriptions { facts["\(whose): of \(each.peer)"] = "\(each)" }
                for each in record.services { facts["\(whose): at \(each.handle.rawValue)"] = "\(each)" }
                for each in record.queuedUpdates { facts["\(whose): update \(each.sequence)"] = "\(each)" }
                facts["\(whose): scan"] = record.scan.map { "\($0)" }
                facts["\(whose): advertising"] = record.advertising.map { "\($0)" }
            }
            for bond in 1...2 as ClosedRange<Int64> {
                facts["\(name): bond \(bond)"] = store.bond(BondID(bond)).map { "\($0.ltk == $0.ltk) \($0.model)" }
                facts["\(name): client \(bond)"] = store.client(UInt64(bond)).map { "\($0)" }
                // As an advertisement has it looked for.
                _ = store.peer(at: Household.address((role == .peripheral ? 100 : 200) + UInt64(bond)))
                facts["\(name): peer \(bond)"] = store.peer(Household.peer(UInt64(bond))).map { "\($0)" }
            }
            return store
        }
    }

    private struct NoRandom: RandomSource {
        mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) {
            octets += [UInt8](repeating: 0xC5, count: count)
        }
    }

    /// Nothing can be read without these, or nobody could tell that it is the lock: such a file is refused, and left as it is.
    private static let indispensable: Set<String> = ["schema_migration", "host_identity"]

    /// Another number there is as good as any other: nothing in the file says that it was not written.
    private static let plausible: Set<String> = [
        "lock_bond.bond", "lock_credential.id", "lock_bond.receipts_reserved_below", "lock_bond.lockout",
    ]

    /// Which facts a table's first row may take along, by how their names begin.
    private static func lost(with table: String) -> [String] {
        let first = ["peripheral: manager 1", "central: manager 1"]
        switch table {
        case "host_bond": return ["central: bond 1", "central: client 1", "peripheral: bond 1", "peripheral: client 1"]
        case "host_client", "host_client_configuration": return ["peripheral: client 1", "central: client 1"]
        case "host_peer": return ["peripheral: peer 1", "central: peer 1"]
        case "host_restoration": return first
        case "host_pending_connection": return first.map { $0 + ": to" }
        case "host_subscription": return first.map { $0 + ": of" }
        case "host_published_service": return first.map { $0 + ": at" }
        case "host_queued_update": return first.map { $0 + ": update" }
        case "host_scan", "host_scan_service": return first.map { $0 + ": scan" }
        case "host_advertising", "host_advertised_service", "host_advertised_service_data", "host_solicited_service":
            return first.map { $0 + ": advertising" }
        case "lock_credential": return ["credential 1"]
        case "lock_bond": return ["commands 1", "counters 1", "lockout 1"]
        case "lock_settings": return ["settings"]
        case "key_lock": return ["lock 1", "request 1", "thresholds 1", "note 1", "preferred 1"]
        case "key_request": return ["request 1"]
        case "key_thresholds": return ["thresholds 1"]
        case "key_note": return ["note 1"]
        // Each peer has a place, and the first row is that of the first.
        case "key_preference": return ["preferred 1"]
        default: return []
        }
    }

    @Test("whatever is in which of its columns: the bolt is secured, nobody else's row is lost, and it is told")
    func everyColumn() throws {
        let base = ScratchDirectory()
        let home = Household(base.path)
        try home.fill()
        let whole = try Found(home, commits: false)
        #expect(whole.told.isEmpty && whole.facts.count > 60, "\(whole.facts.count)")
        try home.settleLog()
        let columns = try DamagedFile.columns(of: home.path)
        #expect(Set(columns.map(\.table)).count == 31, "a new table has rows in Household")
        for table in Set(columns.map(\.table)) {
            #expect(try DamagedFile.count(table, in: home.path) > 0 || Self.isLeftOut(table), "\(table)")
        }
        for column in columns where !Self.isLeftOut(column.table) {
            for value in column.damages {
                let scratch = ScratchDirectory()
                let damaged = Household(scratch.path)
                for name in [Household.folder, "machine.key"] {
                    try FileManager.default.copyItem(
                        atPath: home.directory + "/" + name, toPath: damaged.directory + "/" + name)
                }
                guard try DamagedFile.inflict(value, on: column, in: damaged.path) else { continue }
                expect(damaged, whole, column, value)
            }
        }
    }

    /// Of schemas before, emptied by a migration; and the seal, of whose damage LockSealTests tell.
    private static func isLeftOut(_ table: String) -> Bool {
        ["lock_bolt", "lock_intent", "lock_relock", "lock_last_command", "lock_receipt_counter", "lock_seal"].contains(
            table)
    }

    private func expect(_ home: Household, _ whole: Found, _ column: DamagedFile.Column, _ value: String) {
        let comment: Comment = "\(column) = \(value)"
        // What the program's last resort would do.
        let reading = BoltReading(position: .unlocked, door: .closed)
        let duties = try? SQLiteLockStore.duties(at: home.path)
        #expect(
            UnrecordedSecuring.isOwed(
                duties, reading: reading, boot: Household.boot, now: Instant(nanoseconds: 1_000_000_000_000)), comment)
        do {
            let faults = (try? StateInspector(path: home.path).check(components: [.host, .lock, .key]).faults) ?? []
            let found = try Found(home, commits: true)
            #expect(found.facts["bolt"] == "true" && found.facts["actuator"] == "lock", comment)
            let may = Self.lost(with: column.table)
            var missing: [String] = []
            for (name, fact) in whole.facts where found.facts[name] != fact && name != "bolt" && name != "actuator" {
                if found.facts[name] == nil { missing.append(name) }
                #expect(may.contains { name.hasPrefix($0) }, "\(column) = \(value) takes \(name)")
            }
            let isTold = !found.told.isEmpty || !faults.isEmpty || Self.plausible.contains("\(column)")
            #expect(missing.isEmpty || isTold, "\(column) = \(value): nobody tells")
            // What was put aside stays aside, and the file is of use.
            let again = try Found(home, commits: true)
            #expect(again.facts["bolt"] == "false", comment)
        } catch {
            #expect(Self.indispensable.contains(column.table), "\(column) = \(value): \(error)")
        }
    }
}
