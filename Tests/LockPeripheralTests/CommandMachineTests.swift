import BluetoothCore
import LockPeripheral
import LockProtocol
import Testing

@Suite("A bolt that is a command: what its answers mean")
struct CommandAnswerTests {
    private static let statuses: [(Int32, movement: CommandAnswer?, read: CommandAnswer?)] = [
        (0, .done, nil), (1, nil, nil), (2, nil, nil), (10, .rests(.jammed), .rests(.jammed)), (11, .declined, nil),
        (12, .rests(.unknown), .rests(.unknown)), (13, nil, nil), (20, .rests(.locked), .rests(.locked)),
        (21, .rests(.unlocked), .rests(.unlocked)), (22, nil, nil), (126, nil, nil), (127, nil, nil),
    ]

    @Test("Every status has one meaning for a movement and one for reading; what has none is no word about the bolt")
    func table() {
        for (status, movement, read) in Self.statuses {
            let end = CommandEnd.exited(status)
            for word in [CommandWord.lock, .unlock, .unlatch] {
                #expect(CommandAnswer(end, to: word) == movement ?? .failed(end), "\(word): \(status)")
            }
            #expect(CommandAnswer(end, to: .read) == read ?? .failed(end), "read: \(status)")
        }
        for word in CommandWord.allCases {
            #expect(CommandAnswer(.signalled(9), to: word) == .failed(.signalled(9)))
        }
    }

    @Test("A status and a signal are told apart as waitpid writes them")
    func waitStatus() {
        #expect(CommandEnd(waitStatus: 0x0A00) == .exited(10))
        #expect(CommandEnd(waitStatus: 0xFF00) == .exited(255))
        #expect(CommandEnd(waitStatus: 9) == .signalled(9))
        #expect(CommandEnd(waitStatus: 0x8B) == .signalled(11))
    }
}

@Suite("A bolt that is a command: its machine")
struct CommandMachineTests {
    private static let limits = CommandMachine.Limits(timeMilliseconds: 1_000, retries: 1, pauseMilliseconds: 200)
    private static let start = Instant(nanoseconds: 5_000_000_000)
    private static let name = IntentID(rawValue: 9)

    private static func order(_ movement: Movement, notAfter: UInt64? = nil) -> ActuatorOrder {
        ActuatorOrder(
            intent: name, movement: movement, command: nil,
            notAfter: notAfter.map { start.advanced(byMilliseconds: $0) })
    }

    /// A machine and what it wanted last, `milliseconds` being counted from ``start``.
    private struct Bench {
        var machine = CommandMachine(limits)

        @discardableResult mutating func at(
            _ milliseconds: UInt64, _ event: CommandMachine.Event
        ) -> [CommandMachine.Output] {
            var outputs: [CommandMachine.Output] = []
            machine.handle(event, now: start.advanced(byMilliseconds: milliseconds), into: &outputs)
            return outputs
        }

        /// What is not for the operator.
        mutating func acts(_ milliseconds: UInt64, _ event: CommandMachine.Event) -> [CommandMachine.Output] {
            at(milliseconds, event).filter { if case .tell = $0 { false } else { true } }
        }

        var deadlineMilliseconds: UInt64? { machine.deadline?.milliseconds(since: start) }
    }

    private enum Place: CaseIterable {
        case resting, running, killed, pausing, stuck, behind

        /// A lock that has got here, at `milliseconds`.
        var bench: (Bench, milliseconds: UInt64) {
            var bench = Bench()
            if self == .resting { return (bench, 0) }
            bench.at(0, .order(order(.lock)))
            if self == .running { return (bench, 0) }
            if self == .pausing {
                bench.at(100, .ended(.exited(10)))
                return (bench, 100)
            }
            bench.at(1_000, .time)
            if self == .killed { return (bench, 1_000) }
            bench.at(1_500, .time)
            if self == .behind { bench.at(1_500, .order(order(.lock))) }
            return (bench, 1_500)
        }
    }

    private static let declined = [CommandMachine.Output.report(.declined(name))]

