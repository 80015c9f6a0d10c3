import Foundation
import Synchronization

/// Where a stream calls its delegate: the run loop that it was scheduled on. Events that nobody has heard yet come in one turn of
/// that loop, in Foundation's order; without a run loop they wait for one.
final class StreamSchedule: @unchecked Sendable {
    private struct State: Sendable {
        nonisolated(unsafe) var loop: RunLoop?
        var modes: [RunLoop.Mode] = []
        /// Never due: a loop that waits for a stream goes on, as with Apple's, though nothing else is in it.
        nonisolated(unsafe) var keeper: Timer?
        var pending: Stream.Event = []
        /// Due at once, on that loop.
        nonisolated(unsafe) var wake: Timer?
    }

    private let state = Mutex(State())
    private let tell: @Sendable (Stream.Event) -> Void
    private static let order: [Stream.Event] = [
        .openCompleted, .hasBytesAvailable, .hasSpaceAvailable, .errorOccurred, .endEncountered,
    ]

    init(tell: @escaping @Sendable (Stream.Event) -> Void) { self.tell = tell }

    /// Another run loop takes the place of the one before.
    func add(_ loop: RunLoop, _ mode: RunLoop.Mode) {
        state.withLock { state in
            if state.loop !== loop {
                Self.leave(&state)
                state.keeper = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
                state.loop = loop
            }
            guard !state.modes.contains(mode) else { return }
            state.modes.append(mode)
            for timer in [state.keeper, state.wake].compactMap(\.self) { loop.add(timer, forMode: mode) }
        }
        arm()
    }

    func remove(_ loop: RunLoop, _ mode: RunLoop.Mode) {
        state.withLock { state in
            guard state.loop === loop else { return }
            state.modes.removeAll { $0 == mode }
            if state.modes.isEmpty { Self.leave(&state) }
        }
    }

    /// It is on no run loop any more, and what nobody has heard is not told.
    func end() {
        state.withLock { state in
            Self.leave(&state)
            state.pending = []
        }
    }

    private static func leave(_ state: inout State) {
        state.keeper?.invalidate()
        state.wake?.invalidate()
        (state.loop, state.modes, state.keeper, state.wake) = (nil, [], nil, nil)
    }

    func post(_ events: Stream.Event) {
        state.withLock { $0.pending.formUnion(events) }
        arm()
    }

    /// A timer that is due at once wakes the loop, where a block that is handed to it would wait for the next thing to happen.
    private func arm() {
        state.withLock { state in
            guard let loop = state.loop, !state.pending.isEmpty, state.wake == nil else { return }
            let wake = Timer(timeInterval: 0, repeats: false) { [weak self] in self?.fire($0) }
            state.wake = wake
            for mode in state.modes { loop.add(wake, forMode: mode) }
        }
    }

    /// A timer of a loop that the stream has left meanwhile tells nothing there.
    private func fire(_ timer: Timer) {
        let events = state.withLock { state -> Stream.Event in
            guard state.wake === timer else { return [] }
            defer { (state.pending, state.wake) = ([], nil) }
            return state.pending
        }
        for event in Self.order where events.contains(event) { tell(event) }
    }
}
