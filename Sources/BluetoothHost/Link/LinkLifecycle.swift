import BluetoothCore

/// What one connection handle stands for, from its Connection Complete to its Disconnection Complete: which events reach
/// the link's other machines, and when its slot is free again. Nothing that a peer or a controller does keeps a slot for
/// ever.
///
/// Core 5.4, Vol 4, Part E, 7.7.65.1 (LE Connection Complete event), 7.1.6 (Disconnect command), 7.7.5 (Disconnection
/// Complete event)
package struct LinkLifecycle: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        /// The controller has no link there that this side knows of.
        case absent
        case open
        /// This side has asked for the end: nothing more is read from the link.
        case disconnecting(until: Instant)
        /// There was no slot for it. Nobody heard of it, and the end was asked for at once.
        case rejected(until: Instant)
    }

    package enum Input: CaseIterable, Sendable {
        /// Connection Complete, and there is a slot for whoever it is.
        case connected
        /// Connection Complete, and there is none.
        case connectedWithoutSlot
        /// This side wants it to end.
        case disconnect
        /// The controller refuses the Disconnect command: it knows no such link.
        case disconnectNotKnown
        /// The controller refuses the Disconnect command for another reason.
        case disconnectRefused
        /// Disconnection Complete.
        case disconnected
        /// Disconnection Complete that says that there was no disconnection.
        case notDisconnected
        /// Data, or any other event of the link's.
        case event
        /// It is later than the end should have come.
        case deadline
    }

    package enum Output: Equatable, Sendable {
        /// The controller broke its own rules.
        case fault
        /// Whoever has to do with the link hears that it is gone.
        case close
        case open
        /// The Disconnect command goes out.
        case disconnect
        /// The event is the link's to hear.
        case deliver
        /// Nobody can say what the controller holds: it is reset.
        case controllerFailed
    }

    /// The controller gives a peer that does not answer up by the supervision timeout, which is 32 s at most.
    package static let disconnectTimeoutMilliseconds: UInt64 = 40_000

    package private(set) var state = State.absent

    package init() {}

    package var isRejected: Bool {
        switch state {
        case .rejected: true
        case .absent, .open, .disconnecting: false
        }
    }

    package var deadline: Instant? {
        switch state {
        case .absent, .open: nil
        case .disconnecting(let until), .rejected(let until): until
        }
    }

    package mutating func handle(_ input: Input, now: Instant) -> [Output] {
        let until = now.advanced(byMilliseconds: Self.disconnectTimeoutMilliseconds)
        switch (state, input) {
        case (.absent, .connected):
            state = .open
            return [.open]
        // The controller gave away a handle that it had not taken back. What was there is gone.
        case (.open, .connected), (.disconnecting, .connected):
            state = .open
            return [.fault, .close, .open]
        case (.rejected, .connected):
            state = .open
            return [.fault, .open]
        case (.absent, .connectedWithoutSlot):
            state = .rejected(until: until)
            return [.disconnect]
        case (.open, .connectedWithoutSlot), (.disconnecting, .connectedWithoutSlot):
            state = .rejected(until: until)
            return [.fault, .close, .disconnect]
        case (.rejected, .connectedWithoutSlot):
            state = .rejected(until: until)
            return [.fault, .disconnect]

        case (.open, .disconnect):
            state = .disconnecting(until: until)
            return [.disconnect]
        case (.absent, .disconnect), (.disconnecting, .disconnect), (.rejected, .disconnect): return []

        // Its Disconnection Complete is lost, or was never sent.
        case (.disconnecting, .disconnectNotKnown):
            state = .absent
            return [.close]
        case (.rejected, .disconnectNotKnown):
            state = .absent
            return []
        // What became of it is known by its deadline.
        case (.disconnecting, .disconnectRefused), (.rejected, .disconnectRefused): return [.fault]
        case (.absent, .disconnectNotKnown), (.absent, .disconnectRefused), (.open, .disconnectNotKnown),
            (.open, .disconnectRefused):
            return []

        case (.open, .disconnected), (.disconnecting, .disconnected):
            state = .absent
            return [.close]
        case (.rejected, .disconnected):
            state = .absent
            return []
        // Its Connection Complete is lost. When that link was made the controller stopped advertising, or initiating, and this side
        // believes that it goes on: left alone, a lock would be on the air no more.
        case (.absent, .disconnected): return [.fault, .controllerFailed]
        case (.absent, .notDisconnected), (.open, .notDisconnected), (.disconnecting, .notDisconnected),
            (.rejected, .notDisconnected):
            return [.fault]

        case (.open, .event): return [.deliver]
        case (.absent, .event), (.disconnecting, .event), (.rejected, .event): return []

        case (.disconnecting(let until), .deadline), (.rejected(let until), .deadline):
            return until <= now ? [.controllerFailed] : []
        case (.absent, .deadline), (.open, .deadline): return []
        }
    }
}
