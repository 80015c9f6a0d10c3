import CLinux
import Drills
import Glibc
import Simulation
import Synchronization

/// Houses one after the other on several threads, until there are as many schedules as were asked for, the time is over, or a
/// promise is broken.
///
/// House `n` of a seed is the same whoever plays it, so a campaign does not depend on how many threads it has.
final class Campaign: Sendable {
    private struct State {
        var house: UInt64
        /// Schedules that nobody has begun; nil without end.
        var left: Int?
        /// Not even a schedule of a house that stands is begun.
        var isCutOff = false
        var tally = Tally()
        /// Of the first house that had one.
        var violation: Simulation.Violation?
        var failure: (any Error)?
    }

    private let state: Mutex<State>

    init(seed: UInt64, schedules: Int?) { state = Mutex(State(house: seed, left: schedules)) }

    /// What the houses that are done have come to.
    var tally: Tally { state.withLock(\.tally) }

    var violation: Simulation.Violation? { state.withLock(\.violation) }

    /// No house is begun any more.
    func stop() { state.withLock { $0.left = 0 } }

    /// Plays on `jobs` threads. `watch` is called again and again meanwhile, and by what it throws cuts it off behind the schedules under
    /// way, which count.
    ///
    /// - Throws: What kept a house from being furnished, a thread from starting, or what `watch` throws.
    func run(jobs: Int, watch: () throws -> Void) throws {
        try onThreads(jobs, watch: watch) { [self] in
            while let (seed, count) = next() {
                var simulation = Simulation()
                let violation = try simulation.playHouse(seed: seed, schedules: count) { goesOn }
                finished(simulation.tally, violation)
            }
        }
    }

    /// Takes away from the violation what it does not need. `watch` cuts it off as in ``run(jobs:watch:)``, behind what is found by then.
    ///
    /// - Throws: As the other does.
    func shrink(watch: () throws -> Void) throws {
        guard let violation else { return }
        try onThreads(1, watch: watch) { [self] in
            let least = try violation.shrunk { goesOn }
            state.withLock { $0.violation = least }
        }
    }

    private var goesOn: Bool { state.withLock { !$0.isCutOff } }

    private func onThreads(_ jobs: Int, watch: () throws -> Void, _ work: @escaping @Sendable () throws -> Void) throws
    {
        let running = Mutex(jobs)
        let threads = try Threads(
            (0..<jobs).map { _ in
                { [self] in
                    do { try work() } catch {
                        state.withLock { state in
                            state.failure = state.failure ?? error
                            state.left = 0
                        }
                    }
                    running.withLock { $0 -= 1 }
                }
            })
        var interruption: (any Error)?
        do {
            while running.withLock({ $0 }) > 0 { try watch() }
        } catch {
            interruption = error
            state.withLock { state in
                state.left = 0
                state.isCutOff = true
            }
        }
        threads.join()
        if let failure = interruption ?? state.withLock(\.failure) { throw failure }
    }

    private func next() -> (seed: UInt64, count: Int)? {
        state.withLock { state in
            let count = min(Simulation.schedulesPerHouse, state.left ?? Int.max)
            guard count > 0 else { return nil }
            state.left = state.left.map { $0 - count }
            defer { state.house &+= 1 }
            return (state.house, count)
        }
    }

    private func finished(_ tally: Tally, _ violation: Simulation.Violation?) {
        state.withLock { state in
            state.tally.add(tally)
            guard let violation else { return }
            state.left = 0
            // Two houses may break something at once: the first is told, whichever thread was quicker.
            if violation.seed < state.violation?.seed ?? UInt64.max { state.violation = violation }
        }
    }
}

extension Campaign {
    /// Processor time of this process, of all its threads.
    static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
