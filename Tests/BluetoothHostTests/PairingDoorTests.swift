import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

@testable import BluetoothHost

/// Who may begin to pair, by the state of the window and what happens.
@Suite struct PairingDoorTests {
    static let claimant = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
    static let other = DeviceAddress(kind: .random, bits: 0xC000_0000_0002)
    static let start = Instant(nanoseconds: 1_000_000_000)

    enum State: CaseIterable { case closed, passkey, passkeyOnce, passkeyTwice, outOfBand }
    enum Found: Equatable { case window, rules, notSupported, repeatedAttempts }

    static func window(_ isOutOfBand: Bool) -> PairingWindow {
        var octets = [UInt8](repeating: 7, count: 16)
        return PairingWindow(
            method: isOutOfBand ? .outOfBand(keyPair: .generate(), random: Secret(wiping: &octets)) : .passkeyDisplay,
            credential: "anna")
    }

    /// A door in this state, of which two windows are over. Failures so far are others'.
    static func door(_ state: State) -> PairingDoor {
        var door = PairingDoor()
        door.handle(.windowSet(window(false)), now: start)
        switch state {
        case .closed: door.handle(.windowSet(nil), now: start)
        case .outOfBand: door.handle(.windowSet(window(true)), now: start)
        case .passkey, .passkeyOnce, .passkeyTwice: door.handle(.windowSet(window(false)), now: start)
        }
        let failures = state == .passkeyOnce ? 1 : state == .passkeyTwice ? 2 : 0
        for _ in 0..<failures {
            door.handle(.failed(.init(window: 2), claimant: other, waits: true, hasTried: true), now: start)
        }
        return door
    }

    static func found(
        _ door: PairingDoor, isBusy: Bool = false, allowsOthers: Bool = false, claimant: DeviceAddress = claimant
    ) -> Found {
        switch door.admission(of: claimant, isBusy: isBusy, allowsOthers: allowsOthers, now: start) {
        case .window: .window
        case .rules: .rules
        case .refused(.pairingNotSupported): .notSupported
        case .refused: .repeatedAttempts
        }
    }

    static let this = PairingDoor.Attempt(window: 2)
    static let earlier = PairingDoor.Attempt(window: 1)

    /// Every event, and the states in which the window is open behind it.
    static let table: [(String, @Sendable () -> PairingDoor.Event, Set<State>)] = [
        ("a window is opened", { .windowSet(window(false)) }, Set(State.allCases)),
        ("the window is closed", { .windowSet(nil) }, []),
        (
            "an attempt fails", { .failed(this, claimant: claimant, waits: true, hasTried: true) },
            [.passkey, .passkeyOnce]
        ),
        (
            "an attempt fails that tried nothing",
            { .failed(this, claimant: claimant, waits: true, hasTried: false) },
            [.passkey, .passkeyOnce, .passkeyTwice, .outOfBand]
        ),
        (
            "an attempt of an earlier window fails",
            { .failed(earlier, claimant: claimant, waits: true, hasTried: true) },
            [.passkey, .passkeyOnce, .passkeyTwice, .outOfBand]
        ),
        (
            "an attempt fails that no window named", { .failed(nil, claimant: claimant, waits: true, hasTried: true) },
            [.passkey, .passkeyOnce, .passkeyTwice, .outOfBand]
        ),
        ("an attempt succeeds", { .succeeded(this, claimant: claimant) }, []),
        (
            "an attempt succeeds that no window named", { .succeeded(nil, claimant: claimant) },
            [.passkey, .passkeyOnce, .passkeyTwice, .outOfBand]
        ),
    ]

    @Test("Every event in every state: whether the window is open behind it, and what the next peer finds")
    func stateByInput() {
        for (name, event, open) in Self.table {
            for state in State.allCases {
                var door = Self.door(state)
                door.handle(event(), now: Self.start)
                #expect(door.isOpen == open.contains(state), "\(name), \(state)")
                let third = DeviceAddress(kind: .random, bits: 0xC000_0000_0003)
                let expected: Found = open.contains(state) ? .window : .notSupported
                #expect(Self.found(door, claimant: third) == expected, "\(name), \(state)")
                #expect(
                    Self.found(door, allowsOthers: true, claimant: third) == (expected == .window ? .window : .rules))
                #expect(Self.found(door, isBusy: true, allowsOthers: true, claimant: third) == .notSupported)
            }
        }
    }

    @Test(
        "Who failed waits, in the window and without one; who failed at nothing does not, and a success ends the wait")
    func waits() {
        for state in [State.closed, .passkey] {
            var door = Self.door(state)
            door.handle(.failed(nil, claimant: Self.claimant, waits: false, hasTried: true), now: Self.start)
            #expect(Self.found(door, allowsOthers: true) != .repeatedAttempts)
            door.handle(.failed(nil, claimant: Self.claimant, waits: true, hasTried: true), now: Self.start)
            #expect(Self.found(door, allowsOthers: true) == .repeatedAttempts)
            #expect(Self.found(door, allowsOthers: true, claimant: Self.other) != .repeatedAttempts)
            // A new window is no pardon.
            door.handle(.windowSet(Self.window(false)), now: Self.start)
            #expect(Self.found(door) == .repeatedAttempts)
            door.handle(.succeeded(nil, claimant: Self.claimant), now: Self.start)
            #expect(Self.found(door) == .window)
        }
    }

    @Test("Who failed under a peer's address keeps it out of the operator's next window for one second at most")
    func nextWindow() {
        var door = Self.door(.closed)
        for _ in 0..<20 {
            door.handle(.failed(nil, claimant: Self.claimant, waits: true, hasTried: true), now: Self.start)
        }
        let last = Self.start.advanced(byMilliseconds: RepeatedAttempts.lastIntervalMilliseconds)
        #expect(door.waits(Self.claimant, at: Self.start) == last)
        door.handle(.windowSet(nil), now: Self.start)
        #expect(door.waits(Self.claimant, at: Self.start) == last, "a window that closes changes nothing")
        door.handle(.windowSet(Self.window(false)), now: Self.start)
        let first = Self.start.advanced(byMilliseconds: RepeatedAttempts.firstIntervalMilliseconds)
        #expect(door.waits(Self.claimant, at: Self.start) == first)
        #expect(door.waits(Self.claimant, at: first) == nil)
        door.handle(.failed(nil, claimant: Self.claimant, waits: true, hasTried: true), now: first)
        #expect(
            door.waits(Self.claimant, at: first)
                == first.advanced(byMilliseconds: 2 * RepeatedAttempts.firstIntervalMilliseconds), "and it doubles on")
    }

    @Test("Failures are counted for each window anew")
    func counted() {
        var door = Self.door(.passkeyTwice)
        door.handle(.windowSet(Self.window(false)), now: Self.start)
        let attempt = PairingDoor.Attempt(window: door.number)
        for _ in 1..<PairingDoor.failuresMaximum {
            door.handle(.failed(attempt, claimant: Self.other, waits: true, hasTried: true), now: Self.start)
            #expect(door.isOpen)
        }
        door.handle(.failed(attempt, claimant: Self.other, waits: true, hasTried: true), now: Self.start)
        #expect(!door.isOpen)
    }
}
