import DaemonControl
import HCITransport

/// The program that the configuration names for alarms (``LineProgram``): each is one JSON line on its standard input, in its turn.
final class AlarmHook {
    static let timeoutMilliseconds: UInt64 = 10_000

    /// What the operator is told of it.
    enum Notice: Equatable {
        case failed(reason: String)
        /// Alarms become one line from here on.
        case full
    }

    /// Of the next process.
    var path: String
    private let timeoutMilliseconds: UInt64
    private let notice: (Notice) -> Void
    private var queue = AlarmQueue()
    /// The number of the first alarm of the process that runs.
    private var running: UInt64?
    /// nil until there is a loop.
    private var program: LineProgram?

    /// Keeps what comes until ``serve(on:)``.
    init(
        path: String, timeoutMilliseconds: UInt64 = AlarmHook.timeoutMilliseconds, notice: @escaping (Notice) -> Void
    ) {
        self.path = path
        self.timeoutMilliseconds = timeoutMilliseconds
        self.notice = notice
    }

    /// Begins with what waits. Does nothing where it has begun.
    ///
    /// - Throws: What to do, where the kernel gives no timer.
    func serve(on loop: EventLoop) throws {
        guard program == nil else { return }
        let program = try LineProgram(
            name: "the alarms' hook", timeoutMilliseconds: timeoutMilliseconds, loop: loop)
        program.ended = { [unowned self] reason in
            running = nil
            if let reason { notice(.failed(reason: reason)) }
            begin()
        }
        self.program = program
        begin()
    }

    /// `number`: greater than that of the alarm before.
    func put(_ alarm: JSONObject, _ number: UInt64) {
        if !queue.put(alarm, number) { notice(.full) }
        begin()
    }

    /// The number of the first alarm that waits, or whose process has not ended; nil where there is none.
    var firstUnfinished: UInt64? { running ?? queue.first }

    private func begin() {
        while let program, !program.isRunning, let line = queue.next() {
            running = line.first
            guard let reason = program.start(path, JSONValue.object(line.fields).text) else { return }
            running = nil
            notice(.failed(reason: reason))
        }
    }
}
