import BluetoothCore
import HCI

/// The way to a controller on one event loop: opened, read, written, and opened again when it breaks. When that is, is
/// ``TransportRecovery``'s to say. Confined to the loop's thread.
package final class ControllerConnection {
    /// What it tells its owner, each in an iteration of the loop.
    package struct Listener {
        /// Something is about to be told: look at the clock.
        package var begin: () -> Void
        /// The descriptor is open: nothing is known of the controller behind it.
        package var opened: () -> Void
        package var closed: () -> Void
        package var packet: (HCIPacketType, RawSpan) -> Void
        /// Nothing is read until a Reset is sent.
        package var outOfStep: (_ indicator: UInt8?) -> Void
        package var notice: (TransportNotice) -> Void
        /// It never comes back.
        package var ended: (TransportError) -> Void
    }

    private struct Opened {
        let stream: HCIStream
        let registration: EventLoop.Registration
        /// What the loop was asked to watch for, so that it is not asked with every packet.
        var shownInterest: Readiness
    }

    private let loop: EventLoop
    private let now: () -> Instant
    private let openStream: () throws(TransportError) -> HCIStream
    private var launched: Result<HCIStream, TransportError>?
    private var recovery: TransportRecovery
    /// nil while there is no way.
    private var opened: Opened?
    private var listener: Listener?

    /// `launched`: what the first attempt gave, which was made before anything else was. `openStream` makes the others.
    package init(
        _ launched: Result<HCIStream, TransportError>, name: String, canReopen: Bool, loop: EventLoop,
        backOff: TransportRecovery.BackOff = TransportRecovery.BackOff(),
        now: @escaping () -> Instant = SystemClock.now,
        reopenedBy openStream: @escaping () throws(TransportError) -> HCIStream
    ) {
        self.launched = launched
        self.loop = loop
        self.now = now
        self.openStream = openStream
        recovery = TransportRecovery(name: name, canReopen: canReopen, backOff: backOff)
    }

    package var deadline: Instant? { Instant.earliest(recovery.deadline, opened?.stream.deadline) }

    /// Takes up what the launch found.
    package func start(_ listener: Listener) {
        self.listener = listener
        guard let launched else { return }
        self.launched = nil
        take(launched)
    }

    /// Lets the controller go for good, and tells nobody.
    package func end() {
        listener = nil
        close()
    }

    package func timerFired() {
        handle(.timerFired)
        opened?.stream.timerFired { take($0) }
    }

    /// A Reset does not mend it.
    package func reopen(reason: String) { handle(.broke(reason: reason)) }

    /// Takes a packet, indicator first; it goes out at the next ``flush()``, and nowhere while there is no controller.
    package func send(_ packet: RawSpan) {
        guard let stream = opened?.stream, !stream.isConnecting else { return }
        guarded { () throws(HCIStreamError) in try stream.send(packet) }
    }

    /// False when the stream broke over it, of which the listener has heard by then.
    @discardableResult
    package func flush() -> Bool {
        guard let stream = opened?.stream, !stream.isConnecting else { return true }
        let isWhole = guarded { () throws(HCIStreamError) in try stream.flush() }
        showInterest()
        return isWhole
    }

    @discardableResult
    private func guarded(_ body: () throws(HCIStreamError) -> Void) -> Bool {
        do throws(HCIStreamError) {
            try body()
            return true
        } catch {
            handle(.broke(reason: error.description))
            return false
        }
    }

    private func showInterest() {
        guard let opened else { return }
        let stream = opened.stream
        var interest: Readiness = stream.isConnecting ? .writable : stream.wantsRead ? .readable : []
        if !stream.isConnecting, stream.wantsWrite { interest.insert(.writable) }
        guard interest != opened.shownInterest else { return }
        self.opened?.shownInterest = interest
        loop.setInterest(interest, of: opened.registration)
    }

    // MARK: The machine's orders

    private func handle(_ input: TransportRecovery.Input) {
        var outputs: [TransportRecovery.Output] = []
        recovery.handle(input, now: now(), into: &outputs)
        for output in outputs {
            switch output {
            case .open: open()
            case .close: close()
            case .hostOpened: listener?.opened()
            case .hostClosed: listener?.closed()
            case .say(let notice): listener?.notice(notice)
            case .end(let error): listener?.ended(error)
            }
        }
    }

    private func open() {
        do throws(TransportError) { take(.success(try openStream())) } catch { take(.failure(error)) }
    }

    private func take(_ result: Result<HCIStream, TransportError>) {
        do throws(TransportError) {
            let fresh = try result.get()
            let registration = try loop.register(fresh.descriptor, .readable) { [unowned self] in ready($0) }
            opened = Opened(stream: fresh, registration: registration, shownInterest: .readable)
            handle(fresh.isConnecting ? .connecting : .opened)
            showInterest()
        } catch {
            handle(.failed(error))
        }
    }

    /// First out of the loop, then closed: the number may be another's at once.
    private func close() {
        if let opened { loop.unregister(opened.registration) }
        opened = nil
    }

    private func ready(_ readiness: Readiness) {
        guard let stream = opened?.stream else { return }
        listener?.begin()
        if stream.isConnecting { return finishConnecting(stream) }
        guarded { () throws(HCIStreamError) in
            if readiness.contains(.writable) { try stream.flush() }
            if !readiness.isDisjoint(with: [.readable, .hangup]) {
                try stream.readAvailable { take($0) }
            }
        }
    }

    private func take(_ input: HCIStreamInput) {
        switch input {
        case .packet(let type, let octets):
            // The process may have stood still between the loop's look at the clock and the read: what happens to a packet
            // happens no earlier than the packet was there.
            listener?.begin()
            listener?.packet(type, octets)
        case .outOfStep(let indicator): listener?.outOfStep(indicator)
        case .inStep(let octets): listener?.notice(.resynchronised(discardedOctets: octets))
        }
    }

    private func finishConnecting(_ stream: HCIStream) {
        do throws(TransportError) {
            try stream.finishConnecting()
            handle(.opened)
            showInterest()
        } catch {
            handle(.failed(error))
        }
    }
}
