import CoreBluetoothEssentials
import GATT
import Testing

@testable import LockPeripheral

@Suite("The Lock service as it is published")
struct LockServiceTreeTests {
    @Test("LE security mode 2, level 2: a command counts with the signature of an authenticated key alone")
    func authenticatedSignatures() throws {
        let tree = LockServiceTree()
        let command = try #require(tree.command.access)
        #expect(command.signedWrite && command.signatureNeedsAuthentication)
        for other in [tree.lockState, tree.challenge, tree.controlPoint, tree.receipt] {
            #expect(other.access?.signedWrite == false)
        }
    }
}
