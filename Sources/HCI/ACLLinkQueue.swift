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

    mutating func append(_ pdu: RawSpan, token: UInt64) {
        octets.append(pdu)
        pdus.append(PDU(token: token, unsent: pdu.byteCount))
    }

    /// Appends the next packet to `writer`. Only to be called while octets are queued.
    ///
    /// Core 5.4, Vol 3, Part A, 7.2.1 (Fragmentation of L2CAP PDUs)
    mutating func writePacket(maximumOctets: Int, now: Instant, into writer: inout ByteWriter) {
        let length = min(pdus[firstUnsent].unsent, maximumOctets)
        let boundary: PacketBoundary = pdus[firstUnsent].isStarted ? .continuing : .firstNonFlushable
        writer.write(HCIPacketType.aclData.rawValue)
        ACLDataHeader(handle: handle, boundary: boundary, dataLength: UInt16(truncatingIfNeeded: length))
            .encode(into: &writer)
        octets.move(length, into: &writer)
        pdus[firstUnsent].isStarted = true
        pdus[firstUnsent].unsent -= length
        pdus[firstUnsent].outstanding += 1
        if outstanding == 0 { standstill = now }
        outstanding += 1
        if pdus[firstUnsent].unsent == 0 { firstUnsent += 1 }
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
        }
    }

    /// Said once: what follows is up to whoever heard of it.
    mutating func standstillReported() { standstill = nil }

    /// Reports every PDU that is not completed.
    func drop(into outputs: inout [ACLSendOutput]) {
        for position in 0..<pdus.count { outputs.append(.dropped(handle, token: pdus[position].token)) }
    }
}
