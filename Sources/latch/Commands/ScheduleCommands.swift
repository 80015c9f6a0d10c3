import CommandInterface
import DaemonControl
import LockProtocol

/// `latch peripheral schedule …`: when a credential may do what its role may.
enum ScheduleCommands {
    static let all = [show, set, clear]

    private static let show = CommandSpec(
        path: ["peripheral", "schedule", "show"], summary: "Say when a credential may open, and whether that is now.",
        details: ["Times are those of the door: `time_zone` in the lock's configuration says which."],
        options: ControlPlace.options + PeripheralCommands.whom + [Commands.json],
        examples: ["latch peripheral schedule show --state /var/lib/latch --credential anna"]
    ) { arguments in
        let request = PeripheralRequest.Schedule(.show, try PeripheralCommands.whom(arguments))
        return try ControlCommand.run(
            PeripheralRequest.schedule(request), role: .peripheral, arguments: arguments
        ) { Output.fields($0) }
    }

    private static let set = CommandSpec(
        path: ["peripheral", "schedule", "set"],
        summary: "Let a credential do what its role may at these times alone.",
        details: [
            "These rules take the place of all that it had. Local times are written as 2026-12-24T08:00, in the door's time: "
                + "`time_zone` in the lock's configuration says which. Each end is the first moment that is outside.",
            "Where there are week days and spans, both have to allow it. Each --weekdays has its --between, in their order. "
                + "A --between whose end is not later than its begin ends on the next day.",
            "A lock whose clock is not set refuses a credential with a rule. The audit says whose rules were changed and when.",
        ],
        options: ControlPlace.options + PeripheralCommands.whom + [
            .value("from", "TIME", "The credential is not valid before."),
            .value("until", "TIME", "From here on the credential is expired."),
            .values("weekdays", "DAYS", "Days, such as mon-fri or sat,sun. Up to \(most) times."),
            .values("between", "HH:MM-HH:MM", "The time of these days; the whole day is 00:00-24:00."),
            .values("during", "TIME/TIME", "A span in which the credential may open. Up to \(most) times."),
            Commands.json,
        ],
        examples: [
            "latch peripheral schedule set --state /var/lib/latch --credential cleaner --weekdays mon-fri --between 08:00-17:00",
            "latch peripheral schedule set --state /var/lib/latch --credential guest --from 2026-12-24T15:00 "
                + "--until 2026-12-27T11:00",
            "latch peripheral schedule set --state ./lock --credential sitter --weekdays fri --between 18:00-02:00 "
                + "--weekdays sat,sun --between 00:00-24:00 --during 2026-12-01T00:00/2026-12-31T24:00",
        ]
    ) { arguments in try change(request(arguments), arguments) }

    private static let clear = CommandSpec(
        path: ["peripheral", "schedule", "clear"], summary: "Let a credential do what its role may at all times.",
        details: [
            "Takes its validity and all of its schedules away. The audit says whose rules were changed and when."
        ],
        options: ControlPlace.options + PeripheralCommands.whom + [Commands.json],
        examples: ["latch peripheral schedule clear --state /var/lib/latch --credential anna"]
    ) { arguments in
        try change(
            PeripheralRequest.Schedule(.clear, PeripheralCommands.whom(arguments)), arguments, state: "at all times")
    }

    private static var most: Int64 { PeripheralRequest.Schedule.maximumCount }

    /// What `set` asks for.
    static func request(_ arguments: ParsedArguments) throws(Failure) -> PeripheralRequest.Schedule {
        var request = PeripheralRequest.Schedule(.set, try PeripheralCommands.whom(arguments))
        request.from = arguments["from"]
        request.until = arguments["until"]
        request.during = arguments.all("during")
        let (days, times) = (arguments.all("weekdays"), arguments.all("between"))
        guard days.count == times.count else {
            throw Failure(
                .usage, "each option `--weekdays` needs its `--between`: there are \(days.count) and \(times.count)")
        }
        for (days, times) in zip(days, times) {
            let set = try read("weekdays") { () throws(ScheduleTextError) in try WeekdaySet(text: days) }
            let schedule = try read("between") { () throws(ScheduleTextError) in
                try WeekdaySchedule(days: set, between: times)
            }
            request.weekdays.append(schedule.description)
        }
        do throws(ScheduleRules.Fault) {
            _ = try ScheduleRules(request)
        } catch {
            throw Failure(.usage, "option `--\(error.member)`: \(error.reason)")
        }
        return request
    }

    private static func read<Value>(
        _ option: String, _ read: () throws(ScheduleTextError) -> Value
    ) throws(Failure) -> Value {
        do throws(ScheduleTextError) {
            return try read()
        } catch {
            throw Failure(.usage, "option `--\(option)`: \(error.description)")
        }
    }

    private static func change(
        _ request: PeripheralRequest.Schedule, _ arguments: ParsedArguments, state: String? = nil
    ) throws -> ExitCode {
        try ControlCommand.run(
            PeripheralRequest.schedule(request), role: .peripheral, arguments: arguments
        ) { PeripheralCommands.showChange($0, state: state) }
    }
}
