import DaemonControl
import LockPeripheral
import LockProtocol

/// What an operator asks of the lock's users.
extension PeripheralDaemon {
    func userPage(_ page: PeripheralRequest.UsersPage) -> UserPage {
        lock.userPage(after: page.after, limit: Int(page.limit))
    }
}

extension UserPage {
    var json: JSONObject {
        var fields: JSONObject = ["users": .array(users.map { .object($0.json) })]
        fields["next"] = next.map { .string($0) }
        return fields
    }
}

extension UserPage.User {
    fileprivate var json: JSONObject {
        var fields: JSONObject = ["user": .string(name), "kind": .string(kind.name)]
        // Only where it is so, for the length of a page.
        fields["minutes"] = kind.minutes > 0 ? JSONValue(kind.minutes) : nil
        fields["scheduled"] = isScheduled ? true : nil
        fields["devices"] = .array(
            devices.map { device in
                var object: JSONObject = [
                    "name": .string(device.name), "role": .string("\(device.role)"),
                    "enabled": .bool(device.isEnabled),
                ]
                object["bond"] = device.bond.map { .string("\($0)") }
                return .object(object)
            })
        return fields
    }
}

extension CredentialScope {
    init(_ whom: PeripheralRequest.Whom) {
        self =
            switch whom {
            case .credential(let name): .named(name)
            case .user(let name): .ofUser(name)
            }
    }
}

extension UserKind {
    /// A request that came through its reader has minutes where they belong.
    init(_ kind: PeripheralRequest.Enrolment.Kind, minutes: Int64) {
        self =
            switch kind {
            case .ordinary: .ordinary
            case .disposable: .disposable
            case .expiring: .expiring(minutes: UInt16(clamping: minutes))
            case .duress: .duress
            }
    }
}
