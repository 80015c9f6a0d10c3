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
}
