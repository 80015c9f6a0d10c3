import CoreBluetoothEssentials
import LockProtocol

/// How a lock stands, in figures and states that name nobody.
package struct LockVitals: Sendable {
    package var radio: CBManagerState
    package var bolt: BoltCode
    package var door: DoorCode
    package var mode: LockMode
    /// What holds the bolt open; nil: nothing.
    package var hold: DoorHold?
    package var links: Int
    /// Of the audit; 0 before the first.
    package var lastRecord: UInt64
    package var alarms: AlarmBook

    package init(
        radio: CBManagerState, bolt: BoltCode, door: DoorCode, mode: LockMode, hold: DoorHold?, links: Int,
        lastRecord: UInt64, alarms: AlarmBook
    ) {
        self.radio = radio
        self.bolt = bolt
        self.door = door
        self.mode = mode
        self.hold = hold
        self.links = links
        self.lastRecord = lastRecord
        self.alarms = alarms
    }
}

extension LockDaemon {
    /// Reads no row.
    package var vitals: LockVitals {
        let state = machine.state
        return LockVitals(
            radio: manager?.state ?? .unknown, bolt: state.bolt, door: state.door, mode: settings.mode,
            hold: machine.hold, links: machine.links.count, lastRecord: machine.auditHead.sequence,
            alarms: machine.alarms)
    }
}
