import BluetoothCore
import BluetoothHost
import HCI
import SecurityManager

/// Joins a host to a controller, a clock and a store on one event loop.
///
/// In: what the loop finds ready. Out: in each iteration the host works, the store commits once, and only then the
/// host's acts go to the controller and to the apps. ``run()`` ends when it is told to, when a commit fails, or when
/// the way to the controller is gone for good.
package final class HostDriver {
    /// What a slice of idle work leaves.
    package enum IdleSlice: Equatable, Sendable {
        /// Nothing more.
        case over
        /// Another slice.
        case more
        /// The same slice: somebody else holds what it needs, and it would find that at once again.
        case held
    }

    package let host: Host
    package let loop: EventLoop
    /// How managers on other threads reach the host.
    package let executor: any HostExecutor

    /// Where the air is.
    package enum Air {
        case controller(ControllerConnection)
        /// On an adapter that bluetoothd keeps.
        case bus(any BusConnection)
    }

    private let air: Air
    private let coordinator: any TransactionCoordinator
    private var failure: (any Error)?
    private var isStopping = false
    package typealias Housekeeping = (isDue: () -> Bool, perform: () throws -> Void)

    /// What is looked at in each iteration. Nobody else can be changing it meanwhile, as the compiler sees where it is private, and
    /// asks of what is not at run time.
    private struct Chores {
        var onIdle: () throws -> Void = {}
        var housekeeping: Housekeeping?
        var idleWork: (() throws -> IdleSlice)?
    }

    private var chores = Chores()
    /// Called after each commit.
    package var onIdle: () throws -> Void {
        get { chores.onIdle }
        set { chores.onIdle = newValue }
    }
    /// What a store has to do for itself: whether it is due, which is asked at each iteration's end, and the doing, once the radio
    /// is quiet.
    package var housekeeping: Housekeeping? {
        get { chores.housekeeping }
        set { chores.housekeeping = newValue }
    }
    /// One slice of what can wait until the radio is quiet. nil for nothing.
    package var idleWork: (() throws -> IdleSlice)? {
        get { chores.idleWork }
        set { chores.idleWork = newValue }
    }
    /// When the next slice is due; the one before it was done then.
    private var sliceDue: Instant?
    private var lastSlice = Instant(nanoseconds: 0)
    private var hasHeardPacket = false
    /// Nothing has come from the controller for so long: whoever is on the air is not kept waiting.
    package static let quietMilliseconds: UInt64 = 10
    /// However much comes from it, slices go on at this pace; and one that is held is tried again at it.
    package static let sliceIntervalMaximumMilliseconds: UInt64 = 100

    /// The way to the controller broke, or is there again.
    package var onTransportNotice: (TransportNotice) -> Void = { _ in }

    /// The kernel is to have a setup code: ``BluetoothHost/Host/codeProvided(_:)`` says what came of it, in an iteration of the loop.
    package var onCode: (OutOfBandData, _ adapter: UInt16) -> Void = { _, _ in }

    /// Asks the kernel how strong a link is: ``BluetoothHost/Host/strengthRead(of:_:)`` says what came of it, in an iteration of the loop.
    package var onStrength: (DeviceAddress, _ adapter: UInt16) -> Void = { _, _ in }

    /// The controller is there and fails.
    package var onControllerFailure: (ControllerFailure, ControllerRemedy) -> Void = { _, _ in }

    package init(
        host: Host, loop: EventLoop, air: Air, coordinator: any TransactionCoordinator
    ) {
        self.host = host
        self.loop = loop
        self.air = air
        self.coordinator = coordinator
        executor = LoopExecutor(host: host, mailbox: loop.mailbox)
    }

    /// Runs the host, with its controller or while that is away, until ``stop()``.
    ///
    /// - Parameter begun: called when the controller has been asked for the first time: what can be done while it answers.
    /// - Throws: What ended it otherwise: a transport that cannot come back, or a commit that failed. Then nothing that
    /// depended on the commit has left, and the controller is let go, whoever still holds this.
    package func run(begun: () -> Void = {}) throws {
        do { try serve(begun) } catch {
            endAir()
            throw error
        }
    }

    private func serve(_ begun: () -> Void) throws {
        loop.onDeadline = { [unowned self] in
            beginIteration()
            airTimerFired()
            host.timerFired()
        }
        beginIteration()
        startAir()
        try settle()
        begun()
        if host.hasWork { try settle() }
        lastSlice = SystemClock.now()
        try workWhileIdle()
        if failure == nil { try loop.run { [unowned self] in endOfIteration() } }
        if let failure { throw failure }
    }

    /// Ends ``run()`` after this iteration, whose acts still go.
    package func stop() { isStopping = true }

    private func beginIteration() { host.beginIteration(now: SystemClock.now()) }

    private func endOfIteration() -> NextIteration {
        do {
            try settle()
            try onIdle()
            try workWhileIdle()
        } catch {
            failure = failure ?? error
        }
        return failure != nil || isStopping ? .stop : .wait
    }

    /// Does one slice of what can wait, if it is time for that, and sees to it that the loop comes by for the next.
    private func workWhileIdle() throws {
        let isHousekeepingDue = housekeeping?.isDue() ?? false
        guard isHousekeepingDue || idleWork != nil else { return sliceDue = nil }
        let now = SystemClock.now()
        // What has just become due waits for a moment of quiet as well.
        if sliceDue == nil { lastSlice = now }
        if hasHeardPacket || sliceDue == nil {
            sliceDue = min(
                now.advanced(byMilliseconds: Self.quietMilliseconds),
                lastSlice.advanced(byMilliseconds: Self.sliceIntervalMaximumMilliseconds))
        }
        hasHeardPacket = false
        if let due = sliceDue, due <= now {
            beginIteration()
            lastSlice = host.now
            if isHousekeepingDue {
                try housekeeping?.perform()
            } else if let slice = try idleWork?() {
                if slice == .over { idleWork = nil }
                if slice == .held {
                    sliceDue = lastSlice.advanced(byMilliseconds: Self.sliceIntervalMaximumMilliseconds)
                }
            }
            if host.hasWork { try settle() }
            if idleWork == nil { return sliceDue = nil }
        }
        loop.deadline = Instant.earliest(loop.deadline, sliceDue)
    }

    /// Ends ``run()`` with this iteration: what it stands on has turned out to be bad.
    package func fail(_ error: any Error) { failure = failure ?? error }

    /// Commits, then acts, until the acts have asked for nothing more. A controller that is gone takes no packets, but what
    /// was read before it went is committed.
    private func settle() throws {
        while true {
            try host.settleRound(coordinator, clock: SystemClock.now) { act in
                switch act {
                case .packet(let packet): if case .controller(let controller) = air { controller.send(packet) }
                case .code(let data, let adapter): onCode(data, adapter)
                case .strength(let peer, let adapter): onStrength(peer, adapter)
                case .bus(let act): if case .bus(let bus) = air { bus.perform(act) }
                case .controllerFailed(let failure, let remedy):
                    onControllerFailure(failure, remedy)
                    if remedy == .reopen, case .controller(let controller) = air {
                        controller.reopen(reason: failure.description)
                    }
                case .call(let call):
                    // What is called may take its time, and a packet that was in time must not wait for it.
                    flushAir()
                    call()
                }
            }
            if host.hasWork {
                // What has been let go waits for no other round.
                flushAir()
                continue
            }
            // A stream that breaks gives the host more to do.
            if flushAir() || !host.hasWork { break }
        }
        loop.deadline = Instant.earliest(host.deadline, airDeadline)
    }
}

