import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import StatePersistence
import Testing

@testable import LockPersistence

@Suite("Schemas")
struct SchemaTests {
    /// Files in the field have gone through these. A step that changes is a different step: add one instead.
    @Test("are frozen")
    func frozen() {
        let digests = [SchemaComponent.lock, .key].map { component in
            component.migrations.map { HexText.encode(SHA256.digest(Array(($0.name + $0.sql).utf8)).prefix(8)) }
        }
        #expect(
            digests == [
                [
                    "978A0D2BD393E56D", "D74AFEF1D7FD0353", "C4B7D66C7082C825", "42D855CD73CDE0C3", "E0ED68F6BE7EF379",
                    "51A072B27F3E0317", "93DF1E4EF7B43B29", "5E543D0156067ABB",
                    "65B855D3369AE170", "61D26FA614F11C9D", "6EB2E6B9A1A4AE4D",
                    "122D9F600D582171",
                ],
                ["372D90DFE15E4392", "45E97C3F766225E5", "25810D2990E5B67D", "134748151D9DB894", "48E7C14EA2737FC1"],
            ])
    }

    @Test("What the third schema has of bolt, intent, relock and bonds, the fourth has, too", arguments: [true, false])
    func fromThree(isFull: Bool) throws {
        let scratch = Scratch()
        let former = SchemaComponent("lock", Array(SchemaComponent.lock.migrations.prefix(3)))
        do {
            let database = try Database(path: scratch.path, components: [former, .key])
            if isFull {
                try database.transaction {
                    for sql in [
                        "INSERT INTO lock_bolt VALUES (1, 2, 1)",
                        "INSERT INTO lock_relock VALUES (1, x'000102030405060708090a0b0c0d0e0f', 77)",
                        """
                        INSERT INTO lock_intent VALUES
                        (1, 9, 1, 'command', 5, 6, 7, 1, x'000102030405060708090a0b0c0d0e0f', 8, 1)
                        """,
                        "INSERT INTO lock_last_command VALUES (5, 7, NULL, 0, 3), (6, 8, 12, 1, 4)",
                        "INSERT INTO lock_receipt_counter VALUES (6, 64), (-1, 4294967295)",
                    ] as [StaticString] {
                        try database.statement(sql).run()
                    }
                }
            }
        }
        let kept = try SQLiteLockStore(scratch.open()).load()
        guard isFull else { return #expect(kept == LockSnapshot()) }
        let boot = BootID(bits: 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F)
        var expected = LockSnapshot()
        expected.bolt = BoltRecord(position: .unlocked, door: DoorCode(rawValue: 1))
        expected.relock = BootDeadline(boot: boot, at: Instant(nanoseconds: 77))
        expected.intent = Intent(
            id: IntentID(rawValue: 9), movement: try #require(Movement(rawValue: 1)),
            origin: .command(
                CommandOrigin(
                    bond: 5, credential: CredentialID(rawValue: 6), challenge: ChallengeID(bits: 7),
                    operation: LockOperation(rawValue: 1))),
            boot: boot, deadline: Instant(nanoseconds: 8), phase: try #require(Intent.Phase(rawValue: 1)))
        expected.lastCommands = [
            5: LastCommand(
                challenge: ChallengeID(bits: 7), signCounter: nil, result: LockResult(rawValue: 0),
                phase: CommandPhase(rawValue: 3)),
            6: LastCommand(
                challenge: ChallengeID(bits: 8), signCounter: 12, result: LockResult(rawValue: 1),
                phase: CommandPhase(rawValue: 4)),
        ]
        expected.receiptCounters = [6: 64, .max: .max]
        #expect(kept == expected)
    }
}