    @Test("Every state × every input, and what is to be done")
    func table() {
        let expected: [(Place, CommandMachine.Event, [CommandMachine.Output])] = [
            (.resting, .order(Self.order(.lock)), [.start(Self.order(.lock))]),
            (.resting, .notStarted("x"), []), (.resting, .ended(.exited(0)), []), (.resting, .time, []),
            (.running, .order(Self.order(.lock)), Self.declined), (.running, .notStarted("x"), []),
            (.running, .ended(.exited(0)), [.report(.ended(Self.name, .locked))]),
            (.running, .ended(.exited(10)), []),
            (.running, .ended(.exited(11)), Self.declined),
            (.running, .ended(.exited(12)), [.report(.ended(Self.name, .unknown))]),
            (.running, .ended(.exited(21)), [.report(.ended(Self.name, .unlocked))]),
            (.running, .ended(.exited(1)), [.report(.ended(Self.name, .unknown))]),
            (.running, .ended(.signalled(15)), [.report(.ended(Self.name, .unknown))]),
            (.running, .time, []),
            (.killed, .order(Self.order(.lock)), Self.declined), (.killed, .notStarted("x"), []),
            (.killed, .ended(.signalled(9)), []), (.killed, .time, []),
            (.pausing, .order(Self.order(.lock)), Self.declined), (.pausing, .notStarted("x"), []),
            (.pausing, .ended(.exited(0)), []), (.pausing, .time, []),
            (.stuck, .order(Self.order(.lock)), []), (.stuck, .order(Self.order(.unlock)), Self.declined),
            (.stuck, .notStarted("x"), []), (.stuck, .ended(.signalled(9)), []), (.stuck, .time, []),
            (.behind, .order(Self.order(.lock)), Self.declined), (.behind, .notStarted("x"), []),
            (.behind, .ended(.signalled(9)), [.start(Self.order(.lock))]), (.behind, .time, []),
        ]
        for (place, event, outputs) in expected {
            var (bench, milliseconds) = place.bench
            #expect(bench.acts(milliseconds, event) == outputs, "\(place), \(event)")
        }
        #expect(Set(expected.map(\.0)) == Set(Place.allCases))
    }

