import BluetoothCore
import CLinux
import Glibc

/// A descriptor's readiness, asked for or reported.
package struct Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Self(rawValue: EPOLLIN.rawValue)
    package static let writable = Self(rawValue: EPOLLOUT.rawValue)
    /// The other side is gone, or the descriptor is broken: reported without being asked for; a read says which.
    package static let hangup = Self(rawValue: EPOLLHUP.rawValue | EPOLLERR.rawValue)
}

/// What follows an iteration.
package enum NextIteration: Sendable {
    /// Wait until something is ready.
    case wait
    /// There is more to do: look at what is ready without waiting for it.
    case atOnce
    case stop
}

/// One thread's descriptors, deadline, signals and posted work, in iterations: wait, hand out everything that is
/// ready, then call the end of the iteration once, where the host commits and acts.
///
/// Confined to the thread that runs it; others reach it through its ``mailbox``.
package final class EventLoop {
    /// Names one registered descriptor; never used twice, so a stale event finds nobody.
    package struct Registration: Hashable, Sendable {
        fileprivate let token: UInt64
    }

    private struct Registered {
        let descriptor: Int32
        var interest: Readiness
        let callback: (Readiness) -> Void
    }

    private enum Own {
        static let mailbox: UInt64 = 0
        static let timer: UInt64 = 1
        static let signals: UInt64 = 2
        static let firstFree: UInt64 = 3
    }

    private static let eventsPerWait: Int32 = 64

    package let mailbox: EventLoopMailbox
    /// Called once when ``deadline`` has come; the deadline is nil by then.
    package var onDeadline: () -> Void = {}
    /// Called with each signal of those that the loop was made for.
    package var onSignal: (Int32) -> Void = { _ in }

    private let epoll: OwnedDescriptor
    private let timer: OwnedDescriptor
    private let signals: OwnedDescriptor
    private var registered: [UInt64: Registered] = [:]
    private var nextToken = Own.firstFree
    /// When the timer goes off.
    private var armed: Instant?
    private var events = [epoll_event](repeating: epoll_event(), count: Int(EventLoop.eventsPerWait))

    /// `signals` are blocked in this thread and in those that it starts from now on.
    ///
    /// - Throws: ``TransportError`` when the kernel gives no descriptor for the loop.
    package init(signals: [Int32] = [SIGTERM, SIGINT]) throws(TransportError) {
        epoll = try Self.own(epoll_create1(Int32(EPOLL_CLOEXEC)), "epoll")
        timer = try Self.own(latch_timerfd_create(), "timerfd")
        let mask = signals.reduce(into: UInt64(0)) { $0 |= 1 << UInt64($1) }
        self.signals = try Self.own(latch_signalfd(mask), "signalfd")
        let wakeup = try Self.own(eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC)), "eventfd")
        mailbox = EventLoopMailbox(wakeup: wakeup)
        try add(mailbox.wakeup.rawValue, .readable, Own.mailbox)
        try add(timer.rawValue, .readable, Own.timer)
        try add(self.signals.rawValue, .readable, Own.signals)
    }

    /// When ``onDeadline`` is to be called, in boot time. It moves with nearly every packet, and mostly away: the timer is
    /// left as it is then, and set anew when it has gone off too early.
    package var deadline: Instant? {
        didSet { if let deadline, armed.map({ deadline < $0 }) ?? true { arm(deadline) } }
    }

    private func arm(_ instant: Instant) {
        armed = instant
        // 0 would disarm it.
        _ = latch_timerfd_set(timer.rawValue, max(1, instant.nanoseconds))
    }

    /// Calls `callback` in each iteration in which `descriptor` is ready for something of `interest`, until it is
    /// unregistered, which must be before it is closed.
    ///
    /// - Throws: ``TransportError`` when the kernel cannot watch `descriptor`, a file for instance.
    package func register(
        _ descriptor: Int32, _ interest: Readiness, _ callback: @escaping (Readiness) -> Void
    ) throws(TransportError) -> Registration {
        let token = nextToken
        try add(descriptor, interest, token)
        nextToken += 1
        registered[token] = Registered(descriptor: descriptor, interest: interest, callback: callback)
        return Registration(token: token)
    }

    package func setInterest(_ interest: Readiness, of registration: Registration) {
        guard let known = registered[registration.token], known.interest != interest else { return }
        registered[registration.token]?.interest = interest
        _ = latch_epoll_modify(epoll.rawValue, known.descriptor, interest.rawValue, registration.token)
    }

    /// Its callback is not called any more, not even for what is ready in this iteration.
    package func unregister(_ registration: Registration) {
        guard let known = registered.removeValue(forKey: registration.token) else { return }
        _ = latch_epoll_remove(epoll.rawValue, known.descriptor)
    }

    /// Runs iterations until one's end says stop. In each: descriptors in the order in which they became ready, then the
    /// deadline, signals, posted work, then `endOfIteration`, exactly once.
    ///
    /// - Throws: ``TransportError`` when waiting itself fails.
    package func run(endOfIteration: () -> NextIteration) throws(TransportError) {
        mailbox.adoptCurrentThread()
        var next = NextIteration.wait
        while next != .stop {
            try iterate(timeoutMilliseconds: next == .atOnce ? 0 : -1)
            next = endOfIteration()
        }
    }

    /// Runs what was posted and finds no iteration any more, once ``run(endOfIteration:)`` has ended.
    package func runPosted() { mailbox.take().forEach { $0() } }

    private func iterate(timeoutMilliseconds: Int32) throws(TransportError) {
        let count = epoll_wait(epoll.rawValue, &events, Self.eventsPerWait, timeoutMilliseconds)
        guard count >= 0 else {
            if errno == EINTR { return }
            throw TransportError(system: errno, "epoll")
        }
        var isPosted = false
        var isTimed = false
        var isSignalled = false
        for index in 0..<Int(count) {
            var event = events[index]
            switch latch_epoll_token(&event) {
            case Own.mailbox: isPosted = true
            case Own.timer: isTimed = true
            case Own.signals: isSignalled = true
            case let token: registered[token]?.callback(Readiness(rawValue: latch_epoll_events(&event)))
            }
        }
        if isTimed { fireDeadline() }
        if isSignalled { readSignals() }
        if isPosted { runPosted() }
    }

    private func fireDeadline() {
        var expirations: UInt64 = 0
        // A deadline that was set anew in this iteration has made the descriptor unreadable again.
        guard read(timer.rawValue, &expirations, MemoryLayout<UInt64>.size) > 0 else { return }
        armed = nil
        guard let due = deadline else { return }
        guard due <= SystemClock.now() else { return arm(due) }
        deadline = nil
        onDeadline()
    }

    private func readSignals() {
        while case let number = latch_signalfd_read(signals.rawValue), number != 0 { onSignal(Int32(number)) }
    }

    private func add(_ descriptor: Int32, _ interest: Readiness, _ token: UInt64) throws(TransportError) {
        guard latch_epoll_add(epoll.rawValue, descriptor, interest.rawValue, token) == 0 else {
            throw TransportError(system: errno, "epoll cannot watch descriptor \(descriptor)")
        }
    }

    private static func own(_ descriptor: Int32, _ name: String) throws(TransportError) -> OwnedDescriptor {
        guard descriptor >= 0 else { throw TransportError(system: errno, name) }
        return OwnedDescriptor(descriptor)
    }
}
