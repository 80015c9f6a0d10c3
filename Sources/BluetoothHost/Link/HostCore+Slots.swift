import BluetoothCore
import HCI
import SecurityManager

// MARK: Slots

extension HostCore {
    /// Slots that only a peer whose address is a bonded one's may take, where there is more than one.
    static let slotsForBondedPeers = 1

    /// What the controller has: links, and those that it was told to end as soon as they were made.
    private var connections: Int { links.count + rejectedLinks.count }

    /// Links that there can be at once, as far as that is known: no command tells what a controller has room for.
    private var slots: Int { min(configuration.linksMaximum, controller.connectionsMaximum ?? .max) }

    /// Every slot is taken, and none about to be free: a link that is ending frees its own.
    private var isEverySlotTaken: Bool {
        links.count >= slots && !linksInOrder.contains(where: \.isDisconnecting)
    }

    mutating func hasSlot(for address: DeviceAddress, _ role: LinkRole, isReplaced: Bool) -> Bool {
        let others = links.count - (isReplaced ? 1 : 0)
        if let maximum = controller.connectionsMaximum {
            controller.connectionsMaximum = max(maximum, others + rejectedLinks.count + 1)
        }
        let isBonded = if case .bonded(_) = bondBook.resolve(address) { true } else { false }
        guard role == .peripheral, slots > 1, !isBonded else { return others < configuration.linksMaximum }
        return others < slots - Self.slotsForBondedPeers
    }

    /// Whether nobody may connect, whoever it is.
    var isFull: Bool { links.count >= configuration.linksMaximum }

    /// The controller was to advertise for connections, and says that it takes no other: so many it has room for. When
    /// strangers have them all, the one of them that came last is in the slot that is kept.
    mutating func connectionRefused(_ status: HCIErrorCode) {
        guard [.connectionLimitExceeded, .connectionRejectedLimitedResources].contains(status), connections > 1 else {
            return
        }
        controller.connectionsMaximum = connections
        guard isEverySlotTaken else { return }
        let centrals = linksInOrder.filter { $0.role == .peripheral }
        guard centrals.allSatisfy({ $0.identity == nil }) else { return }
        if let last = centrals.last(where: { !$0.pairing.isPairing }) {
            disconnect(last, reason: .remoteDeviceTerminatedLowResources)
        }
    }
}

// MARK: The last slot

extension HostCore {

    /// The newest of them: those who were there before it kept nobody out.
    private var unprovenInLastSlot: Link? {
        guard slots > 1, isEverySlotTaken else { return nil }
        return linksInOrder.last { $0.role == .peripheral && $0.isImpostorPossible && !$0.pairing.isPairing }
    }

    var lastSlotDeadline: Instant? {
        unprovenInLastSlot?.connectedAt.advanced(byMilliseconds: Host.unprovenInLastSlotMilliseconds)
    }

    mutating func freeLastSlot() {
        guard let due = lastSlotDeadline, due <= now, let link = unprovenInLastSlot else { return }
        disconnect(link, reason: .remoteDeviceTerminatedLowResources)
    }
}