    @Test("Each instant is the last one that is in time, and the next one is not")
    func instants() {
        for (place, deadline, output) in [
            (Place.running, UInt64(1_000), CommandMachine.Output.kill),
            (.killed, 1_500, .report(.ended(Self.name, .unknown))),
            (.pausing, 300, .start(Self.order(.lock))),
        ] {
            var (bench, _) = place.bench
            #expect(bench.deadlineMilliseconds == deadline)
            #expect(bench.acts(deadline - 1, .time).isEmpty, "\(place)")
            #expect(bench.acts(deadline, .time) == [output], "\(place)")
        }
        for place in [Place.resting, .stuck] { #expect(place.bench.0.deadlineMilliseconds == nil) }
    }

    @Test("A jam is tried again as often as is configured, by what is said and by time, and then it is one")
    func retries() {
        for isSaid in [true, false] {
            var bench = Bench()
            var now: UInt64 = 0
            #expect(bench.acts(now, .order(Self.order(.lock))) == [.start(Self.order(.lock))])
            for attempt in 0...Self.limits.retries {
                if !isSaid {
                    now += Self.limits.timeMilliseconds
                    #expect(bench.acts(now, .time) == [.kill])
                }
                let outputs = bench.acts(now, .ended(isSaid ? .exited(10) : .signalled(9)))
                if attempt == Self.limits.retries {
                    #expect(outputs == [.report(.ended(Self.name, .jammed))])
                } else {
                    now += Self.limits.pauseMilliseconds
                    #expect(outputs.isEmpty && bench.acts(now, .time) == [.start(Self.order(.lock))])
                }
            }
            #expect(bench.deadlineMilliseconds == nil)
        }
    }

    @Test(
        "A process that was to lock and cannot be started is tried again behind the pause, as often as is configured; nobody who opens waits for that"
    )
    func notStarted() {
        var bench = Bench()
        var now: UInt64 = 0
        #expect(bench.acts(now, .order(Self.order(.lock))) == [.start(Self.order(.lock))])
        for _ in 0..<Self.limits.retries {
            #expect(bench.at(now, .notStarted("x")) == [.tell("x")])
            #expect(bench.deadlineMilliseconds == now + Self.limits.pauseMilliseconds)
            now += Self.limits.pauseMilliseconds
            #expect(bench.acts(now, .time) == [.start(Self.order(.lock))])
        }
        #expect(bench.at(now, .notStarted("x")) == [.tell("x")] + Self.declined)
        #expect(bench.deadlineMilliseconds == nil)
        for movement in [Movement.unlock, .unlatch] {
            bench.at(now, .order(Self.order(movement)))
            #expect(bench.at(now, .notStarted("x")) == [.tell("x")] + Self.declined)
        }
    }

    @Test("A latch is pulled once: no second attempt, whatever the first one said; by time nobody knows where it is")
    func unlatch() {
        var bench = Bench()
        bench.at(0, .order(Self.order(.unlatch, notAfter: 2_000)))
        #expect(bench.acts(1, .ended(.exited(10))) == [.report(.ended(Self.name, .jammed))])
        bench.at(10, .order(Self.order(.unlatch, notAfter: 2_000)))
        #expect(bench.acts(1_010, .time) == [.kill])
        #expect(bench.acts(1_011, .ended(.signalled(9))) == [.report(.ended(Self.name, .unknown))])
    }

    @Test("An opening is not begun behind its time, nor tried again behind it")
    func late() {
        var bench = Bench()
        #expect(bench.acts(101, .order(Self.order(.unlock, notAfter: 100))) == Self.declined)
        bench.at(100, .order(Self.order(.unlock, notAfter: 500)))
        #expect(bench.acts(300, .ended(.exited(10))).isEmpty)
        #expect(bench.acts(500, .time) == [.start(Self.order(.unlock, notAfter: 500))])
        bench = Bench()
        bench.at(100, .order(Self.order(.unlock, notAfter: 500)))
        #expect(bench.acts(301, .ended(.exited(10))) == [.report(.ended(Self.name, .jammed))])
    }

    @Test("Behind a process that a kill does not end nothing is begun, until it has ended")
    func stuck() {
        var (bench, now) = Place.stuck.bench
        #expect(bench.machine.order == nil)
        #expect(bench.acts(now, .order(Self.order(.unlock))) == Self.declined)
        #expect(bench.acts(now + 1, .ended(.signalled(9))).isEmpty)
        #expect(bench.acts(now + 2, .order(Self.order(.lock))) == [.start(Self.order(.lock))])
    }

    @Test(
        "What is to be locked waits for the end of such a process, as long as it would try again, and then it is declined"
    )
    func lockBehindStuck() {
        let wait =
            Self.limits.timeMilliseconds + CommandMachine.killedMaximumMilliseconds + Self.limits.pauseMilliseconds
        for pauses in 0...Self.limits.retries as ClosedRange<Int> {
            var (bench, now) = Place.stuck.bench
            #expect(bench.acts(now, .order(Self.order(.lock))).isEmpty)
            #expect(bench.machine.order == Self.order(.lock))
            for pause in 0..<pauses {
                #expect(bench.deadlineMilliseconds == now + wait)
                now += wait
                #expect(bench.acts(now - 1, .time).isEmpty)
                #expect(bench.acts(now, .time) == (pause + 1 == Self.limits.retries ? Self.declined : []))
            }
            let isOver = pauses == Self.limits.retries
            #expect(bench.acts(now + 1, .ended(.signalled(9))) == (isOver ? [] : [.start(Self.order(.lock))]))
            #expect((bench.machine.order == nil) == isOver)
        }
    }

    @Test("What a movement takes at most is what the limits say")
    func whole() {
        #expect(Self.longest(Bench(), from: 0, lastEnd: nil) == Self.limits.wholeMilliseconds)
        // Behind a process that ends a moment before it is not waited for any more.
        let (bench, begin) = Place.behind.bench
        let last = (bench.deadlineMilliseconds ?? 1) - 1
        #expect(Self.longest(bench, from: begin, lastEnd: last) == Self.limits.wholeMilliseconds - 1)
    }

    /// What a lock takes from its order on, when each process goes at the last moment. `lastEnd`: when the one before it ends.
    private static func longest(_ begun: Bench, from begin: UInt64, lastEnd: UInt64?) -> UInt64 {
        var bench = begun
        var now = begin
        if let lastEnd { bench.at(lastEnd, .ended(.signalled(9))) } else { bench.at(begin, .order(order(.lock))) }
        while let deadline = bench.deadlineMilliseconds {
            now = deadline
            if bench.acts(now, .time) == [.kill] {
                now += CommandMachine.killedMaximumMilliseconds
                bench.at(now, .ended(.signalled(9)))
            }
        }
        return now - begin
    }
}
