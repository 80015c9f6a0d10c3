import BluetoothCore
import BluetoothCrypto
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
                ["978A0D2BD393E56D", "D74AFEF1D7FD0353", "C4B7D66C7082C825"],
                ["372D90DFE15E4392", "45E97C3F766225E5", "25810D2990E5B67D"],
            ])
    }
}
