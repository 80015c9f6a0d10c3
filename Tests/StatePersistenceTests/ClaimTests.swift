import BluetoothHost
import Glibc
import Testing

@testable import StatePersistence

@Suite("Claims to restore identifiers")
struct ClaimTests {
    let scratch = Scratch()

    @Test("One at a time, by role and identifier, until the holder is gone")
    func claims() throws {
        let door = RestoreKey(role: .peripheral, identifier: "../door \u{0}")
        var first: RestoreClaim? = try RestoreClaim(door, beside: scratch.database)
        #expect(throws: StoreError.claimed(role: "peripheral", identifier: door.identifier, pid: getpid())) {
            try RestoreClaim(door, beside: scratch.database)
        }
        let central = try RestoreClaim(
            RestoreKey(role: .central, identifier: door.identifier), beside: scratch.database)
        let other = try RestoreClaim(RestoreKey(role: .peripheral, identifier: "door"), beside: scratch.database)
        withExtendedLifetime((first, central, other)) {}
        first = nil
        _ = try RestoreClaim(door, beside: scratch.database)
        #expect(scratch.files.count == 3)
        #expect(scratch.files.allSatisfy { Scratch.mode(scratch.directory + "/" + $0) == 0o600 })
    }

    @Test("The refusal names the identifier and the process")
    func message() throws {
        let error = StoreError.claimed(role: "central", identifier: "door", pid: 42)
        #expect(
            "\(error)" == "restore identifier \"door\" (central) is in use by process 42; "
                + "stop that process, or configure another identifier")
    }
}
