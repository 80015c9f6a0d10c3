import BluetoothCore
import CLinux
import CommandInterface
import Glibc

extension StrikeSettings {
    /// What the file says, once it can be read. The system may not be able to read it at present, and a keeper that ended for that would be
    /// started anew as fast as the system goes. `tell` hears each reason once in a row.
    ///
    /// - Returns: nil where SIGTERM or SIGINT came first.
    /// - Throws: ``Failure`` where somebody has to write another file, or another name.
    package static func awaited(_ file: String, tell: (String) -> Void) throws(Failure) -> Self? {
        let signals = latch_signalfd(1 << UInt64(SIGTERM) | 1 << UInt64(SIGINT))
        defer { if signals >= 0 { close(signals) } }
        var retry = Retry()
        while true {
            let now = Instant(nanoseconds: latch_boottime_nanoseconds())
            do throws(Failure) {
                return try load(file)
            } catch {
                guard error.code == unreadable else { throw error }
                if let text = retry.failed(error, now: now) { tell(text) }
            }
            var waited = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
            let pause = retry.next?.milliseconds(since: now) ?? 0
            if poll(&waited, 1, Int32(clamping: pause)) > 0 { return nil }
        }
    }
}
