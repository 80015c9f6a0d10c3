import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

@Suite("Credentials managed over the air")
struct ManagementTests {
    private static let household = [
        Credential(1, "Alice", .owner), Credential(2, "Adam", .administrator), Credential(3, "Rita", .resident),
        Credential(4, "Greta", .guest), Credential(5, "Cleaner", .lockOnly),
    ]

    private func rules() throws -> CredentialChange {
        let weekdays = try (0..<10).map { try WeekdaySchedule(text: "mon 08:0\($0)-09:00") }
        let yearDays = try (0..<10).map {
            try YearDaySchedule(text: "2027-01-0\($0 + 1 > 9 ? 9 : $0 + 1)T00:00/2028-01-01T00:00")
        }
        let schedules = try #require(CredentialSchedules(weekdays: weekdays, yearDays: yearDays))
        return .scheduled(Validity(notBeforeSeconds: 1, notAfterSeconds: 1_900_000_000), schedules)
    }

    @Test(
        "The list comes in as many parts as the MTU makes of it, and says the same in each",
        arguments: [20, 23, 182, 512])
    func list(responseOctets: Int) throws {
        var household = Self.household
        household[3].name = String(repeating: "g", count: 64)
        var bench = LockBench(household)
        let (rows, parts) = try bench.list(on: 2, responseOctets: responseOctets)
        #expect(rows.map(\.name) == household.map(\.name))
        #expect(rows.map(\.role) == [1, 2, 3, 4, 5])
        #expect(rows.allSatisfy { $0.flags == [.enabled, .enrolled] })
        for row in rows { #expect(try row.version == bench.version(row.id.rawValue)) }
        // Less than twelve octets of a row are asked for anew.
        let octets = rows.map { $0.encoded.count }.reduce(0, +)
        let fewest = (octets + responseOctets - 5) / (responseOctets - 4)
        #expect(fewest...fewest + rows.count ~= parts)
    }

    @Test("A list longer than a page goes on behind it, and ends where it does")
    func longList() throws {
        #expect(
            ControlPointContext.rowsMaximum - 1 > LockMachine.controlPointOctetsMaximum / CredentialRow.octetsMinimum)
        let many = (2...200).map { Credential($0, "", .guest) }
        for count in [0, 33, 34, 35, 36, many.count] {
            var bench = LockBench([Self.household[0]])
            for credential in many.prefix(count) { bench.put(.administration(.credential(credential))) }
            let rows = try bench.list(on: 1, responseOctets: 512).rows
            #expect(rows.map(\.id.rawValue) == (1...UInt64(count + 1)).map { $0 })
        }
    }

    @Test("A record with all that it may have is read in parts, and goes on behind a lost link and another launch")
    func record() throws {
        var bench = LockBench(Self.household)
        #expect(try bench.change(4, try rules(), by: 1) == .success)
        let kept = try #require(bench.credential(4)).record
        var octets: [UInt8] = []
        while true {
            let place = ReadingPlace(
                offset: UInt16(octets.count),
                version: try octets.isEmpty ? ReadingPlace.start.version : octets.version(0))
            let answer = bench.ask(.getCredential(.of(4), place), on: 2)
            try #require(answer?.result == .success)
            let part = try ValuePart(exactly: answer?.parameters ?? [])
            octets += part.octets
            if part.isLast { break }
            try #require(part.octets.count == 16)
            if octets.count == 160 {
                bench = LockBench(bench.store.committed)
                bench.connectEncrypted(2, 2)
            }
        }
        #expect(try CredentialRecord(exactly: Array(octets.dropFirst(4))) == kept)
        #expect(try octets.version(0) == bench.version(4))
        #expect(kept.flags == [.enabled, .scheduled, .enrolled] && octets.count == 4 + 11 + 5 + 17 + 213)
    }

