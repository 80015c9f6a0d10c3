import CommandInterface
import GPIO
import StrikeControl

/// What a line beside the door is for.
package enum InputUse: String, CaseIterable { case contact, feedback, exit, tamper, fire }

/// Settings with nothing left open.
package struct StrikePlan {
    /// An input with its use.
    package struct Input: Equatable {
        package let use: InputUse
        package let setting: LineSetting
    }

    /// What a movement may take at most: the lock waits 10 s for its bolt.
    static let wholeMaximumMilliseconds: UInt64 = 9_500

    package let chip: String
    let socketPath: String
    /// By name or number: ``StrikePeer`` looks them up.
    let user: String
    let group: String?
    package let rules: StrikeRules
    package let inputs: [Input]
    let debounceMilliseconds: UInt64
    private let configuration: String
    private let line: LineName
    private let isActiveLow: Bool

    /// - Throws: ``Failure`` with the file, the key and the remedy for what one key alone cannot tell.
    package init(_ settings: StrikeSettings, configuration: String) throws(Failure) {
        func refuse(_ section: String, _ key: String, _ problem: String) -> Failure {
            Self.refusal(configuration, section, key, problem)
        }
        guard let chip = settings.chip else {
            throw refuse("", "chip", "is wanted: write the label that `gpiodetect` shows, or the path of a chip")
        }
        guard let line = settings.line else {
            throw refuse("strike", "line", "is wanted: write the number or the name of the strike's line")
        }
        guard let failure = settings.failure.flatMap(StrikeRules.Failure.init) else {
            throw refuse(
                "strike", "fail",
                "is wanted: write \"secure\" for a door that is locked without power, \"safe\" for one that is open")
        }
        self.chip = chip
        self.line = LineName(line)
        isActiveLow = settings.active == StrikeSettings.Level.low.rawValue
        socketPath = settings.socketPath
        user = settings.user
        group = settings.group
        self.configuration = configuration
        inputs = try Self.inputs(settings) { section, other in
            refuse(section, "line", "is the line of [\(other)] too: each has its own")
        }
        debounceMilliseconds = UInt64(settings.debounceMilliseconds)
        let feedback = StrikeRules.Feedback(
            travelMilliseconds: UInt64(settings.travelMilliseconds), retries: settings.retries,
            retryPauseMilliseconds: UInt64(settings.retryPauseMilliseconds))
        rules = StrikeRules(
            drive: StrikeRules.Drive(rawValue: settings.drive) ?? .pulse, failure: failure,
            pulseMaximumMilliseconds: UInt64(settings.pulseMaximumMilliseconds),
            feedback: settings.feedback.line == nil ? nil : feedback,
            orphanMilliseconds: UInt64(settings.orphanMilliseconds))
        guard rules.feedback != nil else { return }
        guard feedback.wholeMilliseconds <= Self.wholeMaximumMilliseconds else {
            throw refuse(
                "feedback", "travel_ms",
                "is too long: with `retries` and `retry_pause_ms` a movement may take \(feedback.wholeMilliseconds) ms, "
                    + "and the lock waits for \(Self.wholeMaximumMilliseconds) ms: lower one of the three")
        }
        guard rules.drive == .hold || feedback.travelMilliseconds <= rules.pulseMaximumMilliseconds else {
            throw refuse(
                "feedback", "travel_ms",
                "is longer than a pulse may be, so that every opening is a jam: lower it, or raise `pulse_maximum_ms`")
        }
    }

    /// The file, the key and the remedy, for what only the system can tell of it.
    func refusal(_ section: String, _ key: String, _ problem: String) -> Failure {
        Self.refusal(configuration, section, key, problem)
    }

    private static func refusal(
        _ configuration: String, _ section: String, _ key: String, _ problem: String
    ) -> Failure {
        let place = section.isEmpty ? "before the first section" : "in section [\(section)]"
        return Failure(.configuration, "key `\(key)` \(place) of \(configuration) \(problem)")
    }

    private static func inputs(
        _ settings: StrikeSettings, taken refusal: (_ section: String, _ other: String) -> Failure
    ) throws(Failure) -> [Input] {
        var inputs: [Input] = []
        var taken = [(settings.line.map(LineName.init), "strike")]
        for use in InputUse.allCases {
            let input = settings[keyPath: StrikeSettings.input(use)]
            guard let line = input.line.map(LineName.init) else { continue }
            if let other = taken.first(where: { $0.0 == line }) { throw refusal(use.rawValue, other.1) }
            taken.append((line, use.rawValue))
            inputs.append(
                Input(
                    use: use,
                    setting: LineSetting(
                        line, .input, isActiveLow: input.active == StrikeSettings.Level.low.rawValue,
                        bias: LineSetting.Bias(rawValue: input.bias) ?? .none)))
        }
        return inputs
    }

    /// The strike's line at its rest.
    package var output: LineSetting {
        LineSetting(line, .output(isActive: rules.isActive(released: false)), isActiveLow: isActiveLow)
    }

    /// Looks at the chip, and says what would be kept. Nothing is requested, and nothing set.
    package func check() throws(Failure) -> ExitCode {
        _ = try StrikePeer(self)
        do throws(GPIOFailure) {
            let found = try GPIOChip.find(chip)
            Output.line("chip: \(found.label), \(found.lineCount) lines, \(found.path)")
            Output.line("strike: line \(try found.offset(of: output.line)), fail-\(rules.failure), \(rules.drive)")
            for input in inputs {
                Output.line("\(input.use.rawValue): line \(try found.offset(of: input.setting.line))")
            }
        } catch {
            throw Failure(.unavailable, "\(error): plug it in, or name what `gpioinfo` shows")
        }
        return .ok
    }
}
