import BluetoothCore
import CLinux
import Glibc
import HCITransport
import HostComposition

/// The service manager that started this process, as sd_notify(3) has it: systemd under `Type=notify`. It hears when the daemon is
/// ready, what it is doing, and again and again that its loop turns.
///
/// The protocol is one datagram of lines to the socket in `NOTIFY_SOCKET`, and stable by systemd's word: a library for it would cost
/// each launch more than it saves.
final class ServiceManager {
    /// What the manager left in the environment.
    struct Terms: Equatable {
        /// A path, or a name in the kernel's own space of names behind an `@`.
        let socket: String
        /// Somebody who is silent for so long is killed; nil where nobody counts.
        let watchdogMicroseconds: UInt64?

        /// nil where no manager listens, and where it speaks to another process.
        init?(_ variable: (String) -> String?, process: Int32) {
            guard let socket = variable("NOTIFY_SOCKET"), socket.hasPrefix("/") || socket.hasPrefix("@") else {
                return nil
            }
            self.socket = socket
            let isMeant = variable("WATCHDOG_PID").map { $0 == String(process) } ?? true
            let limit = variable("WATCHDOG_USEC").flatMap(UInt64.init).flatMap { $0 > 0 ? $0 : nil }
            watchdogMicroseconds = isMeant ? limit : nil
        }
    }

    /// Of the time after which the manager loses its patience: a turn of the loop that takes long costs nothing yet.
    private static let signsPerLimit: UInt64 = 3

    private let descriptor: Int32
    /// -1 until a loop gives signs.
    private var timer: Int32 = -1
    /// How often it wants to hear that somebody is alive; nil where it does not.
    let signMilliseconds: UInt64?
    private var lastStatus = ""

    /// nil where nobody listens: what was started by hand tells nobody.
    convenience init?() {
        guard
            let terms = Terms(Environment.variable, process: getpid())
        else { return nil }
        self.init(terms)
    }

    /// nil where nobody can be reached at the address.
    init?(_ terms: Terms) {
        let socket = latch_datagram_socket()
        guard socket >= 0 else { return nil }
        guard latch_connect_unix_name(socket, terms.socket) == 0 else {
            close(socket)
            return nil
        }
        descriptor = socket
        signMilliseconds = terms.watchdogMicroseconds.map { max(1, $0 / 1_000 / Self.signsPerLimit) }
    }

    deinit {
        close(descriptor)
        if timer >= 0 { close(timer) }
    }

    /// From now on each turn of `loop` that is due says that it turns.
    ///
    /// - Throws: ``TransportError`` when the kernel gives no timer.
    func giveSigns(on loop: EventLoop) throws(TransportError) {
        guard let signMilliseconds, timer < 0 else { return }
        timer = latch_timerfd_create()
        guard timer >= 0 else { throw TransportError(.system(errno), "timerfd: \(String(cString: strerror(errno)))") }
        let arm = { [timer] in
            let next = SystemClock.now().advanced(byMilliseconds: signMilliseconds)
            _ = latch_timerfd_set(timer, next.nanoseconds)
        }
        _ = try loop.register(timer, .readable) { [unowned self] _ in
            tellAlive()
            arm()
        }
        tellAlive()
        arm()
    }

    func tellReady() { send("READY=1") }

    func tellStopping() { send("STOPPING=1") }

    func tellAlive() { if signMilliseconds != nil { send("WATCHDOG=1") } }

    /// One line for `systemctl status`.
    func tellStatus(_ status: String) {
        guard status != lastStatus else { return }
        lastStatus = status
        send("STATUS=" + String(status.map { $0.isNewline ? " " : $0 }))
    }

    /// The way to the controller, as somebody who looks wants to know it.
    func tell(_ notice: TransportNotice, of address: AirAddress) {
        switch notice {
        case .lost(let reason, _): tellStatus("waits for its controller: \(address): \(reason)")
        case .unavailable(let error, _): tellStatus("waits for its controller: \(error)")
        case .found: tellStatus("serves over \(address)")
        case .resynchronised: break
        }
    }

    /// A manager that does not read loses it: nobody waits.
    private func send(_ line: String) {
        let octets = Array(line.utf8)
        _ = Glibc.send(descriptor, octets, octets.count, latch_message_flags())
    }
}
