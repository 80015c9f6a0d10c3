import BluetoothHost
import DaemonControl
import HCITransport
import LockCentral

/// Walks, and what they leave.
extension CentralDaemon {
    func calibrate(_ lock: String?, _ exchange: ControlExchange) throws(ControlFailure) {
        let begun = try Self.telling { () throws(KeyLockRefusal) in
            try key.calibrate(lock) { report in Self.tell(report, exchange) }
        }
        // What the walk itself tells comes behind the commit, and so behind this.
        exchange.event(
            "calibrating",
            [
                "lock": .string(begun.name), "id": .string("\(begun.peer)"), "near_dbm": JSONValue(begun.rules.nearDBm),
                "away_dbm": JSONValue(begun.rules.awayDBm), "calibrated": .bool(begun.isCalibrated),
                "hears_advertisements": .bool(begun.rules.hearsAdvertisements),
            ])
        whenAbandoned(exchange) { $0.endCalibration(begun.peer) }
    }

    func setThresholds(
        _ values: CentralRequest.Thresholds?, of lock: String?, _ exchange: ControlExchange
    ) throws(ControlFailure) {
        var thresholds: ProximityThresholds?
        if let values {
            thresholds = ProximityThresholds(nearDBm: Int(values.near), awayDBm: Int(values.away))
            guard thresholds != nil else { throw Self.impossible }
        }
        let name = try Self.telling { () throws(KeyLockRefusal) in try key.setThresholds(thresholds, of: lock) }
        var answer: JSONObject = ["lock": .string(name), "calibrated": .bool(thresholds != nil)]
        answer["near_dbm"] = thresholds.map { JSONValue($0.nearDBm) }
        answer["away_dbm"] = thresholds.map { JSONValue($0.awayDBm) }
        exchange.finish(answer)
    }

    private static var impossible: ControlFailure {
        let range = ProximityRules.dBmRange
        return ControlFailure(
            .refused,
            "near and away have to lie from \(range.lowerBound) to \(range.upperBound) dBm, and near"
                + " \(ProximityRules.hysteresisMinimumDB) dB or more above away")
    }

    private static func tell(_ report: CalibrationReport, _ exchange: ControlExchange) {
        switch report {
        case .linked: exchange.event("linked")
        case .reading(let rssi, let milliseconds):
            exchange.event("reading", ["ms": JSONValue(milliseconds), "rssi": JSONValue(rssi)])
        case .linkLost: exchange.event("link_lost")
        case .ended(let end): exchange.fail(failure(end))
        }
    }

    private static func failure(_ end: CalibrationEnd) -> ControlFailure {
        switch end {
        case .notConnected:
            ControlFailure(
                .timeout,
                "not connected: no link that the lock has encrypted, for"
                    + " \(CalibrationSession.linkWaitMaximumMilliseconds / 1_000) s; stand nearer to the door")
        case .noRSSI:
            ControlFailure(
                .refused,
                "nobody says how strong the link is: this adapter, or the kernel that keeps it, does not read the RSSI")
        case .tooLong:
            ControlFailure(
                .timeout, "the walk took longer than \(CalibrationSession.maximumMilliseconds / 1_000) s: walk again")
        case .busy: ControlFailure(.busy, "a command is on its way to this lock: wait for its end")
        case .forgotten: ControlFailure(.notFound, "the lock was forgotten meanwhile")
        }
    }
}
