import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import HCITransport
import StatePersistence

/// What a daemon waits for before its process goes, when its disk, its database, its socket or its controller has ended it, or when its
/// state directory cannot be had, or its configuration not be read at present. It needs nothing of what may have failed: no plan, and
/// no state. The unit starts the next one after 100 ms, which is right behind a kill; into a disk that is full, or an adapter that another program holds,
/// it would launch ten times a second, and mend nothing.
///
/// How often it was so in a row stands in the runtime directory, which is in memory: a disk that takes nothing keeps nobody from
/// counting. Without one (no unit, or another) nobody starts the daemon again, and nothing is waited for.
struct RestartBackOff {
    /// So many ends are not waited for: many a disk fails once.
    static let quickEndsMaximum: UInt64 = 3
    static let waitMaximumMilliseconds: UInt64 = 60_000
    private static let wait = DoublingWait(firstMilliseconds: 1_000, longestMilliseconds: waitMaximumMilliseconds)
    /// So long behind an end the next one is the first again.
    static let rowMilliseconds: UInt64 = 600_000
    /// A bolt that could not be secured is asked again at the latest.
    private static let dutyIntervalMilliseconds: UInt64 = 5_000
    private static let fileMaximumOctets = 64

    let role: StateDirectory.Role
    /// The usual one until the configuration has been read.
    var log: Log
    /// nil for a daemon that was started by hand.
    let manager: ServiceManager?

    /// 0 for the quick ones; then a second, and twice as long each time.
    static func waitMilliseconds(ends: UInt64) -> UInt64 {
        guard ends > quickEndsMaximum else { return 0 }
        return wait.milliseconds(failures: ends - quickEndsMaximum)
    }

    /// The number of this end in its row, with the one before and when that was.
    static func ends(behind last: (ends: UInt64, at: Instant)?, now: Instant) -> UInt64 {
        guard let last, now >= last.at, now.milliseconds(since: last.at) < Int64(rowMilliseconds) else { return 1 }
        return last.ends &+ 1
    }

    /// Returns when the process is to go: at once, at the end of its wait, or when it is told to stop. Meanwhile `duty` is done
    /// at each instant that it names, and every few seconds.
    func wait(after error: any Error, doing duty: (due: () -> Instant?, perform: () -> Void)? = nil) {
        guard Self.isLasting(error), let directory = Self.runtimeDirectory else { return }
        // Told to stop from here on, it still ends as one that failed.
        let signals = latch_signalfd(1 << UInt64(SIGTERM) | 1 << UInt64(SIGINT))
        defer { if signals >= 0 { close(signals) } }
        let ends = count(in: directory)
        let milliseconds = Self.waitMilliseconds(ends: ends)
        guard milliseconds > 0 else { return }
        log.warning(
            "restart_waits",
            [
                "reason": .string(Failure(error).message), "ends": JSONValue(ends), "ms": JSONValue(milliseconds),
            ])
        manager?.tellStatus("waits \(milliseconds / 1_000) s before it is started again: \(Failure(error).message)")
        let end = SystemClock.now().advanced(byMilliseconds: milliseconds)
        while case let now = SystemClock.now(), now < end {
            // Whoever waits in order is not one that hangs.
            manager?.tellAlive()
            let due = duty?.due().flatMap { $0 > now ? $0 : nil } ?? end
            let interval = min(manager?.signMilliseconds ?? .max, duty == nil ? .max : Self.dutyIntervalMilliseconds)
            let next = interval == .max ? end : min(due, now.advanced(byMilliseconds: interval), end)
            var waiting = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
            let left = next.milliseconds(since: now)
            // poll waits whole milliseconds: rounded up, so that the instant has come.
            if poll(&waiting, 1, Int32(clamping: left + 1)) > 0 { return }
            duty?.perform()
        }
    }

    /// Another launch may well find all as it was. Another process that has the identity, or the file for a while, goes by itself; and
    /// what the configuration has wrong nobody starts again.
    static func isLasting(_ error: any Error) -> Bool {
        switch error {
        case StoreError.identityClaimed, StoreError.busy: return false
        case let error as ControlSocketError where error.reason == .alreadyRunning: return false
        default: break
        }
        return switch Failure(error).code {
        case .state, .transport: true
        default: false
        }
    }

    private static var runtimeDirectory: String? {
        Environment.variable("RUNTIME_DIRECTORY")?.split(separator: ":").first.map(String.init)
    }

    /// Counts this end; 1 where that cannot be written down.
    private func count(in directory: String) -> UInt64 {
        let path = "\(directory)/\(role.rawValue).ends"
        let now = SystemClock.now()
        let file = latch_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return 1 }
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: Self.fileMaximumOctets)
        let length = read(file, &octets, octets.count)
        let words = String(decoding: octets.prefix(max(0, length)), as: UTF8.self).split(separator: " ")
        var last: (ends: UInt64, at: Instant)?
        if words.count == 2, let ends = UInt64(words[0]), let at = UInt64(words[1]) {
            last = (ends, Instant(nanoseconds: at))
        }
        let ends = Self.ends(behind: last, now: now)
        let text = Array("\(ends) \(now.nanoseconds)".utf8)
        guard ftruncate(file, 0) == 0, pwrite(file, text, text.count, 0) == text.count else { return 1 }
        return ends
    }
}
