import BluetoothHost
import FoundationEssentials
import GATT
import Simulation
import Synchronization
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

/// Managers of one process, one after the other, and two at a time under one name.
@Suite("Managers of one process that follow each other", .capturesFailures)
struct SuccessiveManagersTests {
    private let world = World()
    private let lock: Node

    init() { lock = world.add("lock", seed: 71) }

    /// What the host says of its apps' misuse.
    private final class Misuses: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private func launch(_ misuses: Misuses, _ app: (CBHost) -> Void) { lock.launchApp(app) { misuses.add($0) } }

    @Test("Services of a manager that is gone are the app's, who adds them to another one", arguments: [nil, "door"])
    func services(identifier: String?) throws {
        let misuses = Misuses()
        let service = Door.makeService()
        var bluetooth: CBHost?
        var first: Door?
        launch(misuses) {
            bluetooth = $0
            first = Door($0, identifier: identifier, service: { service })
        }
        let host = try #require(bluetooth)
        #expect(world.run { first?.has("advertising") == true })
        let range = try #require(service.range)
        first?.vanish()
        first = nil
        world.settle()
        #expect(service.range == nil && service.characteristics?.allSatisfy { $0.handles == nil } == true)

        let second = Door(host, identifier: identifier, addsAlways: true, service: { service })
        #expect(world.run { second.has("added FFF0") || second.has("added FFF0 failed") })
        #expect(second.has("added FFF0"))
        let published = lock.host?.publishedServices(of: try #require(second.manager?.core.id))
        #expect(published?.map(\.declaration) == [try #require(service.range).lowerBound])
        // Under a name they have stood all the time.
        if identifier != nil { #expect(service.range == range) }
        let notifying = try #require(second.characteristic(Door.notifying))
        #expect(second.manager?.updateValue(Data([1]), for: notifying, onSubscribedCentrals: nil) == true)
        #expect(misuses.all.isEmpty)
    }

    @Test(
        "Of two managers under one name the later one hears everything, the misuse is said, and what it leaves is the other's"
    )
    func sameName() throws {
        let misuses = Misuses()
        var bluetooth: CBHost?
        var first: Door?
        launch(misuses) {
            bluetooth = $0
            first = Door($0)
        }
        let (host, older) = (try #require(bluetooth), try #require(first))
        #expect(world.run { older.has("advertising") })
        #expect(misuses.all.isEmpty)
        // In the other role, and under another name, nobody is in the way.
        let others = (Key(host, identifier: "door"), Door(host, identifier: "other"))
        world.settle()
        #expect(misuses.all.isEmpty)

        let newer = Door(host)
        world.settle()
        #expect(misuses.all.count == 1)
        #expect(misuses.all.first?.contains("\"door\"") == true)
        #expect(newer.log == ["restore", "state poweredOn"])
        let pocket = world.add("key", seed: 72)
        var visitor: Key?
        pocket.launchApp { visitor = Key($0) }
        let key = try #require(visitor)
        func read() {
            guard let readable = key.characteristic(Door.readable) else { return }
            key.door?.readValue(for: readable)
        }
        #expect(world.run { key.has("characteristics") })
        read()
        #expect(world.run { key.has("value FFF1") })
        #expect(newer.has("read FFF1 from 0") && !older.has("read FFF1 from 0"))

        newer.vanish()
        world.settle()
        read()
        #expect(world.run { key.count("value FFF1") == 2 })
        #expect(older.has("read FFF1 from 0"))
        #expect(misuses.all.count == 1)
        withExtendedLifetime(others) {}
    }
}
