import CoreBluetooth

/// Lets peers pair for a minute after somebody has pressed the button of a device without a display.
actor ButtonAgent: PairingAgent {
    nonisolated let capability = PairingCapability.confirmOnly
    private var closing = ContinuousClock.now

    func buttonPressed() { closing = .now + .seconds(60) }

    func confirm(_ pairing: PairingAttempt) async -> Bool {
        // A peer that claims to be a bonded one, and has lost its bond, may be somebody else.
        !pairing.replacesBond && ContinuousClock.now < closing
    }

    // Nobody can see or type digits here: these are not asked.
    func show(_ passkey: String, for pairing: PairingAttempt) async {}
    func enter(for pairing: PairingAttempt) async -> String? { nil }
    func compare(_ number: String, for pairing: PairingAttempt) async -> Bool { false }

    func done(_ pairing: PairingAttempt, error: (any Error)?) async {
        print(error.map { "not paired: \($0.localizedDescription)" } ?? "paired with \(pairing.peer)")
        closing = .now
    }
}
