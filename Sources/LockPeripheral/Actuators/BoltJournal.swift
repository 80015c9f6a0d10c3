import BluetoothCore
import CLinux
import Glibc
import LockProtocol

/// The file that stands for a simulated bolt's position, and for everything that it was ever made to do: one line for
/// each movement, added by a single write and never changed. A drill reads it from outside.
///
/// `sequence boottime-ns pid intent command movement`, the command `-` when the lock moved by its own rules.
///
/// **What others wrote.** A process that is killed, or whose flush fails, leaves its last lines in the kernel's cache; after
/// a failed flush they count as clean, and later flushes neither write nor report them. What the metal did is not undone by
/// that, so the lines are believed as they were read, and brought onto the medium: the first ``settle()`` has the cache let
/// go of the file, writes its end anew and flushes it, and so does the next one behind a flush that failed. (Without letting
/// go, ext4 would take a block that it never got to write for one that is written.) In place, because a copy under another
/// name needs room, which a full disk has none of. A kill between the two leaves what a power cut would have left. Only
/// the end of the file, since a lock makes one movement at a time and flushes it before it tells its outcome: each process
/// leaves a line or two.
///
/// **A full disk.** Room for the next lines is taken ahead, as far as there is any, so that a bolt can still be secured.
package final class BoltJournal: MovementJournal {
    /// What is taken ahead: a thousand movements and more.
    package static let roomAheadOctets = 64 * 1024
    /// What a first ``settle()`` writes anew, and less than a block more: a thousand lines.
    package static let renewedMaximumOctets = 64 * 1024
    private static let blockOctets = 4_096

    package struct Line: Hashable, Sendable {
        package var sequence: UInt64
        package var at: Instant
        package var process: Int32
        package var intent: IntentID
        package var command: ChallengeID?
        package var movement: Movement

        package init(
            sequence: UInt64, at: Instant, process: Int32, intent: IntentID, command: ChallengeID?, movement: Movement
        ) {
            self.sequence = sequence
            self.at = at
            self.process = process
            self.intent = intent
            self.command = command
            self.movement = movement
        }
    }

    package enum Failure: Error, Equatable {
        /// errno of the call that failed.
        case io(call: StaticString, code: Int32)
        /// Counted from 1.
        case damaged(line: Int)
        /// Another process, or another journal of this one, has the file.
        case inUse

        package static func == (a: Self, b: Self) -> Bool {
            switch (a, b) {
            case (.io(let call, let code), .io(let other, let otherCode)):
                call.description == other.description && code == otherCode
            case (.damaged(let line), .damaged(let other)): line == other
            case (.inUse, .inUse): true
            case (.io, _), (.damaged, _), (.inUse, _): false
            }
        }
    }

    private let path: String
    /// Appends.
    private let descriptor: Int32
    /// For writing octets again where they are.
    private let renewing: Int32
    package private(set) var last: Line?
    package private(set) var lastIntended: Line?
    private var fileOctets: Int
    /// The end of the file as far as no flush of ours has said that it is on disk.
    private var unsettled: [UInt8]
    /// Whether those octets may count as clean in the cache without being on disk.
    private var owesRenewal = true
    /// The length from which on more room is taken ahead.
    private var nextRoomOctets = 0

    /// Opens or makes the file, and reads where the bolt has got to. Nothing of it is on disk for sure before ``settle()``
    /// has returned. Needs no room on the disk when the file is there.
    package init(path: String) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure.io(call: "open", code: errno) }
        renewing = open(path, O_WRONLY | O_CLOEXEC)
        do {
            guard renewing >= 0 else { throw Failure.io(call: "open", code: errno) }
            // One piece of metal has one lock. The kernel ends this with the process.
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw errno == EWOULDBLOCK ? Failure.inUse : Failure.io(call: "flock", code: errno)
            }
            let contents = try Self.contents(of: descriptor)
            let (lines, whole) = try Self.parse(contents)
            // A line without its end is a movement that had not begun when the power went. Cutting gives back the room
            // behind the end as well, so it is left alone where there is nothing to cut.
            if whole < contents.count { try Self.cut(descriptor, to: whole) }
            last = lines.last
            lastIntended = lines.last(where: \.isIntended)
            fileOctets = whole
            // Whole blocks, since what is left of one would be read from the medium first.
            let begin = max(0, whole - Self.renewedMaximumOctets) / Self.blockOctets * Self.blockOctets
            unsettled = Array(contents[begin..<whole])
        } catch {
            close(descriptor)
            if renewing >= 0 { close(renewing) }
            throw error
        }
        takeRoomAhead()
    }

    deinit {
        // A process that was forked just now has it open still.
        flock(descriptor, LOCK_UN)
        close(descriptor)
        close(renewing)
    }

    package func append(_ order: ActuatorOrder, now: Instant) throws {
        let line = Line(
            sequence: (last?.sequence ?? 0) + 1, at: now, process: getpid(), intent: order.intent,
            command: order.command, movement: order.movement)
        let octets = Array((line.text + "\n").utf8)
        let written = write(descriptor, octets, octets.count)
        guard written == octets.count else {
            let code = written < 0 ? errno : ENOSPC
            // Half a line is no movement, and the next line must not come behind it.
            if written > 0 { try Self.cut(descriptor, to: fileOctets) }
            throw Failure.io(call: "write", code: code)
        }
        last = line
        if line.isIntended { lastIntended = line }
        fileOctets += octets.count
        unsettled += octets
        takeRoomAhead()
    }

    package func settle() throws {
        if owesRenewal { try renew() }
        try flush()
        if owesRenewal { try synchronizeDirectory() }
        owesRenewal = false
        unsettled.removeAll(keepingCapacity: true)
    }

    private func flush() throws {
        guard fdatasync(descriptor) == 0 else {
            let code = errno
            owesRenewal = true
            throw Failure.io(call: "fdatasync", code: code)
        }
    }

    private func renew() throws {
        // Advice: a file system in memory has no medium behind its pages, and need not take it.
        _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        var done = 0
        let begin = fileOctets - unsettled.count
        while done < unsettled.count {
            let count = unsettled.withUnsafeBytes {
                pwrite(renewing, $0.baseAddress?.advanced(by: done), $0.count - done, off_t(begin + done))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Failure.io(call: "pwrite", code: errno) }
            done += count
        }
    }

    /// The file may be new: its name is on disk only with its directory.
    private func synchronizeDirectory() throws {
        let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // One that this user may only pass through holds names that somebody else gave.
        if directory < 0 && errno == EACCES { return }
        guard directory >= 0 else { throw Failure.io(call: "open", code: errno) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Failure.io(call: "fsync", code: errno) }
    }

    /// Takes more when half of the room is used up, or as much as there is. On a full disk that may be nothing, which is no
    /// fault: what was taken before is there yet.
    private func takeRoomAhead() {
        guard fileOctets >= nextRoomOctets else { return }
        var octets = Self.roomAheadOctets
        while octets >= Self.blockOctets, latch_allocate_ahead(descriptor, off_t(fileOctets), off_t(octets)) != 0 {
            octets /= 2
        }
        nextRoomOctets = fileOctets + max(octets / 2, Self.blockOctets)
    }

    private static func cut(_ descriptor: Int32, to octets: Int) throws {
        guard ftruncate(descriptor, off_t(octets)) == 0 else { throw Failure.io(call: "ftruncate", code: errno) }
    }

    /// Every whole line, and how many octets they fill.
    package static func parse(_ octets: [UInt8]) throws -> (lines: [Line], wholeOctets: Int) {
        let newline = UInt8(ascii: "\n")
        let whole = octets.lastIndex(of: newline).map { $0 + 1 } ?? 0
        var lines: [Line] = []
        for text in octets[..<whole].split(separator: newline, omittingEmptySubsequences: false).dropLast() {
            guard let line = Line(String(decoding: text, as: UTF8.self)), line.sequence > lines.last?.sequence ?? 0
            else { throw Failure.damaged(line: lines.count + 1) }
            lines.append(line)
        }
        return (lines, whole)
    }

    /// Whether the bolt rests locked, by a file that need not be writable. A bolt is delivered locked.
    package static func isLocked(at path: String) throws -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return true }
            throw Failure.io(call: "open", code: errno)
        }
        defer { close(descriptor) }
        return try parse(try contents(of: descriptor)).lines.last?.movement.isSecuring ?? true
    }

    private static func contents(of descriptor: Int32) throws -> [UInt8] {
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw Failure.io(call: "read", code: errno) }
            if count == 0 { return contents }
            contents += buffer[..<count]
        }
    }
}

extension BoltJournal.Line {
    package var text: String {
        "\(sequence) \(at.nanoseconds) \(process) \(intent) \(command?.description ?? "-") \(movement)"
    }

    package init?(_ text: String) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count == 6, let sequence = UInt64(fields[0]), let nanoseconds = UInt64(fields[1]),
            let process = Int32(fields[2]), let intent = UInt64(fields[3]),
            let movement = Movement.allCases.first(where: { "\($0)" == fields[5] })
        else { return nil }
        var command: ChallengeID?
        if fields[4] != "-" {
            guard let octets = HexText.decode(String(fields[4])), let id = try? ChallengeID(exactly: octets) else {
                return nil
            }
            command = id
        }
        self.init(
            sequence: sequence, at: Instant(nanoseconds: nanoseconds), process: process,
            intent: IntentID(rawValue: intent), command: command, movement: movement)
    }

    package var isIntended: Bool { !answers(.unrecordedLock) }

    /// Whether this is the movement that `order` asks for.
    package func answers(_ order: ActuatorOrder) -> Bool {
        intent == order.intent && command == order.command && movement == order.movement
    }
}
