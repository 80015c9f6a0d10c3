import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager

extension HostScenario {
    static let ofIdentity: [HostScenario] = [
        HostScenario("nothing", []) { _ in },
        HostScenario(
            "a local identity, and another in its place",
            [
                [.localIdentity(Sample.identity(1))], [.localIdentity(Sample.identity(2))],
            ]
        ) { $0.identity = Sample.identity(2) },
        HostScenario(
            "a whole bond, and a provisional one that has next to nothing",
            [
                [.bond(.upsert(Sample.bond(2))), .bond(.upsert(bareBond))]
            ]
        ) { $0.bonds = [bareBond, Sample.bond(2)] },
        HostScenario(
            "a bond replaced in place keeps what is remembered of its client",
            [
                [.bond(.upsert(Sample.bond(1))), .gatt(.clientSupportedFeatures(bond: 1, value: [3]))],
                [.bond(.upsert(Sample.bond(1, peer: 8)))],
            ]
        ) {
            $0.bonds = [Sample.bond(1, peer: 8)]
            $0.gattClients = [GATTClientRecord(bond: 1, supportedFeatures: [3])]
        },
        HostScenario(
            "a counter of 0 is not none, and the largest counter fits",
            [
                [.bond(.upsert(Sample.bond(1))), .bond(.upsert(Sample.bond(2))), .bond(.upsert(Sample.bond(3)))],
                [.bond(.remoteSignCounter(BondID(1), 0)), .bond(.remoteSignCounter(BondID(2), .max))],
                [.bond(.localSignCounterReserved(BondID(2), bound: .max)), .bond(.remoteSignCounter(BondID(9), 5))],
            ]
        ) {
            $0.bonds = [
                with(Sample.bond(1)) { $0.lastRemoteSignCounter = 0 },
                with(Sample.bond(2)) {
                    $0.lastRemoteSignCounter = .max
                    $0.localSignCounterReserved = .max
                },
                Sample.bond(3),
            ]
        },
        HostScenario(
            "only an unconfirmed bond is promoted",
            [
                [.bond(.upsert(Sample.bond(1))), .bond(.upsert(bareBond))],
                [.bond(.promoted(BondID(1))), .bond(.promoted(bareBond.id)), .bond(.promoted(BondID(9)))],
            ]
        ) { $0.bonds = [bareBond, with(Sample.bond(1)) { $0.state = .confirmed }] },
        HostScenario(
            "a deleted bond takes along its client and its queue, and late facts bring nothing back",
            [
                [
                    .bond(.upsert(Sample.bond(1))), .bond(.upsert(Sample.bond(2))),
                    .gatt(.clientCharacteristicConfiguration(bond: 1, handle: AttributeHandle(5), value: .indication)),
                    .gatt(.changeAware(bond: 1, databaseHash: [1])),
                    .updateQueued(Sample.peripheral, Sample.update(1, bond: 1)),
                    .updateQueued(Sample.peripheral, Sample.update(2, bond: 2)),
                ],
                [.bond(.delete(BondID(1)))],
                [
                    .gatt(.clientSupportedFeatures(bond: 1, value: [1])),
                    .gatt(.changeAware(bond: 1, databaseHash: [2])),
                    .gatt(.clientCharacteristicConfiguration(bond: 1, handle: AttributeHandle(5), value: .indication)),
                    .updateQueued(Sample.peripheral, Sample.update(3, bond: 1)),
                ],
            ]
        ) {
            $0.bonds = [Sample.bond(2)]
            $0.restorations = [
                Sample.peripheral: with(RestorationRecord()) { $0.queuedUpdates = [Sample.update(2, bond: 2)] }
            ]
        },
        HostScenario(
            "client configurations by handle; an empty one is none; removed handles take theirs along",
            [
                [.bond(.upsert(Sample.bond(1))), .bond(.upsert(Sample.bond(2)))],
                [
                    .gatt(
                        .clientCharacteristicConfiguration(bond: 1, handle: AttributeHandle(5), value: .notification)),
                    .gatt(.clientCharacteristicConfiguration(bond: 1, handle: AttributeHandle(9), value: .indication)),
                    .gatt(
                        .clientCharacteristicConfiguration(bond: 2, handle: .last, value: [.notification, .indication])),
                    .gatt(.clientCharacteristicConfiguration(bond: 2, handle: AttributeHandle(4), value: .indication)),
                ],
                [
                    .gatt(.clientCharacteristicConfiguration(bond: 1, handle: AttributeHandle(9), value: [])),
                    .gatt(.handlesRemoved(AttributeHandle(2)...AttributeHandle(4))),
                ],
            ]
        ) {
            $0.bonds = [Sample.bond(1), Sample.bond(2)]
            $0.gattClients = [
                GATTClientRecord(bond: 1, configurations: [AttributeHandle(5): .notification]),
                GATTClientRecord(bond: 2, configurations: [.last: [.notification, .indication]]),
            ]
        },
        HostScenario(
            "peers, with and without what is optional; one forgotten",
            [
                [.peer(Sample.peer(3)), .peer(Sample.peer(1)), .peer(Sample.peer(2))],
                [
                    .peer(barePeer), .peerForgotten(Sample.peer(1).identifier),
                    .peerForgotten(Sample.peer(9).identifier),
                ],
            ]
        ) { $0.peers = [barePeer, Sample.peer(3)] },
    ]

    static let bareBond = Bond(
        id: BondID(0), identity: nil, ltk: Sample.secret(5), keySize: 7, ediv: .max, rand: .max,
        secureConnections: false, model: .justWorks, state: .provisional)
    static let barePeer = PeerRecord(
        identifier: Sample.peer(2).identifier, address: DeviceAddress(kind: .public, bits: 0xFFFF_FFFF_FFFF))
}

func with<T>(_ value: T, _ change: (inout T) -> Void) -> T {
    var value = value
    change(&value)
    return value
}
