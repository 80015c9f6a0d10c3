/// What an actuator has told before the lock's machine was there to hear it, in order: one of each kind, since of a bolt or a door
/// that has moved again only the last place counts, and a launch has one movement.
package struct EarlyReports {
    private var reports: [ActuatorReport] = []

    package init() {}

    package mutating func put(_ report: ActuatorReport) {
        reports.removeAll { $0.kind == report.kind }
        reports.append(report)
    }

    package mutating func take() -> [ActuatorReport] {
        defer { reports = [] }
        return reports
    }
}

extension ActuatorReport {
    fileprivate enum Kind { case beginning, end, bolt, door, exit, fire }

    fileprivate var kind: Kind {
        switch self {
        case .began: .beginning
        case .ended, .declined: .end
        case .bolt: .bolt
        case .door: .door
        case .input(.exit): .exit
        case .input(.fire): .fire
        }
    }
}
