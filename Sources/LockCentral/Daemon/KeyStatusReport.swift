import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import SecurityManager

/// What a key's daemon says of itself.
package struct KeyDaemonStatus: Sendable {
    package struct Lock: Sendable {
        package var record: LockRecord
        package var connection: CBPeripheralState
        package var request: KeyRequest?
        package var proximity: Proximity
        package var nearness: Nearness
        /// What is near and what is away, and whether that is the lock's own.
        package var rules: ProximityRules
        package var isCalibrated: Bool
        package var link: LinkInfo?
        package var note: LockNote?
        /// Its place among the preferred locks, from 1; nil where it is not one of them.
        package var preference: Int?
    }

    /// What becomes of ``Lock/proximity``, and why nothing does just now.
    package enum Nearness: Sendable {
        /// Nothing depends on it.
        case off
        /// An advertisement, or silence, may make the key look.
        case listening
        /// A link to measure on is asked for.
        case connecting
        case measuring
        /// Its user walks, and nothing comes of that by itself.
        case calibrating
        /// A link has shown nothing new: no advertisement is looked at for so long.
        case resting(milliseconds: UInt64)
    }

    /// A lock whose bond waits for it to come back.
    package struct Unconfirmed: Sendable {
        package var peer: PeerIdentifier
        /// Links in a row that were lost before the bond could prove itself, as far as they are counted.
        package var linksLost: Int
        /// Whether the next attempt takes its time.
        package var isResting: Bool
    }

    package var radio: CBManagerState
    /// Why there is none, where it is known.
    package var radioAbsence: String?
    package var isScanning: Bool
    package var address: IdentityAddress
    /// The one that everybody hears; nil without a radio.
    package var addressOnAir: DeviceAddress?
    /// The preferred ones first, and then by their names.
    package var locks: [Lock]
    package var isEnrolling: Bool
    package var unconfirmed: [Unconfirmed]
}

extension KeyDaemon {
    package var status: KeyDaemonStatus {
        let preferences = machine.preferences
        func order(_ slot: KeyMachine.LockSlot) -> LockOrder {
            LockOrder(slot.record, preference: preferences[slot.record.peer])
        }
        let locks = machine.locks.values.sorted { order($0) < order($1) }
        return KeyDaemonStatus(
            radio: manager?.state ?? .unknown, radioAbsence: host.radioAbsence,
            isScanning: manager?.isScanning ?? false,
            address: host.identity.address, addressOnAir: host.addressOnAir,
            locks: locks.map { slot in
                KeyDaemonStatus.Lock(
                    record: slot.record, connection: sessions[slot.record.peer]?.peripheral?.state ?? .disconnected,
                    request: slot.request, proximity: slot.nearness.proximity, nearness: nearness(slot),
                    rules: slot.nearness.rules, isCalibrated: slot.thresholds != nil,
                    link: host.link(of: slot.record.peer), note: slot.note,
                    preference: preferences[slot.record.peer])
            }, isEnrolling: enrolment.enrolling != nil,
            unconfirmed: enrolment.unattended(register).map { lock in
                KeyDaemonStatus.Unconfirmed(peer: lock.peer, linksLost: lock.linksLost, isResting: lock.isResting)
            })
    }

    private func nearness(_ slot: KeyMachine.LockSlot) -> KeyDaemonStatus.Nearness {
        guard slot.calibration == nil else { return .calibrating }
        guard slot.nearness.isEnabled else { return .off }
        return switch slot.nearness.activity {
        case .listening: .listening
        case .wanting: .connecting
        case .measuring: .measuring
        case .resting(let until): .resting(milliseconds: until.milliseconds(since: host.now))
        }
    }
}
