import CLinux
import Glibc

/// What a tracer has counted of one program, and where it is to kill it.
final class CallTrace {
    /// Which side of a call a stop is at.
    enum Side: String, CaseIterable, Sendable {
        /// The call is not carried out when the process is killed here.
        case entry
        /// The call has been carried out, and nothing behind it.
        case exit
    }

    let side: Side
    /// The stop at which the program is killed, counted from 1; 0: none.
    let killAt: UInt64
    private let memory: UnsafeMutablePointer<latch_trace>

    init(_ side: Side, killAt: UInt64 = 0) throws(DrillError) {
        guard let memory = latch_trace_make() else { throw .system("cannot share memory with a tracer") }
        self.memory = memory
        self.side = side
        self.killAt = killAt
    }

    deinit { latch_trace_free(memory) }

    /// Starts the program under a tracer; the tracer's process id, or -1.
    func spawn(
        _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>,
        _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>?, _ input: Int32, _ output: Int32, _ error: Int32
    ) -> pid_t {
        latch_trace_spawn(
            arguments, environment, input, output, error, memory, killAt, side == .exit ? 1 : 0)
    }

    /// Stops so far, from the exec on, over all threads.
    var count: UInt64 { latch_trace_count(memory) }

    /// Whether the program got as far as to be killed.
    var hasKilled: Bool { killAt > 0 && count >= killAt }

    /// What kept the tracer from tracing; nil when nothing did.
    var failure: String? { memory.pointee.error == 0 ? nil : String(cString: strerror(memory.pointee.error)) }

    /// The names of the calls that counted, in their order.
    var names: [String] { (0..<count).compactMap { name(of: latch_trace_call(memory, $0)) } }

    /// At which call the program was killed.
    var killedAt: String? { hasKilled ? name(of: latch_trace_call(memory, killAt - 1)) : nil }

    private func name(of call: Int32) -> String? {
        guard call >= 0 else { return nil }
        return latch_call_name(call).map { String(cString: $0) } ?? "call \(call)"
    }
}
