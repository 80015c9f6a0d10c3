import CommandInterface
import GPIO
import StrikeControl

/// What the keeper's configuration file says: config/strike.conf documents each key.
package struct StrikeSettings: ConfiguredSettings, Equatable, Sendable {
    package static let unreadable = ExitCode.unavailable

    /// A line beside the door, and which of its levels says what its section is about.
    struct Input: Equatable, Sendable {
        /// nil: it is not fitted.
        var line: String?
        var active: String
        var bias = LineSetting.Bias.none.rawValue

        static func keys(_ use: InputUse) -> [ConfigurationKey<StrikeSettings>] {
            let (section, input) = (use.rawValue, StrikeSettings.input(use))
            return [
                ConfigurationKey(section, "line", .optionalText(input.appending(path: \.line))).maximumOctets(32),
                ConfigurationKey(section, "active", .text(input.appending(path: \.active)))
                    .choices(Level.allCases.map(\.rawValue)),
                ConfigurationKey(section, "bias", .text(input.appending(path: \.bias)))
                    .choices(LineSetting.Bias.allCases.map(\.rawValue)),
            ]
        }
    }

    enum Level: String, CaseIterable { case high, low }

    /// A label, or a path. There is none to assume.
    var chip: String?
    package var socketPath = "/run/latch-strike/strike.sock"
    /// Who is heard, by name or number.
    package var user = "latch-lock"
    /// Whose members may open the socket's file; the keeper's own group unless set.
    var group: String?
    var line: String?
    var active = Level.high.rawValue
    var drive = StrikeRules.Drive.pulse.rawValue
    /// There is none to assume: a door that opens by itself, or one that locks people in.
    var failure: String?
    var pulseMaximumMilliseconds = 10_000
    package var orphanMilliseconds = 10_000
    var feedback = Input(active: Level.high.rawValue)
    package var travelMilliseconds = 1_500
    package var retries = 1
    package var retryPauseMilliseconds = 250
    var contact = Input(active: Level.low.rawValue)
    var exit = Input(active: Level.low.rawValue)
    var tamper = Input(active: Level.high.rawValue)
    var fire = Input(active: Level.high.rawValue)
    package var debounceMilliseconds = 30

    package init() {}

    /// For a chip without metal, whose lines bear no numbers. What `inputs` leaves out is not fitted.
    package static func simulated(
        drive: StrikeRules.Drive, failure: StrikeRules.Failure, inputs: Set<InputUse> = Set(InputUse.allCases),
        user: String
    ) -> Self {
        var settings = Self()
        settings.chip = "simulated"
        settings.line = "strike"
        (settings.drive, settings.failure) = (drive.rawValue, failure.rawValue)
        settings.user = user
        for use in inputs { settings[keyPath: input(use)].line = use.rawValue }
        return settings
    }

    static func input(_ use: InputUse) -> WritableKeyPath<Self, Input> {
        switch use {
        case .contact: \.contact
        case .feedback: \.feedback
        case .exit: \.exit
        case .tamper: \.tamper
        case .fire: \.fire
        }
    }

    package static var keys: [ConfigurationKey<Self>] {
        [
            ConfigurationKey("", "chip", .optionalText(\.chip)),
            // What the address of a unix socket has room for.
            ConfigurationKey("socket", "path", .text(\.socketPath)).maximumOctets(107).fault { path in
                path.hasPrefix("/") ? nil : "write the socket's whole path, from / on"
            },
            ConfigurationKey("socket", "user", .text(\.user)).maximumOctets(32),
            ConfigurationKey("socket", "group", .optionalText(\.group)).maximumOctets(32),
            ConfigurationKey("strike", "line", .optionalText(\.line)).maximumOctets(32),
            ConfigurationKey("strike", "active", .text(\.active)).choices(Level.allCases.map(\.rawValue)),
            ConfigurationKey("strike", "drive", .text(\.drive)).choices(StrikeRules.Drive.allCases.map(\.rawValue)),
            ConfigurationKey("strike", "fail", .optionalText(\.failure))
                .choices(StrikeRules.Failure.allCases.map(\.rawValue)),
            ConfigurationKey("strike", "pulse_maximum_ms", .integer(\.pulseMaximumMilliseconds, 50...60_000)),
            ConfigurationKey("strike", "orphan_ms", .integer(\.orphanMilliseconds, 0...600_000)),
            ConfigurationKey("feedback", "travel_ms", .integer(\.travelMilliseconds, 50...9_000)),
            ConfigurationKey("feedback", "retries", .integer(\.retries, 0...3)),
            ConfigurationKey("feedback", "retry_pause_ms", .integer(\.retryPauseMilliseconds, 0...2_000)),
            ConfigurationKey("inputs", "debounce_ms", .integer(\.debounceMilliseconds, 0...1_000)),
        ] + InputUse.allCases.flatMap(Input.keys)
    }
}
