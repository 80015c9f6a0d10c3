import BluetoothCore
import Foundation
import Glibc
import LockProtocol
import TestSupport
import Testing

@testable import LockPeripheral

/// The bolt's journal on a disk that fails, and on one that is full: a real file system, and then what its medium has.
@Suite("The bolt's journal and its disk")
struct JournalDiskTests {
    let disk: ThinDisk
    let path: String
    private let start = Instant(nanoseconds: 1_000_000_000)

    init() throws {
        disk = try ThinDisk()
        path = disk.path + "/bolt.journal"
    }

    private var unlocking: Intent {
        var asked = intent(.unlock, .unlock)
        asked.deadline = start.advanced(byMilliseconds: Intent.openingLifeMilliseconds)
        return asked
    }

    private func order(_ id: UInt64, _ movement: Movement) -> ActuatorOrder {
        ActuatorOrder(intent: IntentID(rawValue: id), movement: movement, command: nil, notAfter: nil)
    }

    private func lines() throws -> [BoltJournal.Line] {
        BoltJournalEnd(Array(try Data(contentsOf: URL(fileURLWithPath: path))), isWhole: true).lines
    }

    /// A process orders the bolt and sees the flush of its line fail.
    private func moveAndFail() throws {
        let journal = try BoltJournal(path: path)
        try disk.starve()
        try journal.append(ActuatorOrder(unlocking), now: start)
        let failure = #expect(throws: BoltJournal.Failure.self) { try journal.settle() }
        if case .io(let call, _) = failure { #expect(call.description == "fdatasync") }
    }

    @Test("A line whose flush failed is believed by the next process only when it is on the medium")
    func believed() throws {
        try moveAndFail()
        try disk.feed()
        do {
            let bolt = SimulatedBolt(journal: try BoltJournal(path: path))
            let later = start.advanced(byMilliseconds: 1_000)
            #expect(try bolt.reading(asking: unlocking, now: later).performed == true)
        }
        try disk.remount()
        #expect(try lines().last?.answers(ActuatorOrder(unlocking)) == true)
    }

    @Test("The process that saw a flush fail believes no later one before it has written the line again")
    func sameProcess() throws {
        do {
            let journal = try BoltJournal(path: path)
            try journal.settle()
            try disk.starve()
            try journal.append(ActuatorOrder(unlocking), now: start)
            #expect(throws: BoltJournal.Failure.self) { try journal.settle() }
            try disk.feed()
            try journal.settle()
        }
        try disk.remount()
        #expect(try lines().last?.answers(ActuatorOrder(unlocking)) == true)
    }

    @Test("A journal that cannot be made sure of is read all the same, unless an intent asks what was made")
    func owed() throws {
        try moveAndFail()
        let bolt = SimulatedBolt(journal: try BoltJournal(path: path))
        let later = start.advanced(byMilliseconds: 1_000)
        #expect(try bolt.reading(asking: nil, now: later).position == .unlocked)
        #expect(throws: BoltJournal.Failure.self) { try bolt.reading(asking: unlocking, now: later) }
    }

    @Test("Full disk: a journal that was opened before can be opened, read and added to for 32 KiB, and flushed")
    func full() throws {
        do {
            let journal = try BoltJournal(path: path)
            try journal.append(order(0, .unlock), now: start)
            try journal.settle()
        }
        try disk.fill()
        #expect(throws: (any Error).self) {
            try Data(count: 4_096).write(to: URL(fileURLWithPath: disk.path + "/more"))
        }
        var id: UInt64 = 0
        do {
            let bolt = SimulatedBolt(journal: try BoltJournal(path: path), travelMilliseconds: 0)
            #expect(try bolt.reading(asking: nil, now: start).position == .unlocked)
            while try Data(contentsOf: URL(fileURLWithPath: path)).count < BoltJournal.roomAheadOctets / 2 {
                id += 1
                let ended = try bolt.perform(order(id, id % 2 == 1 ? .lock : .unlock), now: start)
                #expect(ended == .ended(IntentID(rawValue: id), id % 2 == 1 ? .locked : .unlocked))
            }
        }
        try disk.remount()
        #expect(try lines().map(\.sequence) == Array(1...(id + 1)))
    }

    @Test("Full disk: a line that does not fit leaves no half of itself, and the next process opens the journal")
    func halfLine() throws {
        // Ends a few octets before its block does.
        var text = ""
        var sequence = 1
        while text.utf8.count < 4_096 - 40 {
            text += "\(sequence) 5 7 \(sequence) - lock\n"
            sequence += 1
        }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        try disk.fill()
        var last: BoltJournal.Line?
        do {
            let journal = try BoltJournal(path: path)
            #expect(throws: BoltJournal.Failure.io(call: "write", code: ENOSPC)) {
                for id in 1_000...1_100 as ClosedRange<UInt64> { try journal.append(order(id, .lock), now: start) }
            }
            last = journal.last
        }
        let octets = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        #expect(octets.last == UInt8(ascii: "\n"))
        #expect(BoltJournalEnd(octets, isWhole: true).lines.last == last)
        #expect(try BoltJournal(path: path).last == last)
    }

    @Test("One more than is renewed: lines far behind the end are left as they are, and all of them stay")
    func long() throws {
        let count = 3 * BoltJournal.endMaximumOctets / 16
        let text = (1...count).map { "\($0) 5 7 \($0) - lock\n" }.joined()
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(text.utf8.count > 2 * BoltJournal.endMaximumOctets)
        do {
            let journal = try BoltJournal(path: path)
            try journal.settle()
            try journal.append(order(1_000_000, .unlock), now: start)
            try journal.settle()
        }
        try disk.remount()
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix(text))
        #expect(try lines().count == count + 1)
    }

    @Test("Two locks on one piece of metal: the second is refused")
    func inUse() throws {
        let first = try BoltJournal(path: path)
        #expect(throws: BoltJournal.Failure.inUse) { try BoltJournal(path: path) }
        withExtendedLifetime(first) {}
    }

    @Test("The next lock has the metal at once, though a process that was forked just now has the journal open still")
    func nextBesideAFork() throws {
        var first: BoltJournal? = try BoltJournal(path: path)
        let forked = ForkedDescriptors(ofFile: path)
        #expect(forked.copies.count == (first == nil ? 0 : 2), "to write behind, and to write anew")
        first = nil
        _ = try BoltJournal(path: path)
    }
}
