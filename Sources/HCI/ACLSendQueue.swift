import BluetoothCore

/// Why a PDU was not taken. This side's fault; it reaches the PDU.
package enum ACLSendError: Error, Equatable, Sendable {
    /// No such link, or no longer.
    case unknownLink
    /// The link's queue has no room for it: try again after a completion.
    case queueFull
    case emptyPDU
    /// It would leave in pieces, and part of it too late.
    case unpunctual
}

/// What the controller did wrong in counting. It reaches the event; the credits stay sound.
package enum ACLCreditFault: Equatable, Sendable {
    /// Packets completed on a link that does not exist. (Just after a disconnection this is no more than a race.)
    case unknownLink(ConnectionHandle)
    /// More completed than were outstanding on the link.
    case completedTooMany(ConnectionHandle, excess: Int)
}

package enum ACLSendOutput: Equatable, Sendable {
    /// The controller is done with the PDU's last packet: the peer's link layer acknowledged it, or flushed.
    case completed(ConnectionHandle, token: UInt64)
    /// The link went before the PDU did. Whether the peer got it, nobody can say.
    case dropped(ConnectionHandle, token: UInt64)
    case fault(ACLCreditFault)
}

/// A packet that was given out for the controller.
package struct ACLPacket: Equatable, Sendable {
    package let handle: ConnectionHandle
    /// Of the PDU that it belongs to.
    package let token: UInt64
    /// Later than this it must not leave: ``ACLSendQueue/recall(_:)`` takes it back then.
    package let until: Instant?
}

/// What is known of who is at a link's other end, in rising order of what it may take from the others.
package enum ACLStanding: Int, Sendable {
    /// Nobody that this side knows.
    case stranger
    /// It is under an address that anybody who heard it can use.
    case named
    /// It has encrypted the link with a key that this side keeps.
    case proven
}

