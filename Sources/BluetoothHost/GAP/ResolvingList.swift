import BluetoothCore
import BluetoothCrypto
import HCI
import SecurityManager

/// Keeps the controller's resolving list as it is wanted: with it the accept list finds bonded peers under addresses that
/// only their keys tell. It is changed while nothing is on the air: whoever is rests as long as something is missing.
///
/// Entries are in device privacy mode, since a peer shows its identity address while it has no bond or a window is open.
/// They have no local key: our own addresses are the host's.
///
/// Core 5.4, Vol 4, Part E, 7.8.38–7.8.44 and 7.8.77; Vol 6, Part B, 4.7 (Resolving List)
package struct ResolvingList {
    package struct Entry: Equatable, Sendable {
        package var identity: IdentityAddress
        package var irk: Secret

        package init(identity: IdentityAddress, irk: Secret) {
            self.identity = identity
            self.irk = irk
        }
    }

    package enum Action: Equatable, Sendable {
        case add(Entry)
        case setDevicePrivacyMode(IdentityAddress)
        case remove(IdentityAddress)
        case setResolution(enable: Bool)
    }

    /// Entries that this host uses, however many the controller has room for.
    package static let entriesMaximum = 64

    private struct Told {
        let entry: Entry
        var isDevicePrivacy = false
    }

    private var capacity: Int
    /// Who is to be in it, the most important first, as many as it holds.
    private var wanted: [Entry] = []
    private var told: [Told] = []
    private var isEnabled = false
    private var outstanding: Action?
    /// What the controller has not taken, until it is reset: a list that is refused is done without.
    private var refused: Set<IdentityAddress> = []
    private var isGivenUp = false
    private var isStuck = false

    /// `capacity` is 0 for a controller that has no such list, or none that is of use.
    package init(capacity: Int) { self.capacity = min(max(0, capacity), Self.entriesMaximum) }

    /// Who has to be found under any address. Whoever is in the list already stays while there is room and `isValid` says
    /// that the key is still theirs: a change costs everybody on the air a pause.
    package mutating func want(_ needed: [Entry], isValid: (Entry) -> Bool) {
        wanted = Array(needed.filter { !refused.contains($0.identity) }.prefix(isGivenUp ? 0 : capacity))
        for entry in told.map(\.entry) where wanted.count < capacity && !isGivenUp && !refused.contains(entry.identity)
        {
            if !wanted.contains(where: { $0.identity == entry.identity }), isValid(entry) { wanted.append(entry) }
        }
    }

    /// Who is in the controller's list, resolved or not.
    package var identities: [IdentityAddress] { told.map(\.entry.identity) }

    /// Whoever is on the air leaves it.
    package var mustRest: Bool { missing() != nil }

    /// Whom the controller finds by their identity addresses, whatever address they are under.
    package var resolved: Set<DeviceAddress> {
        isEnabled ? Set(told.lazy.filter(\.isDevicePrivacy).map(\.entry.identity.address)) : []
    }

    /// The next command, once nothing is on the air.
    package mutating func next(isUnused: Bool) -> Action? {
        guard isUnused, outstanding == nil else { return nil }
        outstanding = missing()
        return outstanding
    }

    /// The controller answered the command that ``next(isUnused:)`` named.
    package mutating func completed(_ status: HCIErrorCode) {
        guard let action = outstanding else { return }
        outstanding = nil
        switch (action, status == .success) {
        case (.add(let entry), true): told.append(Told(entry: entry))
        case (.add(let entry), false):
            // The list may be shorter than it was said to be.
            if status == .memoryCapacityExceeded { capacity = told.count }
            refuse(entry.identity)
        case (.setDevicePrivacyMode(let identity), true):
            if let index = index(of: identity) { told[index].isDevicePrivacy = true }
        case (.setDevicePrivacyMode(let identity), false): refuse(identity)
        case (.remove(let identity), true): told.removeAll { $0.entry.identity == identity }
        case (.remove, false): giveUp()
        case (.setResolution(let enable), true): isEnabled = enable
        case (.setResolution(enable: true), false): giveUp()
        case (.setResolution(enable: false), false): isStuck = true
        }
    }

    /// The controller forgot it.
    package mutating func reset(capacity: Int) { self = Self(capacity: capacity) }

    private mutating func refuse(_ identity: IdentityAddress) {
        refused.insert(identity)
        wanted.removeAll { $0.identity == identity }
    }

    private mutating func giveUp() {
        isGivenUp = true
        wanted = []
    }

    private func index(of identity: IdentityAddress) -> Int? { told.firstIndex { $0.entry.identity == identity } }

    private func missing() -> Action? {
        guard !isStuck else { return nil }
        // What it holds means nothing then.
        if isGivenUp { return isEnabled ? .setResolution(enable: false) : nil }
        if let stale = told.first(where: { !wanted.contains($0.entry) }) { return .remove(stale.entry.identity) }
        if let plain = told.first(where: { !$0.isDevicePrivacy }) { return .setDevicePrivacyMode(plain.entry.identity) }
        if let fresh = wanted.first(where: { index(of: $0.identity) == nil }) { return .add(fresh) }
        return isEnabled == told.isEmpty ? .setResolution(enable: !told.isEmpty) : nil
    }
}