    @Test("A value that is another one by now is not read on: no reader has half of one and half of another")
    func changedInTheMiddle() throws {
        var bench = LockBench(Self.household)
        let before = ReadingPlace(offset: 16, version: try bench.version(4))
        #expect(bench.ask(.getCredential(.of(4), before), on: 1)?.result == .success)
        #expect(bench.ask(.listCredentials(from: .of(4), before), on: 1)?.result == .success)
        #expect(try bench.change(4, .disabled, by: 2) == .success)
        #expect(bench.ask(.getCredential(.of(4), before), on: 1)?.result == .changed)
        #expect(bench.ask(.listCredentials(from: .of(4), before), on: 1)?.result == .changed)
        #expect(try bench.change(4, .removed, by: 2) == .success)
        #expect(bench.ask(.listCredentials(from: .of(4), before), on: 1)?.result == .changed)
        #expect(bench.ask(.getCredential(.of(4), before), on: 1)?.result == .unknownCredential)
        let settings = ReadingPlace(
            offset: 4, version: ValueVersion(of: SettingsRecord(LockSettings(), fixed: []).encoded))
        #expect(bench.ask(.getSettings(settings), on: 1)?.result == .success)
        bench.put(.administration(.settings(LockSettings(relockSeconds: nil))))
        #expect(bench.ask(.getSettings(settings), on: 1)?.result == .changed)
    }

    @Test("An offset behind the value's end is no place")
    func offsets() throws {
        var bench = LockBench(Self.household)
        let version = try bench.version(4)
        let octets = UInt16(try #require(bench.credential(4)).record.encoded.count + 4)
        for (offset, result) in [(octets, ControlPointResult.success), (octets + 1, .invalidOperand)] {
            let answer = bench.ask(.getCredential(.of(4), ReadingPlace(offset: offset, version: version)), on: 1)
            #expect(answer?.result == result)
            if result == .success { #expect(answer?.parameters == ValuePart(isLast: true, octets: []).encoded) }
        }
        let row = UInt16(15 + "Greta".utf8.count)
        for (offset, result) in [(row, ControlPointResult.success), (row + 1, .invalidOperand)] {
            let place = ReadingPlace(offset: offset, version: version)
            #expect(bench.ask(.listCredentials(from: .of(4), place), on: 1)?.result == result)
        }
    }

    @Test("A change is on the disk, with who made it, before it is answered; the answer has the record's new version")
    func order() throws {
        var bench = LockBench(Self.household)
        let read = try bench.version(4)
        let answer = bench.ask(.change(.of(4), read, .disabled), on: 2)
        let manager = AuditedManager(credential: .of(2), name: "Adam")
        #expect(bench.events == [.managed(by: manager, .of(4), name: "Greta", .disabled)])
        #expect(bench.store.audit.last?.holder == AuditHolder(credential: .of(2), isProtected: true))
        #expect(bench.credential(4)?.isEnabled == false)
        #expect(try answer?.parameters.version(0) == bench.version(4) && answer?.parameters.count == 4)
        #expect(bench.outputs.last.map { if case .indicateControlPoint = $0 { true } else { false } } == true)
        #expect(bench.outputs.filter { if case .persist = $0 { true } else { false } }.count == 2)
        // The same again names a version that is past: a request that was lost on its way back is not made twice.
        #expect(bench.ask(.change(.of(4), read, .disabled), on: 2)?.result == .changed)
        #expect(bench.persists.isEmpty)
        #expect(try bench.change(4, .disabled, by: 2) == .success)
        #expect(bench.persists.isEmpty)
        #expect(try bench.change(4, .enabled, by: 2) == .success)
        #expect(bench.credential(4)?.isEnabled == true)
        let rules = try rules()
        #expect(try bench.change(4, rules, by: 2) == .success)
        #expect(bench.credential(4).map { .scheduled($0.validity, $0.schedules) } == rules)
    }

    @Test("Removed: credential, bond and links, in one turn, and what else there is of the name is the shell's to end")
    func removed() throws {
        var bench = LockBench(Self.household)
        bench.put(.administration(.credential(Credential(id: .of(9), name: "Greta", role: .guest))))
        #expect(try bench.change(4, .removed, by: 2) == .success)
        #expect(bench.credential(4) == nil && bench.credential(9) == nil)
        #expect(bench.persists.contains(.bondForgotten(4)))
        #expect(bench.outputs.contains(.disconnect(LockLink(rawValue: 4))))
        #expect(bench.outputs.contains(.credentialRemoved("Greta", bonds: [4])))
        #expect(bench.outputs.last == .indicateControlPoint(LockLink(rawValue: 2), [0x20, 0x06, 0x01]))
        #expect(bench.ask(.change(.of(4), ValueVersion(rawValue: 0), .removed), on: 2)?.result == .unknownCredential)
    }
}
