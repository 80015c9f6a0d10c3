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

    package let users: [User]
    /// The next page is behind this one; nil when this is the last.
    package let next: String?
}

extension LockDaemon {
    /// The next `limit` users behind this one, nil: from the first on, in the order of their names' octets.
    package func userPage(after last: String?, limit: Int) -> UserPage {
        // One more than there is room for says whether there is a next page.
        let names = userNames(after: last, limit: limit + 1)
        let users = names.prefix(limit).compactMap { name -> UserPage.User? in
            let devices = devices(of: name).sorted { ($0.name, $0.id.rawValue) < ($1.name, $1.id.rawValue) }
            guard let first = devices.first else { return nil }
            return UserPage.User(
                name: name, kind: first.kind, isScheduled: devices.contains(where: \.isLimited),
                devices: devices.map(UserPage.Device.init))
        }
        return UserPage(users: users, next: names.count > limit ? names[limit - 1] : nil)
    }

    /// The machine keeps none of them for it.
    private func devices(of user: String) -> [Credential] {
        rows?.credentials(ofUser: user) ?? machine?.credentials.values.filter { $0.userName == user } ?? []
    }

    private func userNames(after last: String?, limit: Int) -> [String] {
        guard let machine else { return [] }
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
