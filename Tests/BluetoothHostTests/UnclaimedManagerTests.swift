import BluetoothCore
import GATT
import SecurityManager
import Simulation
import Testing
import WorldSupport

@testable import BluetoothHost

/// What is kept under a name that no manager claims.
@Suite(.capturesFailures) struct UnclaimedManagerTests {
    private static let grace = UnclaimedOwners.graceMilliseconds

    /// A door and a passer-by, whose apps may change their names from life to life.
    private final class Street {
        let world = World()
        let house: Node
        let passer: Node
        var door: PeripheralApp?
        var key: CentralApp?
        var notices: [HostNotice] = []

        init() {
            house = world.add("house", seed: 71)
            passer = world.add("passer", seed: 72)
            // A stranger is found by the address of its first life.
            house.configuration.privacy = false
            passer.configuration.privacy = false
        }

        /// `asks`: of an app that is new to its name.
        func launchHouse(_ name: String?, asks: Bool = true) {
            house.launch { host in
                host.onNotice = { [unowned self] in notices.append($0) }
                guard let name else { return }
                let app = PeripheralApp(host, restoreIdentifier: name)
                door = app
                guard asks else { return }
                _ = try? host.publish(app.manager, PeripheralApp.definition)
                host.startAdvertising(app.manager, AdvertisingRecord(localName: name, services: [0xFFF0]))
            }
        }

        func launchPasser(_ name: String?, asks: Bool = true) throws {
            let address = try #require(house.host?.identity.address.address)
            passer.launch { host in
                host.onNotice = { [unowned self] in notices.append($0) }
                guard let name else { return }
                let app = CentralApp(host, restoreIdentifier: name)
                key = app
                if asks { host.connect(app.manager, host.peer(at: address), options: 0, askedAtSeconds: 0) }
            }
        }

        func killHouse() {
            house.kill()
            door = nil
        }

        func killPasser() {
            passer.kill()
            key = nil
        }

        func run(_ milliseconds: UInt64) { world.run(forMilliseconds: milliseconds) }

        func kept(_ node: Node, _ role: RestoreKey.Role, _ name: String) -> RestorationRecord? {
            node.store.load().restorations[RestoreKey(role: role, identifier: name)]
        }

        var published: Int { house.host?.core.server.gatt.database.services.count ?? 0 }
    }

    /// GAP's and GATT's own.
    private let builtIn = 2

    @Test("A millisecond before the grace is over it runs, and then it rests: on the air, in the tree, on the disk")
    func grace() throws {
        let street = Street()
        street.launchHouse("old")
        street.run(1_000)
        street.killHouse()
        street.launchHouse(nil)
        try #require(street.world.run { street.house.host?.hostState(for: .central) == .poweredOn })
        let on = street.world.now
        street.run(Self.grace - 1)
        #expect(street.published == builtIn + 1)
        #expect(street.kept(street.house, .peripheral, "old")?.rest == nil)
        street.run(1)
        #expect(street.world.now.milliseconds(since: on) == Self.grace)
        #expect(street.published == builtIn)
        let kept = try #require(street.kept(street.house, .peripheral, "old"))
        #expect(kept.rest == 1 && kept.services.count == 1 && kept.advertising?.localName == "old")
        #expect(street.notices.contains(.managerAtRest(RestoreKey(role: .peripheral, identifier: "old"))))
        #expect(street.house.host?.deadline.map { $0 > street.world.now } ?? true, "nothing that is due stays due")
    }

    @Test("Its name brings it back at its handles, in the same life and in a later one", arguments: [false, true])
    func back(isLaterLife: Bool) throws {
        let street = Street()
        street.launchHouse("old")
        street.run(1_000)
        let before = try #require(street.kept(street.house, .peripheral, "old")?.services)
        street.killHouse()
        street.launchHouse("new")
        street.run(Self.grace + 1_000)
        #expect(street.published == builtIn + 1)
        if isLaterLife {
            street.killHouse()
            street.launchHouse("new", asks: false)
            street.run(1_000)
            #expect(street.published == builtIn + 1, "what rests does so from the launch on")
        }
        // Whatever comes meanwhile does not take its handles.
        let other = ServiceDefinition(uuid: 0xFFE0)
        street.house.call { host in
            if let app = street.door { _ = try? host.publish(app.manager, other) }
        }
        var again: PeripheralApp?
        street.house.call { again = PeripheralApp($0, restoreIdentifier: "old") }
        let app = try #require(again)
        #expect(app.record?.services == before)
        #expect(app.record?.rest == nil && app.record?.advertising != nil)
        #expect(street.house.host?.publishedServices(of: app.manager).map(\.declaration) == before.map(\.handle))
        #expect(street.published == builtIn + 3)
        #expect(street.kept(street.house, .peripheral, "old")?.rest == nil)
        street.run(Self.grace + 1_000)
        #expect(street.published == builtIn + 3, "both have a manager")
    }

