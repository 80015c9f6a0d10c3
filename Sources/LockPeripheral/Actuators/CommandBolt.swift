import BluetoothCore

/// A bolt that is a command of the operator's: called with a movement it makes it, called with `read` it says where the bolt rests.
///
/// **At most once.** By ``BegunMovements``.
package final class CommandBolt: Actuator {
    private let begun: BegunMovements
    private let runner: any CommandRunner
    private let limits: CommandMachine.Limits
    private let bootTime: () -> Instant
    private let tell: (String) -> Void
    private var machine: CommandMachine

    /// `bootTime`: at this very moment. `tell`: what the operator should know of the command, as a reason.
    package init(
        journal: any MovementJournal, runner: any CommandRunner, limits: CommandMachine.Limits,
        bootTime: @escaping () -> Instant, tell: @escaping (String) -> Void
    ) {
        begun = BegunMovements(journal)
        self.runner = runner
        self.limits = limits
        self.bootTime = bootTime
        self.tell = tell
        machine = CommandMachine(limits)
    }

    package func reading(asking intent: Intent?, now: Instant) throws -> BoltReading {
        try begun.settle(asking: intent)
        let reading =
            if let order = machine.order {
                BoltReading(position: .unknown, moving: order.intent)
            } else {
                BoltReading(position: position())
            }
        return begun.complete(reading, asking: intent)
    }

    private func position() -> BoltPosition {
        guard runner.awaitEarlier(milliseconds: limits.timeMilliseconds) else {
            tell("an earlier process of it does not end")
            return .unknown
        }
        do throws(CommandNotStarted) {
            guard let end = try runner.answer(.read, milliseconds: limits.timeMilliseconds) else {
                tell("`read` did not end in \(limits.timeMilliseconds) ms, and was killed")
                return .unknown
            }
            if case .rests(let position) = CommandAnswer(end, to: .read) { return position }
            tell("`read`: \(end.complaint)")
        } catch {
            tell("`read`: \(error.reason)")
        }
        return .unknown
    }

    package func perform(_ order: ActuatorOrder, now: Instant) throws -> ActuatorReport? {
        if case .report(let report) = try begun.admit(order, now: now) { return report }
        // The flush may have taken any time, and an opening is not begun behind its own.
        return handle(.order(order), bootTime())
    }

    package var deadline: Instant? { machine.deadline }
    package var descriptor: Int32? { runner.descriptor }

    package func poll(now: Instant) throws -> ActuatorReport? {
        if let end = runner.end() { return handle(.ended(end), now) }
        return handle(.time, now)
    }

    /// Each order gets one report.
    private func handle(_ event: CommandMachine.Event, _ now: Instant) -> ActuatorReport? {
        var outputs: [CommandMachine.Output] = []
        machine.handle(event, now: now, into: &outputs)
        var report: ActuatorReport?
        for output in outputs {
            switch output {
            case .start(let order):
                do throws(CommandNotStarted) {
                    try runner.start(CommandWord(order.movement), for: order.intent)
                } catch {
                    report = handle(.notStarted(error.reason), now) ?? report
                }
            case .kill: runner.kill()
            case .report(let told): report = told
            case .tell(let reason): tell(reason)
            }
        }
        return report
    }
}
