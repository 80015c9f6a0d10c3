import CoreBluetoothEssentials
import Foundation
import Synchronization

/// What both streams have in common: how they stand, who hears of them, and where.
final class ChannelStreamCore: @unchecked Sendable {
    private struct State: Sendable {
        var status = Stream.Status.notOpen
        var error: (any Error)?
        nonisolated(unsafe) weak var delegate: (any StreamDelegate)?
        nonisolated(unsafe) weak var stream: Stream?
    }

    private let state = Mutex(State())
    private(set) weak var channel: CBL2CAPChannel?
    /// Set before anybody has the stream.
    var onClose: () -> Void = {}
    private var schedule: StreamSchedule?

    init(_ channel: CBL2CAPChannel?) { self.channel = channel }

    /// Whose it is.
    func begin(_ stream: Stream) {
        state.withLock { $0.stream = stream }
        schedule = StreamSchedule { [weak self] in self?.tell($0) }
    }

    var status: Stream.Status { state.withLock { $0.status } }
    var error: (any Error)? { state.withLock { $0.error } }
    var isOpen: Bool { status == .open }

    var delegate: (any StreamDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    func add(_ loop: RunLoop, _ mode: RunLoop.Mode) { schedule?.add(loop, mode) }
    func remove(_ loop: RunLoop, _ mode: RunLoop.Mode) { schedule?.remove(loop, mode) }

    /// Whether it was not open before.
    func open() -> Bool {
        let isNews = state.withLock { state in
            guard state.status == .notOpen else { return false }
            state.status = .open
            return true
        }
        if isNews { schedule?.post(.openCompleted) }
        return isNews
    }

    func close() {
        let isNews = state.withLock { state in
            defer { state.status = .closed }
            return state.status != .closed
        }
        schedule?.end()
        if isNews { onClose() }
    }

    /// The channel is no more; with an error where nobody had asked for that.
    func end(_ error: (any Error)?) {
        let isNews = state.withLock { state in
            guard state.status == .open || state.status == .notOpen else { return false }
            (state.status, state.error) = (error == nil ? .atEnd : .error, error)
            return true
        }
        if isNews { schedule?.post(error == nil ? .endEncountered : .errorOccurred) }
    }

    /// Told while it is open, and to nobody before.
    func post(_ event: Stream.Event) { if isOpen { schedule?.post(event) } }

    private func tell(_ event: Stream.Event) {
        // Somebody may have read or written since: whoever is told does not have to wait.
        if event == .hasBytesAvailable, channel?.hasBytesAvailable != true { return }
        if event == .hasSpaceAvailable, channel?.hasSpaceAvailable != true { return }
        let (delegate, stream) = state.withLock { $0.status == .closed ? (nil, nil) : ($0.delegate, $0.stream) }
        if let delegate, let stream { delegate.stream(stream, handle: event) }
    }
}
