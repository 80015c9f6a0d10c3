import BluetoothCore
import BluetoothHost

/// A lock whose user walks to calibrate it.
package struct CalibratedLock: Sendable {
    package var peer: PeerIdentifier
    package var name: String
    /// What counts until now, and whether it is the lock's own.
    package var rules: ProximityRules
    package var isCalibrated: Bool
}

// MARK: Thresholds of one lock

extension KeyDaemon {
    /// Reads the link's RSSI, ten times a second, until ``endCalibration(_:)`` or a report of an end. The lock, named or the only one,
    /// is neither opened nor closed by proximity meanwhile, and what was seen of coming and going before counts no more.
    ///
    /// - Throws: ``KeyLockRefusal``, and then nothing has begun.
    package func calibrate(
        _ lock: String?, report: @escaping (CalibrationReport) -> Void
    ) throws(KeyLockRefusal) -> CalibratedLock {
        let record = try known(lock, by: .operand)
        guard enrolment.enrolling != record.peer else { throw .isEnrolling }
        guard calibrations[record.peer] == nil else { throw .isCalibrating }
        calibrations[record.peer] = report
        tell(.calibrating(record.peer, name: record.name))
        feed(.calibrate(record.peer))
        let thresholds = machine.locks[record.peer]?.thresholds
        return CalibratedLock(
            peer: record.peer, name: record.name, rules: machine.rules.with(thresholds),
            isCalibrated: thresholds != nil)
    }

    /// Who walked has seen enough, or went away.
    package func endCalibration(_ peer: PeerIdentifier) {
        guard calibrations.removeValue(forKey: peer) != nil else { return }
        tell(.calibrationEnded(peer))
        feed(.endCalibration(peer))
        giveUpUnwanted(peer)
    }

    /// Gives a lock thresholds of its own, or with nil the configuration's again. Returns what it is called.
    ///
    /// - Throws: ``KeyLockRefusal``, and then it has those that it had.
    package func setThresholds(_ thresholds: ProximityThresholds?, of lock: String?) throws(KeyLockRefusal) -> String {
        let record = try known(lock, by: .operand)
        feed(.thresholds(record.peer, thresholds))
        tell(.thresholds(record.peer, name: record.name, thresholds))
        return record.name
    }

    func calibrated(_ peer: PeerIdentifier, _ report: CalibrationReport) {
        guard let hear = calibrations[peer] else { return }
        if case .ended = report {
            calibrations[peer] = nil
            tell(.calibrationEnded(peer))
            giveUpUnwanted(peer)
        }
        host.afterCommit { hear(report) }
    }
}
