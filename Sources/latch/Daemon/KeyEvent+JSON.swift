import CoreBluetoothEssentials
import DaemonControl
import LockCentral
import LockProtocol

extension EventJournal {
    func record(_ event: KeyEvent) {
        switch event {
        case .restored(let peripherals, let isScanning):
            record("restored", ["peripherals": JSONValue(peripherals), "scanning": .bool(isScanning)])
        case .radio(let state, let reason):
            var fields: JSONObject = ["state": .string(state.name)]
            fields["reason"] = reason.map { .string($0) }
            record("radio", fields)
        case .connecting(let peer): record("connecting", ["peer": .string("\(peer)")])
        case .connected(let peer, let bond):
            var fields: JSONObject = ["peer": .string("\(peer)")]
            fields["bond"] = bond.map { .string("\($0)") }
            record("connected", fields)
        case .disconnected(let peer, let reason):
            var fields: JSONObject = ["peer": .string("\(peer)")]
            fields["reason"] = reason.map { .string($0) }
            record("disconnected", fields)
        case .proven(let peer, let bond):
            record("proven", ["peer": .string("\(peer)"), "bond": .string("\(bond)")])
        case .took(let peer, let id):
            record("asked", ["peer": .string("\(peer)"), "request": JSONValue(id.rawValue)])
        case .ended(let peer, let id, let verdict):
            record(
                "ended",
                ["peer": .string("\(peer)"), "request": JSONValue(id.rawValue), "verdict": .string(verdict.name)])
        case .outcome(let peer, let id, let result):
            record(
                "outcome",
                ["peer": .string("\(peer)"), "request": JSONValue(id.rawValue), "result": .string(result.name)])
        case .lockState(let peer, let bolt, let door):
            record(
                "lock_state", ["peer": .string("\(peer)"), "bolt": .string(bolt.name), "door": .string(door.name)])
        case .approached(let approach, let name):
            record(
                "approached",
                [
                    "peer": .string("\(approach.peer)"), "name": .string(name),
                    "asks": .bool(approach.policy.asksFirst),
                ])
        case .approachEnded(let approach): record("approach_ended", ["peer": .string("\(approach.peer)")])
        case .byItself(let peer, let name, let id, let operation, let verdict):
            record(
                "by_itself",
                [
                    "peer": .string("\(peer)"), "name": .string(name), "request": JSONValue(id.rawValue),
                    "operation": .string(operation.name), "verdict": .string(verdict.name),
                ])
        case .calibrating(let peer, let name):
            record("calibrating", ["peer": .string("\(peer)"), "name": .string(name)])
        case .calibrationEnded(let peer): record("calibration_ended", ["peer": .string("\(peer)")])
        case .thresholds(let peer, let name, let thresholds):
            var fields: JSONObject = ["peer": .string("\(peer)"), "name": .string(name)]
            fields["near_dbm"] = thresholds.map { JSONValue($0.nearDBm) }
            fields["away_dbm"] = thresholds.map { JSONValue($0.awayDBm) }
            record("thresholds", fields)
        case .enrolled(let peer, let name):
            record("enrolled", ["peer": .string("\(peer)"), "name": .string(name)])
        case .renamed(let peer, let name): record("renamed", ["peer": .string("\(peer)"), "name": .string(name)])
        // Not the text: it may say where a spare key is.
        case .noted(let peer, let name, let hasNote):
            record("noted", ["peer": .string("\(peer)"), "name": .string(name), "note": .bool(hasNote)])
        case .preferred(let peer, let name, let isPreferred):
            record("preferred", ["peer": .string("\(peer)"), "name": .string(name), "preferred": .bool(isPreferred)])
        case .forgotten(let peer, let name):
            record("forgotten", ["peer": .string("\(peer)"), "name": .string(name)])
        }
    }
}

extension EventJournal {
    func record(_ report: Companion.Report) {
        switch report {
        case .stays(let peer, let reason):
            record("approach_refused", ["peer": .string("\(peer)"), "reason": .string(reason)])
        case .untold(let peer, let reason):
            record("untold", ["peer": .string("\(peer)"), "reason": .string(reason)], level: .warning)
        }
    }
}

extension KeyVerdict {
    var name: String {
        switch self {
        case .done: "done"
        case .accepted: "accepted"
        case .refused(let result): "refused: \(result.name)"
        case .aborted: "aborted"
        case .unknown: "unknown"
        case .expired: "expired"
        case .cancelled: "cancelled"
        case .declined: "declined"
        case .unproven: "unproven"
        }
    }
}

extension KeyDaemonStatus {
    var json: JSONObject {
        var fields: JSONObject = [
            "radio": .string(radio.name), "scanning": .bool(isScanning), "address": .string("\(address)"),
            "enrolling": .bool(isEnrolling), "unconfirmed": JSONValue(unconfirmed.count),
        ]
        fields["radio_reason"] = radioAbsence.map { .string($0) }
        fields["on_air"] = addressOnAir.map { .string("\($0)") }
        fields["unconfirmed_locks"] = .array(
            unconfirmed.map { lock in
                [
                    "id": .string("\(lock.peer)"), "links_lost": JSONValue(lock.linksLost),
                    "resting": .bool(lock.isResting),
                ]
            })
        fields["locks"] = .array(
            locks.map { lock in
                var object: JSONObject = [
                    "name": .string(lock.record.name), "id": .string("\(lock.record.peer)"),
                    "connection": .string("\(lock.connection)"), "proximity": .string("\(lock.proximity)"),
                ]
                object["note"] = lock.note.map { .string($0.text) }
                object["preference"] = lock.preference.map { JSONValue($0) }
                object["proximity_state"] = .string(lock.nearness.name)
                if case .resting(let milliseconds) = lock.nearness {
                    object["proximity_rests_ms"] = JSONValue(milliseconds)
                }
                object["near_dbm"] = JSONValue(lock.rules.nearDBm)
                object["away_dbm"] = JSONValue(lock.rules.awayDBm)
                object["calibrated"] = .bool(lock.isCalibrated)
                object["link"] = lock.link.map { .object($0.json) }
                object["request"] = lock.request.map { request in
                    [
                        "id": JSONValue(request.id.rawValue), "operation": .string(request.operation.name),
                        "sent": .bool(request.sent != nil),
                    ]
                }
                return .object(object)
            })
        return fields
    }
}

extension KeyDaemonStatus.Nearness {
    fileprivate var name: String {
        switch self {
        case .off: "off"
        case .listening: "listening"
        case .connecting: "connecting"
        case .measuring: "measuring"
        case .calibrating: "calibrating"
        case .resting: "resting"
        }
    }
}
