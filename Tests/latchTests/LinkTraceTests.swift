import BluetoothCore
import BluetoothHost
import DaemonControl
import Foundation
import HCI
import SecurityManager
import Testing

@testable import latch

@Suite("A link's way in the log, and a controller's faults among the events")
struct LinkTraceTests {
    @Test("Every notice has a word that docs/OPERATING.md names, and its link")
    func words() throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/OPERATING.md"),
            encoding: .utf8)
        let address = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
        let (link, bond) = (LinkID(rawValue: 7), BondID(3))
        let notices: [(HostNotice, String)] = [
            (.connected(link, isCentral: false, onAir: address, bond), "connected"),
            (.rejected(onAir: address), "no_slot"),
            (.disconnected(link, .connectionTimeout), "disconnected"), (.encrypting(link, bond), "encrypting"),
            (.keyRequested(link, isKnown: true), "key_given"), (.keyRequested(link, isKnown: false), "key_unknown"),
            (.encryption(link, .success, isPairing: false), "encrypted"),
            (.encryption(link, .success, isPairing: true), "encrypted_to_pair"),
            (.encryption(link, .pinOrKeyMissing, isPairing: false), "not_encrypted"), (.pairingBegan(link), "pairing"),
            (.paired(link, bond), "paired"), (.pairingFailed(link, .timedOut), "not_paired"), (.mtu(link, 247), "mtu"),
            (.unproven(peer: address, onAir: address), "unproven"),
        ]
        for (notice, word) in notices {
            #expect(notice.fields["what"]?.string == word)
            #expect(page.contains(word), "\(word)")
            switch notice {
            case .rejected, .unproven: #expect(notice.fields["on_air"]?.string == "\(address)")
            default: #expect(notice.fields["link"] == 7)
            }
        }
    }

    @Test("An operator hears that the controller refuses to advertise")
    func refusedAdvertising() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let journal = try EventJournal(log: Log(level: .error, format: .json), path: file.path)
        journal.record(.advertisingRefused(.commandDisallowed))
        let line = try JSONValue(line: Array(Data(contentsOf: file).prefix { $0 != UInt8(ascii: "\n") }))
        #expect(line.object?["event"]?.string == "advertising_refused")
        #expect(line.object?["reason"]?.string == "\(HCIErrorCode.commandDisallowed)")
    }

    @Test("Faults are told at 1, 2, 4, 8 …; a link's way is in no journal")
    func faults() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let journal = try EventJournal(log: Log(level: .error, format: .json), path: file.path)
        for total in 1...100 { journal.record(.controllerFault(total: total)) }
        journal.record(.mtu(LinkID(rawValue: 1), 247))
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
            try JSONValue(line: Array($0.utf8))
        }
        #expect(lines.map { $0.object?["event"]?.string } == Array(repeating: "controller_fault", count: 7))
        #expect(lines.map { $0.object?["total"] } == [1, 2, 4, 8, 16, 32, 64])
    }
}
