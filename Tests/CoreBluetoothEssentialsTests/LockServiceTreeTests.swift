import BluetoothCore
import CoreBluetoothEssentials
import Foundation
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
        for other in [
            tree.lockState, tree.challenge, tree.controlPoint, tree.receipt, tree.auditRecord, tree.recordAccess,
        ] {
            #expect(other.access?.signedWrite == false)
        }
    }
}

/// docs/PROTOCOL.md says what a stranger to the code may build on.
@Suite("The Lock service as docs/PROTOCOL.md has it")
struct LockServiceDocumentTests {
    private static let properties: [(String, CBCharacteristicProperties)] = [
        ("Read", .read), ("Write", .write), ("Write Without Response", .writeWithoutResponse), ("Notify", .notify),
        ("Indicate", .indicate), ("Authenticated Signed Writes", .authenticatedSignedWrites),
    ]

    private static func documented() throws -> [String: Set<String>] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/PROTOCOL.md"), encoding: .utf8)
        var rows: [String: Set<String>] = [:]
        for line in page.split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, cells[0].wholeMatch(of: /[0-9A-F]{4}/) != nil, cells[0] != "0000" else { continue }
            rows[cells[0]] = Set(cells[2].components(separatedBy: ", "))
        }
        return rows
    }

    @Test("Each attribute is published with the properties that are written down, and no other is")
    func attributes() throws {
        var published: [String: Set<String>] = [:]
        for characteristic in LockServiceTree().service.characteristics ?? [] {
            let bits = characteristic.uuid.bluetoothUUID.bits >> 96
            let number = String(UInt16(truncatingIfNeeded: bits), radix: 16, uppercase: true)
            let names = Self.properties.filter { characteristic.properties.contains($0.1) }.map(\.0)
            published[String(repeating: "0", count: 4 - number.count) + number] = Set(names)
        }
        #expect(try Self.documented() == published)
    }
}
