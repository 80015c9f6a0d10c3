import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// What a lock's daemon says of itself.
package struct LockStatus: Sendable {
    package struct Enrolled: Sendable {
        package var name: String
        package var role: Role
        package var isEnabled: Bool
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
    package var links: [LinkInfo]
    package var credentials: [Enrolled]
    package var unconfirmed: [Unconfirmed]
    /// Of the audit's records, the ones that are kept: from the first to the last they are one chain. nil while there is
    /// none, or when the file cannot be read.
    package var audit: ClosedRange<UInt64>?
    /// Whom the enrolment window is open for.
    package var enrolling: String?
}

extension LockDaemon {
    package var status: LockStatus {
        let state = machine?.state ?? (.unknown, .unknown)
        let credentials = (machine?.credentials.values).map(Array.init) ?? []
        return LockStatus(
            radio: manager?.state ?? .unknown, isAdvertising: manager?.isAdvertising ?? false,
            address: host.identity.address, addressOnAir: host.addressOnAir, bolt: state.bolt, door: state.door,
            links: links.sorted { $0.rawValue < $1.rawValue }.compactMap { host.link($0) },
            credentials: credentials.sorted { $0.name < $1.name }.map(enrolled),
            unconfirmed: host.bonds.filter { $0.state == .unconfirmed }.map {
                LockStatus.Unconfirmed(credential: $0.credential, bond: $0.id)
            }, audit: keptAudit, enrolling: window?.request.credential)
    }

    private func enrolled(_ credential: Credential) -> LockStatus.Enrolled {
        let id = credential.bond.map { BondID(Int64(bitPattern: $0)) }
        return LockStatus.Enrolled(
            name: credential.name, role: credential.role, isEnabled: credential.isEnabled, bond: id,
            bondState: id.flatMap { host.bond($0)?.state })
    }
}