/// Cuts L2CAP PDUs into packets that fit the controller's buffers, sends no more of them than there are buffers, and
/// shares the buffers among the links.
///
/// In: PDUs by link, Number Of Completed Packets events, the ends of links, time. Out: packets to send, and for each
/// PDU exactly one end: completed or dropped.
///
/// Core 5.4, Vol 4, Part E, 4.1.1 (Host to Controller Data Flow Control)
package struct ACLSendQueue: Sendable {
    /// Octets that may wait on one link, not counting what the controller has.
    package static let maximumQueuedOctetsPerLink = 32_768
    /// How long a link may have packets in the controller and take none of them. The link layer would have lost a peer that is
    /// out of range: this one answers, and acknowledges nothing, and holds buffers that all links share.
    package static let standstillMaximumMilliseconds: UInt64 = 30_000

    private let buffers: ACLBuffers
    private var links: [ACLLinkQueue] = []
    private var outstanding = 0
    /// Where the search for the next link to serve begins.
    private var turn = 0

    package init(_ buffers: ACLBuffers) { self.buffers = buffers }

    /// Buffers that the controller has free.
    package var freeCredits: Int { buffers.packetCount - outstanding }

    /// Octets that wait on a link; nil when there is no such link.
    package func queuedOctets(on handle: ConnectionHandle) -> Int? {
        index(of: handle).map { links[$0].queuedOctets }
    }

    /// The bulk of one link has the controller's buffers, divided by this.
    package static let bulkShare = 4

    /// Whether a link has room for a packet of bulk: it has fewer packets, sent or waiting, than its share of the buffers. So bulk keeps
    /// nobody waiting, on its own link either.
    package func hasRoomForBulk(on handle: ConnectionHandle) -> Bool {
        guard let index = index(of: handle) else { return true }
        let waiting = (links[index].queuedOctets + buffers.packetOctets - 1) / buffers.packetOctets
        return links[index].outstanding + waiting < max(buffers.packetCount / Self.bulkShare, 1)
    }

    /// When ``takeStandstill(now:)`` has something to say.
    package var deadline: Instant? {
        var earliest: Instant?
        for index in links.indices { earliest = Instant.earliest(earliest, Self.deadline(links[index])) }
        return earliest
    }

    private static func deadline(_ link: borrowing ACLLinkQueue) -> Instant? {
        link.standstill?.advanced(byMilliseconds: standstillMaximumMilliseconds)
    }

    /// The next link that has stood still for too long, each once.
    package mutating func takeStandstill(now: Instant) -> ConnectionHandle? {
        for index in links.indices {
            guard let due = Self.deadline(links[index]), due <= now else { continue }
            links[index].standstillReported()
            return links[index].handle
        }
        return nil
    }

    package mutating func setStanding(_ standing: ACLStanding, of handle: ConnectionHandle) {
        if let index = index(of: handle) { links[index].standing = standing }
    }

    /// Nothing happens if the link is there already.
    package mutating func addLink(_ handle: ConnectionHandle) {
        guard index(of: handle) == nil else { return }
        links.append(ACLLinkQueue(handle: handle))
    }

    /// The link is gone: its buffers are free again, and what was not completed is reported as dropped.
    ///
    /// Core 5.4, Vol 4, Part E, 4.1.1 (Host to Controller Data Flow Control): a Disconnection Complete event says that
    /// all the link's packets have been flushed.
    package mutating func removeLink(_ handle: ConnectionHandle, into outputs: inout [ACLSendOutput]) {
        guard let index = index(of: handle) else { return }
        let link = links.remove(at: index)
        outstanding -= link.outstanding
        if turn > index { turn -= 1 }
        link.drop(into: &outputs)
    }

    /// The controller was reset: every link is gone.
    package mutating func removeAllLinks(into outputs: inout [ACLSendOutput]) {
        for link in links { removeLink(link.handle, into: &outputs) }
    }

    /// Takes a whole L2CAP PDU, basic header included. One that must not leave later than `until` has a token that no other
    /// PDU of its link has, and fits a buffer.
    package mutating func submit(
        _ pdu: RawSpan, token: UInt64, until: Instant? = nil, on handle: ConnectionHandle
    ) throws(ACLSendError) {
        guard let index = index(of: handle) else { throw .unknownLink }
        guard pdu.byteCount > 0 else { throw .emptyPDU }
        guard until == nil || pdu.byteCount <= buffers.packetOctets else { throw .unpunctual }
        guard links[index].queuedOctets + pdu.byteCount <= Self.maximumQueuedOctetsPerLink else { throw .queueFull }
        links[index].append(pdu, token: token, until: until)
    }

    /// A packet that was given out has not left: its buffer is free again, and its PDU is heard of no more.
    package mutating func recall(_ packet: ACLPacket) {
        guard let index = index(of: packet.handle), links[index].recall(packet.token) else { return }
        outstanding -= 1
    }

    /// Appends the next packet that the controller has room for, indicator first; nil when there is none.
    package mutating func nextPacket(now: Instant, into writer: inout ByteWriter) -> ACLPacket? {
        guard freeCredits > 0 else { return nil }
        for step in 0..<links.count {
            let index = (turn + step) % links.count
            guard links[index].queuedOctets > 0, mayServe(index) else { continue }
            let packet = links[index].writePacket(maximumOctets: buffers.packetOctets, now: now, into: &writer)
            outstanding += 1
            turn = index + 1
            return packet
        }
        return nil
    }

    /// Core 5.4, Vol 4, Part E, 7.7.19 (Number Of Completed Packets event)
    package mutating func receive(
        _ event: HCINumberOfCompletedPackets, now: Instant, into outputs: inout [ACLSendOutput]
    ) {
        event.forEach { entry in
            guard let index = index(of: entry.handle) else {
                outputs.append(.fault(.unknownLink(entry.handle)))
                return
            }
            let believed = min(Int(entry.count), links[index].outstanding)
            outstanding -= believed
            links[index].complete(believed, now: now, into: &outputs)
            if believed < Int(entry.count) {
                outputs.append(.fault(.completedTooMany(entry.handle, excess: Int(entry.count) - believed)))
            }
        }
    }

    /// A link whose peer is out of range must not fill the controller: for each other link that has nothing there, one
    /// buffer stays free, up to half of them all, and one for a link that is still to come. Nor may those who have proved
    /// nothing, however many they are and though nobody else is here: who comes under a known name finds a buffer, and who
    /// proves to be that peer another one.
    private func mayServe(_ index: Int) -> Bool {
        let half = buffers.packetCount / 2
        var kept = min(ACLStanding.proven.rawValue - links[index].standing.rawValue, half)
        if links[index].outstanding > 0 {
            kept = max(kept + min(links.count { $0.outstanding == 0 }, half), min(1, half))
        }
        return freeCredits > kept
    }

    private func index(of handle: ConnectionHandle) -> Int? {
        // By index: a closure would be handed a copy of each queue.
        links.indices.first { links[$0].handle == handle }
    }
}
