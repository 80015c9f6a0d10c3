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

    func fill(_ state: String) throws {
        let store = try StateStore(
            path: state + "/latch.sqlite", machineKeyFile: state + "/machine.key", credentialsDirectory: nil,
            components: [.host, .lock])
        // The daemon's own identity: what another one keeps it does not read.
        let host = SQLiteHostStore(store, name: "peripheral")
        let lock = SQLiteLockStore(store.database)
        for index in 0..<count {
            let bond = Self.bond(index)
            host.append(.bond(.upsert(bond)))
            Self.complete(bond, index, host, lock)
        }
        try store.database.commit([host, lock])
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

    private static func complete(_ bond: Bond, _ index: Int, _ host: SQLiteHostStore, _ lock: SQLiteLockStore) {
        let number = UInt64(bitPattern: bond.id.rawValue)
        host.append(.gatt(.clientSupportedFeatures(bond: number, value: [1])))
        host.append(.gatt(.changeAware(bond: number, databaseHash: SystemRandom.bytes(16))))
        for handle in [12, 15, 18] as [UInt16] {
            host.append(
                .gatt(
                    .clientCharacteristicConfiguration(
                        bond: number, handle: AttributeHandle(handle),
                        value: ClientCharacteristicConfiguration(rawValue: 1))))
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
