/// ACL data between hosts, and its credits.
extension Air {
    /// Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets) and 4.1.1 (Host to Controller data flow control)
    mutating func receiveData(_ packet: Span<UInt8>, from index: Int) {
        let header = UInt16(packet[0]) | UInt16(packet[1]) << 8
        let octets = packet.extracting(4..<packet.count)
        let flags = header >> 12
        // A host may say "first, not flushable" (0b00) and "continuing" (0b01), never broadcast.
        guard flags <= 0b01, octets.count <= Int(controllers[index].configuration.aclDataPacketLength) else {
            return controllers[index].hardwareError(.malformedData, at: now)
        }
        // Data for a connection that has just ended is no fault of the host's; its buffers went with it.
        guard let connection = controllers[index].connection(header & 0x0FFF), let slot = slot(of: connection.link)
        else { return }
        guard controllers[index].buffersInUse < Int(controllers[index].configuration.aclDataPacketCount) else {
            return controllers[index].dataBufferOverflow(at: now)
        }
        let isFirst = flags == 0b00
        if isOpen(slot, connection.role, octets.count) {
            deliver(octets, isFirst: isFirst, slot, connection.role)
            return credit(slot, connection.role)
        }
        controllers[index].buffersInUse += 1
        links[slot][connection.role].packetsInBuffers += 1
        enqueue(octets, isFirst: isFirst, slot, connection.role)
        wake(slot)
    }

    /// Whether a packet can go at once, whole and without waiting for another.
    private func isOpen(_ slot: Int, _ role: Role, _ count: Int) -> Bool {
        pacing == .immediate && links[slot].isConnected && links[slot].path.lossFraction == 0
            && links[slot][role].isIdle && count <= Int(links[slot][role].txOctets)
            && !isFull(links[slot][role.other].controller)
    }

    /// Cuts a packet of the host into link layer payloads.
    private mutating func enqueue(_ octets: Span<UInt8>, isFirst: Bool, _ slot: Int, _ role: Role) {
        let limit = Int(links[slot][role].txOctets)
        var start = 0
        repeat {
            let end = min(start + limit, octets.count)
            links[slot][role].enqueue(
                .data(
                    isFirst: isFirst && start == 0,
                    octets: octets.extracting(start..<end).withUnsafeBufferPointer(Array.init),
                    completes: end == octets.count))
            start = end
        } while start < octets.count
    }

    /// Hands a payload to the host at the other end.
    mutating func deliver(_ octets: Span<UInt8>, isFirst: Bool, _ slot: Int, _ role: Role) {
        guard let index = index(of: links[slot][role.other].controller) else { return }
        let handle = links[slot][role.other].handle
        controllers[index].outbox.data(handle: handle, isFirst: isFirst, octets, at: now)
    }

    /// A packet of this side's host has gone.
    mutating func credit(_ slot: Int, _ role: Role) {
        if links[slot][role].completed == 0 {
            credited.append((LinkID(slot: slot, number: links[slot].number), role))
        }
        links[slot][role].completed += 1
    }

    mutating func releaseBuffer(_ slot: Int, _ role: Role) {
        links[slot][role].packetsInBuffers -= 1
        if let index = index(of: links[slot][role].controller) { controllers[index].buffersInUse -= 1 }
        credit(slot, role)
    }

    mutating func reportCompletedPackets() {
        for (link, role) in credited {
            guard let slot = slot(of: link), links[slot][role].isAlive, links[slot][role].completed > 0,
                let index = index(of: links[slot][role].controller)
            else { continue }
            controllers[index].numberOfCompletedPackets(
                handle: links[slot][role].handle, count: links[slot][role].completed, at: now)
            links[slot][role].completed = 0
        }
        credited.removeAll(keepingCapacity: true)
    }
}