    @Test("Its handles are kept for it over lives that do not have it, however high they are")
    func reserved() throws {
        let street = Street()
        var old: PeripheralApp?
        street.launchHouse("new")
        street.house.call { host in
            let app = PeripheralApp(host, restoreIdentifier: "old")
            old = app
            _ = try? host.publish(app.manager, PeripheralApp.definition)
        }
        let before = try #require(street.kept(street.house, .peripheral, "old")?.services)
        old = nil
        for life in 0..<2 {
            street.killHouse()
            street.launchHouse("new", asks: false)
            street.run(Self.grace + 1_000)
            street.house.call { host in
                if let app = street.door {
                    _ = try? host.publish(app.manager, ServiceDefinition(uuid: BluetoothUUID(0xFFE0 + UInt16(life))))
                }
            }
        }
        street.house.call { old = PeripheralApp($0, restoreIdentifier: "old") }
        #expect(old?.record?.services == before)
        #expect(street.published == builtIn + 4)
    }

    @Test("Where others have its handles it comes back elsewhere, and so does what it includes")
    func elsewhere() throws {
        var server = Server(HostConfiguration(deviceName: "door"), clients: [])
        let owner = ServerValueTests.apps[0]
        let first = AttributeHandle(40)
        let records = [
            PublishedServiceRecord(handle: first, encoded: ServiceDefinition(uuid: 0xFFE1).encoded),
            PublishedServiceRecord(
                handle: AttributeHandle(41),
                encoded: ServiceDefinition(uuid: 0xFFE2, includedServices: [first]).encoded),
        ]
        _ = try server.gatt.publish(ServiceDefinition(uuid: 0xFFE3), at: first)
        var outputs: [Server.Output] = []
        server.wake(records, of: owner, into: &outputs)
        let back = server.published.services(of: owner)
        #expect(back.map(\.definition.uuid) == [0xFFE1, 0xFFE2])
        #expect(back.allSatisfy { $0.declaration > AttributeHandle(40) })
        #expect(back.last?.definition.includedServices == back.first.map { [$0.declaration] })
        var removed: [AttributeHandle] = []
        var published: [AttributeHandle] = []
        for output in outputs {
            if case .serviceRemoved(_, let handle) = output { removed.append(handle) }
            if case .servicePublished(_, let record) = output { published.append(record.handle) }
        }
        #expect(removed == records.map(\.handle) && published == back.map(\.declaration))
    }

    @Test("A connection that nobody claims is made no more, its link ends, and its name has it again")
    func connection() throws {
        let street = Street()
        street.launchHouse("door")
        street.run(500)
        try street.launchPasser("old")
        try #require(street.world.run { street.key?.link != nil })
        street.killPasser()
        try street.launchPasser(nil)
        try #require(street.world.run { street.door?.links.count == 1 }, "asked for under the old name")
        street.run(Self.grace + 1_000)
        #expect(street.door?.links.isEmpty == true)
        street.run(60_000)
        #expect(street.door?.links.isEmpty == true)
        #expect(street.kept(street.passer, .central, "old")?.pendingConnections.count == 1)
        street.passer.call { street.key = CentralApp($0, restoreIdentifier: "old") }
        #expect(street.key?.record?.pendingConnections.count == 1)
        #expect(street.world.run { street.key?.link != nil })
    }

