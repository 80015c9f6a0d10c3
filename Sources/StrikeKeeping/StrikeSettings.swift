import CommandInterface
import GPIO
import StrikeControl

/// What the keeper's configuration file says: config/strike.conf documents each key.
package struct StrikeSettings: ConfiguredSettings, Equatable, Sendable {
    /// A line beside the door, and which of its levels says what its section is about.
    package struct Input: Equatable, Sendable {
        /// nil: it is not fitted.
        package var line: String?
        var active: String
        var bias = LineSetting.Bias.none.rawValue

        static func keys(_ section: String, _ input: WritableKeyPath<StrikeSettings, Self>)
            -> [ConfigurationKey<StrikeSettings>]
        {
            [
                ConfigurationKey(section, "line", .optionalText(input.appending(path: \.line))).maximumOctets(32),
                ConfigurationKey(section, "active", .text(input.appending(path: \.active)))
                    .choices(Level.allCases.map(\.rawValue)),
                ConfigurationKey(section, "bias", .text(input.appending(path: \.bias)))
                    .choices(LineSetting.Bias.allCases.map(\.rawValue)),
            ]
        }
    }

    package enum Level: String, CaseIterable { case high, low }

    /// A label, or a path. There is none to assume.
    package var chip: String?
    package var socketPath = "/run/latch-strike/strike.sock"
    /// Who is heard, by name or number.
    package var user = "latch-lock"
    /// Whose members may open the socket's file; the keeper's own group unless set.
    package var group: String?
    package var line: String?
    package var active = Level.high.rawValue
    package var drive = StrikeRules.Drive.pulse.rawValue
    /// There is none to assume: a door that opens by itself, or one that locks people in.
    package var failure: String?
    package var pulseMaximumMilliseconds = 10_000
    package var orphanMilliseconds = 10_000
    package var feedback = Input(active: Level.high.rawValue)
    package var travelMilliseconds = 1_500
    package var retries = 1
    package var retryPauseMilliseconds = 250
    package var contact = Input(active: Level.low.rawValue)
    package var exit = Input(active: Level.low.rawValue)
    package var tamper = Input(active: Level.high.rawValue)
    package var fire = Input(active: Level.high.rawValue)
    package var debounceMilliseconds = 30

    package init() {}

    /// A door that has every line: for a chip without metal, whose lines bear no numbers.
    package static func everything(
        drive: StrikeRules.Drive, failure: StrikeRules.Failure, socketPath: String, user: String
    ) -> Self {
        var settings = Self()
        settings.chip = "simulated"
        settings.line = "strike"
        (settings.drive, settings.failure) = (drive.rawValue, failure.rawValue)
        (settings.socketPath, settings.user) = (socketPath, user)
        settings.feedback.line = "feedback"
        settings.contact.line = "contact"
        settings.exit.line = "exit"
        settings.tamper.line = "tamper"
        settings.fire.line = "fire"
        return settings
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
        ] + Input.keys("feedback", \.feedback) + Input.keys("contact", \.contact) + Input.keys("exit", \.exit)
            + Input.keys("tamper", \.tamper) + Input.keys("fire", \.fire)
    }
}
