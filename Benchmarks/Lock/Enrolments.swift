import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import LockPeripheral
import LockPersistence
import LockProtocol
import SecurityManager
import StatePersistence

/// Everything that enrolments and a command of each leave in a lock's database. A bond alone would not do: a launch deletes those
/// that no credential names.
struct Enrolments {
    let count: Int
    /// Each credential has as many week day schedules as it may have.
    var isScheduled = false
    /// What the lock's audit has had of them.
    var history: AuditHistory?

    /// What was put there: the bonds, and where their commands go.
    func fill(_ state: String) throws -> (bonds: [Bond], handles: LockHandles) {
        let store = try StateStore(
            path: state + "/latch.sqlite", machineKeyFile: state + "/machine.key", credentialsDirectory: nil,
            components: [.host, .lock])
        // The daemon's own identity: what another one keeps it does not read.
        let host = SQLiteHostStore(store, name: "peripheral")
        // Rows that are written behind the seal's back are believed by nobody.
        let seal = try LockSeal(store, anchor: FileAnchor(path: state + "/lock.anchor", keys: store.keys))
        let most = history.map { UInt64($0.records) } ?? AuditRetention.recordsMaximum
        let lock = SQLiteLockStore(store, seal: seal, auditRecordsMaximum: most)
        guard let published = try host.load().restorations.values.compactMap({ $0.services.first }).first else {
            throw BenchmarkError("the lock has published nothing")
        }
        let handles = try LockHandles(
            published: try ServiceDefinition(exactly: published.encoded), at: published.handle)
        var bonds: [Bond] = []
        var credentials: [Credential] = []
        for index in 0..<count {
            let bond = Self.bond(index)
            let credential = credential(bond, index)
            host.append(.bond(.upsert(bond)))
            Self.complete(bond, index, handles, host, lock)
            lock.append(.credential(credential))
            bonds.append(bond)
            credentials.append(credential)
        }
        try store.database.commit([host, lock])
        try history?.write(credentials, to: lock, store.database)
        return (bonds, handles)
    }

    /// As a pairing would have left it.
    private static func bond(_ index: Int) -> Bond {
        let address = DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(index))
        return Bond(
            id: BondID(random: SystemRandom.uint64()), identity: IdentityAddress(address),
            peerIRK: SystemRandom.secret(),
            ltk: SystemRandom.secret(), localCSRK: SystemRandom.secret(), remoteCSRK: SystemRandom.secret(),
            model: .outOfBand, state: .confirmed, credential: "user \(index)")
    }

    private func credential(_ bond: Bond, _ index: Int) -> Credential {
        Credential(
            id: CredentialID(rawValue: SystemRandom.uint64() >> 1), name: "user \(index)", role: .resident,
            bond: UInt64(bitPattern: bond.id.rawValue), schedules: isScheduled ? Self.schedules : .none)
    }

    /// The whole week in so many pieces: the door opens at any time, and all of them are read and kept.
    private static let schedules: CredentialSchedules = {
        let most = CredentialSchedules.weekdaysMaximum
        let pieces = (0..<most).compactMap { piece in
            WeekdaySchedule(
                days: .everyDay, fromMinute: piece * WeekdaySchedule.minutesOfDay / most,
                untilMinute: (piece + 1) * WeekdaySchedule.minutesOfDay / most)
        }
        return CredentialSchedules(weekdays: pieces) ?? .none
    }()

    private static func complete(
        _ bond: Bond, _ index: Int, _ handles: LockHandles, _ host: SQLiteHostStore, _ lock: SQLiteLockStore
    ) {
        let number = UInt64(bitPattern: bond.id.rawValue)
        host.append(.gatt(.clientSupportedFeatures(bond: number, value: [1])))
        host.append(.gatt(.changeAware(bond: number, databaseHash: handles.databaseHash)))
        for handle in handles.configurations {
            host.append(.gatt(.clientCharacteristicConfiguration(bond: number, handle: handle, value: .notification)))
        }
        host.append(
            .peer(
                PeerRecord(
                    identifier: PeerIdentifier(bits: SystemRandom.uint128()),
                    address: DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(index)), name: "key \(index)")
            ))
        lock.append(
            .lastCommand(
                bond: number,
                LastCommand(
                    challenge: ChallengeID(bits: SystemRandom.uint64() >> 16), signCounter: 1, result: .done,
                    phase: .done)))
        lock.append(.receiptCounters(bond: number, reservedBelow: 64))
    }
}
