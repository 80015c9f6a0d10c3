import Foundation
import Glibc

/// A process and its pipes; it is ended by SIGKILL with this object.
///
/// `Foundation.Process` will not do: where many of them end at once it was seen to lose some of the ends, and to spin where somebody
/// waits for those.
final class ChildProcess {
    enum End: Equatable {
        case exited(Int32)
        case killed(Int32)

        /// Of a process that ended by itself.
        var status: Int32? { if case .exited(let status) = self { status } else { nil } }
        var signal: Int32? { if case .killed(let signal) = self { signal } else { nil } }
    }

    let input: FileHandle
    let output: FileHandle
    let errors: FileHandle
    private let pid: pid_t
    private var end: End?

    /// `words` begin with the program's path; `environment` is all that it has.
    init(_ words: [String], environment: [String: String] = [:]) throws {
        // FileHandle closes what it has. The child's ends close with this scope.
        let pipes = (try Self.pipe(), try Self.pipe(), try Self.pipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (ours, theirs) in [(pipes.0.reading, 0), (pipes.1.writing, 1), (pipes.2.writing, 2)] {
            posix_spawn_file_actions_adddup2(&actions, ours.fileDescriptor, Int32(theirs))
        }
        // A child begins with the mask of the thread that starts it, and threads of Dispatch block nearly all signals.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var started: pid_t = 0
        let failure = posix_spawn(&started, words[0], &actions, &attributes, arguments, variables)
        guard failure == 0 else { throw Failure(program: words[0], reason: String(cString: strerror(failure))) }
        pid = started
        (input, output, errors) = (pipes.0.writing, pipes.1.reading, pipes.2.reading)
    }

    struct Failure: Error {
        let program: String
        let reason: String
    }

    deinit {
        guard end == nil else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    /// Sockets, since those have no moment in which another child could inherit them: one that did would keep them open.
    private static func pipe() throws -> (reading: FileHandle, writing: FileHandle) {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure(program: "socketpair", reason: String(cString: strerror(errno)))
        }
        return (
            FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
            FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        )
    }

    func signal(_ signal: Int32) { if end == nil { kill(pid, signal) } }

    /// Waits for its end.
    func end() async -> End {
        if let end { return end }
        let status = await offPool { [pid] in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            return status
        }
        let ended: End = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
        end = ended
        return ended
    }
}

/// Does what waits for another process on a thread of its own. The pool has as many threads as there are processors: two tests
/// that wait on them hold up every other test.
func offPool<Outcome: Sendable>(_ body: @escaping @Sendable () -> Outcome) async -> Outcome {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
