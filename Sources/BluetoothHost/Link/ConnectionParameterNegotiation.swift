import BluetoothCore
import HCI
import L2CAP

/// A peripheral's wish for other connection parameters, and what it has asked for: one thing at a time, the newest wish, by
/// the link layer where both controllers can, and by L2CAP where not.
///
/// Core 5.4, Vol 3, Part C, 9.3.9 (Connection Parameter Update procedure)
struct ConnectionParameterNegotiation {
    enum Output: Equatable {
        /// Core 5.4, Vol 4, Part E, 7.8.18 (LE Connection Update command): a peripheral's starts the link layer's Connection
        /// Parameters Request procedure.
        case askLinkLayer(ConnectionParameters)
        /// Core 5.4, Vol 3, Part A, 4.20 (L2CAP_CONNECTION_PARAMETER_UPDATE_REQ)
        case askL2CAP(ConnectionParameters)
    }

    /// Core 5.4, Vol 3, Part C, Appendix A (TGAP(conn_pause_peripheral)): from the connection to the first wish.
    static let pauseMilliseconds: UInt64 = 5_000
    /// Core 5.4, Vol 3, Part C, Appendix A (TGAP(conn_param_timeout)): from an answer to the next request.
    static let restMilliseconds: UInt64 = 30_000
    /// Core 5.4, Vol 6, Part B, 5.2 (Procedure response timeout): the link layer answers or gives the link up in 40 s. It is
    /// not waited for beyond that.
    static let linkLayerTimeoutMilliseconds: UInt64 = 41_000

    private enum State: Equatable {
        case idle
        case resting(until: Instant)
        case askingLinkLayer(ConnectionParameters, deadline: Instant)
        /// Has a timeout of its own.
        case askingL2CAP
    }

    private var state: State
    private var wish: ConnectionParameters?
    /// Off once the controllers have shown that they cannot.
    private var usesLinkLayer: Bool

    init(connectedAt now: Instant, usesLinkLayer: Bool) {
        state = .resting(until: now.advanced(byMilliseconds: Self.pauseMilliseconds))
        self.usesLinkLayer = usesLinkLayer
    }

    var deadline: Instant? {
        switch state {
        case .idle, .askingL2CAP: nil
        case .resting(let until): wish == nil ? nil : until
        case .askingLinkLayer(_, let deadline): deadline
        }
    }

    /// Takes the place of a wish that has not been asked for yet. It must be valid.
    mutating func want(_ parameters: ConnectionParameters, now: Instant) -> Output? {
        wish = parameters
        return next(now)
    }

    /// The controller took the command, or did not: then L2CAP is what is left.
    mutating func linkLayerAnswered(_ status: HCIErrorCode) -> Output? {
        guard status != .success else { return nil }
        return fallBack()
    }

    /// The link's parameters have changed, or the peer does not want that.
    mutating func linkLayerCompleted(_ status: HCIErrorCode, now: Instant) -> Output? {
        guard case .askingLinkLayer = state else { return nil }
        if status == .unsupportedRemoteFeature { return fallBack() }
        return rest(now)
    }

    mutating func l2capFinished(now: Instant) -> Output? {
        guard case .askingL2CAP = state else { return nil }
        return rest(now)
    }

    mutating func timerFired(now: Instant) -> Output? {
        switch state {
        case .askingLinkLayer(_, let deadline) where deadline <= now: rest(now)
        case .idle, .resting, .askingLinkLayer, .askingL2CAP: next(now)
        }
    }

    private mutating func fallBack() -> Output? {
        guard case .askingLinkLayer(let asked, _) = state else { return nil }
        usesLinkLayer = false
        state = .askingL2CAP
        let parameters = wish ?? asked
        wish = nil
        return .askL2CAP(parameters)
    }

    private mutating func rest(_ now: Instant) -> Output? {
        state = .resting(until: now.advanced(byMilliseconds: Self.restMilliseconds))
        return nil
    }

    private mutating func next(_ now: Instant) -> Output? {
        switch state {
        case .resting(let until) where until > now: return nil
        case .askingLinkLayer, .askingL2CAP: return nil
        case .idle, .resting: break
        }
        guard let parameters = wish else {
            state = .idle
            return nil
        }
        wish = nil
        guard usesLinkLayer else {
            state = .askingL2CAP
            return .askL2CAP(parameters)
        }
        state = .askingLinkLayer(
            parameters, deadline: now.advanced(byMilliseconds: Self.linkLayerTimeoutMilliseconds))
        return .askLinkLayer(parameters)
    }
}
