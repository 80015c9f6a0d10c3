import BluetoothCore
import CLinux
import CommandInterface
import Glibc
import StrikeControl

/// The keeper's descriptors: its timer, its signals, the socket, the daemon's connection and the lines.
///
/// Signals come by a descriptor alone: one that interrupts a call to a chip makes some drivers fail it.
package final class KeeperLoop {
    private let plan: StrikePlan
    private let awaitsSocket: Bool
    private let keeper: StrikeKeeper
    private var socket: StrikeSocket?
    private var retry = Retry()
    private let outside: Outside
    private let signals: Int32
    private let tell: (String) -> Void

    /// What the keeper reaches through this.
    private final class Outside {
        let timer: Int32
        /// The keeper's own next instant, and that of its socket.
        private var keeperDue: Instant?
        var socketDue: Instant? { didSet { arm() } }
        var daemon: DaemonConnection?
        /// It took no message.
        var isDeaf = false

        init(timer: Int32) { self.timer = timer }

        deinit { close(timer) }

        func arm(_ instant: Instant?) {
            keeperDue = instant
            arm()
        }

        // 0 would disarm it, and so would an instant before the clock's.
        private func arm() {
            let instant = Instant.earliest(keeperDue, socketDue)
            _ = latch_timerfd_set(timer, instant.map { max(1, $0.nanoseconds) } ?? 0)
        }

        func send(_ report: StrikeReport) { if let daemon, !daemon.send(report) { isDeaf = true } }
    }

    /// The line is at its rest when this returns, if there is a chip. A socket that cannot be had is tried again by ``run(until:)``,
    /// unless `awaitsSocket` is false: a door without metal has no line to hold.
    ///
    /// - Throws: ``Failure`` where a descriptor cannot be had, or the configuration names a user or group that there is not.
    package init(
        _ plan: StrikePlan, chip: any DoorChip, signals: [Int32] = [SIGTERM, SIGINT], awaitsSocket: Bool = true,
        tell: @escaping (String) -> Void
    ) throws(Failure) {
        self.signals = latch_signalfd(signals.reduce(into: 0) { $0 |= 1 << UInt64($1) })
        let timer = latch_timerfd_create()
        guard self.signals >= 0, timer >= 0 else {
            throw Failure(.unavailable, "no descriptor: \(String(cString: strerror(errno))): raise LimitNOFILE=")
        }
        let outside = Outside(timer: timer)
        self.outside = outside
        self.plan = plan
        self.awaitsSocket = awaitsSocket
        let keeper = StrikeKeeper(
            plan, chip: chip,
            surroundings: StrikeKeeper.Surroundings(
                now: Self.now, arm: { outside.arm($0) }, send: outside.send, tell: tell))
        // Whatever becomes of the socket: the door is not left open.
        keeper.begin()
        self.keeper = keeper
        self.tell = tell
        try listen()
    }

    deinit { close(signals) }

    /// Has the system keep in memory what of this program was used: where memory runs short, neither a pulse's end nor the start behind
    /// a kill waits for the disk. A system that does not allow it has a keeper all the same.
    package static func stayInMemory() { _ = mlockall(MCL_CURRENT | MCL_ONFAULT) }

    private static func now() -> Instant { Instant(nanoseconds: latch_boottime_nanoseconds()) }

    /// Until a signal, or until something is written to `stop`: the line is told to rest then.
    ///
    /// - Throws: ``Failure`` where the socket is tried again and the configuration turns out to name a user or group that there is not.
    package func run(until stop: Int32 = -1) throws(Failure) -> ExitCode {
        while true {
            var waited = [
                outside.timer, signals, stop, socket?.descriptor ?? -1, outside.daemon?.descriptor ?? -1,
                keeper.descriptor ?? -1,
            ].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&waited, nfds_t(waited.count), -1) >= 0 || errno == EINTR else { continue }
            // Time comes first: no message keeps a pulse from its end.
            if waited[0].revents != 0 {
                var count: UInt64 = 0
                _ = read(outside.timer, &count, MemoryLayout<UInt64>.size)
                keeper.timeIsUp()
            }
            if let due = outside.socketDue, Self.now() >= due { try listen() }
            if waited[1].revents != 0 || waited[2].revents != 0 {
                keeper.end()
                return .ok
            }
            if waited[5].revents != 0, waited[5].fd == keeper.descriptor { keeper.linesMoved() }
            if waited[4].revents != 0, waited[4].fd == outside.daemon?.descriptor { hear() }
            if waited[3].revents != 0 { greet() }
            if outside.isDeaf { part() }
        }
    }

    /// Tries to have a socket. Without one the line is held at its rest: nobody can order anything.
    private func listen() throws(Failure) {
        do throws(Failure) {
            socket = try StrikeSocket(plan)
            if let text = retry.succeeded("the socket is there") { tell(text) }
        } catch {
            // What the configuration says wrong does not get better by itself.
            guard awaitsSocket, error.code == .unavailable else { throw error }
            if let text = retry.failed(error, now: Self.now()) { tell(text) }
        }
        outside.socketDue = retry.next
    }

    private func hear() {
        guard let daemon = outside.daemon else { return }
        switch daemon.receive() {
        case .request(.hello): keeper.greet()
        case .request(.order(let order)): keeper.take(order)
        case .nothing: break
        case .end: part()
        }
    }

    /// A daemon that comes takes the place of the one before: that one is dead, or has to be.
    private func greet() {
        while let arrival = socket?.accept() {
            switch arrival {
            case .daemon(let connection):
                if outside.daemon != nil { part() }
                outside.daemon = connection
            case .stranger(let user): tell("a connection of user \(user.map(String.init) ?? "?") is refused")
            }
        }
    }

    private func part() {
        outside.daemon = nil
        outside.isDeaf = false
        keeper.daemonIsGone()
    }
}
