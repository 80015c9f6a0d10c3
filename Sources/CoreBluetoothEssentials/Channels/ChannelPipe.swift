import BluetoothCore
import BluetoothHost
import Dispatch
import FoundationEssentials
import Synchronization

/// What is between an app's channel and the host's: octets on their way in both directions, bounded.
///
/// The channel belongs to the app, which may let go of it; the pipe lives until the host has ended the channel.
final class ChannelPipe: @unchecked Sendable {
    struct State: Sendable {
        weak var channel: CBL2CAPChannel?
        var delegate = Delegate<any CBL2CAPChannelDelegate>()
        /// Arrived and not read: never more than the host's window.
        var incoming: [UInt8] = []
        /// Written and not yet taken by the host.
        var outgoing: [UInt8] = []
        var isOpen = true
        /// The app has closed it: nothing more is taken.
        var isClosing = false
        var end: ChannelEnd?
        /// A write was not taken whole, and the app waits to hear of room.
        var roomIsAwaited = false
        /// Calls of the delegate that are under way and have not begun: one of each kind is enough.
        var isTellingBytes = false
        var isTellingSpace = false
        var isEndTold = false
        /// Threads that stand still until something has changed.
        var waiting: [DispatchSemaphore] = []

        var room: Int { max(0, ChannelPipe.outgoingOctetsMaximum - outgoing.count) }
    }

    /// Octets that `write` takes before the host has taken any.
    static let outgoingOctetsMaximum = 16_384
    /// How long an app's octets may wait for the peer's credits once the app has closed the channel.
    static let flushTimeoutMilliseconds: UInt64 = 30_000

    let state = Mutex(State())
    let id: HostChannelID
    private let sduOctetsMaximum: Int
    private let handle: CBHost
    private let delivery: CallbackDelivery
    /// On the loop only.
    private weak var host: Host?
    private var flushTimer: TimerToken?

    init(_ id: HostChannelID, sduOctetsMaximum: Int, handle: CBHost, delivery: CallbackDelivery, host: Host?) {
        self.id = id
        self.sduOctetsMaximum = sduOctetsMaximum
        self.handle = handle
        self.delivery = delivery
        self.host = host
    }

    // MARK: The app's side, on any thread

    func read(_ maxLength: Int) -> Data {
        let octets = state.withLock { state in
            let taken = Array(state.incoming.prefix(max(0, maxLength)))
            state.incoming.removeFirst(taken.count)
            return taken
        }
        guard !octets.isEmpty else { return Data() }
        handle.executor.execute { $0.consumed(octets.count, of: self.id) }
        return Data(octets)
    }

    func write(_ octets: [UInt8]) -> Int {
        let taken = state.withLock { state in
            guard state.isOpen, !state.isClosing else { return 0 }
            let taken = min(octets.count, state.room)
            state.outgoing += octets[..<taken]
            // Whoever has filled it hears of room, too, whether or not there was more.
            if taken < octets.count || state.room == 0 { state.roomIsAwaited = true }
            return taken
        }
        if taken > 0 { handle.executor.execute { _ in self.flush() } }
        return taken
    }

    func close() {
        let isNews = state.withLock { state in
            defer { state.isClosing = true }
            return state.isOpen && !state.isClosing
        }
        guard isNews else { return }
        handle.executor.execute { host in
            self.flush()
            guard self.state.withLock({ $0.isOpen && !$0.outgoing.isEmpty }) else { return }
            let timer = host.makeTimer()
            self.flushTimer = timer
            let deadline = host.now.advanced(byMilliseconds: Self.flushTimeoutMilliseconds)
            host.setTimer(timer, at: deadline) { _ in self.host?.closeChannel(self.id) }
        }
    }

    /// The thread goes on when `condition` holds.
    func wait(until condition: (State) -> Bool) {
        while true {
            let semaphore = state.withLock { state -> DispatchSemaphore? in
                guard !condition(state) else { return nil }
                let semaphore = DispatchSemaphore(value: 0)
                state.waiting.append(semaphore)
                return semaphore
            }
            guard let semaphore else { return }
            semaphore.wait()
        }
    }

