import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import Simulation
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

/// An app whose next version publishes its service with other characteristics, under the same restore identifier.
@Suite("A service that an app has changed", .capturesFailures)
struct ChangedServiceTests {
    private static func changed() -> CBMutableService {
        let service = Door.makeService()
        service.characteristics?.removeLast()
        return service
    }

    private func services(_ scene: Scene) throws -> [PublishedService] {
        let id = try #require(scene.door?.manager?.core.id)
        return try #require(scene.lock.host).publishedServices(of: id)
    }

    @Test("takes the place of the one that an earlier version published: on the air, on the disk and in the app")
    func replaced() throws {
        let scene = Scene()
        try scene.start()
        let before = try #require(try services(scene).first)
        scene.killDoor()
        scene.lock.launchApp { scene.door = Door($0, addsAlways: true, service: Self.changed) }
        let door = try #require(scene.door)
        let outdated = try #require(door.published)
        try #require(scene.world.run { door.has("added FFF0") })
        let after = try services(scene)
        #expect(after.map(\.definition.characteristics.count) == [4])
        #expect(after.allSatisfy { $0.declaration > before.end }, "nobody's stale handle leads to another value")
        let kept = scene.lock.store.load().restorations.values.flatMap(\.services)
        #expect(kept.map(\.handle) == after.map(\.declaration))
        // The object of the one that has gone is nobody's handle any more.
        #expect(outdated.characteristics?.allSatisfy { $0.handles == nil } == true)
        let published = try #require(door.published)
        #expect(published.characteristics?.compactMap { $0.handles?.value }.count == 4)
        // Once more, now that it is the one that stands.
        scene.killDoor()
        scene.lock.launchApp { scene.door = Door($0, addsAlways: true, service: Self.changed) }
        try #require(scene.world.run { scene.door?.has("added FFF0") == true })
        #expect(try services(scene).map(\.declaration) == after.map(\.declaration))
    }

    @Test("Two services of one UUID that one life publishes stand both, in every life")
    func several() throws {
        let scene = Scene()
        let both = [Door.makeService, Self.changed]
        for life in 1...2 {
            scene.lock.launchApp { scene.door = Door($0, addsAlways: true, service: both[0]) }
            let door = try #require(scene.door)
            try #require(scene.world.run { door.has("added FFF0") })
            door.manager?.add(both[1]())
            scene.world.settle()
            #expect(try services(scene).map(\.definition.characteristics.count).sorted() == [4, 5], "life \(life)")
            scene.killDoor()
        }
    }
}
