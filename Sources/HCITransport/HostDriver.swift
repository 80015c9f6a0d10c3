import BluetoothCore
import BluetoothHost
import HCI

/// Joins a host to a controller's stream, a clock and a store on one event loop: reads what is ready, lets the host
/// work, commits once, and only then lets the host's acts go.
package final class HostDriver {
    package let host: Host
    package let loop: EventLoop
    /// How managers on other threads reach the host.
    package let executor: any HostExecutor

    private let stream: HCIStream
    private let coordinator: any TransactionCoordinator
    private var registration: EventLoop.Registration?
    private var failure: (any Error)?
    private var isStopping = false
    /// Called after each commit while nothing else is ready to run: where a store's housekeeping belongs.
    package var onIdle: () throws -> Void = {}

    package init(host: Host, loop: EventLoop, stream: HCIStream, coordinator: any TransactionCoordinator) {
        self.host = host
        self.loop = loop
        self.stream = stream
        self.coordinator = coordinator
        executor = LoopExecutor(host: host, mailbox: loop.mailbox)
    }

    /// Opens the host on the stream and runs until ``stop()``; throws what ended it otherwise: a transport that is gone,
    /// or a commit that failed. Then nothing that depended on the commit has left.
    package func run() throws {
        registration = try loop.register(stream.descriptor, .readable) { [unowned self] readiness in
            streamReady(readiness)
        }
        loop.onDeadline = { [unowned self] in
            host.beginIteration(now: SystemClock.now())
            host.timerFired()
        }
        host.beginIteration(now: SystemClock.now())
        host.transportOpened()
        try settle()
        try loop.run { [unowned self] in endOfIteration() }
        if let failure { throw failure }
    }

    /// Ends ``run()`` after this iteration, whose acts still go.
    package func stop() { isStopping = true }

    private func streamReady(_ readiness: Readiness) {
        host.beginIteration(now: SystemClock.now())
        do throws(HCIStreamError) {
            if readiness.contains(.writable) { try stream.flush() }
            if !readiness.isDisjoint(with: [.readable, .hangup]) {
                try stream.readAvailable { host.received($0, $1) }
            }
        } catch {
            failure = error
        }
    }

    private func endOfIteration() -> NextIteration {
        do {
            try settle()
            try onIdle()
        } catch {
            failure = failure ?? error
        }
        return failure != nil || isStopping ? .stop : .wait
    }

    /// Commits, then acts, until the acts have asked for nothing more.
    private func settle() throws {
        // A stream that broke takes no packets, but what was read before it broke is committed.
        repeat {
            host.endIteration()
            try coordinator.commit(host.participants)
            for act in host.takeActs() {
                switch act {
                case .packet(let packet): if failure == nil { try stream.send(packet.span.bytes) }
                case .call(let call): call()
                }
            }
        } while host.hasWork
        if failure == nil { try stream.flush() }
        if let registration {
            loop.setInterest(stream.wantsWrite ? [.readable, .writable] : .readable, of: registration)
        }
        loop.deadline = host.deadline
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
        if mailbox.isOnLoopThread { return run(body) }
        mailbox.post { self.run(body) }
    }

    private func run(_ body: (Host) -> Void) {
        host.beginIteration(now: SystemClock.now())
        body(host)
    }
}
