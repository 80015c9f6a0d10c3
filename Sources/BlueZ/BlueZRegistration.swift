import BluetoothCore

/// This side's profile at bluetoothd: for which services it stands, and which devices bluetoothd connects with because of it.
///
/// A device is armed when the profile is registered and bluetoothd knows the device with its bond and its services. Being disconnected from
/// this side ends that, and only another registration arms it again.
struct BlueZRegistration: Equatable, Sendable {
    private enum State: Equatable {
        case none
        case asked(adapter: String)
        case registered(adapter: String)
        case leaving(adapter: String)
    }

    private var state = State.none
    /// What is registered, or asked to be.
    private(set) var services: Set<BluetoothUUID> = []
    private(set) var armed: Set<String> = []
    private var failures: UInt64 = 0
    /// When one that was refused may be tried again, or an answer is waited for no longer; nil from then on, also where nobody wishes for one
    /// any more.
    private(set) var deadline: Instant?

    private static let wait = DoublingWait(firstMilliseconds: 1_000, longestMilliseconds: 16_000)
    /// How long an answer is waited for. bluetoothd answers as soon as it has read this side's objects, or never.
    static let answerMilliseconds: UInt64 = 30_000

    /// Where it is registered, or whoever is asked about it; nil where nothing is under way.
    var adapter: String? {
        switch state {
        case .none: nil
        case .asked(let adapter), .registered(let adapter), .leaving(let adapter): adapter
        }
    }

    /// As GattProfile1's property UUIDs has them.
    var texts: [String] { services.map(\.longText).sorted() }

    /// What to do next so that all of these are armed, with these services. `connected`: those that need no arming now.
    enum Step: Equatable {
        case wait, register
        /// At the adapter at which it is registered, which need not be the one that is used now.
        case unregister(adapter: String)
    }

    mutating func step(
        _ wanted: Set<BluetoothUUID>, devices: Set<String>, connected: Set<String>, at adapter: String, _ now: Instant
    ) -> Step {
        switch state {
        case .asked, .leaving: return .wait
        case .registered(let place):
            guard wanted != services || !devices.subtracting(connected).isSubset(of: armed) else { return .wait }
            (state, deadline) = (.leaving(adapter: place), now.advanced(byMilliseconds: Self.answerMilliseconds))
            return .unregister(adapter: place)
        case .none:
            if let due = deadline, due <= now { deadline = nil }
            guard !wanted.isEmpty, deadline == nil else { return .wait }
            (services, armed, state) = (wanted, devices, .asked(adapter: adapter))
            deadline = now.advanced(byMilliseconds: Self.answerMilliseconds)
            return .register
        }
    }

    /// Whether an answer has been waited for in vain. A registration that was asked for may stand all the same: it is taken back first, and
    /// then asked for anew. One that was being taken back counts as gone.
    mutating func givesUpWaiting(_ now: Instant) -> Bool {
        guard let due = deadline, due <= now else { return false }
        switch state {
        case .none, .registered: return false
        // With no services, so that ``step(_:devices:connected:at:_:)`` takes it back.
        case .asked(let adapter): (state, services) = (.registered(adapter: adapter), [])
        case .leaving: state = .none
        }
        deadline = nil
        return true
    }

    /// A registration that was refused is tried again, later and later.
    mutating func answered(isMade: Bool, _ now: Instant) {
        guard case .asked(let adapter) = state else { return }
        if isMade {
            (state, failures, deadline) = (.registered(adapter: adapter), 0, nil)
        } else {
            state = .none
            failures += 1
            deadline = now.advanced(byMilliseconds: Self.wait.milliseconds(failures: failures))
        }
    }

    mutating func unregistered() { if case .leaving = state { (state, deadline) = (.none, nil) } }

    mutating func released() { if case .registered = state { state = .none } }

    /// bluetoothd connects no more with it by itself.
    mutating func disarm(_ device: String) { armed.remove(device) }

    /// The adapter is on again: whether bluetoothd still does what it was asked for is not known.
    mutating func disarmAll() {
        armed = []
        if state == .none { deadline = nil }
    }

    mutating func forget() { self = BlueZRegistration() }
}

extension BluetoothUUID {
    /// As BlueZ writes every UUID: in full, in small letters.
    var longText: String {
        let digits = String(bits, radix: 16)
        let all = Array(String(repeating: "0", count: 32 - digits.utf8.count) + digits)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }.joined(separator: "-")
    }
}
