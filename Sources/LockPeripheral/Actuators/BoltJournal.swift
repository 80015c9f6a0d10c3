import BluetoothCore
import CLinux
import Glibc
import LockProtocol

/// The file that stands for a simulated bolt's position, and for what it was made to do: one ``Line`` for each movement, added
/// by a single write and never changed. A drill reads it from outside.
///
/// **Its length.** A launch reads its end (``BoltJournalEnd``). A file that has become long is kept as `FILE.1`, in place of the one
/// before, and a new one begins with the movements that a launch asks for.
///
/// **Damage.** Lines that cannot be read stay where they are, and the next one is written behind them.
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
    /// What a launch reads of it, and what its first ``settle()`` writes anew, and less than a block more: a thousand lines.
    package static let endMaximumOctets = 64 * 1024
    /// A longer one is kept as `FILE.1`.
    package static let fileMaximumOctets = 1024 * 1024
    /// No line is longer, without its end.
    package static let lineMaximumOctets = 128
    private static let blockOctets = 4_096

    package enum Failure: Error, Equatable {
        /// errno of the call that failed.
        case io(call: StaticString, code: Int32)
        /// Another process, or another journal of this one, has the file.
        case inUse

        package static func == (a: Self, b: Self) -> Bool {
            switch (a, b) {
            case (.io(let call, let code), .io(let other, let otherCode)):
                call.description == other.description && code == otherCode
            case (.inUse, .inUse): true
            case (.io, _), (.inUse, _): false
            }
        }
    }

    private let path: String
    /// Appends.
    private var descriptor: Int32
    /// For writing octets again where they are.
    private var renewing: Int32
    package private(set) var last: Line?
    package private(set) var lastIntended: Line?
    package private(set) var isLastKnown: Bool
    package private(set) var isLastIntendedKnown: Bool
    /// How many of the lines at the end of the file, where a launch reads, are damaged.
    package let damagedLineCount: Int
    /// The sequence of the last line that could be read.
    private var lastSequence: UInt64
    private var fileOctets: Int
    /// Whether the file ends in the middle of a line, which stays.
    private var endsInLine: Bool
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
        let files = try Files(path, flags: 0)
        do {
            let size = lseek(files.descriptor, 0, SEEK_END)
            guard size >= 0 else { throw Failure.io(call: "lseek", code: errno) }
            // Whole blocks, since what is left of one would be read from the medium first.
            let begin = max(0, Int(size) - Self.endMaximumOctets) / Self.blockOctets * Self.blockOctets
            let contents = try Self.contents(of: files.descriptor, from: begin)
            let end = BoltJournalEnd(contents, isWhole: begin == 0)
            // Cutting gives back the room behind the end as well, so it is left alone where there is nothing to cut.
            if end.wholeOctets < contents.count { try Self.cut(files.descriptor, to: begin + end.wholeOctets) }
            (last, lastIntended) = (end.last, end.lastIntended)
            (isLastKnown, isLastIntendedKnown) = (end.isLastKnown, end.isLastIntendedKnown)
            damagedLineCount = end.damagedLineCount
            lastSequence = end.lines.last?.sequence ?? 0
            endsInLine = end.wholeOctets > 0 && contents[end.wholeOctets - 1] != UInt8(ascii: "\n")
            fileOctets = begin + end.wholeOctets
            unsettled = Array(contents[..<end.wholeOctets])
        } catch {
            files.close()
            throw error
        }
        (descriptor, renewing) = (files.descriptor, files.renewing)
        takeRoomAhead()
    }

    deinit {
        Files(descriptor: descriptor, renewing: renewing).close()
    }

    /// Both ways to a file that nobody else has.
    private struct Files {
        let descriptor: Int32
        let renewing: Int32

        init(descriptor: Int32, renewing: Int32) { (self.descriptor, self.renewing) = (descriptor, renewing) }

        init(_ path: String, flags: Int32) throws(Failure) {
            descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0o600)
            guard descriptor >= 0 else { throw Failure.io(call: "open", code: errno) }
            renewing = open(path, O_WRONLY | O_CLOEXEC)
            do throws(Failure) {
                guard renewing >= 0 else { throw Failure.io(call: "open", code: errno) }
                // One piece of metal has one lock. The kernel ends this with the process.
                guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                    throw errno == EWOULDBLOCK ? Failure.inUse : Failure.io(call: "flock", code: errno)
                }
                // Another lock may have kept it as `FILE.1` meanwhile.
                var (opened, named) = (stat(), stat())
                guard fstat(descriptor, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino else {
                    throw Failure.inUse
                }
            } catch {
                close()
                throw error
            }
        }

        func close() {
            // A process that was forked just now has it open still.
            flock(descriptor, LOCK_UN)
            Glibc.close(descriptor)
            if renewing >= 0 { Glibc.close(renewing) }
        }
    }

    package func append(_ order: ActuatorOrder, now: Instant) throws {
        let line = Line(
            sequence: lastSequence + 1, at: now, process: getpid(), intent: order.intent,
            command: order.command, movement: order.movement)
        let octets = Array(((endsInLine ? "\n" : "") + line.text + "\n").utf8)
        let written = write(descriptor, octets, octets.count)
        guard written == octets.count else {
            let code = written < 0 ? errno : ENOSPC
            // Half a line is no movement, and the next line must not come behind it.
            if written > 0 { try Self.cut(descriptor, to: fileOctets) }
            throw Failure.io(call: "write", code: code)
        }
        (last, isLastKnown, lastSequence, endsInLine) = (line, true, line.sequence, false)
        if line.isIntended { (lastIntended, isLastIntendedKnown) = (line, true) }
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
        if fileOctets > Self.fileMaximumOctets { beginAnew() }
    }

    /// Keeps the file as `FILE.1` and begins another, with what a launch asks for. On a full disk, or where not all of that is
    /// known, the file goes on. Killed in the middle, there is one under its name all the same.
    private func beginAnew() {
        guard isLastKnown, isLastIntendedKnown, let made = try? Files(path + ".new", flags: O_TRUNC) else { return }
        var lines = [last].compactMap { $0 }
        if let lastIntended, lastIntended != last { lines.insert(lastIntended, at: 0) }
        let octets = Array(lines.map { $0.text + "\n" }.joined().utf8)
        guard latch_allocate_ahead(made.descriptor, 0, off_t(Self.roomAheadOctets)) == 0,
            write(made.descriptor, octets, octets.count) == octets.count, fdatasync(made.descriptor) == 0,
            unlink(path + ".1") == 0 || errno == ENOENT, link(path, path + ".1") == 0, rename(path + ".new", path) == 0
        else {
            unlink(path + ".new")
            return made.close()
        }
        Files(descriptor: descriptor, renewing: renewing).close()
        (descriptor, renewing, fileOctets, nextRoomOctets) = (made.descriptor, made.renewing, octets.count, 0)
        takeRoomAhead()
        // Its name is on disk with the next flush.
        owesRenewal = true
        unsettled = octets
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

    /// Whether the bolt rests locked, by a file that need not be writable. A bolt is delivered locked.
    package static func isLocked(at path: String) throws -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return true }
            throw Failure.io(call: "open", code: errno)
        }
        defer { close(descriptor) }
        let begin = max(0, Int(lseek(descriptor, 0, SEEK_END)) - endMaximumOctets)
        let end = BoltJournalEnd(try contents(of: descriptor, from: begin), isWhole: begin == 0)
        return end.isLastKnown && end.last?.movement.isSecuring ?? true
    }

    private static func contents(of descriptor: Int32, from begin: Int) throws -> [UInt8] {
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(descriptor, &buffer, buffer.count, off_t(begin + contents.count))
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw Failure.io(call: "pread", code: errno) }
            if count == 0 { return contents }
            contents += buffer[..<count]
        }
    }
}
