/// The controller's buffers for data to LE peers.
///
/// Core 5.4, Vol 4, Part E, 4.1.1 (Host to Controller Data Flow Control)
package struct ACLBuffers: Equatable, Sendable {
    /// Core 5.4, Vol 4, Part E, 7.8.2 (LE Read Buffer Size command): the least that a controller may have.
    package static let minimumPacketOctets = 27

    /// The most data that one packet may carry.
    package let packetOctets: Int
    package let packetCount: Int

    /// nil for what no controller may claim.
    package init?(packetOctets: Int, packetCount: Int) {
        guard packetOctets >= Self.minimumPacketOctets, packetOctets <= 0xFFFF, packetCount >= 1 else { return nil }
        self.packetOctets = packetOctets
        self.packetCount = packetCount
    }

    /// The LE buffers, or where there are none of their own, those that all ACL links share.
    package init?(le: HCILEReadBufferSize.ReturnParameters, shared: HCIReadBufferSize.ReturnParameters?) {
        if le.aclDataPacketLength != 0, le.totalNumACLDataPackets != 0 {
            self.init(packetOctets: Int(le.aclDataPacketLength), packetCount: Int(le.totalNumACLDataPackets))
        } else if let shared {
            self.init(
                packetOctets: Int(shared.aclDataPacketLength), packetCount: Int(shared.totalNumACLDataPackets))
        } else {
            return nil
        }
    }
}