// MARK: The air

extension HostDriver {
    private func startAir() {
        switch air {
        case .controller(let controller):
            controller.start(
                ControllerConnection.Listener(
                    begin: { [unowned self] in beginIteration() },
                    opened: { [host] in host.transportOpened() },
                    closed: { [host] in host.transportClosed() },
                    packet: { [unowned self] type, octets in
                        hasHeardPacket = true
                        host.received(type, octets)
                    },
                    outOfStep: { [host] in host.transportOutOfStep(indicator: $0) },
                    notice: { [unowned self] in onTransportNotice($0) },
                    ended: { [unowned self] in failure = failure ?? $0 }))
        case .bus(let bus):
            bus.start(
                BusListener(
                    begin: { [unowned self] in beginIteration() },
                    event: { [unowned self] in
                        hasHeardPacket = true
                        host.heard($0)
                    },
                    notice: { [unowned self] in onTransportNotice($0) },
                    ended: { [unowned self] in failure = failure ?? $0 }))
        }
    }

    private func endAir() {
        switch air {
        case .controller(let controller): controller.end()
        case .bus(let bus): bus.end()
        }
    }

    private func airTimerFired() {
        switch air {
        case .controller(let controller): controller.timerFired()
        case .bus(let bus): bus.timerFired()
        }
    }

    private var airDeadline: Instant? {
        switch air {
        case .controller(let controller): controller.deadline
        case .bus(let bus): bus.deadline
        }
    }

    /// False when the stream broke over it.
    @discardableResult
    private func flushAir() -> Bool {
        switch air {
        case .controller(let controller): return controller.flush()
        case .bus(let bus):
            bus.flush()
            return true
        }
    }
}

/// Reaches the host from any thread. The host itself never leaves the loop's.
private final class LoopExecutor: HostExecutor {
    private nonisolated(unsafe) let host: Host
    private let mailbox: EventLoopMailbox

    init(host: Host, mailbox: EventLoopMailbox) {
        self.host = host
        self.mailbox = mailbox
    }

    var isOnLoop: Bool { mailbox.isOnLoopThread }

    func execute(_ body: @escaping @Sendable (Host) -> Void) {
        if let host = join() { return body(host) }
        mailbox.post {
            self.host.beginIteration(now: SystemClock.now())
            body(self.host)
        }
    }

    func join() -> Host? {
        guard mailbox.isOnLoopThread else { return nil }
        host.beginIteration(now: SystemClock.now())
        return host
    }
}
