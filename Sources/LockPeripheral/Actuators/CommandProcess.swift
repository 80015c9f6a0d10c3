import CLinux
import Glibc

/// What a bolt's command is run by. ``CommandProcess`` runs it as a process.
package protocol CommandRunner: AnyObject {
    /// Readable once ``end()`` has something to tell.
    var descriptor: Int32 { get }
    /// - Throws: ``CommandNotStarted``: nothing of it has run.
    func start(_ word: CommandWord, for intent: IntentID?) throws(CommandNotStarted)
    func kill()
    /// How what was started has ended; told once.
    func end() -> CommandEnd?
    /// Starts `word` and waits for its end, this long at most; nil where it was killed.
    func answer(_ word: CommandWord, milliseconds: UInt64) throws(CommandNotStarted) -> CommandEnd?
    /// Waits for the end of what an earlier process has left at work, and ends it then. False where it goes on.
    func awaitEarlier(milliseconds: UInt64) -> Bool
}

package struct CommandNotStarted: Error, Equatable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

/// The command of a bolt as a process: its words, and what is wanted as the last one. No shell reads them.
package final class CommandProcess: CommandRunner {
    private static let environment = ["PATH=/usr/bin:/bin", "LC_ALL=C"]

    private let words: [String]
    private let claim: CommandClaim
    private var process: LoneProcess?
    package let descriptor: Int32

    package enum Failure: Error, Equatable { case noDescriptor(Int32) }

    /// `claim`: the path of a file of its own, which a command holds while it runs (``CommandClaim``).
    ///
    /// - Throws: ``Failure`` with errno, where the kernel gives no descriptor.
    package init(_ words: [String], claim: String) throws(Failure) {
        self.words = words
        self.claim = CommandClaim(path: claim)
        // Whoever started the daemon may have ignored it, and then no process is waited for.
        signal(SIGCHLD, SIG_DFL)
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw .noDescriptor(errno) }
    }

    /// A movement that is under way goes on without its daemon; the next launch finds it.
    deinit { close(descriptor) }

    package func start(_ word: CommandWord, for intent: IntentID?) throws(CommandNotStarted) {
        let held: Int32
        do throws(CommandClaim.Failure) { held = try claim.take() } catch {
            throw CommandNotStarted(reason: error.reason)
        }
        // The process has its own descriptor of it.
        defer { close(held) }
        let name = intent.map { ["LATCH_INTENT=\($0)"] } ?? []
        do throws(LoneProcess.Failure) {
            let begun = try LoneProcess(
                words + [word.rawValue], environment: Self.environment + name, keeping: held)
            claim.write(begun.number, to: held)
            if begun.descriptor >= 0 {
                _ = latch_epoll_add(descriptor, begun.descriptor, EPOLLIN.rawValue, 0)
            }
            process = begun
        } catch {
            throw CommandNotStarted(reason: "it cannot be started: \(String(cString: strerror(error.number)))")
        }
    }

    package func kill() { process?.kill() }

    package func end() -> CommandEnd? {
        guard let process, let status = process.end() else { return nil }
        if process.descriptor >= 0 { _ = latch_epoll_remove(descriptor, process.descriptor) }
        self.process = nil
        return CommandEnd(waitStatus: status)
    }

    package func answer(_ word: CommandWord, milliseconds: UInt64) throws(CommandNotStarted) -> CommandEnd? {
        try start(word, for: nil)
        if let end = end(within: milliseconds) { return end }
        kill()
        _ = end(within: CommandMachine.killedMaximumMilliseconds)
        return nil
    }

    private func end(within milliseconds: UInt64) -> CommandEnd? {
        let over = latch_boottime_nanoseconds() + milliseconds * 1_000_000
        while true {
            if let end = end() { return end }
            let now = latch_boottime_nanoseconds()
            guard now < over, let process else { return nil }
            var interest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // Without a descriptor of its end it is looked for.
            _ = latch_poll(&interest, 1, process.descriptor >= 0 ? over - now : min(over - now, 5_000_000))
        }
    }

    package func awaitEarlier(milliseconds: UInt64) -> Bool { claim.awaitEarlier(milliseconds: milliseconds) }
}
