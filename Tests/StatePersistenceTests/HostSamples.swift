import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager

/// Values that differ in every field for different numbers.
enum Sample {
    static let central = RestoreKey(role: .central, identifier: "door 1 — central")
    static let peripheral = RestoreKey(role: .peripheral, identifier: "door 1 — central")

    static func identityAddress(_ number: UInt64) -> IdentityAddress {
        guard let address = IdentityAddress(DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | number)) else {
            fatalError("a static random address")
        }
        return address
    }

    static func secret(_ number: UInt64) -> Secret {
        Secret((0..<16).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) })
    }

    static func identity(_ number: UInt64) -> LocalIdentity {
        LocalIdentity(address: identityAddress(number), irk: secret(1_000 + number))
    }

    static func bond(_ id: Int64, peer: UInt64? = nil) -> Bond {
        let number = peer ?? UInt64(id)
        return Bond(
            id: BondID(id), identity: identityAddress(number), peerIRK: secret(number + 1), ltk: secret(number + 2),
            keySize: 16, ediv: 0, rand: .max - number, localCSRK: secret(number + 3), remoteCSRK: secret(number + 4),
            model: .outOfBand, state: .unconfirmed, credential: "credential \(number)", lastRemoteSignCounter: nil,
            localSignCounterReserved: 64)
    }

    static func peer(_ number: UInt64) -> PeerRecord {
        PeerRecord(
            identifier: PeerIdentifier(bits: UInt128(number) << 120 | 0xFE), address: identityAddress(number).address,
            name: "peer \(number)", remoteDatabase: [UInt8(truncatingIfNeeded: number)],
            databaseHash: [UInt8](repeating: 0xAB, count: 16))
    }

    static func pending(_ number: UInt64) -> PendingConnection {
        PendingConnection(
            peer: peer(number).identifier, options: UInt32(truncatingIfNeeded: number),
            askedAtSeconds: Int64(1_800_000_000 + number))
    }

    static func subscription(_ number: UInt16, kind: SubscriptionRecord.Kind = .notify) -> SubscriptionRecord {
        SubscriptionRecord(
            peer: peer(1).identifier, valueHandle: AttributeHandle(number), cccHandle: AttributeHandle(number + 1),
            kind: kind)
    }

    static func service(_ handle: UInt16) -> PublishedServiceRecord {
        PublishedServiceRecord(handle: AttributeHandle(handle), encoded: [UInt8](repeating: 7, count: Int(handle)))
    }

    /// With every field that a record has.
    static func advertising(_ number: UInt8) -> AdvertisingRecord {
        var record = AdvertisingRecord(localName: "bell \(number)", services: [0x180A, BluetoothUUID(bits: .max)])
        record.discoverability = .limited
        record.connectability = .scannable
        record.limitedUntil = BootDeadline(
            boot: BootID(bits: .max - UInt128(number)), at: Instant(nanoseconds: UInt64(number) << 40))
        record.txPowerLevel = -Int8(number)
        record.includesAppearance = true
        record.manufacturerData = [0x4C, 0, number]
        record.serviceData = [
            AdvertisedServiceData(service: 0x180F, octets: [number]),
            AdvertisedServiceData(service: BluetoothUUID(bits: UInt128(number)), octets: [1, 2]),
            AdvertisedServiceData(service: 0x180F, octets: [0]),
        ]
        record.solicitedServices = [0x1806, 0x1805]
        return record
    }

    static func update(_ sequence: UInt64, bond: Int64) -> QueuedUpdate {
        QueuedUpdate(
            sequence: sequence, bond: BondID(bond), valueHandle: AttributeHandle(3),
            isIndication: sequence.isMultiple(of: 2), value: [1, 2, UInt8(truncatingIfNeeded: sequence)])
    }
}

extension HostMutation {
    /// Of a small set of keys, so that facts meet.
    static func random(using generator: inout some RandomNumberGenerator) -> Self {
        func number(_ range: ClosedRange<UInt64>) -> UInt64 { .random(in: range, using: &generator) }
        let key = number(0...1) == 0 ? Sample.central : Sample.peripheral
        let handle = AttributeHandle(UInt16(number(1...6)))
        let bond = Int64(number(1...4))
        let peer = Sample.peer(number(1...4))
        switch number(0...23) {
        case 0: return .localIdentity(Sample.identity(number(1...9)))
        case 1, 2: return .bond(.upsert(Sample.bond(bond, peer: number(1...9))))
        case 3: return .bond(.delete(BondID(bond)))
        case 4: return .bond(.promoted(BondID(bond)))
        case 5: return .bond(.remoteSignCounter(BondID(bond), UInt32(number(0...0xFFFF_FFFF))))
        case 6: return .bond(.localSignCounterReserved(BondID(bond), bound: UInt32(number(0...0xFFFF_FFFF))))
        case 7, 8:
            return .gatt(
                .clientCharacteristicConfiguration(
                    bond: UInt64(bond), handle: handle,
                    value: ClientCharacteristicConfiguration(rawValue: UInt16(number(0...3)))))
        case 9: return .gatt(.clientSupportedFeatures(bond: UInt64(bond), value: [UInt8(number(0...7))]))
        case 10: return .gatt(.changeAware(bond: UInt64(bond), databaseHash: [UInt8(number(0...255))]))
        case 11: return .gatt(.handlesRemoved(handle...AttributeHandle(6)))
        case 12: return .peer(peer)
        case 13: return .peerForgotten(peer.identifier)
        case 14: return .pendingConnection(key, Sample.pending(number(1...4)))
        case 15: return .pendingConnectionEnded(key, peer.identifier)
        case 16: return .subscription(key, Sample.subscription(handle.rawValue, kind: .indicate))
        case 17:
            return .scan(key, number(0...1) == 0 ? nil : ScanRecord(services: [0x180A, 0x180F], allowDuplicates: true))
        case 18: return .updateQueued(key, Sample.update(number(1...9), bond: bond))
        case 19: return .advertising(key, number(0...2) == 0 ? nil : Sample.advertising(UInt8(number(1...9))))
        case 20: return .managerRested(key, number(1...9))
        case 21: return .managerRested(key, nil)
        case 22: return .managerForgotten(key)
        default: return .updateDelivered(key, sequence: number(1...9))
        }
    }
}
