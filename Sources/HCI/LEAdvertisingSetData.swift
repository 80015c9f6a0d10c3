import BluetoothCore

/// Which advertising set a command or an event is about: the host numbers them as it likes.
///
/// Core 5.4, Vol 4, Part E, 7.8.53 (LE Set Extended Advertising Parameters command, Advertising_Handle)
package struct LEAdvertisingHandle: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let maximum = Self(rawValue: 0xEF)
}

/// What an advertising set sends and takes.
///
/// Core 5.4, Vol 4, Part E, 7.8.53 (LE Set Extended Advertising Parameters command, Advertising_Event_Properties)
package struct LEAdvertisingEventProperties: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    package static let connectable = Self(rawValue: 1 << 0)
    package static let scannable = Self(rawValue: 1 << 1)
    package static let directed = Self(rawValue: 1 << 2)
    package static let highDutyCycleDirected = Self(rawValue: 1 << 3)
    /// The PDUs that every scanner since Core 4.0 understands.
    package static let legacyPDUs = Self(rawValue: 1 << 4)
    package static let anonymous = Self(rawValue: 1 << 5)
    package static let includesTxPower = Self(rawValue: 1 << 6)

    /// ADV_IND.
    package static let legacyConnectableScannableUndirected: Self = [.connectable, .scannable, .legacyPDUs]
    /// ADV_SCAN_IND. ADV_NONCONN_IND is ``legacyPDUs`` alone.
    package static let legacyScannableUndirected: Self = [.scannable, .legacyPDUs]
}

extension HCILESetExtendedAdvertisingParameters {
    package static let noTxPowerPreference: Int8 = 127
}

/// As much of an advertising set's data as one command carries, and where in the whole it belongs.
///
/// Core 5.4, Vol 4, Part E, 7.8.54 (LE Set Extended Advertising Data command)
package struct LEAdvertisingDataPiece: Hashable, Sendable {
    /// Core 5.4, Vol 4, Part E, 7.8.54 (LE Set Extended Advertising Data command, Advertising_Data_Length)
    package static let maximumOctets = 251

    package enum Operation: UInt8, Sendable, CaseIterable {
        case intermediateFragment = 0x00
        case firstFragment = 0x01
        case lastFragment = 0x02
        case complete = 0x03
        /// The data stays, and gets a new Advertising DID.
        case unchanged = 0x04
    }

    package let operation: Operation
    package let octets: [UInt8]

    /// nil for more than ``maximumOctets``.
    package init?(_ operation: Operation, _ octets: [UInt8]) {
        guard octets.count <= Self.maximumOctets else { return nil }
        self.operation = operation
        self.octets = octets
    }

    /// `data` in as few pieces as will carry it, of which there is always one.
    package static func cut(_ data: [UInt8]) -> [Self] {
        let starts = Array(stride(from: 0, to: max(1, data.count), by: maximumOctets))
        return starts.compactMap { start in
            let end = min(start + maximumOctets, data.count)
            let operation: Operation =
                switch (start == 0, end == data.count) {
                case (true, true): .complete
                case (true, false): .firstFragment
                case (false, true): .lastFragment
                case (false, false): .intermediateFragment
                }
            return Self(operation, Array(data[start..<end]))
        }
    }
}

/// A piece of data, and the set that it is for.
///
/// Core 5.4, Vol 4, Part E, 7.8.54 (LE Set Extended Advertising Data command)
package struct LEAdvertisingSetData: WireCodable {
    package var advertisingHandle: LEAdvertisingHandle
    package var piece: LEAdvertisingDataPiece
    /// Whether the controller must keep the host's cuts.
    package var mustNotFragment: Bool

    package init(advertisingHandle: LEAdvertisingHandle, piece: LEAdvertisingDataPiece, mustNotFragment: Bool = false) {
        self.advertisingHandle = advertisingHandle
        self.piece = piece
        self.mustNotFragment = mustNotFragment
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        advertisingHandle = LEAdvertisingHandle(rawValue: try reader.readUInt8())
        let operation: LEAdvertisingDataPiece.Operation = try reader.readCase("Operation")
        mustNotFragment = try reader.readBool("Fragment_Preference")
        let octets = try reader.readBytes(Int(try reader.readUInt8()))
        guard let piece = LEAdvertisingDataPiece(operation, octets) else {
            throw .invalidValue(field: "Advertising_Data_Length")
        }
        self.piece = piece
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(advertisingHandle.rawValue)
        writer.write(piece.operation.rawValue)
        writer.write(mustNotFragment)
        writer.write(UInt8(truncatingIfNeeded: piece.octets.count))
        writer.write(piece.octets)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.54 (LE Set Extended Advertising Data command)
package struct HCILESetExtendedAdvertisingData: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2037)

    package var data: LEAdvertisingSetData

    package init(data: LEAdvertisingSetData) { self.data = data }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        data = try LEAdvertisingSetData(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) { data.encode(into: &writer) }
}

/// Core 5.4, Vol 4, Part E, 7.8.55 (LE Set Extended Scan Response Data command)
package struct HCILESetExtendedScanResponseData: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2038)

    package var data: LEAdvertisingSetData

    package init(data: LEAdvertisingSetData) { self.data = data }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        data = try LEAdvertisingSetData(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) { data.encode(into: &writer) }
}

/// Core 5.4, Vol 4, Part E, 7.8.56 (LE Set Extended Advertising Enable command)
package struct HCILESetExtendedAdvertisingEnable: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2039)

    package struct Set: Hashable, Sendable {
        package var advertisingHandle: LEAdvertisingHandle
        /// Units of 10 ms; 0: until it is disabled, or answered by a connection.
        package var duration: UInt16
        /// 0: as many as there is time for.
        package var maxEvents: UInt8

        package init(advertisingHandle: LEAdvertisingHandle, duration: UInt16 = 0, maxEvents: UInt8 = 0) {
            self.advertisingHandle = advertisingHandle
            self.duration = duration
            self.maxEvents = maxEvents
        }
    }

    package var enable: Bool
    /// Disabling none means disabling all.
    package var sets: [Set]

    package init(enable: Bool, sets: [Set]) {
        self.enable = enable
        self.sets = sets
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        enable = try reader.readBool("Enable")
        sets = []
        for _ in 0..<Int(try reader.readUInt8()) {
            sets.append(
                Set(
                    advertisingHandle: LEAdvertisingHandle(rawValue: try reader.readUInt8()),
                    duration: try reader.readUInt16(), maxEvents: try reader.readUInt8()))
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(enable)
        writer.write(UInt8(truncatingIfNeeded: sets.count))
        for set in sets {
            writer.write(set.advertisingHandle.rawValue)
            writer.write(set.duration)
            writer.write(set.maxEvents)
        }
    }
}
