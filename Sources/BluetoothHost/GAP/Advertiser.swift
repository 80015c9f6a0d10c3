import BluetoothCore
import HCI

/// Keeps one advertising set of the controller as it is wanted: compares what is wanted with what the controller was last
/// told, and names the one command that brings them closer. With the legacy commands the controller has one set, which
/// cannot be removed and has no address of its own.
///
/// Core 5.4, Vol 3, Part C, 9.3.2 (Non-connectable mode) and 9.3.4 (Undirected connectable mode); Vol 4, Part E, 7.8.5–7.8.9 and 7.8.52–7.8.59
package struct Advertiser {
    /// What is on the air: PDUs that every scanner understands, or such as carry more than 31 octets.
    package enum PDUs: Equatable, Sendable { case legacy, extended }

    package struct Payload: Equatable, Sendable {
        package var pdus: PDUs
        package var mode: ConnectableMode
        package var data: [UInt8]
        /// Of extended PDUs there is none: what is connectable, or has data of its own, is not scannable.
        package var scanResponse: [UInt8]

        package init(
            pdus: PDUs = .legacy, mode: ConnectableMode = .connectable, data: [UInt8], scanResponse: [UInt8] = []
        ) {
            self.pdus = pdus
            self.mode = mode
            self.data = data
            self.scanResponse = scanResponse
        }
    }

    package enum Action: Equatable, Sendable {
        case setParameters(PDUs, ConnectableMode)
        case setAddress(DeviceAddress)
        case setData(LEAdvertisingDataPiece)
        case setScanResponse(LEAdvertisingDataPiece)
        case enable
        case disable
        case remove
    }

    /// nil advertises nothing.
    package var wanted: Payload? { didSet { if wanted != oldValue { failure = nil } } }
    /// The set's own address; nil where it has none, and the controller's random address counts.
    package var wantedAddress: DeviceAddress? { didSet { if wantedAddress != oldValue { failure = nil } } }
    /// Advertising rests while the address that it is under is about to change.
    package var isHeld = false { didSet { if isHeld != oldValue { failure = nil } } }
    /// No connection slot is free for whoever would answer: what nobody can connect to goes on.
    package var isFull = false { didSet { if isFull != oldValue { failure = nil } } }
    /// What the controller said to the last command that it refused; nothing more is tried until the wish changes.
    package private(set) var failure: HCIErrorCode?
    package private(set) var isEnabled = false
    /// The address that the controller was told for this set.
    package private(set) var address: DeviceAddress?

    /// The command under way, and what was wanted when it was sent.
    private var outstanding: (action: Action, payload: Payload?)?
    private var kind: (pdus: PDUs, mode: ConnectableMode)?
    private var data = ToldData()
    private var scanResponse = ToldData()

    package init() {}

    /// The next command to send; nil while one is outstanding and when nothing is left to do.
    package mutating func next() -> Action? {
        guard outstanding == nil, failure == nil, let action = missing() else { return nil }
        outstanding = (action, wanted)
        return action
    }

    /// The controller answered the command that ``next()`` named.
    package mutating func completed(_ status: HCIErrorCode) {
        guard let (action, payload) = outstanding else { return }
        outstanding = nil
        guard status == .success else {
            failure = status
            // Whether the pieces before the refused one stand, nobody can say.
            if case .setData = action { data = ToldData() }
            if case .setScanResponse = action { scanResponse = ToldData() }
            return
        }
        switch action {
        case .setParameters(let pdus, let mode): kind = (pdus, mode)
        case .setAddress(let told): address = told
        case .setData: data.toldPiece(of: payload?.data)
        case .setScanResponse: scanResponse.toldPiece(of: payload?.scanResponse)
        case .enable: isEnabled = true
        case .disable: isEnabled = false
        case .remove: forget()
        }
    }

    /// A connection was made to us: the controller stopped advertising by itself.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.2.3 (Connectable and scannable undirected event type)
    package mutating func stopped() {
        isEnabled = false
        failure = nil
    }

    /// What was refused may be asked once more.
    package mutating func retry() { failure = nil }

    /// Everything that is wanted is on the air, and nothing is asked of the controller.
    package var isOnAir: Bool { wanted != nil && isEnabled && outstanding == nil && missing() == nil }

    /// On the air, and whoever hears it may connect.
    package var takesConnections: Bool { isEnabled && kind?.mode == .connectable }

    /// Nothing is on the air, and nothing is asked of the controller.
    package var isAtRest: Bool { !isEnabled && outstanding == nil }

    /// The controller forgot everything.
    package mutating func reset() {
        let kept = (wanted, wantedAddress, isHeld, isFull)
        self = Self()
        (wanted, wantedAddress, isHeld, isFull) = kept
    }

    private mutating func forget() {
        kind = nil
        address = nil
        data = ToldData()
        scanResponse = ToldData()
    }

    private func missing() -> Action? {
        guard let wanted, !isHeld, !isFull || wanted.mode != .connectable else { return isEnabled ? .disable : nil }
        let wantedKind = (wanted.pdus, wanted.mode)
        guard let kind else { return .setParameters(wanted.pdus, wanted.mode) }
        // Core 5.4, Vol 4, Part E, 7.8.53: not while enabled, and not with data that the other kind does not have.
        if kind != wantedKind { return isEnabled ? .disable : .remove }
        // Core 5.4, Vol 4, Part E, 7.8.52: not while connectable advertising is enabled.
        if let wantedAddress, wantedAddress != address { return isEnabled ? .disable : .setAddress(wantedAddress) }
        if let piece = data.next(of: wanted.data) {
            // Core 5.4, Vol 4, Part E, 7.8.54: data in several pieces is taken only while the set is disabled.
            return isEnabled && piece.operation != .complete ? .disable : .setData(piece)
        }
        // Core 5.4, Vol 4, Part E, 7.8.55: refused by a set that nobody can scan.
        if wanted.pdus == .legacy, wanted.mode.isScannable, let piece = scanResponse.next(of: wanted.scanResponse) {
            return .setScanResponse(piece)
        }
        return isEnabled ? nil : .enable
    }
}

/// What the controller was told of some data: all of it, or how many of its pieces.
private struct ToldData {
    private var whole: [UInt8]?
    private var partly: (data: [UInt8], pieces: Int) = ([], 0)

    func next(of wanted: [UInt8]) -> LEAdvertisingDataPiece? {
        guard wanted != whole else { return nil }
        return LEAdvertisingDataPiece.cut(wanted).dropFirst(toldPieces(of: wanted)).first
    }

    mutating func toldPiece(of data: [UInt8]?) {
        guard let data else { return }
        partly = (data, toldPieces(of: data) + 1)
        guard partly.pieces >= LEAdvertisingDataPiece.cut(data).count else { return whole = nil }
        self = ToldData()
        whole = data
    }

    /// The first piece of other data throws away what was there.
    private func toldPieces(of data: [UInt8]) -> Int { partly.data == data ? partly.pieces : 0 }
}
