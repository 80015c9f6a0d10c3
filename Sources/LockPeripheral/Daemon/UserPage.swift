import LockProtocol
import SecurityManager

/// Users of a lock, each with all devices: one page of them.
package struct UserPage: Sendable {
    package struct Device: Sendable {
        package let name: String
        package let role: Role
        package let isEnabled: Bool
        /// nil: nobody has enrolled for it yet.
        package let bond: BondID?
    }

    package struct User: Sendable {
        package let name: String
        package let kind: UserKind
        /// One of the devices has a validity or a schedule.
        package let isScheduled: Bool
        package let devices: [Device]
    }

    /// Devices of a page, all users together: with names of the greatest length, written in escapes, they fit a line of the control
    /// socket.
    package static let devicesMaximum = 50

    package let users: [User]
    /// The next page is behind this one; nil when this is the last.
    package let next: String?
}

extension LockDaemon {
    /// The next users behind this one, nil: from the first on, in the order of their names' octets: `limit` of them, or fewer where these
    /// have more devices than a page takes.
    package func userPage(after last: String?, limit: Int) -> UserPage {
        // One more than there is room for says whether there is a next page.
        let names = userNames(after: last, limit: limit + 1)
        var (users, room) = ([UserPage.User](), UserPage.devicesMaximum)
        var end: String?
        for name in names.prefix(limit) {
            let devices = devices(of: name).sorted { ($0.name, $0.id.rawValue) < ($1.name, $1.id.rawValue) }
            room -= devices.count
            // Whoever has more than all of a page is told all the same.
            if room < 0, !users.isEmpty { return UserPage(users: users, next: end) }
            end = name
            guard let first = devices.first else { continue }
            users.append(
                UserPage.User(
                    name: name, kind: first.kind, isScheduled: devices.contains(where: \.isLimited),
                    devices: devices.map(UserPage.Device.init)))
        }
        return UserPage(users: users, next: names.count > limit ? end : nil)
    }

    /// The machine keeps none of them for it.
    private func devices(of user: String) -> [Credential] {
        rows?.listed(ofUser: user) ?? machine.credentials.values.filter { $0.userName == user }
    }

    private func userNames(after last: String?, limit: Int) -> [String] {
        if let rows { return rows.users(after: last, limit: limit) }
        return Set(machine.credentials.values.map(\.userName)).page(after: last, limit: limit)
    }
}

extension UserPage.Device {
    fileprivate init(_ credential: Credential) {
        self.init(
            name: credential.name, role: credential.role, isEnabled: credential.isEnabled,
            bond: credential.bond.map { BondID(Int64(bitPattern: $0)) })
    }
}
