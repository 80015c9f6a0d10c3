import BluetoothCore
import HCI

/// Keeps the controller's legacy advertising as it is wanted: compares what is wanted with what the controller was last
/// told, and names the one command that brings them closer.
///
/// Core 5.4, Vol 3, Part C, 9.3.4 (Undirected connectable mode); Vol 4, Part E, 7.8.5–7.8.9
package struct Advertiser {
    package struct Payload: Equatable, Sendable {
        package var data: [UInt8]
        package var scanResponse: [UInt8]

        package init(data: [UInt8], scanResponse: [UInt8]) {
            self.data = data
            self.scanResponse = scanResponse
        }
    }

    package enum Action: Equatable, Sendable {
        case setParameters
        case setData([UInt8])
        case setScanResponse([UInt8])
        case enable
        case disable
    }

    /// nil advertises nothing.
    package var wanted: Payload? { didSet { if wanted != oldValue { failure = nil } } }
    /// Advertising rests while no connection slot is free for whoever would answer it.
    package var isHeld = false { didSet { if isHeld != oldValue { failure = nil } } }
    /// What the controller said to the last command that it refused; nothing more is tried until the wish changes.
    package private(set) var failure: HCIErrorCode?
    package private(set) var isEnabled = false

    private var outstanding: Action?
    private var parametersAreSet = false
    private var data: [UInt8]?
    private var scanResponse: [UInt8]?

    package init() {}

    /// The next command to send; nil while one is outstanding and when nothing is left to do.
    package mutating func next() -> Action? {
        guard outstanding == nil, failure == nil else { return nil }
        outstanding = missing()
        return outstanding
    }

    /// The controller answered the command that ``next()`` named.
    package mutating func completed(_ status: HCIErrorCode) {
        guard let action = outstanding else { return }
        outstanding = nil
        guard status == .success else {
            failure = status
            return
        }
        switch action {
        case .setParameters: parametersAreSet = true
        case .setData(let sent): data = sent
        case .setScanResponse(let sent): scanResponse = sent
        case .enable: isEnabled = true
        case .disable: isEnabled = false
        }
    }

    /// A connection was made to us: the controller stopped advertising by itself.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.2.3 (Connectable and scannable undirected event type)
    package mutating func connectionMade() {
        isEnabled = false
        failure = nil
    }

    /// What was refused may be asked once more.
    package mutating func retry() { failure = nil }

    /// Everything that is wanted is on the air, and nothing is asked of the controller.
    package var isOnAir: Bool { wanted != nil && isEnabled && outstanding == nil && missing() == nil }

    /// The controller forgot everything.
    package mutating func reset() {
        let kept = (wanted, isHeld)
        self = Self()
        (wanted, isHeld) = kept
    }

    private func missing() -> Action? {
        guard let wanted, !isHeld else { return isEnabled ? .disable : nil }
        if !parametersAreSet { return .setParameters }
        if data != wanted.data { return .setData(wanted.data) }
        if scanResponse != wanted.scanResponse { return .setScanResponse(wanted.scanResponse) }
        return isEnabled ? nil : .enable
    }
}
