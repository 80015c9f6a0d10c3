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

    package var radio: CBManagerState
    package var isAdvertising: Bool
    package var address: IdentityAddress
    /// The one that everybody hears; nil without a radio.
    package var addressOnAir: DeviceAddress?
    package var bolt: BoltCode
    package var door: DoorCode
    package var links: [LinkInfo]
    package var credentials: [Enrolled]
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
            credentials: credentials.sorted { $0.name < $1.name }.map(enrolled), enrolling: window?.request.credential)
    }

    private func enrolled(_ credential: Credential) -> LockStatus.Enrolled {
        let id = credential.bond.map { BondID(Int64(bitPattern: $0)) }
        return LockStatus.Enrolled(
            name: credential.name, role: credential.role, isEnabled: credential.isEnabled, bond: id,
            bondState: id.flatMap { host.bond($0)?.state })
    }
}
