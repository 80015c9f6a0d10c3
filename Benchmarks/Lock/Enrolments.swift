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

    /// What was put there: the bonds, and where their commands go.
    func fill(_ state: String) throws -> (bonds: [Bond], handles: LockHandles) {
        let store = try StateStore(
            path: state + "/latch.sqlite", machineKeyFile: state + "/machine.key", credentialsDirectory: nil,
            components: [.host, .lock])
        // The daemon's own identity: what another one keeps it does not read.
        let host = SQLiteHostStore(store, name: "peripheral")
        // Rows that are written behind the seal's back are believed by nobody.
        let seal = try LockSeal(store, anchor: FileAnchor(path: state + "/lock.anchor", keys: store.keys))
        let lock = SQLiteLockStore(store, seal: seal)
        guard let published = try host.load().restorations.values.compactMap({ $0.services.first }).first else {
            throw BenchmarkError("the lock has published nothing")
        }
        let handles = try LockHandles(
            published: try ServiceDefinition(exactly: published.encoded), at: published.handle)
        var bonds: [Bond] = []
        for index in 0..<count {
            let bond = Self.bond(index)
            host.append(.bond(.upsert(bond)))
            Self.complete(bond, index, handles, host, lock)
            bonds.append(bond)
        }
        try store.database.commit([host, lock])
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
            .credential(
                Credential(
                    id: CredentialID(rawValue: SystemRandom.uint64() >> 1), name: "user \(index)", role: .resident,
                    bond: number)))
        lock.append(
            .lastCommand(
                bond: number,
                LastCommand(
                    challenge: ChallengeID(bits: SystemRandom.uint64() >> 16), signCounter: 1, result: .done,
                    phase: .done)))
        lock.append(.receiptCounters(bond: number, reservedBelow: 64))
    }
}
