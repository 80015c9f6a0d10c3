import CLinux
import Glibc

/// A file that a bolt's command holds for as long as anything of it runs, beyond the daemon's end too: so that a launch finds a
/// command which a killed daemon has left at work, and never has two of them at one bolt.
///
/// The hold is an `flock` of an open file that the command inherits as its descriptor 3. The kernel ends it with the last
/// process of the command. The file says which process that was, by its number and its start: `PID STARTED`.
struct CommandClaim {
    /// Octets of the file.
    private static let textOctets = 64
    /// A movement is declined behind that.
    static let endingMaximumMilliseconds: UInt64 = 20
    private static let lookMicroseconds: UInt32 = 2_000

    let path: String

    enum Failure: Error, Equatable {
        /// A command is at work.
        case held
        case io(call: StaticString, code: Int32)

        static func == (a: Self, b: Self) -> Bool { a.reason == b.reason }

        var reason: String {
            switch self {
            case .held: "an earlier process of it is at work: nothing else is begun before its end"
            case .io(let call, let code): "\(call): \(String(cString: strerror(code)))"
            }
        }
    }

    /// A descriptor to pass on, and to close then. Waits so long for the end of what is at work: the kernel takes a moment
    /// to end what was killed.
    func take(within milliseconds: UInt64 = endingMaximumMilliseconds) throws(Failure) -> Int32 {
        let end = latch_boottime_nanoseconds() + milliseconds * 1_000_000
        while true {
            do throws(Failure) { return try takeNow() } catch {
                guard error == .held, latch_boottime_nanoseconds() < end else { throw error }
            }
            usleep(Self.lookMicroseconds)
        }
    }

    private func takeNow() throws(Failure) -> Int32 {
        let file = latch_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw Failure.io(call: "open", code: errno) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(file)
            throw code == EWOULDBLOCK ? .held : .io(call: "flock", code: code)
        }
        // What stands there is somebody who has ended.
        _ = ftruncate(file, 0)
        return file
    }

    /// Who has it. Without this a command that is left behind can be waited for, and not ended.
    func write(_ process: pid_t, to file: Int32) {
        guard let started = Self.start(of: process) else { return }
        let text = Array("\(process) \(started)\n".utf8)
        _ = pwrite(file, text, text.count, 0)
    }

    /// Waits for the end of what an earlier daemon left at work, and ends it behind `milliseconds`. False where it goes on.
    func awaitEarlier(milliseconds: UInt64) -> Bool {
        if isFree(within: milliseconds) { return true }
        guard let process = holder() else { return false }
        kill(-process, SIGKILL)
        return isFree(within: CommandMachine.killedMaximumMilliseconds)
    }

    private func isFree(within milliseconds: UInt64) -> Bool {
        do throws(Failure) {
            close(try take(within: milliseconds))
            return true
        } catch {
            // A file that cannot be opened holds nobody up here: the next order says so.
            return error != .held
        }
    }

    /// The group of the process that the file names, if that one still runs.
    private func holder() -> pid_t? {
        let file = latch_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: Self.textOctets)
        let count = max(0, read(file, &octets, octets.count))
        let words = String(decoding: octets[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let process = pid_t(words[0]), process > 1, getpgid(process) == process,
            let started = Self.start(of: process), started == words[1]
        else { return nil }
        return process
    }

    /// When it began, in clock ticks since boot: with its number it is no other process.
    private static func start(of process: pid_t) -> String? {
        let file = latch_open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: 1_024)
        let count = max(0, read(file, &octets, octets.count))
        // The second field is a name in parentheses, which may hold anything. The start is the 22nd.
        let text = octets[..<count]
        guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = String(decoding: text[(end + 1)...], as: UTF8.self).split(separator: " ")
        return fields.count > 19 ? String(fields[19]) : nil
    }
}
