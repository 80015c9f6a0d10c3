import BluetoothCore
import BluetoothHost
import SecurityManager

extension HostScenario {
    static let ofManagers: [HostScenario] = [
        HostScenario(
            "pending connections: asked, asked again otherwise, cancelled",
            [
                [
                    .pendingConnection(Sample.central, Sample.pending(2)),
                    .pendingConnection(Sample.central, Sample.pending(1)),
                    .pendingConnection(Sample.central, Sample.pending(3)),
                ],
                [
                    .pendingConnection(Sample.central, with(Sample.pending(2)) { $0.options = .max }),
                    .pendingConnectionEnded(Sample.central, Sample.pending(1).peer),
                    .pendingConnectionEnded(Sample.peripheral, Sample.pending(3).peer),
                ],
            ]
        ) {
            $0.restorations = [
                Sample.central: with(RestorationRecord()) {
                    $0.pendingConnections = [with(Sample.pending(2)) { $0.options = .max }, Sample.pending(3)]
                }
            ]
        },
        HostScenario(
            "subscriptions: one for each value of a peer",
            [
                [
                    .subscription(Sample.central, Sample.subscription(9)),
                    .subscription(Sample.central, Sample.subscription(4)),
                    .subscription(Sample.central, Sample.subscription(9, kind: .indicate)),
                    .subscription(Sample.central, Sample.subscription(6)),
                ],
                [.subscriptionEnded(Sample.central, Sample.peer(1).identifier, valueHandle: AttributeHandle(6))],
            ]
        ) {
            $0.restorations = [
                Sample.central: with(RestorationRecord()) {
                    $0.subscriptions = [Sample.subscription(4), Sample.subscription(9, kind: .indicate)]
                }
            ]
        },
        HostScenario(
            "a scan for everything is a scan; services keep their order; nil ends it",
            [
                [.scan(Sample.central, ScanRecord(services: [0x180F], allowDuplicates: true))],
                [
                    .scan(Sample.central, ScanRecord(services: [], allowDuplicates: false)),
                    .scan(
                        other, ScanRecord(services: [0x1812, 0x0001, BluetoothUUID(bits: .max)], allowDuplicates: true)),
                    .scan(third, ScanRecord(services: [1], allowDuplicates: false)),
                ],
                [.scan(third, nil)],
            ]
        ) {
            $0.restorations = [
                Sample.central: with(RestorationRecord()) {
                    $0.scan = ScanRecord(services: [], allowDuplicates: false)
                },
                other: with(RestorationRecord()) {
                    $0.scan = ScanRecord(services: [0x1812, 0x0001, BluetoothUUID(bits: .max)], allowDuplicates: true)
                },
            ]
        },
        HostScenario(
            "published services by handle",
            [
                [
                    .servicePublished(Sample.peripheral, Sample.service(40)),
                    .servicePublished(Sample.peripheral, Sample.service(2)),
                    .servicePublished(Sample.peripheral, Sample.service(9)),
                ],
                [
                    .serviceRemoved(Sample.peripheral, handle: AttributeHandle(2)),
                    .servicePublished(
                        Sample.peripheral, PublishedServiceRecord(handle: AttributeHandle(40), encoded: [])),
                ],
            ]
        ) {
            $0.restorations = [
                Sample.peripheral: with(RestorationRecord()) {
                    $0.services = [Sample.service(9), PublishedServiceRecord(handle: AttributeHandle(40), encoded: [])]
                }
            ]
        },
        HostScenario(
            "advertising nothing is advertising; nil ends it",
            [
                [.advertising(Sample.peripheral, AdvertisingRecord(localName: "Tür", services: [0x180A]))],
                [
                    .advertising(Sample.peripheral, AdvertisingRecord(localName: nil, services: [])),
                    .advertising(other, AdvertisingRecord(localName: "", services: [0x1800, 0x180A])),
                ],
                [.advertising(third, AdvertisingRecord(localName: "x", services: [])), .advertising(third, nil)],
            ]
        ) {
            $0.restorations = [
                Sample.peripheral: with(RestorationRecord()) {
                    $0.advertising = AdvertisingRecord(localName: nil, services: [])
                },
                other: with(RestorationRecord()) {
                    $0.advertising = AdvertisingRecord(localName: "", services: [0x1800, 0x180A])
                },
            ]
        },
        HostScenario(
            "modes and data of advertising; what is left out of a later one is gone",
            [
                [.advertising(Sample.peripheral, Sample.advertising(1)), .advertising(third, Sample.advertising(2))],
                [
                    .advertising(third, Sample.advertising(3)),
                    .advertising(
                        Sample.peripheral,
                        with(AdvertisingRecord(localName: nil, services: [])) {
                            $0.discoverability = .nonDiscoverable
                            $0.connectability = .nonConnectable
                        }),
                ],
            ]
        ) {
            $0.restorations = [
                Sample.peripheral: with(RestorationRecord()) {
                    $0.advertising = with(AdvertisingRecord(localName: nil, services: [])) {
                        $0.discoverability = .nonDiscoverable
                        $0.connectability = .nonConnectable
                    }
                },
                third: with(RestorationRecord()) { $0.advertising = Sample.advertising(3) },
            ]
        },
        HostScenario(
            "whom a scan lists, and whether it asks",
            [
                [
                    .scan(
                        Sample.central,
                        ScanRecord(
                            services: [], allowDuplicates: false, procedure: .limitedDiscovery, isPassive: true)),
                    .scan(
                        other, ScanRecord(services: [1], allowDuplicates: false, procedure: .generalDiscovery)),
                ]
            ]
        ) {
            $0.restorations = [
                Sample.central: with(RestorationRecord()) {
                    $0.scan = ScanRecord(
                        services: [], allowDuplicates: false, procedure: .limitedDiscovery, isPassive: true)
                },
                other: with(RestorationRecord()) {
                    $0.scan = ScanRecord(services: [1], allowDuplicates: false, procedure: .generalDiscovery)
                },
            ]
        },
        HostScenario(
            "queued updates in their order, delivered ones gone, the same one twice once",
            [
                [.bond(.upsert(Sample.bond(1)))],
                [
                    .updateQueued(Sample.peripheral, Sample.update(300, bond: 1)),
                    .updateQueued(Sample.peripheral, Sample.update(2, bond: 1)),
                    .updateQueued(Sample.peripheral, Sample.update(70, bond: 1)),
                    .updateQueued(Sample.peripheral, with(Sample.update(70, bond: 1)) { $0.value = [] }),
                ],
                [
                    .updateDelivered(Sample.peripheral, sequence: 2), .updateDelivered(Sample.peripheral, sequence: 5),
                    .updateDelivered(other, sequence: 70),
                ],
            ]
        ) {
            $0.bonds = [Sample.bond(1)]
            $0.restorations = [
                Sample.peripheral: with(RestorationRecord()) {
                    $0.queuedUpdates = [
                        with(Sample.update(70, bond: 1)) { $0.value = [] }, Sample.update(300, bond: 1),
                    ]
                }
            ]
        },
        HostScenario(
            "the same identifier in two roles is two managers",
            [
                [
                    .scan(Sample.central, ScanRecord(services: [], allowDuplicates: true)),
                    .advertising(Sample.peripheral, AdvertisingRecord(localName: nil, services: [1])),
                ]
            ]
        ) {
            $0.restorations = [
                Sample.central: with(RestorationRecord()) { $0.scan = ScanRecord(services: [], allowDuplicates: true) },
                Sample.peripheral: with(RestorationRecord()) {
                    $0.advertising = AdvertisingRecord(localName: nil, services: [1])
                },
            ]
        },
    ]

    private static let other = RestoreKey(role: .central, identifier: "")
    private static let third = RestoreKey(role: .peripheral, identifier: "'; DROP TABLE host_bond; --")
}
