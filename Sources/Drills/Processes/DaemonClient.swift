import BluetoothCore
import DaemonControl

/// One request to a daemon, whose answer may take its time while others die.
final class DaemonExchange {
    private var client: ControlClient
    private let waiter: Waiter
    private static let sliceMilliseconds: UInt64 = 20
    private static let sendMilliseconds: UInt64 = 2_000

    init(_ request: some ControlRequest, socket: String, waiter: Waiter) throws {
        self.waiter = waiter
        client = try ControlClient(connectingTo: socket)
        try send(request)
    }

    private func send(_ request: some ControlRequest) throws {
        try client.send(request, deadline: Self.instant(Clock.now + Clock.milliseconds(Self.sendMilliseconds)))
    }

    /// The next line; nil when none comes until the deadline.
    func next(until deadline: UInt64) throws -> ControlReply? {
        while true {
            let slice = min(deadline, Clock.now + Clock.milliseconds(Self.sliceMilliseconds))
            if let reply = try nextOrNothing(until: slice) { return reply }
            guard Clock.now < deadline else { return nil }
            try waiter.wait(until: Clock.now)
        }
    }

    private func nextOrNothing(until deadline: UInt64) throws -> ControlReply? {
        do throws(ControlClientError) {
            return try client.next(deadline: Self.instant(deadline))
        } catch {
            if case .timeout = error { return nil }
            throw error
        }
    }

    /// The first line that is no event, handing those to `event`.
    func finish(until deadline: UInt64, event: (String, JSONObject) throws -> Void = { _, _ in }) throws
        -> Result<JSONObject, ControlFailure>?
    {
        while let reply = try next(until: deadline) {
            switch reply {
            case .event(let name, let fields): try event(name, fields)
            case .result(let result): return .success(result)
            case .error(let failure): return .failure(failure)
            }
        }
        return nil
    }

    /// What a daemon answers with success; nil when it refuses, is not there, or goes away before its answer is complete, as
    /// one does whose kill comes at that very moment.
    static func result(of request: some ControlRequest, from socket: String, _ waiter: Waiter, until deadline: UInt64)
        throws -> JSONObject?
    {
        do {
            let answer = try DaemonExchange(request, socket: socket, waiter: waiter).finish(until: deadline)
            if case .success(let result) = answer { return result }
            return nil
        } catch is ControlClientError {
            return nil
        }
    }

    private static func instant(_ nanoseconds: UInt64) -> Instant { Instant(nanoseconds: nanoseconds) }
}
