import BluetoothCore

/// One link's PDUs on their way: waiting, partly sent, or sent and not yet completed.
struct ACLLinkQueue: Sendable {
    private struct PDU: Sendable {
        var token: UInt64
        /// Octets not yet given to the controller.
        var unsent: Int
        /// Packets that the controller has not completed.
        var outstanding = 0
        var isStarted = false
        var until: Instant?
        /// It was given out, and has not gone to the controller after all.
        var isRecalled = false
    }

    let handle: ConnectionHandle
    var standing = ACLStanding.stranger
    /// Packets that the controller has and has not completed.
    private(set) var outstanding = 0
    /// Since when the controller has completed none of them; nil while it has none, and once that was reported.
    private(set) var standstill: Instant?
    /// The unsent octets of all PDUs, in order.
    private var octets = OctetRing()
    /// In order of submission; those from `firstUnsent` on have octets in the ring.
    private var pdus = Ring<PDU>()
    private var firstUnsent = 0

    init(handle: ConnectionHandle) { self.handle = handle }

    var queuedOctets: Int { octets.count }

    mutating func append(_ pdu: RawSpan, token: UInt64, until: Instant?) {
        octets.append(pdu)
        pdus.append(PDU(token: token, unsent: pdu.byteCount, until: until))
    }

    /// Appends the next packet to `writer`. Only to be called while octets are queued.
    ///
    /// Core 5.4, Vol 3, Part A, 7.2.1 (Fragmentation of L2CAP PDUs)
    mutating func writePacket(maximumOctets: Int, now: Instant, into writer: inout ByteWriter) -> ACLPacket {
        let length = min(pdus[firstUnsent].unsent, maximumOctets)
        let boundary: PacketBoundary = pdus[firstUnsent].isStarted ? .continuing : .firstNonFlushable
        writer.write(HCIPacketType.aclData.rawValue)
        ACLDataHeader(handle: handle, boundary: boundary, dataLength: UInt16(truncatingIfNeeded: length))
            .encode(into: &writer)
        octets.move(length, into: &writer)
        let packet = ACLPacket(handle: handle, token: pdus[firstUnsent].token, until: pdus[firstUnsent].until)
        pdus[firstUnsent].isStarted = true
        pdus[firstUnsent].unsent -= length
        pdus[firstUnsent].outstanding += 1
        if outstanding == 0 { standstill = now }
        outstanding += 1
        if pdus[firstUnsent].unsent == 0 { firstUnsent += 1 }
        return packet
    }

    /// A PDU's only packet, given out by ``writePacket(maximumOctets:now:into:)``, does not go to the controller. False when
    /// there is no such PDU.
    mutating func recall(_ token: UInt64) -> Bool {
        let sent = 0..<firstUnsent
        guard let position = sent.last(where: { pdus[$0].token == token && pdus[$0].outstanding == 1 }) else {
            return false
        }
        pdus[position].outstanding = 0
        pdus[position].isRecalled = true
        outstanding -= 1
        if outstanding == 0 { standstill = nil }
        removeRecalled()
        return true
    }

    /// From the head: what is behind it goes when its turn comes.
    private mutating func removeRecalled() {
        while pdus.count > 0, pdus[0].isRecalled {
            pdus.removeFirst()
            firstUnsent -= 1
        }
    }

    /// The controller completes a link's packets in the order in which it got them.
    mutating func complete(_ packets: Int, now: Instant, into outputs: inout [ACLSendOutput]) {
        outstanding -= packets
        if packets > 0 { standstill = outstanding > 0 ? now : nil }
        var left = packets
        while left > 0, pdus.count > 0 {
            let taken = min(left, pdus[0].outstanding)
            pdus[0].outstanding -= taken
            left -= taken
            guard pdus[0].unsent == 0, pdus[0].outstanding == 0 else { return }
            outputs.append(.completed(handle, token: pdus[0].token))
            pdus.removeFirst()
            firstUnsent -= 1
            removeRecalled()
        }
    }

    /// Said once: what follows is up to whoever heard of it.
    mutating func standstillReported() { standstill = nil }

    /// Reports every PDU that is not completed.
    func drop(into outputs: inout [ACLSendOutput]) {
        for position in 0..<pdus.count where !pdus[position].isRecalled {
            outputs.append(.dropped(handle, token: pdus[position].token))
        }
    }
}
