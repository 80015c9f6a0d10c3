import BluetoothCore
import HCI

/// Keeps the controller's scanning as it is wanted, one command at a time.
///
/// Core 5.4, Vol 3, Part C, 9.2.6 (General Discovery procedure); Vol 4, Part E, 7.8.10–7.8.11
package struct Scanner {
    package struct Parameters: Equatable, Sendable {
        /// Reports every advertisement rather than one of each advertiser: what proximity needs.
        package var reportsDuplicates: Bool
        package init(reportsDuplicates: Bool) { self.reportsDuplicates = reportsDuplicates }
    }

    package enum Action: Equatable, Sendable {
        case setParameters
        case enable(filterDuplicates: Bool)
        case disable
    }

    /// nil scans not at all.
    package var wanted: Parameters? { didSet { if wanted != oldValue { failure = nil } } }
    package private(set) var failure: HCIErrorCode?

    private var outstanding: (action: Action, parameters: Parameters?)?
    private var parametersAreSet = false
    private var running: Parameters?

    package init() {}

    package var isEnabled: Bool { running != nil }

    package mutating func next() -> Action? {
        guard outstanding == nil, failure == nil, let action = missing() else { return nil }
        outstanding = (action, wanted)
        return action
    }

    package mutating func completed(_ status: HCIErrorCode) {
        guard let (action, parameters) = outstanding else { return }
        outstanding = nil
        guard status == .success else {
            failure = status
            return
        }
        switch action {
        case .setParameters: parametersAreSet = true
        case .enable: running = parameters
        case .disable: running = nil
        }
    }

    /// What was refused may be asked once more.
    package mutating func retry() { failure = nil }

    package mutating func reset() {
        let kept = wanted
        self = Self()
        wanted = kept
    }

    private func missing() -> Action? {
        if let running { return running == wanted ? nil : .disable }
        guard let wanted else { return nil }
        return parametersAreSet ? .enable(filterDuplicates: !wanted.reportsDuplicates) : .setParameters
    }
}
