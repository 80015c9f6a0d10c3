import CLinux
import Glibc
import Synchronization

/// Sees whether the machine itself stood still: it adds an octet to a file and flushes it, again and again, beside the households. A
/// promise with a time in it says nothing of a daemon whose disk did not answer, so a case that such a time has touched is played again.
final class MachineWitness: Sendable {
    private struct State {
        /// When the flush that is under way began, or the pause before it.
        var since: UInt64
        var slow: [ClosedRange<UInt64>] = []
        var isOver = false
        var failure: DrillError?
    }

    /// Half of the slack that the judge gives: so much of one life is too much, in one piece or in several, since a daemon
    /// flushes more than once before it moves.
    static let stallNanoseconds = CaseJudge.slackNanoseconds / 2
    /// A flush that is no slower than this is a flush.
    static let flushMilliseconds: UInt64 = 150
    private static let pauseMilliseconds: UInt64 = 100

    private let state = Mutex(State(since: Clock.now))
    private let file: String

    init(directory: String) { file = directory + "/witness" }

    /// Watches until it is told to end.
    func watch() {
        // A file that grows waits for the file system's journal, as the daemons' do; one that stays as it is passes it by.
        let descriptor = latch_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        while !state.withLock({ $0.isOver }) {
            var octet: UInt8 = 0
            guard write(descriptor, &octet, 1) == 1, fdatasync(descriptor) == 0 else {
                let failure = DrillError.system("cannot flush \(file)")
                return state.withLock { $0.failure = failure }
            }
            poll(nil, 0, Int32(Self.pauseMilliseconds))
            turn(at: Clock.now)
        }
    }

    /// One flush and the pause behind it are over.
    func turn(at now: UInt64) {
        state.withLock { state in
            if Self.isSlow(from: state.since, to: now) { state.slow.append(state.since...now) }
            state.since = now
        }
    }

    private static func isSlow(from: UInt64, to: UInt64) -> Bool {
        to > from + Clock.milliseconds(pauseMilliseconds + flushMilliseconds)
    }

    func end() { state.withLock { $0.isOver = true } }

    var failure: DrillError? { state.withLock { $0.failure } }

    /// For how long the machine stood still around this time; nil when that is not worth a word.
    func stall(from: UInt64, to: UInt64) -> UInt64? {
        let total = state.withLock { state in
            let unended = Self.isSlow(from: state.since, to: to) ? [state.since...to] : []
            return (state.slow + unended).filter { $0.upperBound >= from && $0.lowerBound <= to }
                .reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        }
        return total > Self.stallNanoseconds ? total : nil
    }
}
