import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.66 (LE Extended Create Connection command, version 1)
package struct HCILEExtendedCreateConnection: HCICommand {
    package static let opcode = HCIOpcode(0x2043)

    /// How one PHY is used.
    package struct PHYParameters: WireCodable, Hashable {
        /// Units of 0.625 ms.
        package var scanInterval: UInt16
        /// Units of 0.625 ms.
        package var scanWindow: UInt16
        package var connection: LEConnectionIntervals

        package init(scanInterval: UInt16, scanWindow: UInt16, connection: LEConnectionIntervals) {
            self.scanInterval = scanInterval
            self.scanWindow = scanWindow
            self.connection = connection
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            scanInterval = try reader.readUInt16()
            scanWindow = try reader.readUInt16()
            connection = try LEConnectionIntervals(decoding: &reader)
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(scanInterval)
            writer.write(scanWindow)
            connection.encode(into: &writer)
        }
    }

    /// The peer is then whichever of the list comes first, and `peerAddress` is ignored.
    package var usesFilterAcceptList: Bool
    package var ownAddressType: LEOwnAddressType
    package var peerAddress: LEPeerAddress
    package var phys: LEPerPHY<PHYParameters>

    package init(
        usesFilterAcceptList: Bool, ownAddressType: LEOwnAddressType, peerAddress: LEPeerAddress,
        phys: LEPerPHY<PHYParameters>
    ) {
        self.usesFilterAcceptList = usesFilterAcceptList
        self.ownAddressType = ownAddressType
        self.peerAddress = peerAddress
        self.phys = phys
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        usesFilterAcceptList = try reader.readBool("Initiator_Filter_Policy")
        ownAddressType = try reader.readCase("Own_Address_Type")
        peerAddress = try LEPeerAddress(decoding: &reader)
        phys = try LEPerPHY(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(usesFilterAcceptList)
        writer.write(ownAddressType.rawValue)
        peerAddress.encode(into: &writer)
        phys.encode(into: &writer)
    }
}
