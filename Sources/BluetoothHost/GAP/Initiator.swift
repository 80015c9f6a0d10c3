import BluetoothCore
import HCI

/// Keeps the controller connecting to whom it should: one standing LE Create Connection for all that are wanted, by
/// address when that is one peer, else by the filter accept list. It never times out; a changed wish cancels and starts
/// anew.
///
/// Core 5.4, Vol 3, Part C, 9.3.5–9.3.8 (Connection establishment procedures); Vol 4, Part E, 7.8.12–7.8.17
package struct Initiator {
    package enum Action: Equatable, Sendable {
        case addToAcceptList(DeviceAddress)
        case removeFromAcceptList(DeviceAddress)
        case connect(DeviceAddress)
        case connectByAcceptList
        case cancel
    }

    /// Where the controller's LE Create Connection stands. There is one at a time.
    private enum Attempt: Equatable {
        case none
        /// Sent, and not yet answered by Command Status.
        case asked(Set<DeviceAddress>)
        case standing(Set<DeviceAddress>)
        /// Cancel sent: a Connection Complete, with 0x02 or with a link that was quicker, will end it.
        case cancelling
    }

    /// Who is to be connected, the longest asked first. What the accept list cannot hold waits for room.
    package private(set) var wanted: [DeviceAddress] = []
    package private(set) var failure: HCIErrorCode?

    private let acceptListCapacity: Int
    private var attempt = Attempt.none
    private var acceptList: Set<DeviceAddress> = []
    private var outstanding: Action?

    package init(acceptListCapacity: Int) { self.acceptListCapacity = acceptListCapacity }

    package mutating func want(_ addresses: [DeviceAddress]) {
        guard addresses != wanted else { return }
        wanted = addresses
        failure = nil
    }

    package mutating func next() -> Action? {
        guard outstanding == nil, failure == nil else { return nil }
        outstanding = missing()
        switch outstanding {
        case .connect, .connectByAcceptList: attempt = .asked(target)
        case .cancel: attempt = .cancelling
        case .addToAcceptList, .removeFromAcceptList, nil: break
        }
        return outstanding
    }

    /// The controller answered the command that ``next()`` named, by Command Complete or Command Status.
    package mutating func completed(_ status: HCIErrorCode) {
        guard let action = outstanding else { return }
        outstanding = nil
        switch (action, status == .success) {
        case (.addToAcceptList(let address), true): acceptList.insert(address)
        case (.removeFromAcceptList(let address), true): acceptList.remove(address)
        case (.connect, true), (.connectByAcceptList, true):
            if case .asked(let addresses) = attempt { attempt = .standing(addresses) }
        case (.connect, false), (.connectByAcceptList, false):
            attempt = .none
            failure = status
        case (.cancel, true): break
        // The link was made before the cancel arrived: its Connection Complete came or is coming.
        case (.cancel, false): if attempt == .cancelling { attempt = .none }
        case (.addToAcceptList, false), (.removeFromAcceptList, false): failure = status
        }
    }

    /// LE Connection Complete as central, with whatever status: the attempt is over.
    package mutating func connectionComplete() {
        attempt = .none
        failure = nil
    }

    /// What was refused may be asked once more.
    package mutating func retry() { failure = nil }

    package mutating func reset(acceptListCapacity: Int) {
        let kept = wanted
        self = Self(acceptListCapacity: acceptListCapacity)
        wanted = kept
    }

    private var target: Set<DeviceAddress> { Set(wanted.prefix(max(1, acceptListCapacity))) }

    private func missing() -> Action? {
        switch attempt {
        case .asked, .cancelling: return nil
        case .standing(let addresses): return addresses == target ? nil : .cancel
        case .none: break
        }
        let target = target
        guard let first = wanted.first else { return nil }
        if target.count == 1 { return .connect(first) }
        if let stale = acceptList.subtracting(target).min(by: { $0.bits < $1.bits }) {
            return .removeFromAcceptList(stale)
        }
        if let fresh = wanted.first(where: { target.contains($0) && !acceptList.contains($0) }) {
            return .addToAcceptList(fresh)
        }
        return .connectByAcceptList
    }
}
