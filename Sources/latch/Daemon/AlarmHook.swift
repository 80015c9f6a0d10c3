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

    /// - Throws: What to do, where the kernel gives no timer.
    func serve(on loop: EventLoop) throws {
        let program = try LineProgram(
            name: "the alarms' hook", timeoutMilliseconds: timeoutMilliseconds, loop: loop)
        program.ended = { [unowned self] reason in
            if let reason { notice(.failed(reason: reason)) }
            begin()
        }
        self.program = program
        begin()
    }

    func put(_ alarm: JSONObject) {
        if !queue.put(alarm) { notice(.full) }
        begin()
    }

    private func begin() {
        while let program, !program.isRunning, let alarm = queue.next() {
            if let reason = program.start(path, JSONValue.object(alarm).text) { notice(.failed(reason: reason)) }
        }
    }
}
