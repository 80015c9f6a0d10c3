import BluetoothCore
import CommandInterface
import DaemonControl
import GPIO
import Glibc
import StrikeControl

@testable import StrikeKeeping

func strikePlan(_ text: String) throws -> StrikePlan {
    var settings = StrikeSettings()
    try settings.apply(ConfigurationText(text, file: "s.conf"), file: "s.conf")
    return try StrikePlan(settings, configuration: "s.conf")
}

/// A chip without metal, and what its line did. What a level does to the door is known here by itself: current opens a door that
/// fails secure, and locks one that fails safe.
final class FakeChip: DoorChip {
    final class Lines: DoorLines {
        let chip: FakeChip
        /// Of which plugging in: what was requested before stays gone.
        let plugging: Int
        init(_ chip: FakeChip) {
            self.chip = chip
            plugging = chip.plugging
        }

        var descriptor: Int32? { chip.descriptor }
        func set(isActive: Bool) throws(GPIOFailure) -> Bool {
            chip.calls.append(chip.opens(isActive) ? "release" : "rest")
            try check()
            chip.take(isActive)
            return chip.isActive
        }
        func isActive() throws(GPIOFailure) -> Bool {
            try check()
            return chip.isActive
        }
        func inputs() throws(GPIOFailure) -> [LineReading] {
            try check()
            defer { chip.hasMoved = false }
            return chip.inputs.map { LineReading(isActive: $0, hasMoved: chip.hasMoved) }
        }
        private func check() throws(GPIOFailure) {
            if plugging != chip.plugging { throw GPIOFailure("fake", ENODEV) }
            try chip.check()
        }
    }

    private let failure: StrikeRules.Failure
    private let requested: Bool
    var inputs: [Bool] = []
    var hasMoved = false
    var descriptor: Int32?
    /// errno of every call; 0: it works.
    var code: Int32 = 0
    /// How often it has been unplugged.
    private var plugging = 0
    /// Takes every setting, and does nothing.
    var isDeaf = false
    /// The line's level, by which the door is released at first: as a kill in a pulse has left it.
    var isActive: Bool
    /// The line was set; whether it was told to release the door.
    var wasSet: (Bool) -> Void = { _ in }
    /// Each thing that was done to the line, in order: `request`, `release` and `rest`.
    var calls: [String] = []

    init(_ plan: StrikePlan) {
        failure = plan.rules.failure
        requested = plan.output.use == .output(isActive: true)
        isActive = failure == .secure
    }

    var isOpen: Bool { opens(isActive) }

    private func opens(_ isActive: Bool) -> Bool { isActive == (failure == .secure) }

    /// Nothing drives the line of a chip that has no power.
    func unplug() {
        code = ENODEV
        plugging += 1
        isActive = false
    }

    private func take(_ level: Bool) {
        if !isDeaf { isActive = level }
        wasSet(opens(level))
    }

    private func check() throws(GPIOFailure) {
        if code != 0 { throw GPIOFailure("fake", code) }
    }

    func open() throws(GPIOFailure) -> any DoorLines {
        calls.append("request")
        try check()
        take(requested)
        guard isActive == requested else { throw GPIOFailure("fake", EIO) }
        return Lines(self)
    }
}
