import BluetoothCore
import HCI

/// Keeps the controller's scanning as it is wanted, one command at a time.
///
/// Core 5.4, Vol 3, Part C, 9.2.6 (General Discovery procedure); Vol 4, Part E, 7.8.10–7.8.11 and 7.8.64–7.8.65
package struct Scanner {
    package struct Parameters: Equatable, Sendable {
        /// Reports every advertisement rather than one of each advertiser: what proximity needs.
        package var reportsDuplicates: Bool
        /// Asks for scan responses. A passive scan says nothing on the air.
        package var isActive: Bool
        /// Another one starts the scan anew, so that whoever begins to listen hears those too who were heard before.
        package var generation: Int

        package init(reportsDuplicates: Bool, isActive: Bool = true, generation: Int = 0) {
            self.reportsDuplicates = reportsDuplicates
            self.isActive = isActive
            self.generation = generation
        }
    }

    package enum Action: Equatable, Sendable {
        case setParameters(isActive: Bool)
        case enable(filterDuplicates: Bool)
        case disable
    }

    /// nil scans not at all.
    package var wanted: Parameters? { didSet { if wanted != oldValue { failure = nil } } }
    /// Rests while the address that it scans with is about to change.
    package var isHeld = false { didSet { if isHeld != oldValue { failure = nil } } }
    package private(set) var failure: HCIErrorCode?

    private var outstanding: (action: Action, parameters: Parameters?)?
    private var toldIsActive: Bool?
    private var running: Parameters?

    package init() {}

    package var isEnabled: Bool { running != nil }

    /// Nothing runs, and nothing is asked of the controller.
    package var isAtRest: Bool { running == nil && outstanding == nil }

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
        case .setParameters(let isActive): toldIsActive = isActive
        case .enable: running = parameters
        case .disable: running = nil
        }
    }

    /// The controller stopped by itself.
    package mutating func stopped() { running = nil }

    /// What was refused may be asked once more.
    package mutating func retry() { failure = nil }

    package mutating func reset() {
        let kept = (wanted, isHeld)
        self = Self()
        (wanted, isHeld) = kept
    }

    private func missing() -> Action? {
        let target = isHeld ? nil : wanted
        if let running { return running == target ? nil : .disable }
        guard let target else { return nil }
        if toldIsActive != target.isActive { return .setParameters(isActive: target.isActive) }
        return .enable(filterDuplicates: !target.reportsDuplicates)
    }
}
