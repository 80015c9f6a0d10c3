import Foundation
import Glibc

/// A process and its pipes; it is ended by SIGKILL with this object.
///
/// `Foundation.Process` will not do: where many of them end at once it was seen to lose some of the ends, and to spin where somebody
/// waits for those; and where some thousand files are open it reads past a directory entry.
package final class ChildProcess {
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(Int32)

        /// Of a process that ended by itself.
        package var status: Int32? { if case .exited(let status) = self { status } else { nil } }
        package var signal: Int32? { if case .killed(let signal) = self { signal } else { nil } }

        /// As a shell says it: the status, or 128 and the signal.
        package var code: Int32 {
            switch self {
            case .exited(let status): status
            case .killed(let signal): 128 + signal
            }
        }
    }

    /// How a process ended, and all that it said.
    package struct Outcome: Sendable {
        package let end: End
        package let output: String
        package let errors: String
    }

    /// Where the words on one of its standard streams go.
    package enum Stream: Sendable {
        /// To this object.
        case heard
        /// To nobody.
        case unheard
        /// Where this process's own errors go.
        case shared
    }

    package let input: FileHandle
    /// Empty where it is not heard.
    package let output: FileHandle
    package let errors: FileHandle
    package let pid: pid_t
    private var end: End?

    /// `words` begin with the program's path; `environment` is all that it has.
    package init(
        _ words: [String], environment: [String: String] = [:], output: Stream = .heard, errors: Stream = .heard
    ) throws {
        // FileHandle closes what it has. The child's ends close with this scope.
        let pipes = (input: try Self.pipe(), output: try Self.sink(output), errors: try Self.sink(errors))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (ours, theirs) in [(pipes.input.reading, 0), (pipes.output.writing, 1), (pipes.errors.writing, 2)] {
            posix_spawn_file_actions_adddup2(&actions, ours.fileDescriptor, Int32(theirs))
        }
        // A child begins with the mask of the thread that starts it, and threads of Dispatch block nearly all signals.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // What a shell starts in the background ignores these two, and so would whatever it starts.
        var usual = none
        for signal in [SIGINT, SIGQUIT] { sigaddset(&usual, signal) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var started: pid_t = 0
        let failure = posix_spawn(&started, words[0], &actions, &attributes, arguments, variables)
        guard failure == 0 else { throw Failure(program: words[0], reason: String(cString: strerror(failure))) }
        pid = started
        (input, self.output, self.errors) = (pipes.input.writing, pipes.output.reading, pipes.errors.reading)
    }

    package struct Failure: Error {
        package let program: String
        package let reason: String
    }

    deinit {
        signal(SIGKILL)
        wait()
    }

    private typealias Pipe = (reading: FileHandle, writing: FileHandle)

    /// Sockets, since those have no moment in which another child could inherit them: one that did would keep them open.
    private static func pipe() throws -> Pipe {
        let ends = try makeSocketPair()
        return (
            FileHandle(fileDescriptor: ends.0, closeOnDealloc: true),
            FileHandle(fileDescriptor: ends.1, closeOnDealloc: true)
        )
    }

    private static func sink(_ stream: Stream) throws -> Pipe {
        switch stream {
        case .heard: try pipe()
        case .unheard: (.nullDevice, .nullDevice)
        case .shared: (.nullDevice, .standardError)
        }
    }

    package func signal(_ signal: Int32) { if isRunning { kill(pid, signal) } }

    /// Whether it has not ended. Its number stays its own until it is known to have.
    package var isRunning: Bool {
        guard end == nil else { return false }
        var status: Int32 = 0
        if waitpid(pid, &status, WNOHANG) == pid { end = Self.end(status) }
        return end == nil
    }

    /// Waits for its end, and blocks this thread.
    @discardableResult package func wait() -> End {
        if let end { return end }
        let ended = Self.end(Self.reap(pid))
        end = ended
        return ended
    }

    /// Waits for its end.
    package func end() async -> End {
        if let end { return end }
        let ended = Self.end(await offPool { [pid] in Self.reap(pid) })
        end = ended
        return ended
    }

    /// Writes a script of the shell's that can be executed. By another process: a child of another test's that is just being started has
    /// each descriptor of this one, and nobody executes a file that somebody may write to (ETXTBSY).
    package static func writeScript(_ text: String, to path: String) throws {
        let written = try run(
            ["/bin/sh", "-c", "cat > \"$0\" && chmod 700 \"$0\"", path], environment: ["PATH": "/usr/bin:/bin"],
            input: "#!/bin/sh\n" + text)
        guard written.end == .exited(0) else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Runs a program to its end, and blocks this thread; `input` is all that it reads, and less than a socket holds.
    package static func run(_ words: [String], environment: [String: String] = [:], input: String = "") throws
        -> Outcome
    {
        let process = try ChildProcess(words, environment: environment)
        // A program may end without having read it.
        try? process.input.write(contentsOf: Data(input.utf8))
        shutdown(process.input.fileDescriptor, Int32(SHUT_WR))
        let (output, errors) = readToEnds(process.output, process.errors)
        return Outcome(
            end: process.wait(), output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: errors, as: UTF8.self))
    }

    /// Both at once: a socket holds few short lines, and whoever fills one while the other is read stands still.
    private static func readToEnds(_ first: FileHandle, _ second: FileHandle) -> (Data, Data) {
        let readers = [first, second]
        var heard = [Data(), Data()]
        var waiting = readers.map { pollfd(fd: $0.fileDescriptor, events: Int16(POLLIN), revents: 0) }
        while waiting.contains(where: { $0.fd >= 0 }) {
            guard poll(&waiting, nfds_t(waiting.count), -1) > 0 else { continue }
            for index in waiting.indices where waiting[index].fd >= 0 && waiting[index].revents != 0 {
                let more = readers[index].availableData
                heard[index] += more
                // `poll` passes over what is negative.
                if more.isEmpty { waiting[index].fd = -1 }
            }
        }
        return (heard[0], heard[1])
    }

    private static func reap(_ pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status
    }

    private static func end(_ status: Int32) -> End {
        status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
    }
}

/// Does what waits for another process on a thread of its own. The pool has as many threads as there are processors: two tests
/// that wait on them hold up every other test.
package func offPool<Outcome: Sendable>(_ body: @escaping @Sendable () -> Outcome) async -> Outcome {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
