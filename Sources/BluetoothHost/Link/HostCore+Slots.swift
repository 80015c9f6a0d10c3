import BluetoothCore
import HCI
import SecurityManager

// MARK: Slots

extension HostCore {
    mutating func hasSlot(for address: DeviceAddress, _ role: LinkRole, isReplaced: Bool) -> Bool {
        let isBonded = if case .bonded(_) = bondBook.resolve(address) { true } else { false }
        return links.hasSlot(role, isBonded: isBonded, isReplaced: isReplaced)
    }

    mutating func connectionRefused(_ status: HCIErrorCode) {
        if let link = links.connectionRefused(status) { disconnect(link, reason: .remoteDeviceTerminatedLowResources) }
    }

    mutating func freeLastSlot() {
        guard let due = links.lastSlotDeadline, due <= now, let link = links.unprovenInLastSlot else { return }
        disconnect(link, reason: .remoteDeviceTerminatedLowResources)
    }
}
