/// Which PHYs a host would have in each direction, as the bits of commands.
///
/// Core 5.4, Vol 4, Part E, 7.8.48 (LE Set Default PHY command)
struct PHYPreferences: Hashable, Sendable {
    let tx: UInt8
    let rx: UInt8

    static let any = Self(tx: 0xFF, rx: 0xFF)

    private init(tx: UInt8, rx: UInt8) {
        self.tx = tx
        self.rx = rx
    }

    /// ALL_PHYS, TX_PHYS and RX_PHYS: a bit of the first says that the host has no preference.
    init(_ parameters: borrowing CommandParameters, at offset: Int, supported: UInt8) throws(Status) {
        func preference(_ anyBit: UInt8, _ field: Int) throws(Status) -> UInt8 {
            guard parameters.u8(offset) & anyBit == 0 else { return 0xFF }
            let phys = parameters.u8(offset + field)
            guard phys != 0 else { throw .invalidParameters }
            guard phys & ~supported == 0 else { throw .unsupportedParameterValue }
            return phys
        }
        tx = try preference(0b01, 1)
        rx = try preference(0b10, 2)
    }
}

/// A change of PHYs that is under way on a link.
struct PHYProcedure: Sendable {
    let initiator: Role
    /// What each side is to transmit on from the instant on, once that is set.
    var agreed: (central: PHY, peripheral: PHY)?
}

/// Core 5.4, Vol 6, Part B, 5.1.10 (PHY Update procedure)
extension Air {
    /// Core 5.4, Vol 4, Part E, 7.8.47 (LE Read PHY command)
    func readPHY(_ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter) throws(Status)
    {
        let (slot, role, _) = try connection(parameters, of: index)
        returns.u16(links[slot][role].handle)
        returns.u8(links[slot][role].phy.rawValue)
        returns.u8(links[slot][role.other].phy.rawValue)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.48 (LE Set Default PHY command)
    mutating func setDefaultPHY(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        controllers[index].host.phyPreferences = try PHYPreferences(
            parameters, at: 0, supported: controllers[index].supportedPHYs)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.49 (LE Set PHY command)
    mutating func setPHY(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) -> FollowUp {
        let (slot, role, link) = try connection(parameters, of: index)
        let preferences = try PHYPreferences(parameters, at: 2, supported: controllers[index].supportedPHYs)
        guard !links[slot][role].wantsPHYUpdate else { throw .commandDisallowed }
        links[slot][role].phyPreferences = preferences
        links[slot][role].wantsPHYUpdate = true
        startPHYUpdate(slot)
        return .wake(link)
    }

    /// One at a time, the central's first.
    private mutating func startPHYUpdate(_ slot: Int) {
        guard links[slot].phyProcedure == nil,
            let initiator = [Role.central, .peripheral].first(where: { links[slot][$0].wantsPHYUpdate })
        else { return }
        links[slot].phyProcedure = PHYProcedure(initiator: initiator)
        links[slot][initiator].enqueueControl(.phyRequest)
    }

    /// LL_PHY_REQ has arrived: the central decides, after it has heard what the peripheral would have.
    mutating func receivePHYRequest(_ slot: Int, from role: Role) {
        guard capabilities(of: links[slot][role.other])?.leFeatures.contains(.phy2M) == true else {
            return links[slot][role.other].enqueueControl(.phyUnknown)
        }
        links[slot][role.other].enqueueControl(role == .central ? .phyResponse : phyUpdate(slot))
    }

    /// LL_PHY_RSP has arrived.
    mutating func receivePHYResponse(_ slot: Int) { links[slot].central.enqueueControl(phyUpdate(slot)) }

    /// The fastest that both would have in each direction; where there is none, things stay as they are.
    private func phyUpdate(_ slot: Int) -> LinkPDU {
        func choose(_ transmitter: Role) -> PHY {
            let offered = links[slot][transmitter].phyPreferences.tx & links[slot][transmitter.other].phyPreferences.rx
            return offered & 0b010 != 0 ? .le2M : offered & 0b001 != 0 ? .le1M : links[slot][transmitter].phy
        }
        return .phyUpdate(central: choose(.central), peripheral: choose(.peripheral))
    }

    /// LL_PHY_UPDATE_IND has arrived: at its instant both change, at least six events away.
    mutating func schedulePHYUpdate(_ slot: Int, central: PHY, peripheral: PHY) {
        links[slot].phyProcedure?.agreed = (central, peripheral)
        guard central != links[slot].central.phy || peripheral != links[slot].peripheral.phy else {
            return endPHYUpdate(slot, .success, hasChanged: false)
        }
        agenda.add(
            .phyUpdate(LinkID(slot: slot, number: links[slot].number)), at: links[slot].updateInstant(after: now),
            controller: links[slot].central.controller)
    }

    mutating func applyPHYUpdate(_ link: LinkID) {
        guard let slot = slot(of: link), let agreed = links[slot].phyProcedure?.agreed else { return }
        links[slot].central.phy = agreed.central
        links[slot].peripheral.phy = agreed.peripheral
        endPHYUpdate(slot, .success, hasChanged: true)
        wake(slot)
    }

    /// Whoever asked hears of it in any case, the other of a change.
    mutating func endPHYUpdate(_ slot: Int, _ status: Status, hasChanged: Bool) {
        guard let initiator = links[slot].phyProcedure?.initiator else { return }
        links[slot].phyProcedure = nil
        links[slot][initiator].wantsPHYUpdate = false
        for role in [Role.central, .peripheral] where role == initiator || hasChanged {
            let (tx, rx) = (links[slot][role].phy, links[slot][role.other].phy)
            notify(slot, role) { $0.phyUpdateComplete(status, handle: $1, tx: tx, rx: rx, at: $2) }
        }
        startPHYUpdate(slot)
    }
}
