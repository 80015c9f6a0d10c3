import CLinux
import Glibc

/// What keeps a drill from going on.
package struct DrillError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// SIGINT or SIGTERM.
        case interrupted
        /// Something that it needs is not there.
        case environment
        /// What was to happen did not happen in its time.
        case stuck
    }

    package var kind: Kind
    package let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    static func system(_ what: String) -> Self {
        Self(.environment, "\(what): \(String(cString: strerror(errno)))")
    }
}

/// Boot time, which the daemons' own records are in.
enum Clock {
    static var now: UInt64 { latch_boottime_nanoseconds() }
    /// What to take from the wall clock's nanoseconds to get boot time.
    static let unixOffsetNanoseconds =
        latch_clock_nanoseconds(CLOCK_REALTIME) &- latch_clock_nanoseconds(CLOCK_BOOTTIME)
    static func milliseconds(_ count: UInt64) -> UInt64 { count * 1_000_000 }
}

/// Waits, and wakes up when the drill is to end.
package final class Waiter {
    private let signals: Int32

    /// Takes SIGINT and SIGTERM for itself in this thread.
    package init() throws {
        signals = latch_signalfd(1 << UInt64(SIGINT) | 1 << UInt64(SIGTERM))
        guard signals >= 0 else { throw DrillError.system("cannot take signals") }
    }

    deinit { close(signals) }

    /// Until `descriptor` is ready for `events` or the time is over; whether it is ready.
    @discardableResult
    func wait(_ descriptor: Int32 = -1, _ events: Int32 = 0, until deadline: UInt64) throws -> Bool {
        while true {
            var interests = [
                pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(events), revents: 0),
            ]
            let now = Clock.now
            let count = latch_poll(&interests, 2, deadline > now ? deadline - now : 0)
            if count < 0 && errno != EINTR { throw DrillError.system("cannot wait") }
            if interests[0].revents != 0 { throw DrillError(.interrupted, "interrupted") }
            if interests[1].revents != 0 { return true }
            if Clock.now >= deadline { return false }
        }
    }

    package func sleep(milliseconds: UInt64) throws { try wait(until: Clock.now + Clock.milliseconds(milliseconds)) }
    func sleep(microseconds: UInt64) throws { try wait(until: Clock.now + microseconds * 1000) }

    /// Looks again and again at what has no descriptor to wait on, until it is so.
    func until(_ what: String, seconds: UInt64, _ condition: () throws -> Bool) throws {
        let deadline = Clock.now + Clock.milliseconds(seconds * 1000)
        while try !condition() {
            guard Clock.now < deadline else { throw DrillError(.stuck, "\(what): not within \(seconds) s") }
            try sleep(milliseconds: 2)
        }
    }
}
