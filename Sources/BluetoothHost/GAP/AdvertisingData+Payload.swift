import BluetoothCore

// MARK: What a record becomes on the air

extension AdvertisingData {
    /// What is advertised for `record` in PDUs that every scanner understands: flags and services in the advertising data,
    /// the name in the scan response where there is one. Services that find no room are left out and the list says that it
    /// is incomplete, the name is shortened at a character; everything else is in one of the two whole, or in neither.
    package static func payload(for record: AdvertisingRecord, appearance: UInt16 = 0) -> Advertiser.Payload {
        legacy(record, appearance).payload
    }

    /// All of it in one extended advertisement of at most `room` octets, when it does not fit into the legacy ones.
    package static func extendedPayload(
        for record: AdvertisingRecord, appearance: UInt16 = 0, room: Int
    ) -> Advertiser.Payload? {
        guard room > maximumOctets, !legacy(record, appearance).isWhole else { return nil }
        var page = Page(room: room)
        page.appendFlagsAndServices(of: record)
        for structure in structures(of: record, appearance) { page.append(structure) }
        page.appendName(of: record)
        return Advertiser.Payload(pdus: .extended, mode: record.connectability, data: page.octets)
    }

    private static func legacy(
        _ record: AdvertisingRecord, _ appearance: UInt16
    ) -> (payload: Advertiser.Payload, isWhole: Bool) {
        let isScannable = record.connectability.isScannable
        var data = Page(room: maximumOctets)
        var scanResponse = Page(room: isScannable ? maximumOctets : 0)
        var isWhole = data.appendFlagsAndServices(of: record)
        for structure in structures(of: record, appearance)
        where !data.append(structure) && !scanResponse.append(structure) { isWhole = false }
        if !(isScannable ? scanResponse.appendName(of: record) : data.appendName(of: record)) { isWhole = false }
        return (
            Advertiser.Payload(
                pdus: .legacy, mode: record.connectability, data: data.octets, scanResponse: scanResponse.octets),
            isWhole
        )
    }

    /// What is there whole or not at all, the shortest first.
    private static func structures(of record: AdvertisingRecord, _ appearance: UInt16) -> [Structure] {
        var structures: [Structure] = []
        if let level = record.txPowerLevel {
            structures.append(Structure(type: .txPowerLevel, value: [UInt8(bitPattern: level)]))
        }
        if record.includesAppearance {
            structures.append(
                Structure(
                    type: .appearance, value: [UInt8(truncatingIfNeeded: appearance), UInt8(appearance >> 8)]))
        }
        for (services, type) in [
            (record.solicitedServices.filter { $0.short != nil }, ADType.solicitedServices16),
            (record.solicitedServices.filter { $0.short == nil }, ADType.solicitedServices128),
        ] where !services.isEmpty {
            structures.append(Structure(type: type, value: octets(of: services)))
        }
        if let manufacturerData = record.manufacturerData {
            structures.append(Structure(type: .manufacturerData, value: manufacturerData))
        }
        for data in record.serviceData {
            structures.append(
                Structure(
                    type: data.service.short == nil ? .serviceData128 : .serviceData16,
                    value: octets(of: [data.service]) + data.octets))
        }
        return structures
    }

    fileprivate static func octets(of uuids: some Sequence<BluetoothUUID>) -> [UInt8] {
        var writer = ByteWriter(capacity: maximumOctets)
        for uuid in uuids { uuid.encode(into: &writer) }
        return writer.bytes
    }
}

private struct Structure {
    var type: ADType
    var value: [UInt8]
}

/// The data of one PDU, filled structure by structure.
private struct Page {
    let room: Int
    private(set) var octets: [UInt8] = []

    init(room: Int) { self.room = room }

    /// How much the next structure may carry.
    private var structureRoom: Int { min(max(0, room - octets.count - 2), AdvertisingData.structureMaximumOctets) }

    /// False when there is no room for it.
    @discardableResult
    mutating func append(_ structure: Structure) -> Bool {
        guard room - octets.count >= 2, structure.value.count <= structureRoom else { return false }
        octets.append(UInt8(structure.value.count + 1))
        octets.append(structure.type.rawValue)
        octets += structure.value
        return true
    }

    /// False when services were left out.
    @discardableResult
    mutating func appendFlagsAndServices(of record: AdvertisingRecord) -> Bool {
        let flags = AdvertisingFlags(record.discoverability)
        append(Structure(type: .flags, value: [flags.rawValue]))
        let short = appendServices(
            record.services.filter { $0.short != nil }, octetsEach: 2, incomplete: .incompleteServices16,
            complete: .completeServices16)
        let long = appendServices(
            record.services.filter { $0.short == nil }, octetsEach: 16, incomplete: .incompleteServices128,
            complete: .completeServices128)
        return short && long
    }

    private mutating func appendServices(
        _ services: [BluetoothUUID], octetsEach: Int, incomplete: ADType, complete: ADType
    ) -> Bool {
        let kept = services.prefix(structureRoom / octetsEach)
        let isWhole = kept.count == services.count
        guard !kept.isEmpty else { return isWhole }
        append(Structure(type: isWhole ? complete : incomplete, value: AdvertisingData.octets(of: kept)))
        return isWhole
    }

    /// False when the name was shortened, or left out.
    @discardableResult
    mutating func appendName(of record: AdvertisingRecord) -> Bool {
        guard let name = record.localName, !name.isEmpty else { return true }
        let isWhole = name.utf8.count <= structureRoom
        let kept = isWhole ? Array(name.utf8) : Self.prefix(of: name, octets: structureRoom)
        guard !kept.isEmpty else { return false }
        append(Structure(type: isWhole ? .completeName : .shortenedName, value: kept))
        return isWhole
    }

    private static func prefix(of name: String, octets: Int) -> [UInt8] {
        var kept: [UInt8] = []
        for character in name {
            let encoded = Array(String(character).utf8)
            if kept.count + encoded.count > octets { break }
            kept += encoded
        }
        return kept
    }
}
