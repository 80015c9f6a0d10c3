/// One end of a link to be.
struct LinkEnd: Sendable {
    /// Of its controller.
    let index: Int
    /// What it uses on the air, and whether the controller has made that itself.
    let address: RadioAddress
    let isGenerated: Bool
    /// The other end as this one knows it.
    let peer: PeerAddress
}

/// How links come, live and go.
extension Air {
    /// Core 5.4, Vol 6, Part B, 4.5 (Connection state)
    mutating func addLink(
        _ central: LinkEnd, _ peripheral: LinkEnd, isHeardByPeripheral: Bool, _ parameters: ConnectionParameters,
        _ phy: PHY, _ path: Path
    ) -> LinkID {
        // The first connection event: 1.25 ms and the transmit window after CONNECT_IND.
        let first = now + 2_500_000
        let id = LinkID(slot: links.firstIndex { $0.number == 0 } ?? links.count, number: uniqueNumber())
        func side(_ end: LinkEnd, _ handle: UInt16, isAlive: Bool) -> LinkSide {
            LinkSide(
                controller: controllers[end.index].id, address: end.address, peer: end.peer.address, handle: handle,
                isAlive: isAlive,
                wantedTxOctets: controllers[end.index].host.initialMaxTxOctets, phy: phy,
                phyPreferences: controllers[end.index].host.phyPreferences)
        }
        let centralHandle = controllers[central.index].addConnection(id, .central)
        let peripheralHandle =
            isHeardByPeripheral ? controllers[peripheral.index].addConnection(id, .peripheral) : 0
        let link = Link(
            number: id.number, central: side(central, centralHandle, isAlive: true),
            peripheral: side(peripheral, peripheralHandle, isAlive: isHeardByPeripheral), parameters: parameters,
            anchor: first, establishedAt: pacing == .paced ? first : now, path: path,
            channelMap: controllers[central.index].host.channelMap)
        if id.slot == links.count { links.append(link) } else { links[id.slot] = link }

        let isSecondAlgorithm = [central.index, peripheral.index].allSatisfy {
            controllers[$0].capabilities.leFeatures.contains(.channelSelectionAlgorithm2)
        }
        func announce(_ end: LinkEnd, _ handle: UInt16, _ role: Role, peer: RadioAddress) {
            controllers[end.index].connectionComplete(
                handle: handle, role: role, end, peer: peer, parameters, at: now)
            controllers[end.index].channelSelectionAlgorithm(handle: handle, isSecond: isSecondAlgorithm, at: now)
        }
        let suggester = [Role.central, .peripheral].first { links[id.slot][$0].wantsLongerData }
        if let suggester, isHeardByPeripheral {
            links[id.slot][suggester].enqueueControl(.lengthRequest(txOctets: links[id.slot][suggester].wantedTxOctets))
        }
        announce(central, centralHandle, .central, peer: peripheral.address)
        guard isHeardByPeripheral else {
            beginSilence(id.slot, .central)
            return id
        }
        announce(peripheral, peripheralHandle, .peripheral, peer: central.address)
        return id
    }

    /// One side gives the connection up and, unless `reason` is nil, tells its host. The other hears nothing more; a link
    /// that both have given up is gone.
    mutating func drop(_ slot: Int, _ role: Role, reason: Status?) {
        guard links[slot][role].isAlive else { return }
        links[slot][role].isAlive = false
        let side = links[slot][role]
        if let index = index(of: side.controller) {
            controllers[index].removeConnection(side.handle)
            controllers[index].buffersInUse -= side.packetsInBuffers
            if let reason {
                if side.completed > 0 {
                    controllers[index].numberOfCompletedPackets(handle: side.handle, count: side.completed, at: now)
                }
                controllers[index].disconnectionComplete(handle: side.handle, reason: reason, at: now)
            }
        }
        if links[slot][role.other].isAlive {
            beginSilence(slot, role.other)
        } else {
            links[slot].number = 0
        }
    }

    // MARK: Silence

    /// From now on this side hears nothing.
    ///
    /// Core 5.4, Vol 6, Part B, 4.5.2 (Supervision timeout): six intervals while not established, else the timeout.
    mutating func beginSilence(_ slot: Int, _ role: Role) {
        guard links[slot][role].isAlive, links[slot][role].silence == nil else { return }
        let parameters = links[slot].parameters
        let isEstablished = now >= links[slot].establishedAt
        let lastHeard = pacing == .paced && isEstablished ? links[slot].lastAnchor(until: now) : now
        let patience = isEstablished ? parameters.supervisionNanoseconds : 6 * parameters.intervalNanoseconds
        let epoch = uniqueNumber()
        links[slot][role].silence = LinkSide.Silence(
            epoch: epoch, reason: isEstablished ? .connectionTimeout : .failedToBeEstablished)
        agenda.add(
            .silence(LinkID(slot: slot, number: links[slot].number), role, epoch: epoch),
            at: max(lastHeard + patience, now), controller: links[slot][role].controller)
    }