    private func wakeWaiting() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for semaphore in waiting { semaphore.signal() }
    }

    // MARK: The host's side, on the loop

    /// Hands over what the host has room for; with all of it gone, a channel that the app has closed ends.
    func flush() {
        guard let host else { return }
        while true {
            let sdu = state.withLock { $0.isOpen ? Array($0.outgoing.prefix(sduOctetsMaximum)) : [] }
            guard !sdu.isEmpty, host.send(sdu, on: id) == .taken else { break }
            state.withLock { $0.outgoing.removeFirst(sdu.count) }
        }
        wakeWaiting()
        announceSpace()
        if state.withLock({ $0.isOpen && $0.isClosing && $0.outgoing.isEmpty }) { host.closeChannel(id) }
    }

    func received(_ sdu: [UInt8]) {
        // Nobody is there to read it.
        guard state.withLock({ $0.channel }) != nil else { return close() }
        state.withLock { $0.incoming += sdu }
        wakeWaiting()
        announceBytes()
    }

    func ended(_ end: ChannelEnd) {
        if let flushTimer { host?.setTimer(flushTimer, at: nil) { _ in } }
        state.withLock { state in
            state.isOpen = false
            state.end = end
            state.outgoing = []
        }
        wakeWaiting()
        announceEnd()
    }

    // MARK: Telling the app

    /// Asked for outside of the lock: the last reference to a delegate or a channel is never let go of inside.
    private var hasDelegate: Bool { state.withLock { $0.delegate }.value != nil }

    /// What is there already, to a delegate that comes late.
    func announceAll() {
        handle.executor.execute { _ in
            self.announceBytes()
            self.announceSpace()
            self.announceEnd()
        }
    }

    private func announceBytes() {
        guard hasDelegate else { return }
        let isNews = state.withLock { state in
            guard !state.incoming.isEmpty, !state.isTellingBytes else { return false }
            state.isTellingBytes = true
            return true
        }
        guard isNews else { return }
        tell {
            $0.isTellingBytes = false
        } _: {
            $0.channelHasBytesAvailable($1)
        }
    }

    private func announceSpace() {
        guard hasDelegate else { return }
        let isNews = state.withLock { state in
            guard state.roomIsAwaited, !state.isTellingSpace, state.isOpen,
                state.room >= Self.outgoingOctetsMaximum / 2
            else { return false }
            state.isTellingSpace = true
            state.roomIsAwaited = false
            return true
        }
        guard isNews else { return }
        tell {
            $0.isTellingSpace = false
        } _: {
            $0.channelHasSpaceAvailable($1)
        }
    }

    private func announceEnd() {
        guard hasDelegate else { return }
        let end = state.withLock { state -> ChannelEnd? in
            guard !state.isEndTold else { return nil }
            state.isEndTold = state.end != nil
            return state.end
        }
        guard let end else { return }
        tell { _ in
        } _: {
            $0.channelDidClose($1, error: end.failure.map { appleError($0) })
        }
    }

    private func tell(
        after change: @escaping @Sendable (inout State) -> Void,
        _ call: @escaping @Sendable (any CBL2CAPChannelDelegate, CBL2CAPChannel) -> Void
    ) {
        delivery.deliver(host) {
            let (delegate, channel) = self.state.withLock { state in
                change(&state)
                return (state.delegate, state.channel)
            }
            if let delegate = delegate.value, let channel { call(delegate, channel) }
        }
    }
}

/// One manager's channels, by the host's names.
final class ChannelRouter: ChannelDelegate {
    private let handle: CBHost
    private let delivery: CallbackDelivery
    weak var host: Host?
    private var pipes: [HostChannelID: ChannelPipe] = [:]
    private let opened: (ChannelInfo, ChannelPipe) -> Void
    /// For a channel that this side asked for and that was never open.
    private let failed: (HostChannelID, ChannelEnd) -> Void

    init(
        handle: CBHost, delivery: CallbackDelivery, host: Host, opened: @escaping (ChannelInfo, ChannelPipe) -> Void,
        failed: @escaping (HostChannelID, ChannelEnd) -> Void
    ) {
        self.handle = handle
        self.delivery = delivery
        self.host = host
        self.opened = opened
        self.failed = failed
    }

    func channelOpened(_ channel: ChannelInfo) {
        let pipe = ChannelPipe(
            channel.id, sduOctetsMaximum: channel.sduOctetsMaximum, handle: handle, delivery: delivery, host: host)
        pipes[channel.id] = pipe
        opened(channel, pipe)
    }

    func received(_ sdu: [UInt8], on channel: HostChannelID) { pipes[channel]?.received(sdu) }

    func channelHasRoom(_ channel: HostChannelID) { pipes[channel]?.flush() }

    func channelClosed(_ channel: HostChannelID, reason: ChannelEnd) {
        if let pipe = pipes.removeValue(forKey: channel) {
            pipe.ended(reason)
        } else {
            failed(channel, reason)
        }
    }
}
