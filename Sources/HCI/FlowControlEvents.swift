import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.7.14 (Command Complete event)
package struct HCICommandComplete: WireCodable {
    /// How many commands the controller takes now.
    package var numHCICommandPackets: UInt8
    package var opcode: HCIOpcode
    /// The Status, and what the command returns; empty for ``HCIOpcode/none``.
    package var returnParameters: [UInt8]

    package init(numHCICommandPackets: UInt8, opcode: HCIOpcode, returnParameters: [UInt8]) {
        self.numHCICommandPackets = numHCICommandPackets
        self.opcode = opcode
        self.returnParameters = returnParameters
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        numHCICommandPackets = try reader.readUInt8()
        opcode = HCIOpcode(try reader.readUInt16())
        returnParameters = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(numHCICommandPackets)
        writer.write(opcode.rawValue)
        writer.write(returnParameters)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.15 (Command Status event)
package struct HCICommandStatus: WireCodable {
    /// `success`: what the command started goes on, and ends in an event of its own.
    package var status: HCIErrorCode
    /// How many commands the controller takes now.
    package var numHCICommandPackets: UInt8
    package var opcode: HCIOpcode

    package init(status: HCIErrorCode, numHCICommandPackets: UInt8, opcode: HCIOpcode) {
        self.status = status
        self.numHCICommandPackets = numHCICommandPackets
        self.opcode = opcode
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        numHCICommandPackets = try reader.readUInt8()
        opcode = HCIOpcode(try reader.readUInt16())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(numHCICommandPackets)
        writer.write(opcode.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.19 (Number Of Completed Packets event)
package struct HCINumberOfCompletedPackets: WireCodable {
    package struct Entry: Hashable, Sendable {
        package var handle: ConnectionHandle
        package var count: UInt16
        package init(handle: ConnectionHandle, count: UInt16) {
            self.handle = handle
            self.count = count
        }
    }

    // Nearly every such event tells of one link: an empty array costs no allocation.
    private var first: Entry?
    private var others: [Entry]

    package init(_ entries: [Entry]) {
        first = entries.first
        others = Array(entries.dropFirst())
    }

    package func forEach(_ body: (Entry) -> Void) {
        if let first { body(first) }
        others.forEach(body)
    }

    package var entries: [Entry] { (first.map { [$0] } ?? []) + others }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        others = []
        for index in 0..<Int(try reader.readUInt8()) {
            let entry = Entry(handle: try reader.readConnectionHandle(), count: try reader.readUInt16())
            if index == 0 { first = entry } else { others.append(entry) }
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt8(truncatingIfNeeded: (first == nil ? 0 : 1) + others.count))
        forEach { entry in
            writer.write(entry.handle)
            writer.write(entry.count)
        }
    }
}