    /// This side hears the other again, if that still speaks.
    mutating func endSilence(_ slot: Int, _ role: Role) {
        if links[slot][role.other].isAlive { links[slot][role].silence = nil }
    }

    mutating func supervisionTimeout(_ link: LinkID, _ role: Role) {
        guard let slot = slot(of: link), let silence = links[slot][role].silence else { return }
        drop(slot, role, reason: silence.reason)
    }

    // MARK: Packets

    /// Something may be waiting on this link: lets it go, or sees to it that it goes at the next connection event.
    mutating func wake(_ slot: Int) {
        guard links[slot].number != 0, links[slot].isConnected, !links[slot].isPumping, links[slot].hasTransmittable
        else { return }
        switch pacing {
        case .immediate:
            if links[slot].scheduledEvent == nil { pump(slot) }
        case .paced:
            let next = links[slot].nextAnchor(after: now)
            if next < links[slot].scheduledEvent ?? .max { schedule(slot, next) }
        }
    }

    private mutating func schedule(_ slot: Int, _ instant: UInt64) {
        links[slot].scheduledEvent = instant
        agenda.add(
            .connection(LinkID(slot: slot, number: links[slot].number)), at: instant,
            controller: links[slot].central.controller)
    }

    mutating func connectionEvent(_ link: LinkID) {
        guard let slot = slot(of: link) else { return }
        links[slot].scheduledEvent = nil
        switch pacing {
        case .immediate: pump(slot)
        case .paced:
            exchange(slot)
            if self.slot(of: link) != nil { wake(slot) }
        }
    }

    /// Everything that waits goes at once. A lost packet waits for the next connection event, as do those behind it.
    private mutating func pump(_ slot: Int) {
        let number = links[slot].number
        links[slot].isPumping = true
        while links[slot].number == number, links[slot].isConnected {
            guard let role = [Role.central, .peripheral].first(where: { canTransmit(slot, $0) }) else { break }
            if random.happens(links[slot].path.lossFraction) {
                schedule(slot, links[slot].nextAnchor(after: now))
                break
            }
            transmit(slot, role)
        }
        links[slot].isPumping = false
    }

    /// One connection event: packets in turn, central first, for as long as they fit before the next. A lost one closes it.
    private mutating func exchange(_ slot: Int) {
        let number = links[slot].number
        var left = links[slot].parameters.intervalNanoseconds
        var isFirst = true
        links[slot].isPumping = true
        while links[slot].number == number, links[slot].isConnected,
            canTransmit(slot, .central) || canTransmit(slot, .peripheral)
        {
            let isEncrypted = links[slot].encryption.isOn
            let interframeSpace: UInt64 = 150_000
            let cost =
                links[slot].central.nextAirtime(isEncrypted: isEncrypted)
                + links[slot].peripheral.nextAirtime(isEncrypted: isEncrypted) + 2 * interframeSpace
            guard isFirst || cost <= left, !random.happens(links[slot].path.lossFraction) else { break }
            left -= min(cost, left)
            isFirst = false
            // Whether the peripheral speaks is settled when the central's packet has ended.
            if canTransmit(slot, .central) { transmit(slot, .central) }
            if links[slot].number == number, links[slot].isConnected, canTransmit(slot, .peripheral) {
                transmit(slot, .peripheral)
            }
        }
        links[slot].isPumping = false
    }

    /// A controller whose host does not read acknowledges no data: it waits at the sender.
    ///
    /// Core 5.4, Vol 6, Part B, 4.5.9 (Acknowledgment and flow control)
    private func canTransmit(_ slot: Int, _ role: Role) -> Bool {
        guard links[slot][role].hasTransmittable else { return false }
        return !links[slot][role].nextIsData || !isFull(links[slot][role.other].controller)
    }

    func isFull(_ controller: ControllerID) -> Bool {
        index(of: controller).map { controllers[$0].outbox.isFull } ?? false
    }

    /// A host has read: what waited for that goes on.
    mutating func wakeLinks(of index: Int) {
        for connection in controllers[index].connections {
            if let slot = slot(of: connection.link) { wake(slot) }
        }
        settle()
    }
}