    @Test("A manager that comes within the grace loses nothing, and one that goes has another grace")
    func late() throws {
        let street = Street()
        street.launchHouse("old")
        street.run(1_000)
        street.killHouse()
        street.launchHouse(nil)
        street.run(Self.grace - 1_000)
        street.house.call { street.door = PeripheralApp($0, restoreIdentifier: "old") }
        street.run(Self.grace * 2)
        #expect(street.published == builtIn + 1)
        #expect(street.notices.isEmpty)
        // Under one name two managers: the one that goes takes nothing from the other.
        var second: PeripheralApp?
        street.house.call { second = PeripheralApp($0, restoreIdentifier: "old") }
        let two = try #require(second)
        street.house.call { $0.unregister(two.manager) }
        street.run(Self.grace * 2)
        #expect(street.published == builtIn + 1)
        let one = try #require(street.door)
        street.house.call { $0.unregister(one.manager) }
        street.run(Self.grace - 1)
        #expect(street.published == builtIn + 1)
        street.run(1)
        #expect(street.published == builtIn)
    }

    @Test("Time without a radio is no time: the grace begins when it is on again")
    func radioOff() throws {
        let street = Street()
        street.launchHouse("old")
        street.run(1_000)
        street.killHouse()
        street.launchHouse(nil)
        street.run(Self.grace - 1_000)
        street.house.call { $0.transportClosed() }
        street.run(Self.grace)
        #expect(street.published == builtIn + 1)
        street.house.wire.replug()
        street.house.call { $0.transportOpened() }
        try #require(street.world.run { street.house.host?.hostState(for: .central) == .poweredOn })
        street.run(Self.grace - 1)
        #expect(street.published == builtIn + 1)
        street.run(1)
        #expect(street.published == builtIn)
    }

    @Test(
        "Killed at any act and before any commit while it is put to rest, the next life has it running or at rest, and whole"
    )
    func killed() throws {
        for moment in 0..<12 {
            for beforeCommit in [false, true] {
                let street = Street()
                street.launchHouse("old")
                street.run(1_000)
                let whole = street.kept(street.house, .peripheral, "old")
                street.killHouse()
                street.launchHouse("new")
                street.run(Self.grace - 1_000)
                if beforeCommit {
                    street.house.killBeforeCommit = street.house.commitCount + moment
                } else {
                    street.house.killAfterActs = street.house.actCount + moment
                }
                street.run(2_000)
                street.killHouse()
                var kept = try #require(street.kept(street.house, .peripheral, "old"))
                let wasAtRest = kept.rest != nil
                kept.rest = nil
                #expect(kept == whole)
                street.launchHouse("new", asks: false)
                street.run(1_000)
                #expect(street.published == builtIn + (wasAtRest ? 1 : 2))
                street.run(Self.grace)
                #expect(street.published == builtIn + 1)
            }
        }
    }

    // MARK: How many

    private func names(_ street: Street) -> Set<String> {
        Set(street.house.store.load().restorations.keys.map(\.identifier))
    }

    @Test("One name past those that are kept takes the place of the one that is at rest the longest")
    func bound() throws {
        let street = Street()
        let most = RestorationLedger.namesMaximum
        for number in 0..<most {
            street.launchHouse("name \(number)")
            street.run(Self.grace + 1_000)
            street.killHouse()
        }
        #expect(names(street).count == most)
        street.launchHouse("one more")
        street.run(1_000)
        #expect(names(street).count == most)
        #expect(!names(street).contains("name 0") && names(street).contains("name 1"))
        #expect(street.notices.contains(.managerForgotten(RestoreKey(role: .peripheral, identifier: "name 0"))))
        street.killHouse()
        street.launchHouse("name 0", asks: false)
        #expect(street.door?.record == nil)
    }

    @Test("Where every name has its manager, one more is served and not kept, and its operator is told")
    func allClaimed() throws {
        let street = Street()
        var apps: [PeripheralApp] = []
        street.house.launch { host in
            host.onNotice = { street.notices.append($0) }
            for number in 0...RestorationLedger.namesMaximum {
                let app = PeripheralApp(host, restoreIdentifier: "name \(number)")
                host.startAdvertising(app.manager, AdvertisingRecord(localName: nil, services: []))
                apps.append(app)
            }
        }
        street.run(1_000)
        #expect(names(street).count == RestorationLedger.namesMaximum)
        let last = "name \(RestorationLedger.namesMaximum)"
        #expect(street.notices.contains(.managerNotKept(RestoreKey(role: .peripheral, identifier: last))))
        #expect(apps.last.map { street.house.host?.isAdvertising($0.manager) } == true)
        withExtendedLifetime(apps) {}
    }
}
