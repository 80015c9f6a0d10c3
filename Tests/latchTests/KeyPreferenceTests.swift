import BluetoothCore
import CLinux
import CommandInterface
import CoreBluetoothEssentials
import DaemonControl
import Foundation
import Testing

@testable import LockCentral
@testable import latch

/// What a person writes down about locks, and which of them come first.
@Suite("Daemons: notes of locks, and preferred ones", .serialized)
struct KeyPreferenceTests {
    private static let text = "left door, turn twice"

    private func key(_ bench: Bench, _ words: String...) throws -> Program.Outcome {
        try bench.latch("central", words[0], "key", Array(words.dropFirst()))
    }

    private func status(_ bench: Bench) throws -> [JSONObject] {
        let line = try key(bench, "status", "--json").output.split(separator: "\n").last ?? ""
        let locks = try JSONValue(line: Array(line.utf8)).object?["result"]?.object?["locks"]?.array
        return (locks ?? []).compactMap(\.object)
    }

    @Test("A note is shown, kept over a kill and a new name, taken back, and refused where it is none")
    func note() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        var daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        #expect(try key(bench, "note", "Latch").output == "Latch: no note\n")
        #expect(try key(bench, "note", "Latch", Self.text).output == "Latch: \(Self.text)\n")
        #expect(try key(bench, "note", "Latch", Self.text).output == "Latch: \(Self.text) already\n")
        daemon.kill()
        daemon = try bench.start("central", "key")
        #expect(try key(bench, "rename", "--lock", "Latch", "--name", "Front").status == 0)
        #expect(
            try key(bench, "note", "Front", "--json").output
                == #"{"result":{"lock":"Front","note":"\#(Self.text)"}}"# + "\n")
        #expect(try key(bench, "status").output.contains("  note: \(Self.text)\n"))

        let unknown = try key(bench, "note", "Latch", "x")
        #expect(unknown.status == ExitCode.refused.rawValue && unknown.errorLines.count == 1, "\(unknown)")
        #expect(unknown.errors.contains("no lock is called \"Latch\""), "\(unknown)")
        // A program that asks by itself is told the same.
        for text in ["a\u{1B}b", String(repeating: "x", count: 129)] {
            let deadline = Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: 30_000)
            var client = try ControlClient(connectingTo: bench.path("key") + "/central.sock")
            let failure = #expect(throws: ControlFailure.self) {
                try client.ask(CentralRequest.note(lock: "Front", .set(text)), deadline: deadline) { _, _ in }
            }
            #expect(failure?.code == .refused)
        }
        #expect(try status(bench).map { $0["note"] } == [.string(Self.text)])
        #expect(try key(bench, "note", "Front", "--clear").output == "Front: no note\n")
        #expect(try key(bench, "note", "Front", "--clear").output == "Front: no note already\n")
        #expect(try status(bench).map { $0["note"] } == [nil])
        #expect(daemon.end() == 0 && lock.end() == 0)
        let absent = try key(bench, "note", "Front", "x")
        #expect(absent.status == ExitCode.unavailable.rawValue && absent.errorLines.count == 1, "\(absent)")
    }

    @Test("Preferred locks are listed first, the last one preferred before the others, also behind a kill")
    func prefer() throws {
        let bench = try Bench()
        try bench.makeRoom("shed")
        let locks = try [bench.start("peripheral", "lock"), bench.start("peripheral", "shed")]
        var daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.enroll("anna", at: "shed")
        func names() throws -> [String] { try status(bench).compactMap { $0["name"]?.string } }
        #expect(try names() == ["Latch", "Latch 2"])
        #expect(try key(bench, "prefer", "Latch 2").output == "Latch 2: comes first\n")
        #expect(try key(bench, "prefer", "Latch 2").output == "Latch 2: comes first already\n")
        #expect(try names() == ["Latch 2", "Latch"])
        #expect(
            try key(bench, "prefer", "Latch", "--json").output
                == #"{"result":{"lock":"Latch","preference":1,"changed":true}}"# + "\n")
        #expect(try names() == ["Latch", "Latch 2"])
        #expect(try key(bench, "prefer", "Latch", "--clear").output == "Latch: not preferred\n")
        #expect(try key(bench, "prefer", "Latch", "--clear").output == "Latch: not preferred already\n")
        daemon.kill()
        daemon = try bench.start("central", "key")
        #expect(try names() == ["Latch 2", "Latch"])
        #expect(try status(bench).map { $0["preference"] } == [.number(1), nil])
        let unknown = try key(bench, "prefer", "Attic")
        #expect(unknown.status == ExitCode.refused.rawValue && unknown.errors.contains("no lock is called"))
        #expect(try names() == ["Latch 2", "Latch"])
        for lock in locks { #expect(lock.end() == 0) }
        #expect(daemon.end() == 0)
    }

    @Test(
        "The status of a hundred locks is one answer, also where each name and note is as long as may be, and all quotes"
    )
    func longest() throws {
        func quotes(_ count: Int) -> String { String(repeating: "\"", count: count) }
        let note = try LockNote(quotes(LockNote.octetsMaximum))
        let locks = (1...100).map { number in
            KeyDaemonStatus.Lock(
                record: LockRecord(
                    peer: PeerIdentifier(bits: .max - UInt128(number)), name: quotes(LockRecord.nameOctetsMaximum)),
                connection: .disconnecting, request: nil, proximity: .near, nearness: .resting(milliseconds: 60_000),
                rules: ProximityRules(), isCalibrated: false, link: nil, note: note, preference: number)
        }
        let status = KeyDaemonStatus(
            radio: .poweredOn, isScanning: false,
            address: try #require(IdentityAddress(DeviceAddress(kind: .public, bits: 1))), addressOnAir: nil,
            locks: locks,
            isEnrolling: false, unconfirmed: [])
        let octets = ControlReply.result(status.json).line.count
        #expect(octets > 50_000 && octets < ControlReply.maximumLineOctets, "\(octets)")
    }
}
