import CLinux
import Glibc

/// A program that somebody else has written, with what it has begun: it has nothing of the daemon but its user and its standard
/// error, and ends as a whole.
package final class LoneProcess {
    package struct Failure: Error, Equatable {
        /// errno of what could not be done.
        package let number: Int32

        package init(number: Int32) { self.number = number }
    }

    package let number: pid_t
    /// Readable at its end; -1 where the system gives none, and somebody has to look.
    package let descriptor: Int32
    private var isReaped = false

    /// `arguments` begin with the program's path. `input`: its standard input, nothing by default. `kept`: its descriptor 3.
    package init(
        _ arguments: [String], environment: [String], input: Int32 = -1, keeping kept: Int32 = -1
    ) throws(Failure) {
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        var process: pid_t = 0
        let failure = latch_spawn_alone(&process, words, variables, input, kept)
        guard failure == 0 else { throw Failure(number: failure) }
        number = process
        descriptor = latch_pidfd_open(process)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Its `waitpid` status once it has ended, which is told once; with it ends what it has left behind.
    package func end() -> Int32? {
        guard !isReaped else { return nil }
        var information = siginfo_t()
        // Its number stays its own, and its group's, until what is left of the group has ended too.
        let isKnown = waitid(P_PID, id_t(number), &information, WEXITED | WNOHANG | WNOWAIT) == 0
        guard !isKnown || information.si_signo != 0 else { return nil }
        if isKnown { Glibc.kill(-number, SIGKILL) }
        var status: Int32 = 0
        waitpid(number, &status, 0)
        isReaped = true
        return status
    }

    package func kill() { if !isReaped { Glibc.kill(-number, SIGKILL) } }
}
