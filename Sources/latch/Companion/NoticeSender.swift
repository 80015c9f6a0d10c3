import BluetoothCore
import DBusTransport
import Desktop
import HCITransport

/// Shows one notice on a user's desktop from a process that has no daemon's loop, and waits until the desktop has it.
enum NoticeSender {
    static let waitMaximumMilliseconds: UInt64 = 3_000

    /// Why it was not shown; nil where it was. `place`: the bus of the user's session; nil for none.
    static func show(_ notice: Notice, on place: SystemBus.Place?) -> String? {
        guard let place else { return "this user has no session bus" }
        do throws(TransportError) {
            return try Showing(notice, on: place, EventLoop(signals: [])).run()
        } catch { return error.description }
    }

    private final class Showing {
        private enum End {
            case shown
            case failed(String)
        }

        private let notice: Notice
        private let loop: EventLoop
        private let bus: SystemBus
        /// The notice stays when the command has left the bus.
        private var board = NoticeBoard(staysOnBus: false)
        private var end: End?

        init(_ notice: Notice, on place: SystemBus.Place, _ loop: EventLoop) {
            (self.notice, self.loop) = (notice, loop)
            bus = SystemBus(place, matches: NoticeBoard.matches, loop: loop)
        }

        func run() throws(TransportError) -> String? {
            let until = SystemClock.now().advanced(byMilliseconds: NoticeSender.waitMaximumMilliseconds)
            defer { bus.end() }
            feed(.show(notice))
            bus.start(
                BusListener(
                    begin: {}, event: { [unowned self] in feed(.bus($0)) },
                    notice: { [unowned self] notice in
                        if case .unavailable(let error, _) = notice { fail(error.description) }
                    }, ended: { [unowned self] in fail($0.description) }))
            loop.onDeadline = { [unowned self] in
                bus.timerFired()
                if SystemClock.now() >= until { fail("the desktop did not answer in time") }
            }
            if end == nil {
                arm(until)
                try loop.run { [unowned self] in
                    arm(until)
                    return end == nil ? .wait : .stop
                }
            }
            return if case .failed(let reason)? = end { reason } else { nil }
        }

        private func arm(_ until: Instant) { loop.deadline = .earliest(bus.deadline, until) }

        private func fail(_ reason: String) { end = end ?? .failed(reason) }

        private func feed(_ event: NoticeBoard.Event) {
            var outputs: [NoticeBoard.Output] = []
            board.handle(event, now: SystemClock.now(), into: &outputs)
            for output in outputs {
                switch output {
                case .act(let act): bus.perform(act)
                case .failed(_, let reason): fail(reason)
                // Somebody has seen it.
                case .chosen, .gone: end = end ?? .shown
                }
            }
            bus.flush()
            if board.hasTaken(notice.about) { end = end ?? .shown }
        }
    }
}
