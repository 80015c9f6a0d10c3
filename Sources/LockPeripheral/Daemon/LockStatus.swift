import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// What a lock's daemon says of itself, with one page of whom it knows: however many have enrolled, the loop is not kept for
/// long, and a client has room.
package struct LockStatus: Sendable {
    /// Where a page begins: behind this row, in the order of the rows' numbers. It means the same when the row is gone.
    package enum Cursor: Equatable, Sendable, CustomStringConvertible {
        case credential(CredentialID)
        /// Of a bond that waits for its key. These come behind all credentials.
        case unconfirmed(BondID)

        package var description: String {
            switch self {
            case .credential(let id): "c\(String(id.rawValue, radix: 16))"
            case .unconfirmed(let id): "b\(String(UInt64(bitPattern: id.rawValue), radix: 16))"
            }
        }

        /// nil for what ``description`` never says.
        package init?(_ text: String) {
            guard let kind = text.first, let number = UInt64(text.dropFirst(), radix: 16) else { return nil }
            switch kind {
            case "c": self = .credential(CredentialID(rawValue: number))
            case "b": self = .unconfirmed(BondID(Int64(bitPattern: number)))
            default: return nil
            }
            guard description == text else { return nil }
        }
    }

    package struct Page: Sendable {
        /// Rows at most, from 1 on.
        package var limit: Int
        package var after: Cursor?

        package init(limit: Int, after: Cursor? = nil) {
            self.limit = limit
            self.after = after
        }
    }

    package struct Enrolled: Sendable {
        package var name: String
        package var role: Role
        package var isEnabled: Bool
        /// It has a validity or a schedule.
        package var isScheduled: Bool
        package var bond: BondID?
        package var bondState: BondState?
    }

    /// A bond that its key has yet to confirm. Its credential is with the bond before it, if there was one of another key.
    package struct Unconfirmed: Sendable {
        package var credential: String?
        package var bond: BondID
    }

    package var radio: CBManagerState
    package var isAdvertising: Bool
    package var address: IdentityAddress
    /// The one that everybody hears; nil without a radio.
    package var addressOnAir: DeviceAddress?
    package var bolt: BoltCode
    package var door: DoorCode
    /// What holds the bolt open; nil: nothing.
    package var hold: DoorHold?
    package var settings: SettingsRecord
    package var time: LockTime
    package var links: [LinkInfo]
    package var credentials: [Enrolled]
    package var unconfirmed: [Unconfirmed]
    /// Where the next page begins; nil when this is the last.
    package var next: Cursor?
    /// The audit's first record that is kept, and its last one. Of those between them some may be forgotten. nil while there
    /// is none, or when the file cannot be read.
    package var audit: ClosedRange<UInt64>?
    /// Whom the enrolment window is open for.
    package var enrolling: String?
    /// Since the program began.
    package var alarms: AlarmBook
    /// Whom the last alarm is about.
    package var alarmedCredential: String?
}

extension LockDaemon {
    package func statusPage(_ page: LockStatus.Page) -> LockStatus {
        let state = machine.state
        var status = LockStatus(
            radio: manager?.state ?? .unknown, isAdvertising: manager?.isAdvertising ?? false,
            address: host.identity.address, addressOnAir: host.addressOnAir, bolt: state.bolt, door: state.door,
            hold: machine.hold, settings: SettingsRecord(settings, fixed: configuration.settings.fixed),
            time: machine.time(moment),
            links: machine.sortedLinks { _ in true }.compactMap { host.link($0.id) }, credentials: [],
            unconfirmed: [], audit: keptAudit, enrolling: enrolment.credential,
            alarms: machine.alarms,
            alarmedCredential: credentialName(machine.alarms.last?.alarm.credential))
        list(page, in: &status)
        return status
    }

    private func list(_ page: LockStatus.Page, in status: inout LockStatus) {
        // One row more than there is room for says whether there is a next page.
        var room = page.limit + 1
        var last = page.after
        func take(_ cursor: LockStatus.Cursor) -> Bool {
            room -= 1
            if room == 0 { status.next = last } else { last = cursor }
            return room > 0
        }
        for credential in credentials(after: page.after, room) where take(.credential(credential.id)) {
            status.credentials.append(enrolled(credential))
        }
        guard room > 0 else { return }
        for bond in unconfirmed(after: page.after, room) where take(.unconfirmed(bond.id)) {
            status.unconfirmed.append(LockStatus.Unconfirmed(credential: bond.credential, bond: bond.id))
        }
    }

    private func credentials(after cursor: LockStatus.Cursor?, _ count: Int) -> [Credential] {
        switch cursor {
        case nil: credentials(after: nil, limit: count)
        case .credential(let last): credentials(after: last, limit: count)
        case .unconfirmed: []
        }
    }

    /// The next `limit` credentials behind this number, nil: from the first on. The machine keeps none of them for it.
    func credentials(after last: CredentialID?, limit: Int) -> [Credential] {
        if let rows { return rows.credentials(after: last, limit: limit) }
        let ids = machine.credentials.keys.lazy.map(\.rawValue).filter { id in last.map { id > $0.rawValue } ?? true }
        return ids.smallest(limit).compactMap { machine.credentials[CredentialID(rawValue: $0)] }
    }

    private func unconfirmed(after cursor: LockStatus.Cursor?, _ count: Int) -> [Bond] {
        let ids = host.unconfirmedBonds.lazy.map(\.rawValue)
        guard case .unconfirmed(let last) = cursor else {
            return ids.smallest(count).compactMap { host.bond(BondID($0)) }
        }
        return ids.filter { $0 > last.rawValue }.smallest(count).compactMap { host.bond(BondID($0)) }
    }

    private func enrolled(_ credential: Credential) -> LockStatus.Enrolled {
        let id = credential.bond.map { BondID(Int64(bitPattern: $0)) }
        return LockStatus.Enrolled(
            name: credential.name, role: credential.role, isEnabled: credential.isEnabled,
            isScheduled: credential.isLimited, bond: id,
            bondState: id.flatMap { host.bondState($0) })
    }
}
