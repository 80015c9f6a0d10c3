import DaemonControl
import HCITransport
import LockCentral

/// The program that has to agree before coming near opens anything: it may know better than a signal how near its user is, and whether they
/// are there at all. It reads one JSON line, and agrees by status 0.
final class ApproachProgram {
    private let path: String
    private let program: LineProgram
    /// In their order. Of each lock one at most.
    private var waiting: [(approach: Approach, lock: String)] = []
    /// Whose process runs; nil where nobody is to decide on that any more.
    private var running: Approach?
    /// nil: it agrees. Otherwise why nothing is opened.
    var answered: (Approach, String?) -> Void = { _, _ in }

    init(
        path: String, timeoutMilliseconds: UInt64 = ApproachPolicy.programMilliseconds, loop: EventLoop
    ) throws {
        self.path = path
        program = try LineProgram(name: "the key's `program`", timeoutMilliseconds: timeoutMilliseconds, loop: loop)
        program.ended = { [unowned self] in over($0) }
    }

    func ask(_ approach: Approach, lock: String) {
        waiting.append((approach, lock))
        begin()
    }

    /// Nobody is to decide on it any more. A process that runs for it goes on, and what it says is nobody's.
    func withdraw(_ approach: Approach) {
        waiting.removeAll { $0.approach == approach }
        if running == approach { running = nil }
    }

    private func begin() {
        while !program.isRunning, !waiting.isEmpty {
            let (approach, lock) = waiting.removeFirst()
            running = approach
            let line: JSONObject = ["event": "approach", "lock": .string(lock), "id": .string("\(approach.peer)")]
            if let reason = program.start(path, JSONValue.object(line).text) { tell(reason) }
        }
    }

    private func over(_ reason: String?) {
        tell(reason)
        begin()
    }

    private func tell(_ reason: String?) {
        guard let approach = running else { return }
        running = nil
        answered(approach, reason.map { "\(path) does not agree: \($0)" })
    }
}
